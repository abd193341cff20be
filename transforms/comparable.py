"""What views compare: which prices are comparable, and one price for each region."""

from typing import NamedTuple

import polars as pl

WAY_TO_PAY = (
    "operating_system",
    "purchase_option",
    "commitment_type",
    "term_years",
    "payment_option",
)

_WORDS = (
    "provider",
    "instance_type",
    "region_id",
    "currency",
    *(name for name in WAY_TO_PAY if name != "term_years"),
)

_ONE_PRICE = ("type_number", "way_number", "region_number", "currency")

_REFERENCE = "reference"


class Comparable(NamedTuple):
    """Comparable prices, with numbers in place of their many texts: a pass touches few bytes.

    Numbers count from 0 in the order of what they stand for: rows sorted by them are sorted by the
    texts. In the three small tables each row is one number.

    prices: one row for each type_number, region_number, way_number and currency, in no particular
        order: price (effective, for an hour, as listed), availability_zone_id, zone_count,
        price_quality.
    types: type_number, provider, instance_type.
    regions: region_number, provider, region_id, region_key (region_id without case).
    ways: way_number, WAY_TO_PAY.
    """

    prices: pl.DataFrame
    types: pl.DataFrame
    regions: pl.DataFrame
    ways: pl.DataFrame


def comparable_prices(prices: pl.DataFrame, *, instance_types: pl.DataFrame) -> Comparable:
    """Select the prices that views compare, and of a region's zones the cheapest.

    Compared are effective hourly prices of shared tenancy, licence included, no software. Retired
    types are left out, and so are price lists that are given for reference only.

    AWS lists spot by zone: the cheapest zone gives its price, its flags and its id. Ties: zone id,
    and last a price that is said of no zone. zone_count is how many zones of the region list a
    price; null where none does.

    Args:
        prices: PRICES. Regions and types are matched without case and written as the providers'
            price lists do; of several spellings the first in the alphabet.
        instance_types: INSTANCE_TYPES; a type without a row there is not known to be retired.
    """
    listed = (
        prices.lazy()
        .filter(
            pl.col("tenancy") == "shared",
            pl.col("license_model") == "included",
            pl.col("pre_installed_software") == "none",
            ~pl.col("price_quality").str.contains(_REFERENCE, literal=True),
        )
        .select(
            # Joins on categories compare integers.
            pl.col(_WORDS).cast(pl.Categorical),
            "term_years",
            "availability_zone_id",
            "price_quality",
            price="effective_hourly_price",
        )
        .collect(engine="in-memory")
    )
    types = _numbered(
        _spellings(listed, "instance_type").join(
            _retired(instance_types), on=["provider", "key"], how="anti"
        ),
        "type_number",
    )
    regions = _numbered(_spellings(listed, "region_id"), "region_number")
    ways = (
        listed.select(WAY_TO_PAY)
        .unique()
        .with_columns(pl.col(pl.Categorical).cast(pl.String))
        .sort(WAY_TO_PAY)
        .with_row_index("way_number")
    )
    numbered = (
        listed.lazy()
        .join(_by_spelling(types, "instance_type"), on=["provider", "instance_type"])
        .join(_by_spelling(regions, "region_id"), on=["provider", "region_id"])
        .join(_categories(ways).lazy(), on=WAY_TO_PAY, nulls_equal=True)
        .select(*_ONE_PRICE, "price", "availability_zone_id", "price_quality")
        .collect(engine="in-memory")
    )
    return Comparable(
        _cheapest_zones(numbered).with_columns(pl.col("currency").cast(pl.String)),
        types.select("type_number", "provider", instance_type="spelling").unique(),
        regions.select(
            "region_number", "provider", region_id="spelling", region_key="key"
        ).unique(),
        ways,
    )


def _spellings(listed: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return provider, listed (one a row), key (without case) and spelling (one for each key)."""
    return (
        listed.select("provider", listed=name)
        .unique()
        .cast(pl.String)
        .with_columns(key=pl.col("listed").str.to_lowercase())
        .with_columns(spelling=pl.col("listed").min().over("provider", "key"))
    )


def _retired(instance_types: pl.DataFrame) -> pl.DataFrame:
    return instance_types.filter(pl.col("lifecycle") == "retired").select(
        "provider", key=pl.col("instance_type").str.to_lowercase()
    )


def _numbered(spellings: pl.DataFrame, number: str) -> pl.DataFrame:
    return spellings.sort("provider", "spelling", "listed").with_columns(
        pl.struct("provider", "spelling").rle_id().alias(number)
    )


def _by_spelling(numbered: pl.DataFrame, name: str) -> pl.LazyFrame:
    return _categories(numbered.drop("key", "spelling").rename({"listed": name})).lazy()


def _categories(texts: pl.DataFrame) -> pl.DataFrame:
    return texts.with_columns(pl.col(pl.String).cast(pl.Categorical))


def _cheapest_zones(numbered: pl.DataFrame) -> pl.DataFrame:
    # Nearly all prices are the only one of their region, and only a hash tells so; sorting is for
    # the rest.
    is_alone = numbered.select(pl.len().over(_ONE_PRICE) == 1).to_series()
    zone = pl.col("availability_zone_id")
    several = (
        numbered.filter(~is_alone)
        .sort("price", "availability_zone_id", "price_quality", nulls_last=True)
        .group_by(_ONE_PRICE)
        .agg(
            pl.col("price", "availability_zone_id", "price_quality").first(),
            zone_count=zone.drop_nulls().n_unique().cast(pl.Int32),
        )
    )
    alone = numbered.filter(is_alone).with_columns(zone_count=zone.is_not_null().cast(pl.Int32))
    return pl.concat([alone, several]).with_columns(
        zone_count=pl.when(pl.col("zone_count") > 0).then("zone_count")
    )
