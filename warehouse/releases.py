"""Reading releases: which there are, and where their files lie.

A release exists if and only if it can be reached from latest.json by way of `previous_release`.
What else lies under releases/ is left over from a publisher that was killed; no reader sees it.
Nothing that is reachable is ever changed or deleted, so a reader that has followed latest.json
once keeps seeing that release whole, whatever is published meanwhile.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

from warehouse import canonical_json
from warehouse.errors import ObjectMissingError, ReleaseDamagedError, UnknownReleaseError
from warehouse.manifest import Latest, Manifest
from warehouse.storage import Storage

LATEST = "latest.json"
RELEASES = "releases"
MANIFEST = "manifest.json"

_Record = TypeVar("_Record")


@dataclass(frozen=True, slots=True)
class Release:
    """One release, opened: its manifest and the places of its files."""

    manifest: Manifest
    manifest_sha256: str
    storage: Storage

    @property
    def id(self) -> str:
        """The release id, `YYYYMMDDTHHMMSSZ-<first 8 hex of the content digest>`."""
        return self.manifest.release

    @property
    def directory(self) -> str:
        """The place of the release: a local directory or a URL."""
        return self.storage.location(release_directory(self.id))

    def location(self, file: str) -> str:
        """Return the place of a file of this release."""
        return self.storage.location(f"{release_directory(self.id)}/{file}")

    def table(self, name: str) -> str:
        """Return the place of a table's parquet file; raises UnknownReleaseError for no table."""
        try:
            return self.location(self.manifest.tables[name].file)
        except KeyError:
            raise UnknownReleaseError(
                f"release {self.id} has no table {name}; it has "
                f"{', '.join(sorted(self.manifest.tables))}"
            ) from None

    def read(self, file: str) -> bytes:
        """Return the bytes of a file of this release; raises ObjectMissingError."""
        return self.storage.read(f"{release_directory(self.id)}/{file}")


@dataclass(frozen=True, slots=True)
class ReleaseLink:
    """How a release hangs in the chain; its manifest has been compared with `manifest_sha256`."""

    release: str
    manifest_sha256: str
    previous_release: str | None


@dataclass(frozen=True, slots=True)
class _Previous:
    """The part of a manifest that leads to the one before; the rest is not decoded."""

    previous_release: str | None
    previous_manifest_sha256: str | None


def release_directory(release_id: str) -> str:
    """Return the path of a release's directory."""
    return f"{RELEASES}/{release_id}"


def manifest_path(release_id: str) -> str:
    """Return the path of a release's manifest."""
    return f"{release_directory(release_id)}/{MANIFEST}"


def read_latest(storage: Storage) -> Latest | None:
    """Return latest.json, or None while nothing is published; raises ReleaseDamagedError."""
    pointer = storage.read_pointer(LATEST)
    return None if pointer is None else _parse(pointer.body, Latest, LATEST)


def latest_release(storage: Storage) -> Release | None:
    """Open the latest release; None while nothing is published. Raises ReleaseDamagedError."""
    latest = read_latest(storage)
    if latest is None:
        return None
    return _open(storage, latest.release, latest.manifest_sha256)


def open_release(storage: Storage, release_id: str | None = None) -> Release:
    """Open a release, by default the latest.

    Raises UnknownReleaseError where it does not exist, ReleaseDamagedError where a manifest on
    the way to it is not the one that was published.
    """
    known = []
    for link in chain(storage):
        if release_id in {None, link.release}:
            return open_link(storage, link)
        known.append(link.release)
    if not known:
        raise UnknownReleaseError(f"{storage.root} holds no release; run a refresh first")
    raise UnknownReleaseError(
        f"{storage.root} holds no release {release_id}; the newest are {', '.join(known[:5])}"
    )


def list_releases(storage: Storage) -> tuple[Release, ...]:
    """Open every release, the latest first; raises ReleaseDamagedError."""
    return tuple(open_link(storage, link) for link in chain(storage))


def open_link(storage: Storage, link: ReleaseLink) -> Release:
    """Open the release of a link; raises ReleaseDamagedError."""
    return _open(storage, link.release, link.manifest_sha256)


def chain(storage: Storage) -> Iterator[ReleaseLink]:
    """Yield every release's link, the latest first.

    Raises ReleaseDamagedError at the first manifest that is missing or is not the one published.
    """
    latest = read_latest(storage)
    if latest is None:
        return
    seen: set[str] = set()
    release_id: str | None = latest.release
    sha256: str | None = latest.manifest_sha256
    while release_id is not None:
        if release_id in seen:
            raise ReleaseDamagedError(f"the chain of releases runs in a circle at {release_id}")
        seen.add(release_id)
        body, found = _read_manifest(storage, release_id, sha256)
        previous = _parse(body, _Previous, manifest_path(release_id))
        yield ReleaseLink(release_id, found, previous.previous_release)
        release_id, sha256 = previous.previous_release, previous.previous_manifest_sha256


def _parse(body: bytes, record_type: type[_Record], path: str) -> _Record:
    """Read a JSON object of a release; raises ReleaseDamagedError naming it and the field."""
    try:
        return canonical_json.decode(body, record_type)
    except ValueError as exc:
        raise ReleaseDamagedError(
            f"{path} cannot be read as {record_type.__name__.strip('_')}: {exc}"
        ) from exc


def _open(storage: Storage, release_id: str, sha256: str) -> Release:
    body, found = _read_manifest(storage, release_id, sha256)
    return Release(_parse(body, Manifest, manifest_path(release_id)), found, storage)


def _read_manifest(storage: Storage, release_id: str, expected: str | None) -> tuple[bytes, str]:
    path = manifest_path(release_id)
    try:
        body = storage.read(path)
    except ObjectMissingError as exc:
        raise ReleaseDamagedError(f"{path} is missing: {exc}") from exc
    found = hashlib.sha256(body).hexdigest()
    if found != expected:
        raise ReleaseDamagedError(
            f"{path} is not the manifest that was published: expected sha256 {expected}, "
            f"found {found}"
        )
    return body, found
