"""The CSV that AWS's bulk price files come in, whatever they price.

Five lines of metadata, a header, then one line for each rate: about 300 MB for us-east-1. The file
is read in blocks that end where a line ends, so that memory does not grow with it, and columns are
found by name, because AWS adds and reorders them without notice. Fields may be quoted (EC2 offer
files) or bare (savings plans).

What polars reads leniently is checked before it gets there: it fills lines that are too short with
nulls. `_lines_in` therefore looks at every block's skeleton of quotes, commas and line ends, which
costs a tenth of the parsing.

Source: AWS Price List, "Reading the offer files" (CSV), format version 1.
"""

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import BinaryIO

import polars as pl

from connectors.errors import WireFormatError
from warehouse.schemas.table import Table

_HEADER_WITHIN_LINES = 20
_MAX_LINE_BYTES = 1 << 20
_STRUCTURE = b'",\n'
_TEXT = bytes(byte for byte in range(256) if byte not in _STRUCTURE)
_QUOTED = re.compile(rb'"[^"]*"')


@dataclass(frozen=True, slots=True)
class OfferHeader:
    """What an offer file says of itself. `version` is the digits of `published_at`."""

    version: str
    published_at: datetime
    offer_code: str
    format_version: str


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns of one kind of file become which of a raw table's.

    `required` and `optional` are our name to AWS's. Without one of the required columns a file is
    refused; an optional one is null where the file has no such column. `module` is where a renamed
    column is to be entered.
    """

    table: Table
    required: Mapping[str, str]
    optional: Mapping[str, str]
    module: str


@dataclass(frozen=True, slots=True)
class _Layout:
    """The header line: its bytes, its width, and which of its columns become which of ours."""

    line: bytes
    width: int
    names: dict[str, str]


def read_offer_header(stream: BinaryIO, *, source_id: str | None = None) -> OfferHeader:
    """Read the metadata lines of an offer file, and its header line with them.

    Args:
        stream: decoded index.csv, at its beginning.
        source_id: document, for the error.

    Raises:
        WireFormatError: this is no offer file, or not of format version 1.
    """
    metadata, _ = _read_preamble(stream, source_id)
    try:
        header = OfferHeader(
            version=metadata["Version"],
            published_at=datetime.fromisoformat(metadata["Publication Date"]),
            offer_code=metadata["OfferCode"],
            format_version=metadata["FormatVersion"],
        )
    except KeyError as exc:
        raise WireFormatError(
            f"expected an offer file whose metadata names {exc.args[0]!r}, got "
            f"{sorted(metadata)}: this is no AWS offer file, or its format has changed",
            source=source_id,
        ) from exc
    except ValueError as exc:
        raise WireFormatError(
            f"expected an ISO 8601 Publication Date, got {metadata['Publication Date']!r}",
            source=source_id,
        ) from exc
    if not re.fullmatch(r"v1(\.\d+)*", header.format_version):
        raise WireFormatError(
            f"expected offer file format v1, got {header.format_version!r}: read what changed and "
            f"adapt connectors/aws/bulk_csv.py before trusting a price",
            source=source_id,
        )
    return header


def read_rows(
    stream: BinaryIO, columns: Columns, *, source_id: str, block_bytes: int
) -> Iterator[pl.DataFrame]:
    """Read a file's lines as frames of a raw table, one for each block of the file.

    Memory is bounded by a few times `block_bytes`. Every field is text; an empty one is null.

    Args:
        stream: decoded index.csv, at its beginning.
        columns: what is read of it.
        source_id: document, for the errors.
        block_bytes: how much is parsed at a time.

    Raises:
        WireFormatError: no offer file, a needed column is missing or there twice, a line has too
            few or too many fields (as the last one of a truncated file has), a quote is not
            closed, or the text is not UTF-8.
    """
    _, header = _read_preamble(stream, source_id)
    layout = _layout(header, columns, source_id)
    lines_read = 0
    for block, lines in _blocks(stream, layout.width, block_bytes, source_id):
        if lines is None:
            raise _bad_line(block, layout.width, lines_read, source_id)
        yield _parse(block, layout, columns.table, source_id)
        lines_read += lines


def _read_preamble(stream: BinaryIO, source_id: str | None) -> tuple[dict[str, str], bytes]:
    """Return the metadata and the header line; the stream is then at the first row."""
    metadata: dict[str, str] = {}
    for _ in range(_HEADER_WITHIN_LINES):
        line = stream.readline(_MAX_LINE_BYTES)
        fields = _fields(line)
        if "SKU" in fields:
            return metadata, line.rstrip(b"\r\n") + b"\n"
        if len(fields) == 2:  # noqa: PLR2004 - a metadata line is a name and a value
            metadata[fields[0]] = fields[1]
        elif not line or not metadata:
            break
    raise WireFormatError(
        f"expected an AWS offer file (index.csv): lines of metadata and, within the first "
        f"{_HEADER_WITHIN_LINES}, a header with a column 'SKU'; got metadata {sorted(metadata)} "
        f"and then {line[:80]!r}",
        source=source_id,
    )


def _fields(line: bytes) -> list[str]:
    try:
        return next(csv.reader([line.decode("utf-8", "replace")]), [])
    except csv.Error:
        return []


def _layout(header: bytes, columns: Columns, source_id: str) -> _Layout:
    found = _fields(header)
    missing = [name for name in columns.required.values() if name not in found]
    if missing:
        raise WireFormatError(
            f"expected an offer file with the columns {sorted(columns.required.values())}, but "
            f"{missing} are missing: if AWS renamed them, adapt {columns.module}",
            source=source_id,
        )
    wanted = {**columns.required, **columns.optional}
    names = {raw: name for raw, name in wanted.items() if name in found}
    twice = [name for name in names.values() if found.count(name) > 1]
    if twice:
        raise WireFormatError(
            f"expected every column once, got {twice} more than once: which one holds the value "
            f"cannot be told",
            source=source_id,
        )
    return _Layout(header, len(found), names)


def _blocks(
    stream: BinaryIO, width: int, block_bytes: int, source_id: str
) -> Iterator[tuple[bytes, int | None]]:
    """Cut the stream where lines end; with each block its number of lines, None if one is bad."""
    rest = b""
    while chunk := stream.read(block_bytes):
        rest += chunk
        end = rest.rfind(b"\n") + 1
        lines = _lines_in(rest[:end], width)
        if lines is None:
            end = _end_of_last_line(rest, end)
            lines = _lines_in(rest[:end], width)
        if end:
            yield rest[:end], lines
            rest = rest[end:]
        elif len(rest) > _MAX_LINE_BYTES:
            raise WireFormatError(
                f"expected a line to end within {_MAX_LINE_BYTES} bytes, got a longer one that "
                f"begins {rest[:80]!r}: a quote is not closed",
                source=source_id,
            )
    if rest:
        last = rest if rest.endswith(b"\n") else rest + b"\n"
        yield last, _lines_in(last, width)


def _end_of_last_line(block: bytes, end: int) -> int:
    """Move `end` back to a line end that is outside quotes: after an even number of them."""
    is_quoted = block.count(b'"', 0, end) % 2 == 1
    while is_quoted and end:
        before = block.rfind(b"\n", 0, end - 1) + 1
        is_quoted ^= block.count(b'"', before, end) % 2 == 1
        end = before
    return end


def _lines_in(block: bytes, width: int) -> int | None:
    """Count a block's lines; None where not all of them have `width` fields.

    Only quotes, commas and line ends are kept. Empty pairs of quotes go first, for nearly every
    field is one by then; what is quoted after that holds commas or line breaks.
    """
    skeleton = block.translate(None, _TEXT).replace(b'""', b"")
    if b'"' in skeleton:
        skeleton = _QUOTED.sub(b"", skeleton)
    lines, remainder = divmod(len(skeleton), width)
    line = b"," * (width - 1) + b"\n"
    return lines if remainder == 0 and skeleton == line * lines else None


def _parse(block: bytes, layout: _Layout, table: Table, source_id: str) -> pl.DataFrame:
    try:
        parsed = pl.read_csv(
            layout.line + block,
            infer_schema=False,
            null_values="",
            columns=list(layout.names.values()),
        )
    except pl.exceptions.PolarsError as exc:
        raise WireFormatError(
            f"expected lines of CSV in UTF-8, got a block that cannot be read: {exc}",
            source=source_id,
        ) from exc
    return parsed.select(
        pl.col(layout.names[raw]).alias(raw)
        if raw in layout.names
        else pl.lit(None, dtype=pl.String).alias(raw)
        for raw in table.columns
    )


def _bad_line(block: bytes, width: int, lines_before: int, source_id: str) -> WireFormatError:
    """Find the line for which a block is refused, and say so."""
    rows = csv.reader(io.StringIO(block.decode("utf-8", "replace"), newline=""))
    found: Sequence[str] = ()
    number = lines_before
    try:
        for number, found in enumerate(rows, start=lines_before + 1):  # noqa: B007 - named below
            if len(found) != width:
                break
    except csv.Error as exc:
        found = (str(exc),)
    return WireFormatError(
        f"expected {width} fields on every line, got {len(found)} on line {number} after the "
        f"header, which begins {', '.join(found[:3])[:80]!r}: the file is truncated or damaged, "
        f"fetch it again",
        source=source_id,
    )
