"""Publishing a release: staged, verified, and made visible in one step.

Under the exclusive lock of the root:

1. Directories that no release owns are deleted: what a killed publisher left.
2. If the content is the latest release's, nothing is written.
3. Every file is written under releases/<id>/, none ever overwritten; the manifest comes last.
4. Everything is read back and compared with the manifest.
5. latest.json is replaced, if it is still the one of step 2. This is the one step that readers
   see; before it nothing has changed for them, after it everything has.

Killed anywhere, the old release stands, and the next publish starts at step 1.

Order. The chain of `previous_release` is the order of releases, and ids sort the same way by
name. So a release of an earlier as-of time than the latest is refused: history is not rewritten,
and an old run is repeated into a root of its own. Two exceptions: a repeated run whose release is
already in the chain is not new, as any unchanged one; and as-of times that are equal pass (the
same run after a fix of the code), where the chain, not the name, says which is newer.
"""

import logging
import os
import re
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from warehouse import canonical_json
from warehouse.dictionary import describe
from warehouse.errors import (
    CandidateError,
    LockHeldError,
    PointerMovedError,
    PublishConflictError,
    ReleaseDamagedError,
    ReleaseOrderError,
)
from warehouse.manifest import (
    Coverage,
    Input,
    Latest,
    Manifest,
    OtherFile,
    QualitySummary,
    content_digest,
    table_file,
)
from warehouse.parquet_io import FileFacts, check_schema, digest, file_facts
from warehouse.releases import (
    LATEST,
    MANIFEST,
    Release,
    chain,
    latest_release,
    manifest_path,
    open_release,
    release_directory,
)
from warehouse.schemas.catalog import TABLE, TABLES
from warehouse.schemas.version import SCHEMA_VERSION
from warehouse.storage import Storage
from warehouse.verification import check_files, leftover_directories

DICTIONARY = "dictionary.json"

_LOCK = "publish"
_EXTRA_FILE = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)+")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CandidateFiles:
    """What is to be published: a parquet file for each table, and the bytes of other files.

    `files` is keyed by path within the release, in a folder of its own (`quality/index.html`).
    """

    tables: Mapping[str, Path]
    files: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class ReleaseFacts:
    """What the manifest says besides its files.

    `expected_previous` is the release that the run compared itself with, None if there was none.
    """

    as_of: datetime
    created_at: datetime
    code_version: str
    inputs: tuple[Input, ...]
    quality: QualitySummary
    coverage: Mapping[str, Coverage]
    expected_previous: str | None


@dataclass(frozen=True, slots=True)
class Published:
    """The outcome: the release that holds the candidate's content, and whether it is new.

    `latest_id` is another one only where an old run, published in its time, was repeated.
    """

    release: Release
    is_new: bool
    latest_id: str

    @property
    def id(self) -> str:
        """The release id."""
        return self.release.id


def release_id_for(as_of: datetime, tables: Mapping[str, FileFacts]) -> str:
    """Return the id that a release of these tables gets; raises ValueError for a naive time."""
    if as_of.tzinfo is None:
        raise ValueError(f"as_of must have a time zone, got {as_of.isoformat()}")
    found = content_digest(tables, schema_version=SCHEMA_VERSION)
    return f"{as_of.astimezone(UTC):%Y%m%dT%H%M%SZ}-{found[:8]}"


def publish(storage: Storage, candidate: CandidateFiles, facts: ReleaseFacts) -> Published:
    """Publish a candidate that the gate let pass; see the module's docstring.

    Raises CandidateError (nothing is written), PublishConflictError (somebody else publishes or
    has published), ReleaseOrderError, ReleaseDamagedError (what was read back, or what is
    published already, is damaged), StorageError.
    """
    _check_candidate(candidate)
    tables = {name: file_facts(path) for name, path in candidate.tables.items()}
    release_id = release_id_for(facts.as_of, tables)
    with _publisher_lock(storage, release_id):
        pointer = storage.read_pointer(LATEST)
        releases = [link.release for link in chain(storage)]
        for directory in leftover_directories(storage, releases):
            logger.warning("deleting %s, left over from a publisher that was killed", directory)
            storage.delete_directory(directory)
        latest = latest_release(storage)
        if latest is not None:
            known = _known_release(latest, releases, tables, release_id)
            if known is not None:
                logger.info("release %s holds this content already", known.id)
                return Published(known, is_new=False, latest_id=latest.id)
        _check_order(storage, latest, facts, release_id)
        manifest = _manifest(release_id, candidate, tables, facts, latest)
        body = canonical_json.encode(manifest)
        _write(storage, candidate, manifest, body)
        _read_back(storage, manifest, body)
        sha256, _ = digest([body])
        _point_to(storage, Release(manifest, sha256, storage), pointer.token if pointer else None)
    logger.info("published release %s", release_id)
    return Published(Release(manifest, sha256, storage), is_new=True, latest_id=release_id)


