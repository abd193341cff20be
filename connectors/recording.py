"""Record what a run fetched, and replay it in place of the network.

A recording is a directory:

- `recording.json`, to be read and reviewed: what was fetched, when, and the digest of each body;
- `packs/<host>-<digest>.xz`, the bodies of one host, decoded, one after the other in the order in
  which `recording.json` first names them. One solid stream per host makes pages that resemble each
  other cost almost nothing. `xz --decompress` reads it.

Both ends are transports of requests: `RecordingTransport` stands before another adapter and keeps
what passes, `ReplayTransport` stands where the network stands. The client and the connectors above
are the same code in every case.
"""

import hashlib
import io
import json
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

import msgspec
import requests
import urllib3
from requests.adapters import BaseAdapter
from requests.structures import CaseInsensitiveDict

from connectors.errors import RecordingError
from connectors.http_body import iter_body
from connectors.recording_packs import UnpackedPack, unpack, write_pack
from connectors.urls import canonical_url

FORMAT = "price-catalog-recording/1"
INDEX_NAME = "recording.json"

RECORDED_AT_HEADER = "x-recorded-at"
"""ISO 8601 time of the fetch, in replayed answers and in no others."""
RECORDED_NOTE_HEADER = "x-recorded-note"
"""What a reader must know about a replayed document, if there is anything."""

_PACK_DIRECTORY = "packs"
_INCOMING_DIRECTORY = ".incoming"
_KEPT_HEADERS = ("Content-Type", "ETag", "Last-Modified")
_CONDITIONAL_HEADERS = ("If-None-Match", "If-Modified-Since")
# A replay unpacks whole packs onto disk, so a full night is cut into several per host.
_PACK_BYTES = 256 << 20


