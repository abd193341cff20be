"""The published advice, held against the listed prices.

Found again apart from the transform on purpose: what both get wrong must be wrong twice.
"""

from decimal import Decimal

import polars as pl

from expectations.cheapest_prices import zones_of_regions
from expectations.evidence import ADVISED_USES, Evidence
from expectations.table_checks.measured import Measured, TableCheck, count_failures, no_limit
from warehouse.schemas.rules import RULE

_KEY = ("provider", "type_key", "region_key", "operating_system")

_NAMES = ("provider", "instance_type", "region_id", "operating_system")

_COMMITMENT = ("purchase_option", "commitment_type", "term_years", "payment_option")

_ADVISED = ("on_demand", "spot", "reserved", "savings_plan")

_ROUNDING = Decimal("0.0000000051")
"""Half of the last decimal of a price, times the 100 by which costs are multiplied here, and a
little: costs are rounded, and what they are rounded from is compared exactly."""


def advice_checks() -> tuple[TableCheck, ...]:
    """Return the checks of this module."""
    return (
        TableCheck(RULE["purchase_advice.never_beaten"], _never_beaten, no_limit, "none"),
        TableCheck(RULE["purchase_advice.complete"], _complete, no_limit, "none"),
        TableCheck(RULE["purchase_advice.zones_true"], _zones_true, no_limit, "none"),
    )


def _never_beaten(evidence: Evidence) -> Measured:
    """Compare, row by row in US dollars, on demand, spot and the cheapest way for each use.

    Prices in other currencies are converted in the advice, at a rate that rounds; their rows are
    judged by `complete` alone.
    """
    published = evidence.advice.filter(pl.col("currency") == "USD")
    ways = _ways(evidence.comparable_in_usd)
    listed = ways.group_by(_KEY).agg(
        listed_on_demand=_cheapest("on_demand"),
        listed_spot=_cheapest("spot"),
        listed_committed=_cheapest("reserved", "savings_plan"),
    )
    compared = published.join(listed, on=_KEY, how="left", nulls_equal=True, validate="m:1")
    wrong = [
        _differing(compared, "on_demand_usd", "listed_on_demand"),
        _differing(compared, "spot_usd", "listed_spot"),
        *(_beaten(compared, ways, use) for use in ADVISED_USES),
    ]
    return count_failures(
        pl.concat(wrong, how="diagonal"),
        of="purchase_advice",
        checked=published.height * len(wrong),
        counted="answers",
    )


def _cheapest(*options: str) -> pl.Expr:
    is_one = pl.col("purchase_option").is_in(options)
    return pl.col("effective_hourly_price").filter(is_one).min()


def _differing(compared: pl.DataFrame, column: str, listed: str) -> pl.DataFrame:
    return compared.filter(pl.col(column).ne_missing(pl.col(listed))).select(
        *_NAMES, answer=pl.lit(column), published=column, lowest=listed
    )


def _beaten(compared: pl.DataFrame, ways: pl.DataFrame, use: int) -> pl.DataFrame:
    """Return rows whose cheapest way for a use is not listed at its cost, or is not the cheapest.

    All costs are multiplied by 100, so that a use in percent needs no division.
    """
    hundred, percent = pl.lit(Decimal(100)), pl.lit(Decimal(use))
    way, cost = f"cheapest_at_{use}_pct", f"cost_at_{use}_pct_usd"
    is_on_demand = pl.col("way") == "on_demand"
    named = ways.filter(pl.col("purchase_option") != "spot").select(
        *_KEY,
        pl.col("way").alias(way),
        named_cost=_money("effective_hourly_price")
        * pl.when(is_on_demand).then(percent).otherwise(hundred),
    )
    lowest = pl.min_horizontal(
        _money("listed_on_demand") * percent, _money("listed_committed") * hundred
    )
    published = _money(cost) * hundred
    judged = compared.join(
        named, on=[*_KEY, way], how="left", nulls_equal=True, validate="m:1"
    ).with_columns(lowest_cost=lowest, published_cost=published)
    is_right = (pl.col("named_cost") == pl.col("lowest_cost")) & (
        (pl.col("published_cost") - pl.col("lowest_cost")).abs() < pl.lit(_ROUNDING)
    )
    is_nothing = pl.all_horizontal(pl.col(way, cost, "lowest_cost").is_null())
    return judged.filter(~is_right.fill_null(value=False) & ~is_nothing).select(
        *_NAMES,
        answer=pl.lit(way),
        way=pl.col(way).cast(pl.String),
        published=cost,
        lowest=pl.min_horizontal("listed_on_demand", "listed_committed"),
    )


def _money(column: str) -> pl.Expr:
    return pl.col(column).cast(pl.Decimal(38, 10))


def _complete(evidence: Evidence) -> Measured:
    priced = (
        evidence.comparable_prices.filter(pl.col("purchase_option").is_in(_ADVISED))
        .group_by(_KEY)
        .agg(pl.col("region_id", "instance_type").cast(pl.String).min())
    )
    missing = priced.join(evidence.advice, on=_KEY, how="anti")
    return count_failures(
        missing.select(_NAMES), of="purchase_advice", checked=priced.height, counted="rows"
    )


def _zones_true(evidence: Evidence) -> Measured:
    """Hold the zone of each spot price and the number of zones against what the region lists."""
    spot = evidence.comparable_in_usd.filter(pl.col("purchase_option") == "spot")
    way_key = [name for name in _KEY if name != "region_key"]
    zones = zones_of_regions(spot, way_key)
    published = evidence.advice.filter(
        pl.col("currency") == "USD", pl.col("spot_usd").is_not_null()
    )
    key = [*_KEY, "availability_zone_id"]
    failing = published.join(zones, on=key, how="left", nulls_equal=True, validate="m:1").filter(
        pl.col("zone_price").ne_missing(pl.col("spot_usd"))
        | (pl.col("spot_zone_count").fill_null(0) != pl.col("zones_listed"))
    )
    shown = ("availability_zone_id", "spot_usd", "zone_price", "spot_zone_count", "zones_listed")
    return count_failures(
        failing.select(*_NAMES, *shown),
        of="purchase_advice",
        checked=published.height,
        counted="rows",
    )


def _ways(prices: pl.DataFrame) -> pl.DataFrame:
    """Return prices with `way`, as the advice spells it."""
    labels = (
        prices.select(_COMMITMENT)
        .unique()
        .with_columns(
            way=pl.concat_str(_COMMITMENT, separator="/", ignore_nulls=True).cast(pl.Categorical)
        )
    )
    return prices.filter(pl.col("purchase_option").is_in(_ADVISED)).join(
        labels, on=_COMMITMENT, nulls_equal=True, validate="m:1"
    )
