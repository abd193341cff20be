"""JSON of which there is one spelling: equal values give equal bytes.

Keys are sorted, the indent is two spaces, the text is UTF-8 and ends with a newline. Instants are
ISO 8601 in UTC. Reading is typed: a record that lacks a field, or has another type in one, is an
error that names the field; a field that is not known is passed over, so that an older reader
reads what a newer minor version wrote.
"""

from typing import TypeVar

import msgspec

_Record = TypeVar("_Record")


def encode(value: object) -> bytes:
    """Return a value (dataclasses, mappings, sequences, plain values) as canonical JSON."""
    return msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=2) + b"\n"


def decode(body: bytes, record_type: type[_Record]) -> _Record:
    """Read JSON into a dataclass; raises ValueError, naming the field, where it does not fit."""
    return msgspec.json.decode(body, type=record_type)
