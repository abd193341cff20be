"""Figures that the report shows beside the rules: rows, documents and coverage by provider."""

from dataclasses import dataclass

import polars as pl

from expectations.evidence import Evidence, is_carried_over
from expectations.samples import Sample, sample_rows

_NO_LIMIT = 1_000_000


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures of a candidate, each a list of plain rows; empty where its tables are unreadable.

    tables: rows of each table. inputs: documents by source, with their dates. rows: rows read,
    kept, rejected and filtered by provider. outcomes: rows by provider, outcome and rule.
    coverage: regions, types and prices by provider. row_counts: ROW_COUNTS as it is.
    """

    tables: Sample = ()
    inputs: Sample = ()
    rows: Sample = ()
    outcomes: Sample = ()
    coverage: Sample = ()
    row_counts: Sample = ()


def release_figures(evidence: Evidence) -> Figures:
    """Count what a candidate holds and what it was made from."""
    outcomes = _outcomes(evidence)
    return Figures(
        tables=sample_rows(_tables(evidence), _NO_LIMIT),
        inputs=sample_rows(_inputs(evidence), _NO_LIMIT),
        rows=sample_rows(_rows(outcomes), _NO_LIMIT),
        outcomes=sample_rows(outcomes, _NO_LIMIT),
        coverage=sample_rows(_coverage(evidence), _NO_LIMIT),
        row_counts=sample_rows(evidence.row_counts, _NO_LIMIT),
    )


def _tables(evidence: Evidence) -> pl.DataFrame:
    counts = {
        name: frame.select(pl.len()).collect(engine="in-memory").item()
        for name, frame in evidence.candidate.tables.items()
    }
    return pl.DataFrame({"table": counts.keys(), "rows": counts.values()})


def _inputs(evidence: Evidence) -> pl.DataFrame:
    notes = pl.col("note").drop_nulls().unique().sort().str.join("; ")
    return evidence.sources.group_by("provider", "source", "is_recorded", "is_carried_over").agg(
        documents=pl.len(),
        bytes=pl.col("bytes").sum(),
        rows=pl.col("rows").sum(),
        fetched_from=pl.col("fetched_at").min(),
        fetched_to=pl.col("fetched_at").max(),
        confirmed_from=pl.col("confirmed_at").min(),
        confirmed_to=pl.col("confirmed_at").max(),
        published_from=pl.col("published_at").min(),
        published_to=pl.col("published_at").max(),
        note=notes,
    )


def _outcomes(evidence: Evidence) -> pl.DataFrame:
    providers = evidence.sources.select("source_id", "provider")
    return (
        evidence.row_counts.join(providers, on="source_id", how="left", validate="m:1")
        .group_by("provider", "outcome", "rule")
        .agg(pl.col("rows").sum())
    )


def _rows(outcomes: pl.DataFrame) -> pl.DataFrame:
    return outcomes.group_by("provider").agg(
        rows_read=pl.col("rows").sum(),
        **{
            outcome: pl.col("rows").filter(pl.col("outcome") == outcome).sum()
            for outcome in ("kept", "filtered", "rejected")
        },
    )


def _coverage(evidence: Evidence) -> pl.DataFrame:
    asked = evidence.asked.group_by(pl.col("provider").cast(pl.String)).agg(regions_asked=pl.len())
    carried = pl.col("region_key").filter(is_carried_over()).n_unique()
    priced = evidence.prices.group_by(pl.col("provider").cast(pl.String)).agg(
        regions_priced=pl.col("region_key").n_unique(),
        regions_carried_over=carried,
        instance_types=pl.col("type_key").n_unique(),
        prices=pl.len(),
    )
    return asked.join(priced, on="provider", how="full", coalesce=True).with_columns(
        pl.exclude("provider").fill_null(0)
    )
