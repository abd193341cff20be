"""Reading a landed body: decompressed, and compared with its digest on the way."""

import hashlib
import io
from pathlib import Path
from typing import Any

from pyarrow.lib import CompressedInputStream, OSFile

from warehouse.errors import DocumentDamagedError


class CheckedBody(io.RawIOBase):
    """A decoded body that is compared with its digest as it is read."""

    def __init__(self, path: Path, sha256: str) -> None:
        """Open a zstd file; raises FileNotFoundError."""
        self._stream = CompressedInputStream(OSFile(str(path), "rb"), "zstd")
        self._expected = sha256
        self._path = path
        self._sha256 = hashlib.sha256()

    def readable(self) -> bool:
        """Whether it can be read: yes."""
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - typeshed's WriteableBuffer
        """Fill a buffer; raises DocumentDamagedError, at the latest at the end of the body."""
        view = memoryview(buffer)
        try:
            count: int = self._stream.readinto(view)
        except OSError as exc:
            raise self._damaged(str(exc)) from exc
        self._sha256.update(view[:count])
        if count == 0 and self._sha256.hexdigest() != self._expected:
            raise self._damaged(f"its content has sha256 {self._sha256.hexdigest()}")
        return count

    def close(self) -> None:
        """Close the file."""
        if not self.closed:
            self._stream.close()
        super().close()

    def _damaged(self, what: str) -> DocumentDamagedError:
        return DocumentDamagedError(
            f"landed document {self._expected} is damaged: {what}; delete {self._path} and run "
            f"again: what can be fetched is fetched anew",
            self._expected,
        )
