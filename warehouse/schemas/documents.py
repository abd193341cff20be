"""A landed document: bytes as a provider sent them, and where they came from."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Document:
    """What is known of one fetched document. Its bytes are in the landing store, by sha256.

    `source_id` does not depend on the bytes: the same document of another night, or with its rows
    in another order, has the same id. sha256 and bytes are of the decoded body (after gzip).
    `confirmed_at` is when the provider last said that these are its bytes: by sending them, or
    later by saying that they are unchanged. How old a document is, is told by it alone.
    """

    source_id: str
    source: str
    provider: str | None
    region_id: str | None
    url: str
    fetched_at: datetime
    confirmed_at: datetime
    published_at: datetime | None
    version: str | None
    media_type: str
    sha256: str
    bytes: int
    is_recorded: bool = False
    note: str | None = None


@dataclass(frozen=True, slots=True)
class StoredBody:
    """A body that the landing store holds: its digest and size, both after gzip is undone."""

    sha256: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Validators:
    """What a conditional request for a url sends, and the document that a 304 then confirms.

    `etag` and `last_modified` are the header values exactly as the provider sent them.
    """

    etag: str | None
    last_modified: str | None
    document: Document
