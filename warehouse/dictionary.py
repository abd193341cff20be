"""dictionary.json: every published table and column, for people and programs that read a release.

Types are named twice: as SQL has them (DuckDB's spelling) and as parquet's logical types.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import polars as pl

from warehouse.schemas.table import Field, Table

_PLAIN_TYPES: dict[type[pl.DataType], tuple[str, str]] = {
    pl.String: ("VARCHAR", "STRING"),
    pl.Boolean: ("BOOLEAN", "BOOLEAN"),
    pl.Int32: ("INTEGER", "INT32"),
    pl.Int64: ("BIGINT", "INT64"),
    pl.Float64: ("DOUBLE", "DOUBLE"),
    pl.Date: ("DATE", "DATE"),
}


@dataclass(frozen=True, slots=True)
class Column:
    """One column, as dictionary.json describes it; `key_position` counts from 1."""

    name: str
    type: str
    parquet_type: str
    description: str
    unit: str | None
    is_nullable: bool
    key_position: int | None
    vocabulary: tuple[str, ...] | None
    focus_column: str | None


@dataclass(frozen=True, slots=True)
class DescribedTable:
    """One table, as dictionary.json describes it."""

    name: str
    kind: str
    description: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class Dictionary:
    """What every table and column of a release means."""

    schema_version: str
    tables: tuple[DescribedTable, ...]


def describe(tables: Iterable[Table], *, schema_version: str) -> Dictionary:
    """Describe tables and their columns; raises TypeError for a type that is not published."""
    return Dictionary(schema_version, tuple(_describe_table(table) for table in tables))


def sql_type(dtype: Any) -> str:  # noqa: ANN401 - Field.dtype, a polars class or instance
    """Return the SQL name of a polars type; raises TypeError for one that is not published."""
    return _type_names(dtype)[0]


def parquet_type(dtype: Any) -> str:  # noqa: ANN401 - as above
    """Return the parquet name of a polars type; raises TypeError for one not published."""
    return _type_names(dtype)[1]


def _type_names(dtype: Any) -> tuple[str, str]:  # noqa: ANN401 - as above
    plain = _PLAIN_TYPES.get(dtype if isinstance(dtype, type) else type(dtype))
    if plain:
        return plain
    if isinstance(dtype, pl.Decimal):
        name = f"DECIMAL({dtype.precision},{dtype.scale})"
        return name, name
    if isinstance(dtype, pl.Datetime) and (dtype.time_unit, dtype.time_zone) == ("us", "UTC"):
        return "TIMESTAMP WITH TIME ZONE", "TIMESTAMP(MICROS,UTC)"
    if isinstance(dtype, pl.List):
        sql, parquet = _type_names(dtype.inner)
        return f"{sql}[]", f"LIST<{parquet}>"
    if isinstance(dtype, pl.Struct):
        members = {field.name: _type_names(field.dtype) for field in dtype.fields}
        in_sql = ", ".join(f"{name} {sql}" for name, (sql, _) in members.items())
        in_parquet = ", ".join(f"{name} {parquet}" for name, (_, parquet) in members.items())
        return f"STRUCT({in_sql})", f"STRUCT<{in_parquet}>"
    raise TypeError(f"{dtype} is none of the published types; name it in warehouse/dictionary.py")


def _describe_table(table: Table) -> DescribedTable:
    positions = {name: position for position, name in enumerate(table.key, start=1)}
    return DescribedTable(
        table.name,
        table.kind,
        table.description,
        table.key,
        tuple(_describe_column(field, positions.get(field.name)) for field in table.fields),
    )


def _describe_column(field: Field, key_position: int | None) -> Column:
    return Column(
        name=field.name,
        type=sql_type(field.dtype),
        parquet_type=parquet_type(field.dtype),
        description=field.description,
        unit=field.unit,
        is_nullable=field.nullable,
        key_position=key_position,
        vocabulary=field.vocabulary,
        focus_column=field.focus,
    )
