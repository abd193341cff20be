"""Where each instance type is cheapest."""

import polars as pl

from transforms.fx_rates import divide_money, newest_rate
from transforms.list_prices import add_flag
from warehouse.schemas.catalog import CHEAPEST_REGION
from warehouse.schemas.table import PRICE
from warehouse.schemas.vocabulary import CONTINENTS, PUBLIC_PARTITIONS

_GOVERNMENT_PARTITIONS = ("aws-us-gov", "azure-us-gov")

_WAY_TO_PAY = (
    "operating_system",
    "purchase_option",
    "commitment_type",
    "term_years",
    "payment_option",
)

_OFFER = ("provider", "type_key", *_WAY_TO_PAY)

_SPREAD_DECIMALS = 4

_CARRIED_OVER = "carried_over"


def make_cheapest_region(
    prices: pl.DataFrame,
    *,
    regions: pl.DataFrame,
    instance_types: pl.DataFrame,
    fx_rates: pl.DataFrame,
) -> pl.DataFrame:
    """Find the cheapest region of every type, way to pay and scope: CHEAPEST_REGION, by key.

    Compared are effective hourly prices in US dollars of shared tenancy, licence included, no
    software. Prices listed in other currencies are left out rather than mixed in: at the day's
    rate they would change places without any provider having changed a price. A region takes part
    with the cheapest of its zones (spot is priced by zone), and only in scopes that its row in
    `regions` is known to belong to. Retired types are left out.

    Ties: the regions of the lowest price are sorted by region_id; the first is region_id, the
    others are tied_region_ids. dearest_region_id is the first by region_id of the highest price.
    spread_pct is rounded to 4 decimals. price_eur is rounded half-even to 10 decimals.

    price_quality has the flags of the price of region_id, and carried_over where the price of any
    compared region has it: ties, second price, dearest region and spread rest on all of them.

    Args:
        prices: PRICES. Regions and types are matched without case and written as the providers'
            price lists do; of several spellings the first in the alphabet.
        regions: REGIONS.
        instance_types: INSTANCE_TYPES; a type without a row there is not known to be retired.
        fx_rates: FX_RATES; the newest day of the US dollar is taken. Without one, price_eur and
            fx_rate_date are null.
    """
    listed = _cheapest_of_region(_compared(prices, instance_types)).collect(engine="in-memory")
    # A number in place of the offer's many texts: each scope's pass then touches a few bytes a row.
    offers = (
        listed.group_by(_OFFER).agg(pl.col("instance_type").min()).with_row_index("offer_number")
    )
    ranked = (
        listed.join(offers, on=_OFFER, nulls_equal=True, validate="m:1")
        .select(
            "offer_number",
            "provider",
            "region_key",
            "region_id",
            "price",
            "price_quality",
            is_carried_over=pl.col("price_quality").str.contains(_CARRIED_OVER, literal=True),
        )
        .sort("price", "region_id")
    )
    answers = pl.concat(
        _answers(ranked.join(members, on=members.columns, how="semi", maintain_order="left"), scope)
        for scope, members in _scopes(regions).items()
    )
    return (
        answers.lazy()
        .join(offers.lazy(), on="offer_number", validate="m:1")
        .join(_euro_rate(fx_rates).lazy(), how="cross")
        .with_columns(price_eur=divide_money(pl.col("price_usd"), pl.col("usd_per_eur")))
        .pipe(CHEAPEST_REGION.conform)
        .sort(CHEAPEST_REGION.key)
        .collect(engine="in-memory")
    )


def _compared(prices: pl.DataFrame, instance_types: pl.DataFrame) -> pl.LazyFrame:
    type_key = pl.col("instance_type").str.to_lowercase()
    retired = (
        instance_types.lazy()
        .filter(pl.col("lifecycle") == "retired")
        .select("provider", type_key=type_key)
    )
    return (
        prices.lazy()
        .filter(
            pl.col("tenancy") == "shared",
            pl.col("license_model") == "included",
            pl.col("pre_installed_software") == "none",
            pl.col("currency") == "USD",
        )
        .with_columns(type_key=type_key, region_key=pl.col("region_id").str.to_lowercase())
        .join(retired, on=["provider", "type_key"], how="anti")
    )


def _cheapest_of_region(compared: pl.LazyFrame) -> pl.LazyFrame:
    # Zones of one price may carry different flags; which of them shows must not depend on order.
    quality = pl.col("price_quality").sort_by("effective_hourly_price", "price_quality").first()
    return compared.group_by(*_OFFER, "region_key").agg(
        pl.col("region_id", "instance_type").min(),
        price=pl.col("effective_hourly_price").min(),
        price_quality=quality,
    )


def _scopes(regions: pl.DataFrame) -> dict[str, pl.DataFrame]:
    is_region = pl.col("region_kind") == "region"
    is_public = pl.col("partition").is_in(PUBLIC_PARTITIONS)
    orderable = is_region & is_public
    conditions = {
        "world": orderable,
        "eu": orderable & pl.col("is_eu"),
        "eea": orderable & pl.col("is_eea"),
        "de": orderable & (pl.col("country_code") == "DE"),
        **{place: orderable & (pl.col("geography") == place) for place in CONTINENTS},
        "us_gov": is_region & pl.col("partition").is_in(_GOVERNMENT_PARTITIONS),
        "zones": ~is_region & is_public,
    }
    region_key = pl.col("region_id").str.to_lowercase()
    return {
        scope: regions.filter(condition).select("provider", region_key=region_key)
        for scope, condition in conditions.items()
    }


def _answers(ranked: pl.DataFrame, scope: str) -> pl.DataFrame:
    """Read each offer's answer off its regions, which come sorted by price and region_id."""
    price = pl.element()
    tied_count = pl.col("prices").list.eval(price == price.first()).list.sum()
    below_dearest_count = pl.col("prices").list.eval(price < price.last()).list.sum()
    gap = (pl.col("dearest_price_usd") - pl.col("price_usd")).cast(pl.Float64)
    return (
        ranked.group_by("offer_number")
        .agg(
            pl.col("region_id").first(),
            pl.col("price_quality").first(),
            pl.col("is_carried_over").any(),
            price_usd=pl.col("price").first(),
            dearest_price_usd=pl.col("price").last(),
            region_count=pl.len().cast(pl.Int32),
            regions=pl.col("region_id"),
            prices=pl.col("price"),
        )
        .with_columns(
            add_flag(_CARRIED_OVER, where=pl.col("is_carried_over")),
            scope=pl.lit(scope),
            tied_region_ids=pl.col("regions").list.slice(1, tied_count - 1),
            second_price_usd=pl.col("prices").list.get(tied_count, null_on_oob=True),
            dearest_region_id=pl.col("regions").list.get(below_dearest_count),
            spread_pct=(gap / pl.col("price_usd").cast(pl.Float64) * 100).round(_SPREAD_DECIMALS),
        )
        .drop("regions", "prices", "is_carried_over")
    )


def _euro_rate(fx_rates: pl.DataFrame) -> pl.DataFrame:
    """One row, with nulls where there is no rate."""
    newest = newest_rate(fx_rates, "USD").select(
        usd_per_eur="units_per_eur", fx_rate_date="rate_date"
    )
    nothing = pl.DataFrame(
        {"usd_per_eur": [None], "fx_rate_date": [None]},
        schema={"usd_per_eur": PRICE, "fx_rate_date": pl.Date},
    )
    return nothing if newest.is_empty() else newest
