"""Packs: many bodies in one solid xz stream, so that what resembles each other costs little."""

import hashlib
import io
import lzma
import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any

from connectors.errors import RecordingError

_CHUNK_BYTES = 1 << 20
# The dictionary is 8 MiB at level 6. Level 9 makes price lists no smaller, only slower; zstd at
# its level 19 leaves them a tenth larger and takes three times as long.
_XZ_PRESET = 6


def write_pack(directory: Path, name: str, bodies: Iterable[Path], *, scratch: Path) -> str:
    """Write the files `bodies`, one after the other, as one pack; give its file name.

    The file name ends in a digest of its content: a pack is never overwritten by another one.
    `scratch` is on the same file system; the pack appears in `directory` whole or not at all.
    """
    directory.mkdir(exist_ok=True)
    compressor = lzma.LZMACompressor(preset=_XZ_PRESET)
    digest = hashlib.sha256()
    with tempfile.NamedTemporaryFile(dir=scratch, delete=False) as file:

        def write(packed: bytes) -> None:
            digest.update(packed)
            file.write(packed)

        for path in bodies:
            with path.open("rb") as body:
                while chunk := body.read(_CHUNK_BYTES):
                    write(compressor.compress(chunk))
        write(compressor.flush())
    file_name = f"{name}-{digest.hexdigest()[:12]}.xz"
    written = Path(file.name)
    written.chmod(0o644)
    written.replace(directory / file_name)
    return file_name


def unpack(path: Path, bodies: Mapping[str, int]) -> "UnpackedPack":
    """Unpack a pack into an unnamed temporary file and check every body in it.

    Args:
        path: the pack.
        bodies: sha256 to size, in the order in which the pack holds them.

    Raises:
        RecordingError: the pack is missing, damaged, or holds something else.
    """
    file = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the UnpackedPack
    try:
        places = _unpack_into(file, path, bodies)
    except (OSError, EOFError, lzma.LZMAError) as exc:
        file.close()
        raise RecordingError(
            f"the pack {path.name} of the recording cannot be read ({exc}); restore it"
        ) from exc
    except RecordingError:
        file.close()
        raise
    return UnpackedPack(file, places)


def _unpack_into(
    file: IO[bytes], path: Path, bodies: Mapping[str, int]
) -> dict[str, tuple[int, int]]:
    places: dict[str, tuple[int, int]] = {}
    offset = 0
    with lzma.open(path, "rb") as pack:
        for sha256, size in bodies.items():
            if _copy(pack, file, size) != sha256:
                raise RecordingError(
                    f"the pack {path.name} does not hold what the index of the recording says; "
                    "restore both from one recording",
                    sample=sha256,
                )
            places[sha256] = (offset, size)
            offset += size
    file.flush()
    return places


def _copy(source: IO[bytes], target: IO[bytes], size: int) -> str:
    digest = hashlib.sha256()
    left = size
    while left and (chunk := source.read(min(left, _CHUNK_BYTES))):
        digest.update(chunk)
        target.write(chunk)
        left -= len(chunk)
    return digest.hexdigest()


class UnpackedPack:
    """The bodies of a pack in an unnamed temporary file, which vanishes when it is closed."""

    def __init__(self, file: IO[bytes], places: Mapping[str, tuple[int, int]]) -> None:
        """Take over the file; `places` is sha256 to offset and size."""
        self._file = file
        self._places = places

    def open(self, sha256: str) -> IO[bytes]:
        """Open one body; several threads may read at the same time."""
        offset, size = self._places[sha256]
        return io.BufferedReader(_Slice(self._file, offset, size), _CHUNK_BYTES)

    def close(self) -> None:
        """Give the space back; bodies that are still open can no longer be read."""
        self._file.close()


class _Slice(io.RawIOBase):
    """A part of a file, read without moving the file's own position (threads share the file)."""

    def __init__(self, file: IO[bytes], offset: int, size: int) -> None:
        super().__init__()
        self._file = file
        self._offset = offset
        self._left = size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - as in io.RawIOBase
        data = os.pread(self._file.fileno(), min(len(buffer), self._left), self._offset)
        buffer[: len(data)] = data
        self._offset += len(data)
        self._left -= len(data)
        return len(data)
