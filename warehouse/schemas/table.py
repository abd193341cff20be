"""What a table is: fields, key, and the polars schema derived from them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

PRICE = pl.Decimal(18, 10)
"""Money: exact to ten decimals, up to 99,999,999 (see the contract)."""

TIMESTAMP = pl.Datetime("us", "UTC")

TableKind = Literal["prices", "reference", "view", "provenance", "raw"]


@dataclass(frozen=True, slots=True)
class Field:
    """One column: its type, what it means, and what values it may hold."""

    name: str
    dtype: Any  # polars accepts both instances and classes of DataType
    description: str
    unit: str | None = None
    nullable: bool = True
    vocabulary: tuple[str, ...] | None = None
    focus: str | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """One table: the order of its fields is the order of its columns."""

    name: str
    kind: TableKind
    description: str
    fields: tuple[Field, ...]
    key: tuple[str, ...]

    @property
    def columns(self) -> list[str]:
        """Column names in published order."""
        return [field.name for field in self.fields]

    @property
    def schema(self) -> pl.Schema:
        """The polars schema that every frame of this table has."""
        return pl.Schema({field.name: field.dtype for field in self.fields})

    def field(self, name: str) -> Field:
        """Return the field of that name; raises KeyError if there is none."""
        for field in self.fields:
            if field.name == name:
                return field
        raise KeyError(f"table {self.name} has no column {name}")

    def empty(self) -> pl.DataFrame:
        """Return a frame of this table without rows."""
        return pl.DataFrame(schema=self.schema)

    def conform(self, frame: pl.DataFrame | pl.LazyFrame) -> pl.LazyFrame:
        """Select this table's columns in order and require its types.

        Raises (on collect) polars.exceptions.SchemaError where a column has another type.
        """
        return frame.lazy().select(self.columns).match_to_schema(self.schema)


def by_name(tables: tuple[Table, ...]) -> Mapping[str, Table]:
    """Index tables by name; raises ValueError where two share one."""
    index = {table.name: table for table in tables}
    if len(index) != len(tables):
        raise ValueError("two tables share one name")
    return index
