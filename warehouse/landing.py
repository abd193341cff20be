"""The landing store: providers' documents as they came, and what has been made of them.

Layout below the root:

    objects/<2>/<sha256>.zst   a document's decoded body, zstd compressed, named by its digest
    validators/<sha256>.json   what a conditional request for a url sends; named by the url's digest
    runs/<run id>/run.json     the documents of a run, so that it can be repeated without a network
    parts/<key>/               parquet made from documents by code; `part_key` says which
    incoming/                  what is being written, and candidates of releases; what killed runs
                               left there is deleted by the next run that has the store to itself

Everything is written aside and renamed into place: a name that can be seen is whole. Names are
digests, so writers of the same thing agree and may race. A body is checked against its name
whenever it is read.
"""

import fcntl
import hashlib
import io
import logging
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from pyarrow.lib import CompressedOutputStream

from warehouse import canonical_json
from warehouse.checked_body import CheckedBody
from warehouse.errors import DocumentDamagedError, DocumentMissingError, LandingBusyError
from warehouse.schemas.documents import Document, StoredBody, Validators

_BUFFER_BYTES = 1 << 20
_SHA256 = re.compile(r"[0-9a-f]{64}")
_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")

logger = logging.getLogger(__name__)

_Record = TypeVar("_Record")


@dataclass(frozen=True, slots=True)
class LandedRun:
    """One run: the documents that it was made from and the facts that matter for its result.

    `facts` are plain JSON values. `parts` are the keys of the parts that were made of the
    documents: `prune` keeps them as long as the run.
    """

    run_id: str
    documents: tuple[Document, ...]
    facts: Mapping[str, Any]
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Pruned:
    """What `prune` deleted: runs, bodies, validators and parts."""

    runs: int
    objects: int
    validators: int
    parts: int


def part_key(documents: Iterable[Document], *, code_fingerprint: str) -> str:
    """Return the key of what code makes of documents: equal inputs and code, equal key."""
    inputs = sorted((document.source_id, document.sha256) for document in documents)
    content = {"inputs": inputs, "code": code_fingerprint}
    return hashlib.sha256(canonical_json.encode(content)).hexdigest()


