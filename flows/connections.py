"""How a run reaches its providers: over the network, or by a recording that stands in its place."""

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import BinaryIO

from requests.adapters import HTTPAdapter

from connectors.http_client import HttpClient, HttpPolicy
from connectors.landing import Landing
from connectors.recording import RecordingTransport, ReplayTransport
from flows.planning import now
from flows.run import Run
from warehouse.landing import LandingStore
from warehouse.schemas.documents import StoredBody, Validators

_making_one = threading.Lock()


def client_of(run: Run) -> HttpClient:
    """Return the HTTP client of a run, one a process: what passes goes into one recording.

    Many tasks ask at once, and a cache alone would let each of the first make its own.
    """
    with _making_one:
        return _client_of(run)


@lru_cache(maxsize=1)
def _client_of(run: Run) -> HttpClient:
    policy = HttpPolicy(
        max_attempts=run.limits.max_attempts, backoff_seconds=run.limits.backoff_seconds
    )
    return HttpClient(policy, sleep=time.sleep, now=now, transport=_transport_of(run))


def landing_of(run: Run) -> Landing:
    """Return where a run lands its documents."""
    store = LandingStore(run.landing)
    return store if run.record_to is None else _ForgetfulLanding(store)


def finish_recording(run: Run) -> None:
    """Write the index of a run's recording; a run that does not record has none."""
    transport = _transport_of(run)
    if isinstance(transport, RecordingTransport):
        transport.finish()


@contextmanager
def connected(run: Run) -> Iterator[None]:
    """Close the connections that a run has opened, however it ends."""
    try:
        yield
    finally:
        client_of(run).close()
        _client_of.cache_clear()
        _transport_of.cache_clear()


@lru_cache(maxsize=1)
def _transport_of(run: Run) -> RecordingTransport | ReplayTransport | None:
    if run.recording is not None:
        return ReplayTransport(run.recording)
    if run.record_to is not None:
        return RecordingTransport(
            HTTPAdapter(pool_maxsize=run.limits.workers), run.record_to, as_of=run.as_of, now=now
        )
    return None


class _ForgetfulLanding:
    """Lands documents, but knows none from before: a recording must hold every body."""

    def __init__(self, store: LandingStore) -> None:
        self._store = store

    def put(self, chunks: Iterable[bytes]) -> StoredBody:
        return self._store.put(chunks)

    def open(self, sha256: str) -> BinaryIO:
        return self._store.open(sha256)

    def validators(self, url: str) -> Validators | None:  # noqa: ARG002 - as Landing has it
        return None

    def remember(self, url: str, validators: Validators) -> None:
        self._store.remember(url, validators)
