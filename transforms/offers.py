"""Every instance type in every region: is it priced there?"""

import polars as pl

from warehouse.schemas.catalog import OFFERS

_BEST_FIRST = ("priced", "capacity_block_only", "restricted")
"""Where sources differ, the first of these stands."""


def make_offers(
    prices: pl.DataFrame,
    *,
    instance_types: pl.DataFrame,
    regions: pl.DataFrame,
    listings: pl.DataFrame,
) -> pl.DataFrame:
    """Cross instance types with the regions of their provider: OFFERS, sorted by key.

    priced: a price other than that of a capacity block is in force. capacity_block_only: only
    capacity blocks are priced, or the type is listed for them without a price. not_published:
    nothing is listed. A price says nothing of whether the type can be ordered, and none says
    nothing of whether it cannot, so `offered` and `zones` are null here.

    Args:
        prices: PRICES. Regions and types are matched without case; what is in neither reference
            table gives no offer.
        instance_types: INSTANCE_TYPES.
        regions: REGIONS.
        listings: LISTINGS: types that documents list without an ordinary price.
    """
    statuses = pl.Enum(_BEST_FIRST)
    is_block = pl.col("purchase_option") == "capacity_block"
    priced = prices.lazy().select(
        *_matched_on(),
        price_status=pl.when(is_block)
        .then(pl.lit("capacity_block_only", dtype=statuses))
        .otherwise(pl.lit("priced", dtype=statuses)),
    )
    listed = (
        listings.lazy()
        .filter(pl.col("price_status") != "not_published")
        .select(*_matched_on(), pl.col("price_status").cast(statuses))
    )
    best = (
        pl.concat([priced, listed])
        .group_by("provider", "region_key", "type_key")
        .agg(pl.col("price_status").min())
    )
    pairs = (
        regions.lazy()
        .select("provider", "region_id")
        .join(instance_types.lazy().select("provider", "instance_type"), on="provider")
        .with_columns(*_matched_on()[1:])
    )
    return (
        pairs.join(best, on=["provider", "region_key", "type_key"], how="left", validate="m:1")
        .with_columns(
            pl.col("price_status").cast(pl.String).fill_null("not_published"),
            offered=pl.lit(None, dtype=pl.Boolean),
            zones=pl.lit(None, dtype=pl.List(pl.String)),
        )
        .pipe(OFFERS.conform)
        .sort(OFFERS.key)
        .collect()
    )


def _matched_on() -> list[pl.Expr]:
    return [
        pl.col("provider"),
        pl.col("region_id").str.to_lowercase().alias("region_key"),
        pl.col("instance_type").str.to_lowercase().alias("type_key"),
    ]
