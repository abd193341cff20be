"""What connectors need of a place to land bytes in. `warehouse.landing` is one."""

from collections.abc import Iterable
from typing import BinaryIO, Protocol

from warehouse.schemas.documents import StoredBody, Validators


class Landing(Protocol):
    """A content-addressed store of decoded bodies, and of what conditional requests need."""

    def put(self, chunks: Iterable[bytes]) -> StoredBody:
        """Store a body; if `chunks` raises, nothing is stored."""
        ...

    def open(self, sha256: str) -> BinaryIO:
        """Open a stored body."""
        ...

    def validators(self, url: str) -> Validators | None:
        """Give what is known of a canonical url; None if its body is not stored (any more)."""
        ...

    def remember(self, url: str, validators: Validators) -> None:
        """Keep what a later conditional request for a canonical url will need."""
        ...
