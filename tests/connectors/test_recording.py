import dataclasses
import hashlib
import json
import lzma
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from requests.adapters import BaseAdapter, HTTPAdapter

from connectors import recording as recording_module
from connectors.aws.price_list import fetch_offer_file, fetch_region_index
from connectors.azure.retail_prices import fetch_price_list
from connectors.ecb import fetch_reference_rates
from connectors.errors import RecordingError, SourceUnavailableError
from connectors.recording import RecordingTransport, ReplayTransport, read_recording
from support.clients import NOW, client_without_waits
from support.encode_ecb import encode_reference_rates
from support.fake_aws import FakeAws
from support.fake_azure import FakeAzure
from support.fake_ecb import FakeEcb
from support.fake_http import DirectTransport, FakeServer, cuts_off, refuses, sends
from support.memory_landing import MemoryLanding
from support.wire_aws import encode_offer_csv

AS_OF = datetime(2026, 8, 22, 3, tzinfo=UTC)
RECORDED_AT = datetime(2026, 8, 22, 4, 30, tzinfo=UTC)
AWS_URL = "https://pricing.us-east-1.amazonaws.com"
AZURE_URL = "https://prices.azure.com/api/retail/prices"
ECB_URL = "https://www.ecb.europa.eu/stats/eurofxref/eurofxref-daily.xml"
NIGHT_AFTER = NOW + timedelta(days=1)
NOTE = "prices of 2026-07-05"
OTHER_FORMAT = (
    b'{"format":"price-catalog-recording/9","as_of":"2026-08-22T03:00:00Z",'
    b'"description":"","notes":{},"interactions":[]}'
)


def providers() -> tuple[FakeAws, FakeAzure, FakeEcb]:
    offers = {
        region: encode_offer_csv([{"SKU": f"{region}{n}"} for n in range(500)])
        for region in ("us-east-1", "eu-central-1")
    }
    listings = {
        (region, kind): [{"meterId": f"{region}-{kind}-{n}", "price": n} for n in range(250)]
        for region in ("eastus", "westeurope")
        for kind in ("Consumption", "Reservation")
    }
    rates = encode_reference_rates({"USD": "1.1582"}, rate_date=date(2026, 8, 21))
    return FakeAws(offers), FakeAzure(listings, page_size=100), FakeEcb(rates)


def fetch_all(transport, landing, *, reverse=False, aws_url=AWS_URL, azure_url=AZURE_URL):
    """Give every document that the fakes have, by source_id."""
    with client_without_waits(transport=transport) as client:
        index, files = fetch_region_index(client, aws_url, landing, fetched_at=NOW)
        documents = [index]
        jobs = [
            *(
                lambda file=file: [fetch_offer_file(client, file, landing, fetched_at=NOW)]
                for file in files
            ),
            *(
                lambda region=region, kind=kind: fetch_price_list(
                    client, azure_url, region, kind, landing, fetched_at=NOW
                )
                for region in ("eastus", "westeurope")
                for kind in ("Consumption", "Reservation")
            ),
            lambda: [fetch_reference_rates(client, ECB_URL, landing, fetched_at=NOW)],
        ]
        for job in reversed(jobs) if reverse else jobs:
            documents += job()
    return {document.source_id: document for document in documents}


def record(
    directory: Path, inner: BaseAdapter | None = None, *, now=lambda: RECORDED_AT, **options
):
    transport = RecordingTransport(
        inner or DirectTransport(*providers()),
        directory,
        as_of=AS_OF,
        now=now,
        description="List prices of some regions",
        notes={AWS_URL: NOTE},
    )
    documents = fetch_all(NotClosed(transport), MemoryLanding(), **options)
    transport.finish()
    transport.close()
    return documents


class NotClosed(BaseAdapter):
    """Hides `close` from the client, which owns its transport."""

    def __init__(self, transport):
        super().__init__()
        self.send = transport.send

    def close(self):
        pass


def files_of(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file()
    }


def test_replay_gives_the_documents_that_were_recorded(tmp_path):
    recorded = record(tmp_path)
    landing = MemoryLanding()

    replayed = fetch_all(ReplayTransport(tmp_path), landing)

    assert {
        id_: (d.url, d.version, d.published_at, d.sha256, d.bytes, d.media_type)
        for id_, d in replayed.items()
    } == {
        id_: (d.url, d.version, d.published_at, d.sha256, d.bytes, d.media_type)
        for id_, d in recorded.items()
    }
    assert len(replayed) == 1 + 2 + 4 * 3 + 1
    assert set(landing.bodies) == {document.sha256 for document in replayed.values()}


