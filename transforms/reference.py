"""Read the curated reference tables: CSV text in, a table that keeps its promises out."""

import polars as pl

from transforms.errors import ReferenceTableError
from warehouse.schemas.table import Table

_DATE = r"^\d{4}-\d{2}-\d{2}$"


def parse_reference(content: bytes, table: Table) -> pl.DataFrame:
    """Turn a curated CSV into its table, sorted by key. An empty field is null.

    Columns are matched by name. Dates are YYYY-MM-DD. Keys are compared without case, as all keys
    of reference tables are names that providers spell in more than one way.

    Args:
        content: the file's bytes, UTF-8, with a header.
        table: what it holds; no column may be a list.

    Raises:
        ReferenceTableError: a column is missing or unknown, a field has not its column's type, a
            field that must be there is empty, a value is not in its vocabulary, or a key repeats.
    """
    text = pl.read_csv(content, infer_schema=False)
    header = text.columns
    if sorted(header) != sorted(table.columns):
        missing = sorted(set(table.columns) - set(header))
        unknown = sorted(set(header) - set(table.columns))
        raise ReferenceTableError(table.name, f"columns missing {missing}, unknown {unknown}")
    _require_dates(text, table)
    try:
        frame = pl.read_csv(content, schema_overrides=dict(table.schema))
    except pl.exceptions.PolarsError as error:
        raise ReferenceTableError(table.name, str(error)) from error
    for field in table.fields:
        values = frame[field.name]
        if not field.nullable and values.null_count():
            raise ReferenceTableError(table.name, f"an empty {field.name}")
        if field.vocabulary is not None:
            strangers = set(values.drop_nulls()) - set(field.vocabulary)
            if strangers:
                raise ReferenceTableError(table.name, f"{field.name} {sorted(strangers)}")
    key = [pl.col(name).cast(pl.String).str.to_lowercase() for name in table.key]
    repeated = frame.filter(pl.len().over(key) > 1).select(table.key)
    if not repeated.is_empty():
        raise ReferenceTableError(table.name, f"a key more than once: {repeated.row(0)}")
    return frame.select(table.columns).sort(table.key)


def _require_dates(text: pl.DataFrame, table: Table) -> None:
    for name in (field.name for field in table.fields if field.dtype == pl.Date):
        # The CSV reader also takes 1/2/2026, and makes a day of it that may be meant or not.
        odd = text.filter(~pl.col(name).str.contains(_DATE)).get_column(name)
        if not odd.is_empty():
            raise ReferenceTableError(table.name, f"{name} {sorted(set(odd))}, not YYYY-MM-DD")
