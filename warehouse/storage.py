"""The few storage calls that releases need, and their implementation on a local disk.

`Storage` is what publishing and reading rely on. Every call has its counterpart in an object
store, so S3 and Azure Blob fit behind it: `put_new` is a conditional put (If-None-Match),
`compare_and_set` a put on the pointer's e-tag (If-Match), `exclusive` a lease object. On a local
disk obstore moves the bytes; it has no conditional overwrite there, so the pointer is replaced by
an atomic rename, and locks are the kernel's (flock: released when their holder dies, whatever
kills it; the disk must be a local one, since network file systems differ in what flock promises).

Paths are relative to the root, with forward slashes.
"""

import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import LocalStore

from warehouse.errors import (
    LockHeldError,
    ObjectExistsError,
    ObjectMissingError,
    PointerMovedError,
    StorageError,
)

_LOCKS = ".locks"
_SINGLE_PUT_BYTES = 64 << 20
_READ_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class StoredObject:
    """One object: its path under the root and its size."""

    path: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Pointer:
    """The mutable object's body, and the token that a later `compare_and_set` has to present."""

    body: bytes
    token: str


class Storage(Protocol):
    """Where releases live. Objects are written once; only the pointer ever changes."""

    @property
    def root(self) -> str:
        """The root, for people and messages."""

    def put_new(self, path: str, body: bytes) -> None:
        """Write an object; raises ObjectExistsError where there is one already."""

    def put_file(self, path: str, source: Path) -> None:
        """Write a local file as an object; raises ObjectExistsError where there is one already."""

    def read(self, path: str) -> bytes:
        """Return a whole object; raises ObjectMissingError."""

    def chunks(self, path: str) -> Iterator[bytes]:
        """Yield an object in pieces of bounded size; raises ObjectMissingError."""

    def objects(self, directory: str) -> tuple[StoredObject, ...]:
        """List all objects below a directory, at any depth, sorted by path."""

    def directories(self, directory: str) -> tuple[str, ...]:
        """List the paths of the directories right below a directory, sorted."""

    def delete_directory(self, directory: str) -> None:
        """Delete everything below a directory. Nothing below it is no error."""

    def make_durable(self, directory: str) -> None:
        """Return once everything below a directory outlives a power cut."""

    def location(self, path: str) -> str:
        """Return what a parquet reader opens: a local path or a URL."""

    def read_pointer(self, path: str) -> Pointer | None:
        """Return the mutable object, or None while there is none."""

    def compare_and_set(self, path: str, body: bytes, *, expected: str | None) -> None:
        """Replace the mutable object in one atomic, durable step.

        `expected` is the token last read, None for an object that is not there yet. Raises
        PointerMovedError, and changes nothing, where somebody else was faster.
        """

    def exclusive(self, name: str, holder: str) -> AbstractContextManager[None]:
        """Hold the lock of that name; raises LockHeldError, naming the other holder, at once."""


def open_storage(root: str | Path) -> Storage:
    """Return the storage of a catalog root: a local path or a file:// URL.

    Nothing is created before the first write. Raises StorageError for any other scheme.
    """
    text = str(root)
    if "://" not in text:
        return LocalStorage(Path(text).absolute())
    url = urlsplit(text)
    if url.scheme == "file" and url.netloc in {"", "localhost"}:
        return LocalStorage(Path(unquote(url.path)))
    raise StorageError(
        f"cannot keep a catalog at {url.scheme}://{url.hostname or ''}{url.path}: "
        f"expected a local path or a file:///absolute/path URL"
    )