def test_replayed_documents_say_so_and_when_and_what_a_reader_must_know(tmp_path):
    recorded = record(tmp_path)

    replayed = fetch_all(ReplayTransport(tmp_path), MemoryLanding())

    assert not any(document.is_recorded for document in recorded.values())
    assert all(document.is_recorded for document in replayed.values())
    dates = {(document.fetched_at, document.confirmed_at) for document in replayed.values()}
    assert dates == {(RECORDED_AT, RECORDED_AT)}
    assert {d.note for d in replayed.values() if d.provider == "aws"} == {NOTE}
    assert {d.note for d in replayed.values() if d.provider != "aws"} == {None}


def test_same_answers_give_the_same_bytes_in_whatever_order_they_came(tmp_path):
    record(tmp_path / "one")
    record(tmp_path / "two", reverse=True)

    assert files_of(tmp_path / "one") == files_of(tmp_path / "two")


def test_recording_of_a_replay_is_the_same_recording(tmp_path):
    record(tmp_path / "one")
    record(tmp_path / "two", ReplayTransport(tmp_path / "one"), now=lambda: NOW)

    assert files_of(tmp_path / "one") == files_of(tmp_path / "two")


def test_notes_of_a_replay_are_kept_by_a_recorder_that_has_none(tmp_path):
    record(tmp_path / "one")
    transport = RecordingTransport(
        ReplayTransport(tmp_path / "one"), tmp_path / "two", as_of=AS_OF, now=lambda: NOW
    )
    fetch_all(NotClosed(transport), MemoryLanding())
    transport.finish()
    transport.close()

    replayed = fetch_all(ReplayTransport(tmp_path / "two"), MemoryLanding())

    assert {d.note for d in replayed.values() if d.provider == "aws"} == {NOTE}


def test_index_is_for_people_to_read(tmp_path):
    record(tmp_path)

    index = json.loads((tmp_path / "recording.json").read_text())

    first = index["interactions"][0]
    assert index | {"interactions": []} == {
        "format": "price-catalog-recording/1",
        "as_of": "2026-08-22T03:00:00Z",
        "description": "List prices of some regions",
        "notes": {AWS_URL: NOTE},
        "interactions": [],
    }
    assert first == {
        "url": "https://prices.azure.com/api/retail/prices?$filter=serviceName%20eq%20'Virtual%20"
        "Machines'%20and%20armRegionName%20eq%20'eastus'%20and%20priceType%20eq%20'Consumption'"
        "&$skip=100&api-version=2023-01-01-preview",
        "status": 200,
        "fetched_at": "2026-08-22T04:30:00Z",
        "headers": {"Content-Type": "application/json; charset=utf-8"},
        "bytes": first["bytes"],
        "sha256": first["sha256"],
        "pack": first["pack"],
    }
    assert [item["url"] for item in index["interactions"]] == sorted(
        item["url"] for item in index["interactions"]
    )


def test_packs_are_plain_xz_of_the_bodies_in_the_order_of_the_index(tmp_path):
    record(tmp_path)
    recording = read_recording(tmp_path)

    packs = {item.pack for item in recording.interactions}
    assert {path.name for path in (tmp_path / "packs").iterdir()} == packs
    assert sorted(pack.rsplit("-", 1)[0] for pack in packs) == [
        "prices.azure.com",
        "pricing.us-east-1.amazonaws.com",
        "www.ecb.europa.eu",
    ]
    for pack in packs:
        plain = lzma.decompress((tmp_path / "packs" / pack).read_bytes())
        for item in (item for item in recording.interactions if item.pack == pack):
            body, plain = plain[: item.bytes], plain[item.bytes :]
            assert hashlib.sha256(body).hexdigest() == item.sha256
        assert plain == b""


def test_large_hosts_are_cut_into_several_packs(tmp_path, monkeypatch):
    monkeypatch.setattr(recording_module, "_PACK_BYTES", 20_000)
    recorded = record(tmp_path)

    replayed = fetch_all(ReplayTransport(tmp_path), MemoryLanding())

    assert len({item.pack for item in read_recording(tmp_path).interactions}) > 4
    assert {d.sha256 for d in replayed.values()} == {d.sha256 for d in recorded.values()}


