"""Where the rows come from: age of documents and rates, and no row lost on the way."""

import polars as pl

from expectations.evidence import Evidence
from expectations.table_checks.measured import (
    Measured,
    TableCheck,
    count_failures,
    judge_each,
    no_limit,
    not_applicable,
)
from warehouse.schemas.rules import RULE

_MINUTES_PER_HOUR = 60
_HOURS_PER_DAY = 24


def provenance_checks() -> tuple[TableCheck, ...]:
    """Return the checks of this module."""
    return (
        TableCheck(RULE["sources.fresh"], _fresh, lambda limits: limits.stale_hours, "hours"),
        TableCheck(
            RULE["sources.not_outdated"],
            _not_outdated,
            lambda limits: limits.outdated_days * _HOURS_PER_DAY,
            "hours",
        ),
        TableCheck(RULE["fx_rates.usd_present"], _usd_present, no_limit, "none"),
        TableCheck(RULE["fx_rates.fresh"], _fx_fresh, lambda limits: limits.fx_age_days, "days"),
        TableCheck(RULE["sources.rows_conserved"], _rows_conserved, no_limit, "none"),
        TableCheck(RULE["prices.kept_counted"], _kept_counted, no_limit, "none"),
        TableCheck(RULE["rejected_rows.counted"], _rejected_counted, no_limit, "none"),
        TableCheck(
            RULE["rejected_rows.very_few"],
            _rejected_share,
            lambda limits: limits.rejected_rows_notice_pct,
            "% of the rows read",
        ),
        TableCheck(
            RULE["rejected_rows.few"],
            _rejected_share,
            lambda limits: limits.rejected_rows_pct,
            "% of the rows read",
        ),
    )


def _fresh(evidence: Evidence) -> Measured:
    return _judge_age(_aged(evidence))


def _not_outdated(evidence: Evidence) -> Measured:
    return _judge_age(_aged(evidence).filter(~pl.col("is_recorded")))


def _judge_age(aged: pl.DataFrame) -> Measured:
    shown = aged.select("source_id", "fetched_at", "confirmed_at", "is_recorded", "age_hours")
    return judge_each(shown, subject=pl.col("source_id"), measured="age_hours", counted="documents")


def _aged(evidence: Evidence) -> pl.DataFrame:
    """Return this run's documents with the hours from their last confirmation to the as-of time.

    Not from the fetch: what did not change is not fetched again. Carried-over documents have their
    own check.
    """
    age = (pl.lit(evidence.request.as_of) - pl.col("confirmed_at")).dt.total_minutes()
    return evidence.sources.filter(~pl.col("is_carried_over")).with_columns(
        age_hours=(age / _MINUTES_PER_HOUR).round(1)
    )


def _usd_rates(evidence: Evidence) -> pl.DataFrame:
    rates = evidence.table("fx_rates").filter(pl.col("currency") == "USD")
    return rates.select("currency", "rate_date").collect(engine="in-memory")


def _usd_present(evidence: Evidence) -> Measured:
    missing = pl.DataFrame({"currency": ["USD"] if _usd_rates(evidence).is_empty() else []})
    return count_failures(missing, of="USD", checked=1, counted="currencies")


def _fx_fresh(evidence: Evidence) -> Measured:
    rates = _usd_rates(evidence)
    if rates.is_empty():
        return not_applicable("there is no rate of the US dollar at all")
    today = pl.lit(evidence.request.as_of.date())
    newest = (
        rates.group_by("currency")
        .agg(pl.col("rate_date").max())
        .with_columns(age_days=(today - pl.col("rate_date")).dt.total_days())
    )
    return judge_each(newest, subject=pl.col("currency"), measured="age_days", counted="rates")


def _counted(evidence: Evidence, outcome: str | None = None) -> pl.DataFrame:
    counts = evidence.row_counts
    if outcome is not None:
        counts = counts.filter(pl.col("outcome") == outcome)
    return counts.group_by("source_id").agg(counted=pl.col("rows").sum())


def _rows_conserved(evidence: Evidence) -> Measured:
    """Compare the rows read of each document with the rows accounted for."""
    read = evidence.sources.drop_nulls("rows").select("source_id", rows_read="rows")
    compared = read.join(
        _counted(evidence), on="source_id", how="full", coalesce=True
    ).with_columns(pl.col("rows_read", "counted").fill_null(0))
    return _judge_difference(compared, "rows_read")


def _kept_counted(evidence: Evidence) -> Measured:
    published = (
        pl.concat(
            prices.select(pl.col("source_id").cast(pl.String))
            for prices in (evidence.prices, evidence.announced)
        )
        .group_by("source_id")
        .agg(prices=pl.len().cast(pl.Int64))
    )
    compared = published.join(
        _counted(evidence, "kept"), on="source_id", how="full", coalesce=True
    ).with_columns(pl.col("prices", "counted").fill_null(0))
    return _judge_difference(compared, "prices")


def _rejected_counted(evidence: Evidence) -> Measured:
    shown = (
        evidence.table("rejected_rows")
        .group_by("source_id")
        .agg(rejected_rows=pl.len().cast(pl.Int64))
        .collect(engine="in-memory")
    )
    compared = shown.join(
        _counted(evidence, "rejected"), on="source_id", how="full", coalesce=True
    ).with_columns(pl.col("rejected_rows", "counted").fill_null(0))
    return _judge_difference(compared, "rejected_rows")


def _judge_difference(compared: pl.DataFrame, found: str) -> Measured:
    different = compared.filter(pl.col(found) != pl.col("counted")).select(
        "source_id", found, "counted"
    )
    return count_failures(different, of="row counts", checked=compared.height, counted="documents")


def _rejected_share(evidence: Evidence) -> Measured:
    providers = evidence.sources.select("source_id", "provider")
    shares = (
        evidence.row_counts.join(providers, on="source_id", how="left", validate="m:1")
        .group_by(pl.col("provider").fill_null("unknown"))
        .agg(
            rows_read=pl.col("rows").sum(),
            rejected=pl.col("rows").filter(pl.col("outcome") == "rejected").sum(),
        )
        .filter(pl.col("rows_read") > 0)
        .with_columns(rejected_pct=(100 * pl.col("rejected") / pl.col("rows_read")).round(3))
    )
    return judge_each(
        shares, subject=pl.col("provider"), measured="rejected_pct", counted="providers"
    )
