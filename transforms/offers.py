"""Every instance type in every region: is it priced there, and can it be ordered?"""

import polars as pl

from warehouse.schemas.catalog import OFFERS

_BEST_FIRST = ("priced", "capacity_block_only", "restricted")
"""Where sources differ, the first of these stands."""

_STATUSES = pl.Enum(_BEST_FIRST)
_PLACE = ("provider", "region_key", "type_key")


def make_offers(
    prices: pl.DataFrame,
    *,
    instance_types: pl.DataFrame,
    regions: pl.DataFrame,
    listings: pl.DataFrame,
    offerings: pl.DataFrame,
) -> pl.DataFrame:
    """Cross instance types with the regions of their provider: OFFERS, sorted by key.

    A price and an offering are two statements, of two sources, and each is shown as it is: types
    are priced where they cannot be ordered, and ordered where no price is published.

    price_status. priced: a price other than that of a capacity block is in force.
    capacity_block_only: only capacity blocks are priced, or the type is listed for them without a
    price. restricted: there is no price, and the provider lets nobody order the type there.
    not_published: nothing of these.

    offered. true: the provider says that the type can be ordered there. false: it restricts the
    type there, or says what can be ordered in the region and does not name the type. null: it was
    not asked about the region. zones are those of the offering, null where they are not known.

    What AWS prices as a dedicated host is a family (`m5`), not a type that anybody orders by that
    name. It has an offer only where it has a price or a listing, and no one says of it whether it
    is offered.

    Args:
        prices: PRICES. Regions and types are matched without case; what is in neither reference
            table gives no offer, also in `listings` and `offerings`.
        instance_types: INSTANCE_TYPES.
        regions: REGIONS.
        listings: LISTINGS: types that documents list without an ordinary price.
        offerings: OFFERINGS. Where several rows are of one type and region, those that can be
            ordered count.
    """
    offered = _offered(offerings)
    statuses = _statuses(prices, listings, offered)
    pairs = (
        regions.lazy()
        .select("provider", "region_id")
        .join(instance_types.lazy().select("provider", "instance_type"), on="provider")
        .with_columns(_region_key(), _type_key())
    )
    known_regions = offered.select("provider", "region_key", is_region_known=pl.lit(value=True))
    is_host = (pl.col("provider") == "aws") & ~pl.col("instance_type").str.contains(
        ".", literal=True
    )
    is_named = ~pl.col("is_restricted")
    return (
        pairs.join(statuses, on=_PLACE, how="left", validate="m:1")
        .join(offered, on=_PLACE, how="left", validate="m:1")
        .join(known_regions.unique(), on=["provider", "region_key"], how="left", validate="m:1")
        .filter(~is_host | pl.col("price_status").is_not_null())
        .with_columns(
            pl.col("price_status").cast(pl.String).fill_null("not_published"),
            offered=pl.when(~is_host).then(
                pl.coalesce(is_named, pl.when("is_region_known").then(pl.lit(value=False)))
            ),
        )
        .pipe(OFFERS.conform)
        .sort(OFFERS.key)
        .collect()
    )


def _statuses(prices: pl.DataFrame, listings: pl.DataFrame, offered: pl.LazyFrame) -> pl.LazyFrame:
    """Give the price_status of every place that has one: _PLACE, price_status (_STATUSES)."""
    is_block = pl.col("purchase_option") == "capacity_block"
    priced = prices.lazy().select(
        "provider",
        _region_key(),
        _type_key(),
        price_status=pl.when(is_block)
        .then(pl.lit("capacity_block_only", dtype=_STATUSES))
        .otherwise(pl.lit("priced", dtype=_STATUSES)),
    )
    listed = (
        listings.lazy()
        .filter(pl.col("price_status") != "not_published")
        .select("provider", _region_key(), _type_key(), pl.col("price_status").cast(_STATUSES))
    )
    restricted = offered.filter("is_restricted").select(
        *_PLACE, price_status=pl.lit("restricted", dtype=_STATUSES)
    )
    return (
        pl.concat([priced, listed, restricted]).group_by(_PLACE).agg(pl.col("price_status").min())
    )


def _offered(offerings: pl.DataFrame) -> pl.LazyFrame:
    """Give one row for every place that offerings name: _PLACE, is_restricted, zones."""
    zones = pl.col("zones").filter(~pl.col("is_restricted")).explode().drop_nulls()
    return (
        offerings.lazy()
        .group_by("provider", _region_key(), _type_key())
        .agg(pl.col("is_restricted").all(), zones=zones.unique().sort())
        .with_columns(pl.when(pl.col("zones").list.len() > 0).then("zones"))
    )


def _region_key() -> pl.Expr:
    return pl.col("region_id").str.to_lowercase().alias("region_key")


def _type_key() -> pl.Expr:
    return pl.col("instance_type").str.to_lowercase().alias("type_key")