def test_equal_bodies_are_stored_once(tmp_path):
    aws, azure, ecb = providers()
    aws.offers["eu-central-1"] = aws.offers["us-east-1"]

    record(tmp_path, DirectTransport(aws, azure, ecb))

    packs = list((tmp_path / "packs").glob("pricing*"))
    plain = lzma.decompress(b"".join(path.read_bytes() for path in packs))
    assert plain.count(aws.offers["us-east-1"]) == 1
    replayed = fetch_all(ReplayTransport(tmp_path), MemoryLanding())
    assert len([d for d in replayed.values() if d.source_id.startswith("aws_price_list/")]) == 2


def test_unknown_url_is_named_and_not_asked_for_anywhere(tmp_path, waits):
    record(tmp_path)

    with (
        client_without_waits(transport=ReplayTransport(tmp_path), waits=waits) as client,
        pytest.raises(RecordingError, match="not in the recording of 2026-08-22") as caught,
    ):
        client.get("https://user:pw@prices.azure.com/elsewhere?b=2&a=1&sig=x")

    assert caught.value.url == "https://prices.azure.com/elsewhere?a=1&b=2&sig=REDACTED"
    assert waits == []


def test_unchanged_file_costs_a_304_in_a_replay_too(tmp_path):
    record(tmp_path)
    landing = MemoryLanding()
    first = fetch_all(ReplayTransport(tmp_path), landing)
    (pack,) = _pack_names(tmp_path, "pricing")
    (tmp_path / "packs" / pack).unlink()

    with client_without_waits(transport=ReplayTransport(tmp_path)) as client:
        for source_id in ("aws_price_list/us-east-1", "aws_price_list/eu-central-1"):
            document = first[source_id]
            file = recording_file(document)
            assert fetch_offer_file(client, file, landing, fetched_at=NOW) == document


def test_replay_dates_a_file_as_recorded_whatever_was_landed_before(tmp_path):
    for name, at in (("older", RECORDED_AT), ("newer", NOW)):
        record(tmp_path / name, now=lambda at=at: at)
    landing = MemoryLanding()
    fetch_all(ReplayTransport(tmp_path / "newer"), landing)

    replayed = fetch_all(ReplayTransport(tmp_path / "older"), landing)

    dates = {(d.fetched_at, d.confirmed_at) for d in replayed.values()}
    assert dates == {(RECORDED_AT, RECORDED_AT)}


def test_replay_in_between_leaves_the_live_dates_of_a_file_alone(tmp_path):
    record(tmp_path)
    landing = MemoryLanding()
    live = DirectTransport(*providers())
    first = fetch_all(NotClosed(live), landing)["aws_price_list/us-east-1"]
    file = recording_file(first)

    replayed = fetch_all(ReplayTransport(tmp_path), landing)[first.source_id]
    with client_without_waits(transport=live) as client:
        again = fetch_offer_file(client, file, landing, fetched_at=NIGHT_AFTER)

    assert (replayed.sha256, replayed.is_recorded) == (first.sha256, True)
    assert again == dataclasses.replace(first, confirmed_at=NIGHT_AFTER)


def test_file_of_a_recording_is_fetched_by_the_first_live_answer_that_confirms_it(tmp_path):
    record(tmp_path)
    landing = MemoryLanding()
    recorded = fetch_all(ReplayTransport(tmp_path), landing)["aws_price_list/us-east-1"]
    file = recording_file(recorded)

    with client_without_waits(transport=DirectTransport(*providers())) as client:
        first = fetch_offer_file(client, file, landing, fetched_at=NOW)
        again = fetch_offer_file(client, file, landing, fetched_at=NIGHT_AFTER)

    assert first == dataclasses.replace(
        recorded, fetched_at=NOW, confirmed_at=NOW, is_recorded=False, note=None
    )
    assert again == dataclasses.replace(first, confirmed_at=NIGHT_AFTER)


def test_faults_leave_no_trace_in_a_recording(tmp_path):
    with FakeServer(*providers()) as server:
        server.misbehave(refuses(503), on="region_index")
        server.misbehave(sends(b"{}"), on="$skip=100")
        server.misbehave(cuts_off(), on="/us-east-1/index.csv")
        urls = {"aws_url": server.aws_url, "azure_url": server.azure_url}
        record(tmp_path, ToServer(server), **urls)
        recording = read_recording(tmp_path)

    replayed = fetch_all(ReplayTransport(tmp_path), MemoryLanding(), **urls)

    assert len(replayed) == 16
    assert len(recording.interactions) == 16
    assert {item.status for item in recording.interactions} == {200}


