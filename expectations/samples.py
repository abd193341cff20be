"""A few rows of a frame, as plain values that JSON and a page can show."""

import polars as pl

Cell = str | int | float | bool | None

Sample = tuple[dict[str, Cell], ...]


def sample_rows(frame: pl.DataFrame, limit: int) -> Sample:
    """Return the first rows of a frame in the order of its values, as plain values.

    Money is written in full without trailing zeros, times in ISO 8601, lists with commas.
    """
    if frame.is_empty():
        return ()
    plain = frame.select(_plain(name, dtype) for name, dtype in frame.schema.items())
    return tuple(plain.sort(pl.all(), nulls_last=True).head(limit).iter_rows(named=True))


def _plain(name: str, dtype: pl.DataType) -> pl.Expr:
    column = pl.col(name)
    if isinstance(dtype, pl.List):
        return column.cast(pl.List(pl.String)).list.join(", ")
    if isinstance(dtype, pl.Decimal):
        # 0.1000000000 is how it is stored, 0.1 is how people read it.
        return column.cast(pl.String).str.replace(r"\.?0+$", "")
    if isinstance(dtype, pl.Datetime):
        return column.dt.strftime("%Y-%m-%dT%H:%M:%SZ")
    if dtype.is_numeric() or dtype == pl.Boolean:
        return column
    return column.cast(pl.String)