class LandingStore:
    """The landing store below a root directory, which is made when it is first written to."""

    def __init__(self, root: Path) -> None:
        """Open the store; nothing is read or written yet."""
        self._root = root

    def put(self, chunks: Iterable[bytes]) -> StoredBody:
        """Store a decoded body while it streams past, at most one chunk of it in memory.

        A body that is there already is replaced by its equal, which also repairs a damaged one.
        """
        sha256, size = hashlib.sha256(), 0
        with self._incoming_file() as incoming:
            with CompressedOutputStream(str(incoming), "zstd") as stream:
                for chunk in chunks:
                    sha256.update(chunk)
                    size += len(chunk)
                    stream.write(chunk)
            name = sha256.hexdigest()
            _move(incoming, self._object(name))
        return StoredBody(name, size)

    def open(self, sha256: str) -> BinaryIO:
        """Open a body for reading, decoded, front to back.

        Raises DocumentMissingError. Reading raises DocumentDamagedError where the bytes are not
        those of the digest; that a wrong byte is one is known for sure at the end only, so what
        was made of a body counts once it has been read to its end.
        """
        path = self._object(sha256)
        try:
            body = CheckedBody(path, sha256)
        except FileNotFoundError:
            raise DocumentMissingError(
                f"the landing store has no document {sha256}: expected {path}; fetch it again"
            ) from None
        return io.BufferedReader(body, _BUFFER_BYTES)

    def validators(self, url: str) -> Validators | None:
        """Return what was remembered of a url, as long as the body it belongs to is still here."""
        remembered = _read_validators(self._validators(url))
        if remembered is None or not self._object(remembered.document.sha256).is_file():
            return None
        return remembered

    def remember(self, url: str, validators: Validators) -> None:
        """Remember validators of a url, in place of earlier ones."""
        self._save(self._validators(url), validators)

    def save_run(
        self,
        run_id: str,
        documents: Iterable[Document],
        facts: Mapping[str, Any],
        *,
        parts: Iterable[str] = (),
    ) -> None:
        """Save what a run was made from; a run saved under the same id before is replaced.

        Raises DocumentMissingError where the body of a document is not here: a run that could
        not be repeated is not saved.
        """
        run = LandedRun(
            run_id,
            tuple(sorted(documents, key=lambda document: document.source_id)),
            dict(facts),
            tuple(sorted(parts)),
        )
        for document in run.documents:
            if not self._object(document.sha256).is_file():
                raise DocumentMissingError(
                    f"run {run_id} names document {document.source_id} of sha256 "
                    f"{document.sha256}, which the landing store does not have"
                )
        self._save(self._run(run_id), run)

    def load_run(self, run_id: str) -> LandedRun:
        """Return a saved run; raises DocumentMissingError, naming the runs that there are."""
        try:
            return _load(self._run(run_id), LandedRun)
        except FileNotFoundError:
            known = ", ".join(self.runs()[-5:]) or "none"
            raise DocumentMissingError(
                f"the landing store {self._root} has no run {run_id}; the newest are: {known}"
            ) from None

    def runs(self) -> tuple[str, ...]:
        """Return the ids of all saved runs, sorted by name."""
        return tuple(sorted(path.parent.name for path in self._root.glob("runs/*/run.json")))

    def part_directory(self, key: str) -> Path | None:
        """Return the directory of a part, or None where it has not been made yet."""
        path = self._part(key)
        return path if path.is_dir() else None

    def new_part_directory(self) -> Path:
        """Return an empty directory to make a part in; `commit_part` takes it."""
        return self._incoming_directory()

    def new_work_directory(self) -> Path:
        """Return an empty directory for work that the store does not keep; who asked deletes it."""
        return self._incoming_directory()

    def commit_part(self, key: str, directory: Path) -> Path:
        """Move a directory from `new_part_directory` into place and return where it is now.

        Where another writer was faster its equal is kept, and the directory is deleted.
        """
        path = self._part(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            directory.rename(path)
        except OSError:
            if not path.is_dir():
                raise
            shutil.rmtree(directory)
        return path

    def discard_body(self, sha256: str) -> None:
        """Delete a body that turned out to be damaged, so that it is fetched again."""
        self._object(sha256).unlink(missing_ok=True)

    def discard_part(self, key: str) -> None:
        """Delete a part that turned out to be damaged, so that it is made again."""
        shutil.rmtree(self._part(key), ignore_errors=True)

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Keep `prune` away as long as a run is at work. Many may hold it.

        Who comes first deletes what killed runs left half-written: it cannot be anybody else's.
        """
        with self._lock_file() as lock:
            with suppress(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._delete_incoming()
            fcntl.flock(lock, fcntl.LOCK_SH)
            yield

    def prune(self, *, keep_runs: int) -> Pruned:
        """Keep the last runs, by name, with what they need, and delete everything else.

        Raises LandingBusyError while somebody is `in_use`, ValueError for no runs to keep.
        """
        if keep_runs < 1:
            raise ValueError(f"keep_runs must be 1 or more, got {keep_runs}")
        with self._locked_alone():
            names = self.runs()
            kept = [self.load_run(run_id) for run_id in names[-keep_runs:]]
            bodies = {document.sha256 for run in kept for document in run.documents}
            parts = {key for run in kept for key in run.parts}
            self._delete_incoming()
            return Pruned(
                runs=_delete(self._run(run_id).parent for run_id in names[:-keep_runs]),
                objects=_delete(
                    path for path in self._root.glob("objects/*/*.zst") if path.stem not in bodies
                ),
                validators=_delete(
                    path
                    for path in self._root.glob("validators/*.json")
                    if _confirms_none_of(_read_validators(path), bodies)
                ),
                parts=_delete(
                    path for path in self._root.glob("parts/*") if path.name not in parts
                ),
            )

    def _object(self, sha256: str) -> Path:
        _require(_SHA256, sha256, "the SHA-256 of a document, 64 hex digits")
        return self._root / "objects" / sha256[:2] / f"{sha256}.zst"

    def _part(self, key: str) -> Path:
        _require(_SHA256, key, "the key of a part, 64 hex digits")
        return self._root / "parts" / key

    def _run(self, run_id: str) -> Path:
        _require(_RUN_ID, run_id, "a run id of letters, digits, dot, dash and underscore")
        return self._root / "runs" / run_id / "run.json"

    def _validators(self, url: str) -> Path:
        # By digest: a url may hold a signature, which is not for keeping.
        return self._root / "validators" / f"{hashlib.sha256(url.encode()).hexdigest()}.json"

    def _save(self, path: Path, record: object) -> None:
        with self._incoming_file() as incoming:
            incoming.write_bytes(canonical_json.encode(record))
            _move(incoming, path)

    @property
    def _incoming(self) -> Path:
        return self._root / "incoming"

    def _delete_incoming(self) -> None:
        shutil.rmtree(self._incoming, ignore_errors=True)

    def _incoming_directory(self) -> Path:
        self._incoming.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(dir=self._incoming))

    @contextmanager
    def _incoming_file(self) -> Iterator[Path]:
        """Give a new file's path; what is still there at the end is deleted."""
        self._incoming.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=self._incoming)
        os.close(descriptor)
        try:
            yield Path(name)
        finally:
            Path(name).unlink(missing_ok=True)

    @contextmanager
    def _locked_alone(self) -> Iterator[None]:
        with self._lock_file() as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as exc:
                raise LandingBusyError(
                    f"the landing store {self._root} is in use; prune it when no run is at work"
                ) from exc
            yield

    def _lock_file(self) -> BinaryIO:
        self._root.mkdir(parents=True, exist_ok=True)
        return (self._root / ".lock").open("ab")


def _load(path: Path, record_type: type[_Record]) -> _Record:
    try:
        return canonical_json.decode(path.read_bytes(), record_type)
    except ValueError as exc:
        raise DocumentDamagedError(
            f"{path} cannot be read as {record_type.__name__}: {exc}; delete it and run again"
        ) from exc


def _read_validators(path: Path) -> Validators | None:
    try:
        return _load(path, Validators)
    except FileNotFoundError:
        return None
    except DocumentDamagedError as exc:
        # Without validators a document is fetched whole: slower, and right.
        logger.warning("passing over unreadable validators: %s", exc)
        return None


def _confirms_none_of(validators: Validators | None, bodies: set[str]) -> bool:
    return validators is None or validators.document.sha256 not in bodies


def _move(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    source.replace(target)


def _delete(paths: Iterable[Path]) -> int:
    """Delete files and directories; returns how many."""
    count = 0
    for path in list(paths):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
        count += 1
    return count


def _require(pattern: re.Pattern[str], text: str, what: str) -> None:
    """Raise ValueError for a name that could lead out of the store."""
    if not pattern.fullmatch(text):
        raise ValueError(f"expected {what}, got {text!r}")