class LocalStorage:
    """A catalog root on a local disk."""

    def __init__(self, root: Path, *, single_put_bytes: int = _SINGLE_PUT_BYTES) -> None:
        """Keep objects below `root`; files above `single_put_bytes` are not read whole."""
        self._root = root
        self._single_put_bytes = single_put_bytes

    @property
    def root(self) -> str:
        """The root directory."""
        return str(self._root)

    @cached_property
    def _store(self) -> LocalStore:
        try:
            return LocalStore(self._root, mkdir=True)
        except BaseError as exc:
            raise StorageError(f"cannot open the catalog root {self._root}: {_first(exc)}") from exc

    def put_new(self, path: str, body: bytes) -> None:
        """Write an object; raises ObjectExistsError where there is one already."""
        try:
            obstore.put(self._store, path, body, mode="create")
        except AlreadyExistsError as exc:
            raise _exists(self._root, path) from exc
        except (BaseError, OSError) as exc:
            raise StorageError(f"cannot write {path} in {self._root}: {_first(exc)}") from exc

    def put_file(self, path: str, source: Path) -> None:
        """Write a local file as an object; raises ObjectExistsError where there is one already.

        A conditional put holds the whole file in memory. A larger one goes in parts, which can
        carry no condition, so the check comes first: publishers write under the exclusive lock.
        """
        try:
            if source.stat().st_size <= self._single_put_bytes:
                obstore.put(self._store, path, source, mode="create")
                return
            if (self._root / path).exists():
                raise _exists(self._root, path)
            obstore.put(self._store, path, source, use_multipart=True, max_concurrency=2)
        except AlreadyExistsError as exc:
            raise _exists(self._root, path) from exc
        except (BaseError, OSError) as exc:
            raise StorageError(
                f"cannot write {source} as {path} in {self._root}: {_first(exc)}"
            ) from exc

    def read(self, path: str) -> bytes:
        """Return a whole object; raises ObjectMissingError."""
        return b"".join(self.chunks(path))

    def chunks(self, path: str) -> Iterator[bytes]:
        """Yield an object in pieces of bounded size; raises ObjectMissingError."""
        if not self._root.is_dir():
            raise _missing(self._root, path)
        try:
            for chunk in obstore.get(self._store, path).stream(min_chunk_size=_READ_BYTES):
                yield bytes(chunk)
        except FileNotFoundError as exc:
            raise _missing(self._root, path) from exc
        except (BaseError, OSError) as exc:
            raise StorageError(f"cannot read {path} in {self._root}: {_first(exc)}") from exc

    def objects(self, directory: str) -> tuple[StoredObject, ...]:
        """List all objects below a directory, at any depth, sorted by path."""
        if not self._root.is_dir():
            return ()
        found = (
            StoredObject(meta["path"], meta["size"])
            for batch in obstore.list(self._store, directory)
            for meta in batch
        )
        return tuple(sorted(found, key=lambda stored: stored.path))

    def directories(self, directory: str) -> tuple[str, ...]:
        """List the paths of the directories right below a directory, sorted."""
        if not self._root.is_dir():
            return ()
        listing = obstore.list_with_delimiter(self._store, directory)
        return tuple(sorted(listing["common_prefixes"]))

    def delete_directory(self, directory: str) -> None:
        """Delete everything below a directory, what a killed writer left half-written included.

        obstore does not list its own half-written files (`name#1`), hence the whole tree.
        """
        target = self._root / directory
        try:
            if target.exists():
                shutil.rmtree(target)
        except OSError as exc:
            raise StorageError(f"cannot delete {directory} in {self._root}: {exc}") from exc

    def make_durable(self, directory: str) -> None:
        """Return once everything below a directory outlives a power cut."""
        top = self._root / directory
        for folder, _, names in os.walk(top):
            for name in names:
                _flush(Path(folder, name))
            _flush(Path(folder))
        for parent in (top, *top.parents):
            _flush(parent)
            if parent == self._root:
                return

    def location(self, path: str) -> str:
        """Return the local path that a parquet reader opens."""
        return str(self._root / path)

    def read_pointer(self, path: str) -> Pointer | None:
        """Return the mutable object, or None while there is none."""
        try:
            body = (self._root / path).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as exc:
            raise StorageError(f"cannot read {path} in {self._root}: {exc}") from exc
        return Pointer(body, hashlib.sha256(body).hexdigest())

    def compare_and_set(self, path: str, body: bytes, *, expected: str | None) -> None:
        """Replace the mutable object in one atomic, durable step; see `Storage`."""
        target = self._root / path
        with self._locked(f"{path}.set", wait=True):
            current = self.read_pointer(path)
            token = current.token if current else None
            if token != expected:
                raise PointerMovedError(
                    f"{path} in {self._root} is not what was read before: expected "
                    f"{_spell(expected)}, found {_spell(token)}; read it again"
                )
            # One name for all: a killed writer's leftover is overwritten by the next.
            fresh = self._root / _LOCKS / f"{path}.new"
            try:
                fresh.write_bytes(body)
                _flush(fresh)
                fresh.replace(target)
                _flush(target.parent)
            except OSError as exc:
                raise StorageError(f"cannot replace {path} in {self._root}: {exc}") from exc

    @contextmanager
    def exclusive(self, name: str, holder: str) -> Iterator[None]:
        """Hold the lock of that name; raises LockHeldError, naming the other holder, at once."""
        with self._locked(name, wait=False) as descriptor:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, holder.encode(), 0)
            try:
                yield
            finally:
                os.ftruncate(descriptor, 0)

    @contextmanager
    def _locked(self, name: str, *, wait: bool) -> Iterator[int]:
        lock = self._root / _LOCKS / name
        try:
            lock.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as exc:
            raise StorageError(f"cannot lock {name} in {self._root}: {exc}") from exc
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError as exc:
                holder = os.pread(descriptor, 4096, 0).decode(errors="replace") or "not named"
                raise LockHeldError(
                    f"the lock {name!r} of {self._root} is held (holder: {holder}); "
                    f"try again when it is done"
                ) from exc
            yield descriptor
        finally:
            os.close(descriptor)


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _exists(root: Path, path: str) -> ObjectExistsError:
    return ObjectExistsError(f"{path} is in {root} already; objects are never overwritten")


def _missing(root: Path, path: str) -> ObjectMissingError:
    return ObjectMissingError(f"there is no {path} in {root}")


def _spell(token: str | None) -> str:
    return "no such object" if token is None else f"content {token[:12]}"


def _first(exc: BaseException) -> str:
    """Return an error's first line: obstore adds a debug dump below it."""
    return str(exc).partition("\n")[0]
