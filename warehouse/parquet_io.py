"""Tables as parquet files: equal content gives equal bytes, and a narrow question reads little.

One file a table. Columns are in the schema's order, types are plain (any parquet reader opens
them), compression is zstd, statistics and page indexes are whole. Rows are sorted by the key,
nulls first, with `instance_type` moved up behind `provider`: all rows of one instance type then
lie side by side, and whoever asks for it reads one row group (the usual order of the key, region
before type, spreads them over the whole file). Columns outside the key break ties, so the bytes
do not depend on the order in which rows came, even where a key is not unique.

A file of these sizes is read faster whole than in many small files by provider and region.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from warehouse.errors import CandidateError
from warehouse.schemas.table import Table

_COMPRESSION_LEVEL = 3
_ROW_GROUP_ROWS = 16_384
_READ_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What is known of a written file: rows, size in bytes, and SHA-256 of its bytes."""

    rows: int
    bytes: int
    sha256: str


def sort_order(table: Table) -> list[str]:
    """Return the columns that a table's file is sorted by; see the module's docstring."""
    key = list(table.key)
    if {"provider", "instance_type"} <= set(key):
        key.remove("instance_type")
        key.insert(key.index("provider") + 1, "instance_type")
    return [*key, *(column for column in table.columns if column not in key)]


def write_table(table: Table, frame: pl.DataFrame | pl.LazyFrame, path: Path) -> FileFacts:
    """Write a frame as the file of a table and return what was written.

    The sorted table is in memory whole, in one piece: the pages of list columns end where a piece
    ends, and a streamed result has as many pieces as the machine has threads.

    Raises polars.exceptions.SchemaError or ColumnNotFoundError where the frame is not one of the
    table.
    """
    ordered = table.conform(frame).sort(sort_order(table)).collect(engine="in-memory").rechunk()
    ordered.write_parquet(
        path,
        compression="zstd",
        compression_level=_COMPRESSION_LEVEL,
        row_group_size=_ROW_GROUP_ROWS,
        statistics="full",
    )
    return file_facts(path)


def check_schema(table: Table, path: Path | str) -> None:
    """Require that a file has a table's columns, in order and type; raises CandidateError."""
    try:
        found = _scan(path).collect_schema()
    except (pl.exceptions.PolarsError, OSError) as exc:
        raise CandidateError(f"{path}: expected parquet of table {table.name}: {exc}") from exc
    if list(found.items()) == list(table.schema.items()):
        return
    differences = _differences(table, found)
    raise CandidateError(f"{path} is not a file of table {table.name}: {differences}")


def file_facts(path: Path) -> FileFacts:
    """Count a parquet file's rows and digest its bytes; raises OSError, PolarsError."""
    with path.open("rb") as stream:
        sha256, size = digest(iter(lambda: stream.read(_READ_BYTES), b""))
    rows: int = _scan(path).select(pl.len()).collect().item()
    return FileFacts(rows, size, sha256)


def digest(chunks: Iterable[bytes]) -> tuple[str, int]:
    """Return the SHA-256 of a stream of bytes, as hex, and its length."""
    sha256, size = hashlib.sha256(), 0
    for chunk in chunks:
        sha256.update(chunk)
        size += len(chunk)
    return sha256.hexdigest(), size


def _scan(path: Path | str) -> pl.LazyFrame:
    # A folder with [brackets] in its name is no pattern.
    return pl.scan_parquet(path, glob=False)


def _differences(table: Table, found: Mapping[str, object]) -> str:
    expected = table.schema
    missing = [name for name in expected if name not in found]
    extra = [name for name in found if name not in expected]
    retyped = [
        f"{name} is {found[name]} instead of {dtype}"
        for name, dtype in expected.items()
        if name in found and found[name] != dtype
    ]
    said = [
        f"missing {', '.join(missing)}" if missing else "",
        f"not in the schema: {', '.join(extra)}" if extra else "",
        "; ".join(retyped),
    ]
    return "; ".join(filter(None, said)) or "its columns are in another order"
