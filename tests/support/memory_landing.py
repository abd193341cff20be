"""A landing store in memory, for tests of connectors."""

import hashlib
import io
import threading
from collections.abc import Iterable
from typing import BinaryIO

from warehouse.schemas.documents import StoredBody, Validators


class MemoryLanding:
    """Satisfies `connectors.landing.Landing`; `bodies` is sha256 to bytes."""

    def __init__(self) -> None:
        self.bodies: dict[str, bytes] = {}
        self._validators: dict[str, Validators] = {}
        self._lock = threading.Lock()

    def put(self, chunks: Iterable[bytes]) -> StoredBody:
        body = b"".join(chunks)
        sha256 = hashlib.sha256(body).hexdigest()
        with self._lock:
            self.bodies[sha256] = body
        return StoredBody(sha256, len(body))

    def open(self, sha256: str) -> BinaryIO:
        return io.BytesIO(self.bodies[sha256])

    def validators(self, url: str) -> Validators | None:
        return self._validators.get(url)

    def remember(self, url: str, validators: Validators) -> None:
        with self._lock:
            self._validators[url] = validators
