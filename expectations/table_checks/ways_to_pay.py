"""What one machine costs under different ways to pay."""

from decimal import Decimal
from itertools import combinations

import polars as pl

from expectations.evidence import PRICE_KEY, Evidence
from expectations.table_checks.measured import Measured, TableCheck, count_failures, no_limit
from warehouse.schemas.rules import RULE

_COMMITMENT = ("purchase_option", "commitment_type", "term_years", "payment_option")

_MACHINE = tuple(name for name in PRICE_KEY if name not in {*_COMMITMENT, "availability_zone_id"})
"""What one on-demand price holds for, in all zones of the region."""

_PLAN = tuple(name for name in PRICE_KEY if name != "term_years")

_SPOT_ROUNDING = Decimal("0.00005")
"""AWS lists spot with four decimals and on-demand with five or more, so that spot at the on-demand
price is listed up to half a unit of the fourth decimal dearer (10.3379 for 10.33786). All 44 such
rows of AWS's list of summer 2026 are within it, and none of Azure's 215,000 is dearer at all."""

_SHOWN = (
    "provider",
    "region_id",
    "availability_zone_id",
    "instance_type",
    "operating_system",
    "license_model",
    "pre_installed_software",
    "tenancy",
    *_COMMITMENT,
    "effective_hourly_price",
    "dearer_than",
    "other_price",
    "price_quality",
)


def way_checks() -> tuple[TableCheck, ...]:
    """Return the checks of this module."""
    return (
        TableCheck(
            RULE["prices.spot_not_above_on_demand"], _spot_not_above_on_demand, no_limit, "none"
        ),
        TableCheck(RULE["prices.commitments_ordered"], _commitments_ordered, no_limit, "none"),
    )


def _spot_not_above_on_demand(evidence: Evidence) -> Measured:
    compared = _beside_on_demand(evidence, ("spot", "low_priority"))
    allowed = (
        pl.when(pl.col("provider") == "aws")
        .then(pl.lit(_SPOT_ROUNDING))
        .otherwise(pl.lit(Decimal(0)))
    )
    failing = compared.filter(pl.col("effective_hourly_price") > pl.col("other_price") + allowed)
    return count_failures(
        failing.select(_SHOWN), of="prices", checked=compared.height, counted="prices"
    )


def _commitments_ordered(evidence: Evidence) -> Measured:
    """Compare each commitment with on demand and with the same one for shorter terms."""
    plans = _beside_on_demand(evidence, ("reserved", "savings_plan"))
    pairs = [plans, *_beside_shorter_terms(evidence)]
    failing = pl.concat(
        pair.filter(pl.col("effective_hourly_price") > pl.col("other_price")).select(_SHOWN)
        for pair in pairs
    )
    checked = sum(pair.height for pair in pairs)
    return count_failures(failing, of="prices", checked=checked, counted="pairs")


def _beside_on_demand(evidence: Evidence, options: tuple[str, ...]) -> pl.DataFrame:
    """Return prices of these options whose machine has an on-demand price, with that price."""
    option = pl.col("purchase_option")
    on_demand = (
        evidence.prices.filter(option == "on_demand")
        .group_by(_MACHINE)
        .agg(other_price=pl.col("effective_hourly_price").min())
    )
    return (
        evidence.prices.filter(option.is_in(options))
        .join(on_demand, on=_MACHINE, validate="m:1")
        .with_columns(dearer_than=pl.lit("on demand"))
    )


def _beside_shorter_terms(evidence: Evidence) -> list[pl.DataFrame]:
    """Return commitments that are listed for a shorter term too, with the price of that term."""
    plans = evidence.prices.filter(pl.col("term_years").is_not_null())
    terms = plans["term_years"].unique().sort().to_list()
    return [
        plans.filter(pl.col("term_years") == long)
        .join(
            plans.filter(pl.col("term_years") == short)
            .group_by(_PLAN)
            .agg(other_price=pl.col("effective_hourly_price").min()),
            on=_PLAN,
            nulls_equal=True,
            validate="m:1",
        )
        .with_columns(dearer_than=pl.format("{} year(s)", pl.lit(short)))
        for short, long in combinations(terms, 2)
    ]
