"""The published winners, held against the cheapest prices found again from `prices`."""

import polars as pl

from expectations.cheapest_prices import WAY_KEY, zones_of_regions
from expectations.evidence import Evidence
from expectations.table_checks.measured import Measured, TableCheck, count_failures, no_limit
from warehouse.schemas.rules import RULE

_WAY = tuple("instance_type" if name == "type_key" else name for name in WAY_KEY)


def cheapest_checks() -> tuple[TableCheck, ...]:
    """Return the checks of this module."""
    return (
        TableCheck(RULE["cheapest_region.never_beaten"], _never_beaten, no_limit, "none"),
        TableCheck(RULE["cheapest_region.complete"], _complete, no_limit, "none"),
        TableCheck(RULE["cheapest_region.zones_true"], _zones_true, no_limit, "none"),
    )


def _never_beaten(evidence: Evidence) -> Measured:
    """Compare each winner with the lowest price in its scope and with its own region's price."""
    found = evidence.cheapest_by_scope
    own = evidence.comparable_in_usd.group_by(*WAY_KEY, "region_key").agg(
        listed_price=pl.col("effective_hourly_price").min()
    )
    published = evidence.winners
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
    missing = found.join(evidence.winners, on=[*WAY_KEY, "scope"], how="anti", nulls_equal=True)
    return count_failures(
        missing.select(*WAY_KEY, "scope", "lowest_region_id", "lowest_price").rename(
            {"type_key": "instance_type"}
        ),
        of="cheapest_region",
        checked=found.height,
        counted="rows",
    )


def _zones_true(evidence: Evidence) -> Measured:
    """Hold the winner's zone and the number of zones against what the region lists."""
    zones = zones_of_regions(evidence.comparable_in_usd, WAY_KEY)
    published = evidence.winners
    key = [*WAY_KEY, "region_key", "availability_zone_id"]
    failing = published.join(zones, on=key, how="left", nulls_equal=True, validate="m:1").filter(
        pl.col("zone_price").ne_missing(pl.col("price_usd"))
        | (pl.col("zone_count").fill_null(0) != pl.col("zones_listed"))
    )
    shown = ("region_id", "availability_zone_id", "price_usd", "zone_price")
    return count_failures(
        failing.select(*_WAY, "scope", *shown, "zone_count", "zones_listed"),
        of="cheapest_region",
        checked=published.height,
        counted="rows",
    )