def test_conditions_are_not_passed_on_while_recording(tmp_path, landing):
    with FakeServer(*providers()) as server:
        urls = {"aws_url": server.aws_url, "azure_url": server.azure_url}
        fetch_all(ToServer(server), landing, **urls)
        transport = RecordingTransport(
            ToServer(server), tmp_path, as_of=AS_OF, now=lambda: RECORDED_AT
        )
        fetch_all(NotClosed(transport), landing, **urls)
        transport.finish()
        transport.close()

    assert len(read_recording(tmp_path).interactions) == 16


def test_body_that_is_cut_off_is_cut_off_for_the_client_as_well(tmp_path):
    with FakeServer(*providers()) as server:
        server.misbehave(cuts_off(), times=None)
        transport = RecordingTransport(HTTPAdapter(), tmp_path, as_of=AS_OF, now=lambda: NOW)
        with (
            client_without_waits(transport=transport) as client,
            pytest.raises(SourceUnavailableError),
        ):
            client.get(server.ecb_url)

    assert files_of(tmp_path) == {}


def test_finish_replaces_an_earlier_recording_and_its_packs(tmp_path):
    record(tmp_path)
    aws, azure, ecb = providers()
    azure.listings["eastus", "Consumption"] = [{"meterId": "new", "price": Decimal(1)}]

    record(tmp_path, DirectTransport(aws, azure, ecb))

    assert set(files_of(tmp_path)) == {
        "recording.json",
        *(f"packs/{item.pack}" for item in read_recording(tmp_path).interactions),
    }


def test_nothing_recorded_is_an_error_and_keeps_the_earlier_recording(tmp_path):
    record(tmp_path)
    before = files_of(tmp_path)
    transport = RecordingTransport(
        DirectTransport(), tmp_path, as_of=AS_OF, now=lambda: RECORDED_AT
    )

    with pytest.raises(RecordingError, match="nothing was fetched"):
        transport.finish()

    transport.close()
    assert files_of(tmp_path) == before


def test_damaged_pack_is_an_error_and_not_a_shorter_price_list(tmp_path):
    record(tmp_path)
    for path in (tmp_path / "packs").iterdir():
        path.write_bytes(path.read_bytes()[:-40])

    with pytest.raises(RecordingError, match="cannot be read"):
        fetch_all(ReplayTransport(tmp_path), MemoryLanding())


def test_pack_of_another_recording_is_an_error(tmp_path):
    record(tmp_path)
    (pack,) = _pack_names(tmp_path, "pricing")
    (tmp_path / "packs" / pack).write_bytes(lzma.compress(bytes(1_000_000)))

    with pytest.raises(RecordingError, match="does not hold what the index"):
        fetch_all(ReplayTransport(tmp_path), MemoryLanding())


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (None, "which has no recording.json"),
        (b"{}", "cannot be read"),
        (
            OTHER_FORMAT,
            "expected the recording format price-catalog-recording/1",
        ),
    ],
)
def test_what_is_no_recording_is_an_error(tmp_path, index, message):
    if index is not None:
        (tmp_path / "recording.json").write_bytes(index)

    with pytest.raises(RecordingError, match=message):
        ReplayTransport(tmp_path)


def test_bodies_are_read_by_several_threads(tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    record(tmp_path)
    items = read_recording(tmp_path).interactions

    with (
        client_without_waits(transport=ReplayTransport(tmp_path)) as client,
        ThreadPoolExecutor(8) as pool,
    ):
        bodies = list(pool.map(lambda item: client.get(item.url).body, items * 4))

    assert [hashlib.sha256(body).hexdigest() for body in bodies] == [
        item.sha256 for item in items * 4
    ]


class ToServer(BaseAdapter):
    """Goes to the local server, also for the bank, whose url is not a parameter here."""

    def __init__(self, server):
        super().__init__()
        self._server = server

    def send(self, request, *args, **kwargs):
        if request.url == ECB_URL:
            return DirectTransport(*providers()).send(request)
        return HTTPAdapter().send(request, *args, **kwargs)

    def close(self):
        pass


def recording_file(document):
    from connectors.aws.price_list import OfferFile

    return OfferFile(document.region_id, document.url, document.version, document.published_at)


def _pack_names(directory: Path, prefix: str) -> list[str]:
    return [path.name for path in (directory / "packs").iterdir() if path.name.startswith(prefix)]
