"""The published winners, held against the cheapest prices found again from `prices`."""

import polars as pl

from expectations.cheapest_prices import WAY_KEY
from expectations.evidence import Evidence
from expectations.table_checks.measured import Measured, TableCheck, count_failures, no_limit
from warehouse.schemas.rules import RULE

_WAY = tuple("instance_type" if name == "type_key" else name for name in WAY_KEY)


def cheapest_checks() -> tuple[TableCheck, ...]:
    """Return the checks of this module."""
    return (
        TableCheck(RULE["cheapest_region.never_beaten"], _never_beaten, no_limit, "none"),
        TableCheck(RULE["cheapest_region.complete"], _complete, no_limit, "none"),
    )


def _never_beaten(evidence: Evidence) -> Measured:
    """Compare each winner with the lowest price in its scope and with its own region's price."""
    found = evidence.cheapest_by_scope
    own = evidence.comparable_prices.group_by(*WAY_KEY, "region_key").agg(
        listed_price=pl.col("effective_hourly_price").min()
    )
    published = _published(evidence)
    judged = (
        published.join(found, on=[*WAY_KEY, "scope"], how="left", nulls_equal=True, validate="m:1")
        .join(own, on=[*WAY_KEY, "region_key"], how="left", nulls_equal=True, validate="m:1")
        .filter(
            pl.col("lowest_price").ne_missing(pl.col("price_usd"))
            | pl.col("listed_price").ne_missing(pl.col("price_usd"))
        )
    )
    shown = ("scope", "region_id", "price_usd", "listed_price", "lowest_price", "lowest_region_id")
    return count_failures(
        judged.select(*_WAY, *shown),
        of="cheapest_region",
        checked=published.height,
        counted="rows",
    )


def _complete(evidence: Evidence) -> Measured:
    found = evidence.cheapest_by_scope
    missing = found.join(_published(evidence), on=[*WAY_KEY, "scope"], how="anti", nulls_equal=True)
    return count_failures(
        missing.select(*WAY_KEY, "scope", "lowest_region_id", "lowest_price").rename(
            {"type_key": "instance_type"}
        ),
        of="cheapest_region",
        checked=found.height,
        counted="rows",
    )


def _published(evidence: Evidence) -> pl.DataFrame:
    words = [name for name in (*_WAY, "scope", "region_id") if name != "term_years"]
    return (
        evidence.table("cheapest_region")
        .select(*_WAY, "scope", "region_id", "price_usd")
        .with_columns(
            type_key=pl.col("instance_type").str.to_lowercase().cast(pl.Categorical),
            region_key=pl.col("region_id").str.to_lowercase().cast(pl.Categorical),
        )
        .with_columns(pl.col(words).cast(pl.Categorical))
        .collect(engine="in-memory")
    )