class Interaction(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One recorded answer: the last whole answer (200) to a GET of `url`.

    `url` is canonical (see `connectors.urls`); sha256 and bytes are of the decoded body.
    """

    url: str
    status: int
    fetched_at: datetime
    headers: dict[str, str]
    note: str | None = None
    bytes: int
    sha256: str
    pack: str


class Recording(msgspec.Struct, frozen=True, kw_only=True):
    """What `recording.json` says; interactions in the order of their urls."""

    format: str
    as_of: datetime
    description: str
    notes: dict[str, str]
    interactions: tuple[Interaction, ...]

    def note_for(self, interaction: Interaction) -> str | None:
        """Give the note of an interaction: its own, else that of the longest url prefix."""
        return interaction.note or longest_prefix(self.notes, interaction.url)


def longest_prefix(notes: Mapping[str, str], url: str) -> str | None:
    """Give the value of the longest key that `url` starts with."""
    return max(
        ((prefix, note) for prefix, note in notes.items() if url.startswith(prefix)),
        key=lambda item: len(item[0]),
        default=("", None),
    )[1]


def read_recording(directory: Path) -> Recording:
    """Read the index of a recording.

    Raises:
        RecordingError: there is none, or it is not in the format that this version reads.
    """
    path = directory / INDEX_NAME
    try:
        recording = msgspec.json.decode(path.read_bytes(), type=Recording)
    except FileNotFoundError as exc:
        raise RecordingError(
            f"expected a recording in {directory}, which has no {INDEX_NAME}; "
            "make one with `price-catalog refresh --source live --record DIR`"
        ) from exc
    except msgspec.MsgspecError as exc:
        raise RecordingError(f"{path} cannot be read ({exc}); record it again") from exc
    if recording.format != FORMAT:
        raise RecordingError(
            f"expected the recording format {FORMAT}, got {recording.format}; record it again",
            field="format",
        )
    return recording


@dataclass(frozen=True, slots=True)
class _Taken:
    """An answer that was received whole and waits to be packed; `path` holds its body."""

    url: str
    fetched_at: datetime
    headers: dict[str, str]
    sha256: str
    bytes: int
    note: str | None
    path: Path


class RecordingTransport(BaseAdapter):
    """Passes requests on to another adapter and keeps the whole answers.

    An answer is received to its end before it is handed on, so what the client reads is what was
    recorded. Only 200 is kept, and of several answers to one url the last: refusals, cut-off
    bodies and outdated walks leave no trace. A condition in a request (If-None-Match) is not
    passed on, because a recording must hold the body that a 304 leaves out.

    An inner adapter that is itself a replay says so in its headers; the recording then keeps those
    times and notes, so that a recording of a replay is the same recording.
    """

    def __init__(
        self,
        inner: BaseAdapter,
        directory: Path,
        *,
        as_of: datetime,
        now: Callable[[], datetime],
        description: str = "",
        notes: Mapping[str, str] | None = None,
    ) -> None:
        """Record into `directory`.

        Args:
            inner: where answers come from.
            directory: made if absent; an earlier recording in it is replaced by `finish`.
            as_of: the clock of the recorded run, which a replay takes for its own.
            now: the time of each fetch.
            description: what this recording is, for people.
            notes: url prefix to what a reader must know about the documents under it.
        """
        super().__init__()
        self._inner = inner
        self._directory = directory
        self._as_of = as_of
        self._now = now
        self._description = description
        self._notes = dict(notes or {})
        self._taken: dict[str, _Taken] = {}
        self._lock = threading.Lock()
        self._incoming = directory / _INCOMING_DIRECTORY
        shutil.rmtree(self._incoming, ignore_errors=True)
        self._incoming.mkdir(parents=True)

    def send(
        self,
        request: requests.PreparedRequest,
        *args: Any,  # noqa: ANN401 - handed on as it came
        **kwargs: Any,  # noqa: ANN401
    ) -> requests.Response:
        """Pass a request on; keep the answer if it is a whole 200 to a GET."""
        for name in _CONDITIONAL_HEADERS:
            request.headers.pop(name, None)
        response = self._inner.send(request, *args, **kwargs)
        if response.status_code != requests.codes.ok or request.method != "GET":
            return response
        taken = self._take(response, canonical_url(request.url or ""))
        response.close()
        return _answer(
            request, 200, dict(response.headers) | taken.headers, taken.path.open("rb"), taken.bytes
        )

    def finish(self) -> Recording:
        """Pack what was kept and write the index, last and in one step.

        Interactions are sorted and packs named by content: the same answers give the same bytes,
        in whatever order they came.

        Raises:
            RecordingError: nothing was recorded.
        """
        with self._lock:
            taken = [self._taken[url] for url in sorted(self._taken)]
        if not taken:
            raise RecordingError(
                f"nothing was fetched through the recorder, so {self._directory} gets no recording"
            )
        recording = Recording(
            format=FORMAT,
            as_of=self._as_of,
            description=self._description,
            notes=dict(sorted(self._notes.items())),
            interactions=tuple(self._pack(taken)),
        )
        _write_index(self._directory, recording)
        shutil.rmtree(self._incoming)
        _remove_other_packs(self._directory, recording)
        return recording

    def close(self) -> None:
        """Drop what was not packed, and close the inner adapter."""
        shutil.rmtree(self._incoming, ignore_errors=True)
        self._inner.close()

    def _take(self, response: requests.Response, url: str) -> _Taken:
        digest = hashlib.sha256()
        size = 0
        with tempfile.NamedTemporaryFile(dir=self._incoming, delete=False) as file:
            for chunk in iter_body(response):
                digest.update(chunk)
                size += len(chunk)
                file.write(chunk)
        recorded_at = response.headers.get(RECORDED_AT_HEADER)
        taken = _Taken(
            url=url,
            fetched_at=datetime.fromisoformat(recorded_at) if recorded_at else self._now(),
            headers={
                name: response.headers[name] for name in _KEPT_HEADERS if name in response.headers
            },
            sha256=digest.hexdigest(),
            bytes=size,
            note=response.headers.get(RECORDED_NOTE_HEADER),
            path=Path(file.name),
        )
        with self._lock:
            self._taken[url] = taken
        return taken

    def _pack(self, taken: Iterable[_Taken]) -> Iterator[Interaction]:
        for host, group in _by_host(taken):
            for part in _parts(group):
                pack = write_pack(
                    self._directory / _PACK_DIRECTORY,
                    host,
                    {answer.sha256: answer.path for answer in part}.values(),
                    scratch=self._incoming,
                )
                for answer in part:
                    note = answer.note
                    if note == longest_prefix(self._notes, answer.url):
                        note = None
                    yield Interaction(
                        url=answer.url,
                        status=200,
                        fetched_at=answer.fetched_at,
                        headers=answer.headers,
                        pack=pack,
                        sha256=answer.sha256,
                        bytes=answer.bytes,
                        note=note,
                    )


class ReplayTransport(BaseAdapter):
    """Answers from a recording, and from nothing else.

    A pack is unpacked and verified when a body in it is first asked for, into a temporary file
    that vanishes with the transport: memory stays small, and bodies can be read in any order and
    by several threads. A recorded ETag is honoured, so an unchanged file costs a 304 here too.
    """

    def __init__(self, directory: Path) -> None:
        """Open the recording in `directory`.

        Raises:
            RecordingError: there is none, or it is in another format.
        """
        super().__init__()
        self.recording = read_recording(directory)
        self._directory = directory
        self._interactions = {item.url: item for item in self.recording.interactions}
        self._packs: dict[str, UnpackedPack] = {}
        self._locks = {item.pack: threading.Lock() for item in self.recording.interactions}

    def send(
        self, request: requests.PreparedRequest, *_args: object, **_options: object
    ) -> requests.Response:
        """Answer a GET with what was recorded for its url.

        Raises:
            RecordingError: the url is not in the recording, or the recording is damaged.
        """
        url = canonical_url(request.url or "")
        interaction = self._interactions.get(url)
        if interaction is None or request.method != "GET":
            raise RecordingError(
                f"{request.method} is not in the recording of {self.recording.as_of:%Y-%m-%d}; "
                "record it, or ask the live source",
                url=url,
            )
        headers = interaction.headers | {RECORDED_AT_HEADER: interaction.fetched_at.isoformat()}
        if note := self.recording.note_for(interaction):
            headers[RECORDED_NOTE_HEADER] = note
        etag = interaction.headers.get("ETag")
        if etag is not None and request.headers.get("If-None-Match") == etag:
            return _answer(request, 304, headers, io.BytesIO(), 0)
        body = self._unpacked(interaction.pack).open(interaction.sha256)
        return _answer(request, interaction.status, headers, body, interaction.bytes)

    def close(self) -> None:
        """Let go of the unpacked bodies."""
        for pack in self._packs.values():
            pack.close()
        self._packs.clear()

    def _unpacked(self, name: str) -> UnpackedPack:
        with self._locks[name]:
            if name not in self._packs:
                bodies = {
                    item.sha256: item.bytes
                    for item in self.recording.interactions
                    if item.pack == name
                }
                self._packs[name] = unpack(self._directory / _PACK_DIRECTORY / name, bodies)
            return self._packs[name]


def _answer(
    request: requests.PreparedRequest,
    status: int,
    headers: Mapping[str, str],
    body: IO[bytes],
    size: int,
) -> requests.Response:
    own = CaseInsensitiveDict(headers)
    for name in ("Content-Encoding", "Transfer-Encoding"):
        own.pop(name, None)
    own["Content-Length"] = str(size)
    response = requests.Response()
    response.status_code = status
    response.url = request.url or ""
    response.request = request
    response.headers = own
    response.raw = urllib3.HTTPResponse(
        body=body, headers=dict(own), status=status, preload_content=False, decode_content=False
    )
    return response


def _by_host(taken: Iterable[_Taken]) -> Iterator[tuple[str, list[_Taken]]]:
    groups: dict[str, list[_Taken]] = {}
    for answer in taken:
        groups.setdefault(urlsplit(answer.url).netloc.replace(":", "_"), []).append(answer)
    yield from groups.items()


def _parts(group: Iterable[_Taken]) -> Iterator[list[_Taken]]:
    part: list[_Taken] = []
    size = 0
    for answer in group:
        if part and size + answer.bytes > _PACK_BYTES:
            yield part
            part, size = [], 0
        part.append(answer)
        size += answer.bytes
    if part:
        yield part


def _write_index(directory: Path, recording: Recording) -> None:
    text = json.dumps(msgspec.to_builtins(recording), indent=2, ensure_ascii=False) + "\n"
    part = directory / _INCOMING_DIRECTORY / INDEX_NAME
    part.write_text(text, encoding="utf-8")
    part.replace(directory / INDEX_NAME)


def _remove_other_packs(directory: Path, recording: Recording) -> None:
    named = {item.pack for item in recording.interactions}
    for path in (directory / _PACK_DIRECTORY).iterdir():
        if path.name not in named:
            path.unlink()
