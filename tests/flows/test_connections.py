"""A run reaches its providers by one client, and what it records passes through one transport."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from connectors.recording import RecordingTransport
from flows import connections
from flows.connections import client_of, connected, landing_of
from flows.planning import plan_run, read_settings
from warehouse.schemas.documents import Document, Validators


@pytest.fixture
def run_of(tmp_path):
    def run_of(record_to: Path | None = None):
        asked = {"landing": str(tmp_path), "as_of": "2026-08-22"}
        return plan_run(read_settings(asked), record_to=record_to)

    yield run_of
    for made in (connections._client_of, connections._transport_of):
        made.cache_clear()


def test_tasks_that_ask_at_once_get_one_client(run_of, tmp_path, monkeypatch):
    all_ask = threading.Barrier(8)
    made = []

    class SlowTransport(RecordingTransport):
        def __init__(self, *args, **kwargs):
            made.append(self)
            # Long enough for each of the others to ask meanwhile.
            threading.Event().wait(0.05)
            super().__init__(*args, **kwargs)

    def ask():
        all_ask.wait(60)
        return client_of(run)

    monkeypatch.setattr(connections, "RecordingTransport", SlowTransport)
    run = run_of(tmp_path / "recording")
    with ThreadPoolExecutor(8) as pool:
        clients = [asked.result() for asked in [pool.submit(ask) for _ in range(8)]]
    assert len(made) == 1
    assert len({id(client) for client in clients}) == 1


def test_after_its_end_another_run_gets_a_client_of_its_own(run_of):
    run = run_of()
    with connected(run):
        first = client_of(run)
        assert client_of(run) is first
    assert client_of(run) is not first


def test_a_run_that_records_takes_nothing_for_unchanged(run_of, tmp_path, document):
    plain, recording = run_of(), run_of(tmp_path / "recording")
    url = document.url
    landing_of(recording).remember(url, document_validators(document))
    assert landing_of(plain).validators(url) == document_validators(document)
    assert landing_of(recording).validators(url) is None
    assert landing_of(recording).open(document.sha256).read() == b"body"


@pytest.fixture
def document(run_of):
    body = landing_of(run_of()).put([b"bo", b"dy"])
    return Document(
        source_id="ecb_reference_rates",
        source="ecb_reference_rates",
        provider=None,
        region_id=None,
        url="http://rates",
        fetched_at=run_of().as_of,
        confirmed_at=run_of().as_of,
        published_at=None,
        version=None,
        media_type="text/xml",
        sha256=body.sha256,
        bytes=body.bytes,
    )


def document_validators(document):
    return Validators('"1"', None, document)
