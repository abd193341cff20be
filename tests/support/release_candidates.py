"""Small candidates for a release: every table of the schema, a few prices."""

from datetime import UTC, datetime
from pathlib import Path

from support.rows import price_rows, source_rows
from warehouse.manifest import Coverage, QualitySummary
from warehouse.parquet_io import write_table
from warehouse.publishing import CandidateFiles, ReleaseFacts
from warehouse.schemas.catalog import TABLES

AS_OF = datetime(2026, 8, 22, 3, 30, tzinfo=UTC)


def write_candidate(
    directory: Path, *, price: str = "55.04", fetched_at: datetime = AS_OF
) -> CandidateFiles:
    """Write a candidate with a price of p5.48xlarge in two regions, the first of them `price`."""
    aws = {"provider": "aws", "instance_type": "p5.48xlarge"}
    frames = {table.name: table.empty() for table in TABLES} | {
        "prices": price_rows(
            {**aws, "region_id": "us-east-1", "hourly_rate": price},
            {**aws, "region_id": "sa-east-1", "hourly_rate": "92.4672"},
        ),
        "sources": source_rows({"fetched_at": fetched_at, "confirmed_at": fetched_at}),
    }
    directory.mkdir(parents=True, exist_ok=True)
    for table in TABLES:
        write_table(table, frames[table.name], directory / f"{table.name}.parquet")
    return candidate_in(directory)


def candidate_in(directory: Path) -> CandidateFiles:
    """Return the candidate that `write_candidate` wrote there."""
    tables = {table.name: directory / f"{table.name}.parquet" for table in TABLES}
    return CandidateFiles(tables, {"quality/quality.json": b"{}\n", "quality/index.html": b"<p>ok"})


def release_facts(*, as_of: datetime = AS_OF, expected_previous: str | None = None) -> ReleaseFacts:
    return ReleaseFacts(
        as_of=as_of,
        created_at=as_of,
        code_version="0123abc",
        inputs=(),
        quality=QualitySummary("publish", critical=0, warning=1, rows_rejected=2),
        coverage={"aws": Coverage(regions=2, instance_types=1)},
        expected_previous=expected_previous,
    )