def _check_candidate(candidate: CandidateFiles) -> None:
    missing = [table.name for table in TABLES if table.name not in candidate.tables]
    unknown = sorted(candidate.tables.keys() - TABLE.keys())
    if missing or unknown:
        raise CandidateError(
            f"a release holds every table of the schema and no other: missing "
            f"{', '.join(missing) or 'none'}; unknown {', '.join(unknown) or 'none'}"
        )
    for name, path in candidate.tables.items():
        check_schema(TABLE[name], path)
    for path_in_release in candidate.files:
        if not _EXTRA_FILE.fullmatch(path_in_release):
            raise CandidateError(
                f"{path_in_release!r} is no path for a further file of a release: expected "
                f"folder/name of letters, digits, dot, dash and underscore"
            )


@contextmanager
def _publisher_lock(storage: Storage, release_id: str) -> Iterator[None]:
    holder = f"process {os.getpid()} on {socket.gethostname()}, publishing {release_id}"
    try:
        with storage.exclusive(_LOCK, holder):
            yield
    except LockHeldError as exc:
        raise PublishConflictError(f"release {release_id} was not published: {exc}") from exc


def _known_release(
    latest: Release, releases: list[str], tables: Mapping[str, FileFacts], release_id: str
) -> Release | None:
    found = content_digest(tables, schema_version=SCHEMA_VERSION)
    if found == latest.manifest.content_digest:
        return latest
    return open_release(latest.storage, release_id) if release_id in releases else None


def _check_order(
    storage: Storage, latest: Release | None, facts: ReleaseFacts, release_id: str
) -> None:
    latest_id = latest.id if latest else None
    if latest_id != facts.expected_previous:
        raise PublishConflictError(
            f"release {release_id} was not published: it was compared with "
            f"{facts.expected_previous or 'no release'}, but meanwhile {latest_id or 'none'} is "
            f"the latest of {storage.root}; run the refresh again"
        )
    if latest is not None and facts.as_of < latest.manifest.as_of:
        raise ReleaseOrderError(
            f"release {release_id} was not published: it is as of {facts.as_of.isoformat()}, "
            f"before the latest, {latest.id}; repeat an old run into another root"
        )


def _manifest(
    release_id: str,
    candidate: CandidateFiles,
    tables: Mapping[str, FileFacts],
    facts: ReleaseFacts,
    latest: Release | None,
) -> Manifest:
    files = {}
    for path, body in _other_files(candidate).items():
        sha256, size = digest([body])
        files[path] = OtherFile(size, sha256)
    return Manifest(
        release=release_id,
        created_at=facts.created_at.astimezone(UTC),
        as_of=facts.as_of.astimezone(UTC),
        schema_version=SCHEMA_VERSION,
        code_version=facts.code_version,
        content_digest=content_digest(tables, schema_version=SCHEMA_VERSION),
        previous_release=latest.id if latest else None,
        previous_manifest_sha256=latest.manifest_sha256 if latest else None,
        inputs=tuple(sorted(facts.inputs, key=lambda entry: entry.source_id)),
        tables={name: table_file(name, entry) for name, entry in tables.items()},
        files=files,
        quality=facts.quality,
        coverage=facts.coverage,
    )


def _other_files(candidate: CandidateFiles) -> dict[str, bytes]:
    dictionary = describe(TABLES, schema_version=SCHEMA_VERSION)
    return {**candidate.files, DICTIONARY: canonical_json.encode(dictionary)}


def _write(storage: Storage, candidate: CandidateFiles, manifest: Manifest, body: bytes) -> None:
    directory = release_directory(manifest.release)
    for name, table in sorted(manifest.tables.items()):
        storage.put_file(f"{directory}/{table.file}", candidate.tables[name])
    for path, content in sorted(_other_files(candidate).items()):
        storage.put_new(f"{directory}/{path}", content)
    storage.put_new(f"{directory}/{MANIFEST}", body)
    storage.make_durable(directory)


def _read_back(storage: Storage, manifest: Manifest, body: bytes) -> None:
    problems = [problem.message for problem in check_files(storage, manifest)]
    if storage.read(manifest_path(manifest.release)) != body:
        problems.append(f"{manifest_path(manifest.release)} is not what was written")
    if problems:
        raise ReleaseDamagedError(
            f"release {manifest.release} was not published, since what was written reads back "
            f"differently: {'; '.join(problems)}"
        )


def _point_to(storage: Storage, release: Release, expected: str | None) -> None:
    latest = Latest(
        release=release.id,
        manifest=manifest_path(release.id),
        manifest_sha256=release.manifest_sha256,
        schema_version=release.manifest.schema_version,
    )
    try:
        storage.compare_and_set(LATEST, canonical_json.encode(latest), expected=expected)
    except PointerMovedError as exc:
        raise PublishConflictError(f"release {release.id} was not published: {exc}") from exc
