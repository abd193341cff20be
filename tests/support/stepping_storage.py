"""A storage that lets a test look, or die, before and within every single call."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from warehouse.storage import LocalStorage, Pointer, StoredObject


class SteppingStorage:
    """Passes every call on to a local storage, after telling `on_step` what comes.

    A write is two steps: the second comes when half of it is on the disk, in the place where the
    local storage (or obstore below it) writes before it renames.
    """

    def __init__(self, root: Path, on_step: Callable[[str], None]) -> None:
        self._inner = LocalStorage(root)
        self._root = root
        self._on_step = on_step

    @property
    def root(self) -> str:
        return self._inner.root

    def put_new(self, path: str, body: bytes) -> None:
        self._on_step(f"put_new {path}")
        self._half_written(self._root / f"{path}#1", body)
        self._inner.put_new(path, body)

    def put_file(self, path: str, source: Path) -> None:
        self._on_step(f"put_file {path}")
        self._half_written(self._root / f"{path}#1", source.read_bytes())
        self._inner.put_file(path, source)

    def read(self, path: str) -> bytes:
        self._on_step(f"read {path}")
        return self._inner.read(path)

    def chunks(self, path: str) -> Iterator[bytes]:
        self._on_step(f"chunks {path}")
        yield from self._inner.chunks(path)

    def objects(self, directory: str) -> tuple[StoredObject, ...]:
        self._on_step(f"objects {directory}")
        return self._inner.objects(directory)

    def directories(self, directory: str) -> tuple[str, ...]:
        self._on_step(f"directories {directory}")
        return self._inner.directories(directory)

    def delete_directory(self, directory: str) -> None:
        self._on_step(f"delete_directory {directory}")
        files = [path for path in sorted((self._root / directory).rglob("*")) if path.is_file()]
        for path in files[: len(files) // 2]:
            path.unlink()
        self._on_step(f"half of delete_directory {directory}")
        self._inner.delete_directory(directory)

    def make_durable(self, directory: str) -> None:
        self._on_step(f"make_durable {directory}")
        # Flushing is slow, and a killed process loses nothing that it has written.

    def location(self, path: str) -> str:
        return self._inner.location(path)

    def read_pointer(self, path: str) -> Pointer | None:
        self._on_step(f"read_pointer {path}")
        return self._inner.read_pointer(path)

    def compare_and_set(self, path: str, body: bytes, *, expected: str | None) -> None:
        self._on_step(f"compare_and_set {path}")
        self._half_written(self._root / ".locks" / f"{path}.new", body)
        self._inner.compare_and_set(path, body, expected=expected)
        self._on_step(f"after compare_and_set {path}")

    @contextmanager
    def exclusive(self, name: str, holder: str) -> Iterator[None]:
        self._on_step(f"exclusive {name}")
        with self._inner.exclusive(name, holder):
            self._on_step(f"holding {name}")
            yield
            self._on_step(f"before release of {name}")

    def _half_written(self, path: Path, body: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body[: len(body) // 2])
        self._on_step(f"half of {path.name}")
        path.unlink()
