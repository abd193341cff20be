"""What changed against the last release, in the regions that the run was asked for."""

from collections.abc import Callable

import polars as pl

from expectations.evidence import NO_PREVIOUS, Evidence, is_listed
from expectations.table_checks.measured import (
    Measured,
    TableCheck,
    count_failures,
    judge_each,
    no_limit,
    not_applicable,
)
from expectations.thresholds import GateThresholds
from warehouse.schemas.rules import RULE

_SHOWN = (
    "provider",
    "region_id",
    "instance_type",
    "operating_system",
    "license_model",
    "pre_installed_software",
    "tenancy",
    "purchase_option",
    "term_years",
    "payment_option",
    "old_price",
    "new_price",
    "change_pct",
)


def drift_checks() -> tuple[TableCheck, ...]:
    """Return the checks of this module. Without an earlier release none is applicable."""
    return (
        _check("prices.regions_kept", _regions_kept, no_limit, "none"),
        _check("prices.spot_present", _spot_present, no_limit, "none"),
        _check(
            "prices.most_rows_kept",
            _lost_rows,
            lambda limits: limits.lost_rows_pct,
            "% of its rows",
        ),
        _check(
            "prices.rows_kept",
            _lost_rows,
            lambda limits: limits.lost_rows_notice_pct,
            "% of its rows",
        ),
        _check(
            "prices.growth", _growth, lambda limits: limits.growth_pct, "% more than last release"
        ),
        _check("prices.types_kept", _types_kept, no_limit, "none"),
        _check(
            "prices.most_types_kept",
            _vanished_types,
            lambda limits: limits.vanished_types_pct,
            "% of its types",
        ),
        _check("prices.no_jump", _jumps, no_limit, "none"),
        _check(
            "prices.few_jumps",
            _jump_share,
            lambda limits: limits.jumping_rows_pct,
            "% of the compared rows",
        ),
    )


def _check(
    rule_id: str,
    measure: Callable[[Evidence], Measured],
    limit: Callable[[GateThresholds], float],
    limit_text: str,
) -> TableCheck:
    def against_previous(evidence: Evidence) -> Measured:
        return not_applicable(NO_PREVIOUS) if evidence.previous is None else measure(evidence)

    return TableCheck(RULE[rule_id], against_previous, limit, limit_text)


def _regions_kept(evidence: Evidence) -> Measured:
    return _regions_without(evidence, is_listed())


def _spot_present(evidence: Evidence) -> Measured:
    return _regions_without(evidence, pl.col("purchase_option") == "spot")


def _regions_without(evidence: Evidence, kind: pl.Expr) -> Measured:
    """Find regions that had prices of a kind and have none now."""
    key = ["provider", "region_key"]
    before = _count(evidence.previous_prices.filter(kind), *key, rows="prices_before")
    names = evidence.asked.select(*key, "region_id")
    gone = before.join(evidence.prices.filter(kind), on=key, how="anti").join(
        names, on=key, validate="1:1"
    )
    return count_failures(
        gone.select("provider", "region_id", "prices_before"),
        of="prices",
        checked=before.height,
        counted="regions",
    )


def _lost_rows(evidence: Evidence) -> Measured:
    """Measure the share of each region's prices whose key is gone, whatever came instead."""
    regions = (
        evidence.compared.group_by("provider", "region_key")
        .agg(
            region_id=pl.col("region_id").cast(pl.String).min(),
            rows_before=pl.len(),
            rows_lost=pl.col("new_price").is_null().sum(),
        )
        .with_columns(
            lost_pct=pl.when(pl.col("rows_lost") >= evidence.thresholds.lost_rows_at_least)
            .then((100 * pl.col("rows_lost") / pl.col("rows_before")).round(2))
            .otherwise(0.0)
        )
        .drop("region_key")
    )
    return judge_each(
        regions,
        subject=pl.format("{} {}", "provider", "region_id"),
        measured="lost_pct",
        counted="regions",
    )


def _growth(evidence: Evidence) -> Measured:
    before = _count(evidence.previous_prices.filter(is_listed()), "provider", rows="rows_before")
    now = _count(evidence.asked_prices.filter(is_listed()), "provider", rows="rows_now")
    grown = before.join(now, on="provider", how="left", validate="1:1").with_columns(
        growth_pct=(100 * (pl.col("rows_now").fill_null(0) / pl.col("rows_before") - 1)).round(2)
    )
    return judge_each(grown, subject=pl.col("provider"), measured="growth_pct", counted="providers")


def _types_kept(evidence: Evidence) -> Measured:
    key = ["provider", "region_key", "type_key"]
    before = evidence.compared.group_by(key).agg(
        pl.col("region_id", "instance_type").cast(pl.String).min(),
        prices_before=pl.len(),
    )
    gone = before.join(evidence.prices.filter(is_listed()), on=key, how="anti").drop(
        "region_key", "type_key"
    )
    return count_failures(gone, of="prices", checked=before.height, counted="types in a region")


def _vanished_types(evidence: Evidence) -> Measured:
    key = ["provider", "type_key"]
    now = evidence.prices.filter(is_listed()).select(key).unique().with_columns(is_there=True)
    types = (
        evidence.compared.group_by(key)
        .agg(pl.col("instance_type").cast(pl.String).min())
        .join(now, on=key, how="left", validate="1:1")
    )
    is_gone = pl.col("is_there").is_null()
    shares = types.group_by("provider").agg(
        types_before=pl.len(),
        types_gone=is_gone.sum(),
        gone_pct=(100 * is_gone.mean()).round(2),
        gone=pl.col("instance_type").filter(is_gone).sort().head(50).str.join(", "),
    )
    return judge_each(shares, subject=pl.col("provider"), measured="gone_pct", counted="providers")


def _jumps(evidence: Evidence) -> Measured:
    steady = _steady(evidence)
    jumping = steady.filter("is_jump").with_columns(
        change_pct=((pl.col("ratio") - 1) * 100).round(2)
    )
    return count_failures(
        jumping.select(_SHOWN), of="prices", checked=steady.height, counted="prices"
    )


def _jump_share(evidence: Evidence) -> Measured:
    shares = (
        _steady(evidence)
        .group_by("provider")
        .agg(
            compared=pl.len(),
            jumps=pl.col("is_jump").sum(),
            jumps_pct=(100 * pl.col("is_jump").mean()).round(3),
        )
    )
    return judge_each(shares, subject=pl.col("provider"), measured="jumps_pct", counted="providers")


def _steady(evidence: Evidence) -> pl.DataFrame:
    """Return compared prices that do not move by nature, with ratio and is_jump."""
    ratio = pl.col("new_price").cast(pl.Float64) / pl.col("old_price").cast(pl.Float64)
    # The limit is inclusive, and a ratio of two decimals is not exact.
    limit = evidence.thresholds.jump_pct / 100 + 1e-9
    return evidence.compared.filter(
        pl.col("new_price").is_not_null(),
        pl.col("old_price") > 0,
        pl.col("pricing_category") != "Dynamic",
    ).with_columns(ratio=ratio, is_jump=(ratio - 1).abs() > limit)


def _count(prices: pl.DataFrame, *by: str, rows: str) -> pl.DataFrame:
    return prices.group_by(by).agg(pl.len().cast(pl.Int64).alias(rows))
