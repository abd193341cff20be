"""Writing answers: tables for people, JSON, CSV or parquet for programs."""

import io
import sys
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Any

import polars as pl
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

_NOTHING = "-"
_FILE_WIDTH = 120


class Format(StrEnum):
    """How an answer is written."""

    table = "table"
    json = "json"
    csv = "csv"
    parquet = "parquet"


def console() -> Console:
    """Return standard output: as wide as the terminal, or wide enough for a table in a file."""
    found = Console()
    return found if found.is_terminal else Console(width=_FILE_WIDTH)


def write_frame(
    frame: pl.DataFrame, how: Format, *, console: Console, output: Path | None, title: str = ""
) -> None:
    """Write a frame to a file or to standard output."""
    if how is Format.table and output is None:
        console.print(rich_table(frame, title=title))
        return
    body = serialise(frame, how)
    if output is not None:
        output.write_bytes(body)
        return
    sys.stdout.buffer.write(body)
    sys.stdout.buffer.flush()


def serialise(frame: pl.DataFrame, how: Format) -> bytes:
    """Return a frame's bytes. Money keeps all its decimals: in JSON and CSV it is text."""
    buffer = io.BytesIO()
    if how is Format.parquet:
        frame.write_parquet(buffer)
    elif how is Format.json:
        frame.with_columns(_plain(frame)).write_json(buffer)
        buffer.write(b"\n")
    elif how is Format.csv:
        frame.with_columns(_listed(frame)).write_csv(buffer)
    else:
        text = io.StringIO()
        Console(file=text, width=_FILE_WIDTH).print(rich_table(frame))
        return text.getvalue().encode()
    return buffer.getvalue()


def rich_table(frame: pl.DataFrame, *, title: str = "") -> Table:
    """Return a frame as a table for a terminal: numbers to the right, money without noughts."""
    # Escaped: what a provider wrote between brackets is no markup.
    shown = Table(
        title=escape(title) or None, title_justify="left", header_style="bold", box=SIMPLE_HEAD
    )
    for name, dtype in frame.schema.items():
        shown.add_column(
            escape(name), justify="right" if dtype.is_numeric() else "left", overflow="fold"
        )
    for row in frame.iter_rows():
        shown.add_row(*(escape(as_text(value)) for value in row))
    return shown


def as_text(value: Any) -> str:  # noqa: ANN401 - a cell of any type
    """Spell one cell for people; null is a dash."""
    if value is None:
        return _NOTHING
    if isinstance(value, Decimal):
        text = f"{value:f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M}" if (value.hour or value.minute) else f"{value:%Y-%m-%d}"
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, list | tuple | dict | Sequence) and not isinstance(value, str):
        separator, items = (" ", value.values()) if isinstance(value, dict) else (", ", value)
        return separator.join(as_text(item) for item in items) or _NOTHING
    return str(value)


def _listed(frame: pl.DataFrame) -> list[pl.Expr]:
    """Spell lists in one cell: words with blanks between, structs as JSON one after the other."""
    element = pl.element()
    return [
        pl.col(name)
        .list.eval(
            element.struct.json_encode()
            if isinstance(dtype.inner, pl.Struct)
            else element.cast(pl.String)
        )
        .list.join(" ")
        for name, dtype in frame.schema.items()
        if isinstance(dtype, pl.List)
    ]


def _plain(frame: pl.DataFrame) -> list[pl.Expr]:
    return [
        pl.col(name).cast(pl.String)
        for name, dtype in frame.schema.items()
        if isinstance(dtype, pl.Decimal)
    ]
