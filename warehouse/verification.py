"""Recomputing every digest of what is published."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from warehouse.errors import ReleaseDamagedError, StorageError, UnknownReleaseError
from warehouse.manifest import Manifest, OtherFile, TableFile, content_digest
from warehouse.parquet_io import digest
from warehouse.releases import (
    LATEST,
    MANIFEST,
    RELEASES,
    ReleaseLink,
    chain,
    manifest_path,
    open_link,
    read_latest,
    release_directory,
)
from warehouse.storage import Storage

ProblemKind = Literal["missing", "extra", "changed", "contradiction", "broken_chain"]


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong; `path` is relative to the catalog's root."""

    kind: ProblemKind
    path: str
    message: str


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What was checked and what is wrong.

    `leftovers` are directories of a publisher that was killed: no reader sees them, they are no
    problem, and the next publish removes them.
    """

    releases: tuple[str, ...]
    files: int
    bytes: int
    problems: tuple[Problem, ...]
    leftovers: tuple[str, ...]

    @property
    def is_sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


def verify(storage: Storage, release_id: str | None = None) -> VerifyReport:
    """Re-read all releases, or one, and compare every byte with what the manifests promise.

    Also checked: latest.json, the chain of manifests back to the first release, files that no
    manifest names. Problems are reported, not raised; only a release id that does not exist is
    an UnknownReleaseError. An empty root is sound.
    """
    problems = list(_check_pointer(storage))
    links, broken = _walk(storage)
    problems.extend(broken)
    names = [link.release for link in links]
    if release_id is not None and release_id not in names and not broken:
        raise UnknownReleaseError(f"{storage.root} holds no release {release_id}")
    checked = [link for link in links if release_id in {None, link.release}]
    files = size = 0
    for link in checked:
        manifest = open_link(storage, link).manifest
        problems.extend(check_files(storage, manifest))
        promised = promised_files(manifest).values()
        files += len(promised)
        size += sum(file.bytes for file in promised)
    leftovers = () if broken else leftover_directories(storage, names)
    return VerifyReport(
        tuple(link.release for link in checked), files, size, tuple(problems), leftovers
    )


def promised_files(manifest: Manifest) -> dict[str, TableFile | OtherFile]:
    """Return every file that a manifest names, by path under the catalog's root."""
    directory = release_directory(manifest.release)
    tables = {f"{directory}/{table.file}": table for table in manifest.tables.values()}
    others = {f"{directory}/{path}": file for path, file in manifest.files.items()}
    return {**tables, **others}


def check_files(storage: Storage, manifest: Manifest) -> Iterator[Problem]:
    """Yield what differs between a release's files and its manifest, which is not checked."""
    directory = release_directory(manifest.release)
    promised = promised_files(manifest)
    present = {stored.path for stored in storage.objects(directory)}
    for path in sorted(present - promised.keys() - {f"{directory}/{MANIFEST}"}):
        yield Problem("extra", path, f"{path} is in no manifest")
    for path, file in sorted(promised.items()):
        yield from _check_file(storage, path, file)
    found = content_digest(manifest.tables, schema_version=manifest.schema_version)
    if found != manifest.content_digest or not manifest.release.endswith(f"-{found[:8]}"):
        yield Problem(
            "contradiction",
            f"{directory}/{MANIFEST}",
            f"the tables of release {manifest.release} have content digest {found}, the manifest "
            f"says {manifest.content_digest}",
        )


def leftover_directories(storage: Storage, releases: list[str]) -> tuple[str, ...]:
    """Return the directories under releases/ that belong to none of the given releases."""
    known = {release_directory(release) for release in releases}
    return tuple(path for path in storage.directories(RELEASES) if path not in known)


def _check_file(storage: Storage, path: str, file: TableFile | OtherFile) -> Iterator[Problem]:
    try:
        sha256, size = digest(storage.chunks(path))
    except StorageError as exc:
        yield Problem("missing", path, f"{path} cannot be read: {exc}")
        return
    if (sha256, size) != (file.sha256, file.bytes):
        yield Problem(
            "changed",
            path,
            f"{path} is not what was published: expected {file.bytes} bytes of sha256 "
            f"{file.sha256}, found {size} bytes of {sha256}",
        )


def _check_pointer(storage: Storage) -> Iterator[Problem]:
    try:
        latest = read_latest(storage)
    except ReleaseDamagedError:
        return  # Walking the chain reports it.
    if latest is None:
        return
    expected = manifest_path(latest.release)
    if latest.manifest != expected:
        yield Problem(
            "contradiction",
            LATEST,
            f"{LATEST} names release {latest.release} and manifest {latest.manifest}; "
            f"expected {expected}",
        )


def _walk(storage: Storage) -> tuple[list[ReleaseLink], list[Problem]]:
    links: list[ReleaseLink] = []
    try:
        links.extend(chain(storage))
    except ReleaseDamagedError as exc:
        path = manifest_path(links[-1].previous_release or "") if links else LATEST
        message = f"{exc}. Releases before it cannot be reached"
        return links, [Problem("broken_chain", path, message)]
    return links, []
