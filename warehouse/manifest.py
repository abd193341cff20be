"""What a release says of itself: manifest.json, and latest.json that points at one.

The manifest names every other file of its release with its digest, and the digest of the manifest
before it; latest.json holds the digest of the newest. So whatever a release holds, back to the
first one, is covered by the few bytes of latest.json.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import polars as pl

from warehouse import canonical_json
from warehouse.parquet_io import FileFacts, digest
from warehouse.schemas.catalog import SOURCES


@dataclass(frozen=True, slots=True)
class Input:
    """One fetched document; `rows` is null where it is none of rows (an index)."""

    source_id: str
    source: str
    provider: str | None
    region_id: str | None
    url: str
    fetched_at: datetime
    confirmed_at: datetime
    published_at: datetime | None
    version: str | None
    sha256: str
    bytes: int
    rows: int | None
    is_recorded: bool
    note: str | None


@dataclass(frozen=True, slots=True)
class TableFile:
    """The parquet file of a table; `file` is relative to the manifest."""

    file: str
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class OtherFile:
    """A file that is no table: the quality report, the dictionary."""

    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class QualitySummary:
    """What the gate said: its verdict, rules that failed by severity, and rows refused."""

    verdict: str
    critical: int
    warning: int
    rows_rejected: int


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many regions and instance types of a provider have a price."""

    regions: int
    instance_types: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """One release. `files` is keyed by path relative to the manifest."""

    release: str
    created_at: datetime
    as_of: datetime
    schema_version: str
    code_version: str
    content_digest: str
    previous_release: str | None
    previous_manifest_sha256: str | None
    inputs: tuple[Input, ...]
    tables: Mapping[str, TableFile]
    files: Mapping[str, OtherFile]
    quality: QualitySummary
    coverage: Mapping[str, Coverage]


@dataclass(frozen=True, slots=True)
class Latest:
    """The only mutable object, latest.json: which release is the newest."""

    release: str
    manifest: str
    manifest_sha256: str
    schema_version: str


def table_file(name: str, facts: FileFacts) -> TableFile:
    """Return the file of a table as the manifest lists it."""
    return TableFile(f"{name}.parquet", facts.rows, facts.bytes, facts.sha256)


def content_digest(
    tables: Mapping[str, FileFacts] | Mapping[str, TableFile], *, schema_version: str
) -> str:
    """Return the digest of what a release says: of all its tables but `sources`.

    `sources` is left out because it tells when and where documents were fetched: it differs from
    night to night even when no price does.
    """
    digests = {name: file.sha256 for name, file in tables.items() if name != SOURCES.name}
    content = {"schema_version": schema_version, "tables": digests}
    sha256, _ = digest([canonical_json.encode(content)])
    return sha256


def coverage_of(prices: pl.LazyFrame) -> dict[str, Coverage]:
    """Count regions and instance types that have a price, per provider, from table `prices`."""
    counted = (
        prices.group_by("provider")
        .agg(pl.col("region_id").n_unique(), pl.col("instance_type").n_unique())
        .sort("provider")
        .collect()
    )
    return {
        provider: Coverage(regions, instance_types)
        for provider, regions, instance_types in counted.iter_rows()
    }
