import hashlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from connectors.aws.bulk_files import OfferFile, partition_of, version_time
from connectors.aws.price_list import fetch_offer_file, fetch_region_index
from connectors.aws.wire import read_offer_rows
from connectors.errors import SourceRejectedError, SourceUnavailableError, WireFormatError
from support.clients import NOW, client_without_waits
from support.fake_aws import FakeAws
from support.fake_http import DirectTransport, FakeServer, cuts_off, refuses, sends, sends_html
from support.wire_aws import encode_offer_csv
from warehouse.schemas.documents import Document

WIRE = Path(__file__).resolve().parents[2] / "wire/aws"
VERSION = "20260705120000"
PUBLISHED = datetime(2026, 7, 5, 12, tzinfo=UTC)
LATER = datetime(2026, 12, 1, 3, tzinfo=UTC)


def offer(region: str, published: str = "2026-07-05T12:00:00Z") -> bytes:
    rows = [{"SKU": f"{region}{number}", "Region Code": region} for number in range(2000)]
    return encode_offer_csv(rows, published=published)


OFFERS = {
    region: offer(region)
    for region in ("us-west-2", "us-west-2-lax-1", "us-gov-west-1", "us-east-1", "eu-central-1")
}


@pytest.fixture
def aws():
    return FakeAws(OFFERS)


@pytest.fixture
def server(aws):
    with FakeServer(aws) as server:
        yield server


def index_of(client, server, landing, **options):
    return fetch_region_index(client, server.aws_url, landing, fetched_at=NOW, **options)


def offer_file_of(client, server, landing, region="eu-central-1") -> OfferFile:
    _, offer_files = index_of(client, server, landing)
    return next(file for file in offer_files if file.region_id == region)


def test_index_names_every_region_local_zone_and_govcloud_as_csv(client, server, landing):
    document, offer_files = index_of(client, server, landing)

    assert offer_files == tuple(
        OfferFile(
            region_id=region,
            url=f"{server.aws_url}/offers/v1.0/aws/AmazonEC2/{VERSION}/{region}/index.csv",
            version=VERSION,
            published_at=PUBLISHED,
        )
        for region in sorted(OFFERS)
    )
    body = landing.open(document.sha256).read()
    assert document == Document(
        source_id="aws_price_list_index",
        source="aws_price_list_index",
        provider="aws",
        region_id=None,
        url=f"{server.aws_url}/offers/v1.0/aws/AmazonEC2/current/region_index.json",
        fetched_at=NOW,
        confirmed_at=NOW,
        published_at=PUBLISHED,
        version=None,
        media_type="application/json",
        sha256=hashlib.sha256(body).hexdigest(),
        bytes=len(body),
    )


CHINA = {region: offer(region) for region in ("cn-north-1", "cn-northwest-1")}


def test_china_is_below_its_own_partition(client, landing):
    with FakeServer(FakeAws(CHINA, partition="cn")) as server:
        document, files = index_of(client, server, landing, partition="cn")
        landed = fetch_offer_file(client, files[0], landing, fetched_at=NOW)

    assert document.url == f"{server.aws_url}/offers/v1.0/cn/AmazonEC2/current/region_index.json"
    assert [file.url for file in files] == [
        f"{server.aws_url}/offers/v1.0/cn/AmazonEC2/{VERSION}/{region}/index.csv"
        for region in ("cn-north-1", "cn-northwest-1")
    ]
    assert (landed.source_id, landed.region_id) == ("aws_price_list/cn-north-1", "cn-north-1")


def test_chinas_host_is_asked_for_its_own_partition_unbidden(landing):
    china = FakeAws(CHINA, partition="cn", gzips=False)
    url = "https://pricing.cn-north-1.amazonaws.com.cn"

    with client_without_waits(transport=DirectTransport(china)) as client:
        document, (beijing, _) = fetch_region_index(client, url, landing, fetched_at=NOW)
        landed = fetch_offer_file(client, beijing, landing, fetched_at=NOW)

    assert document.url == f"{url}/offers/v1.0/cn/AmazonEC2/current/region_index.json"
    assert landed.url == f"{url}/offers/v1.0/cn/AmazonEC2/{VERSION}/cn-north-1/index.csv"
    assert landing.bodies[landed.sha256] == CHINA["cn-north-1"]


def test_a_run_can_read_the_indexes_of_both_partitions(client, landing):
    with FakeServer(FakeAws(OFFERS), FakeAws(CHINA, partition="cn")) as server:
        world, world_files = index_of(client, server, landing)
        china, china_files = index_of(client, server, landing, partition="cn")
        documents = [
            fetch_offer_file(client, file, landing, fetched_at=NOW)
            for file in (*world_files, *china_files)
        ]

    assert (world.source_id, china.source_id) == ("aws_price_list_index", "aws_price_list_index/cn")
    assert {world.source, china.source} == {"aws_price_list_index"}
    assert {document.source_id for document in documents} == {
        f"aws_price_list/{region}" for region in (*OFFERS, *CHINA)
    }
    assert all(landing.bodies[document.sha256] for document in (world, china, *documents))


def test_prices_of_china_are_read_in_yuan(client, landing):
    ningxia = (WIRE / "offer_2023_cn-northwest-1.csv").read_bytes()
    with FakeServer(FakeAws({"cn-northwest-1": ningxia}, partition="cn")) as server:
        _, (file,) = index_of(client, server, landing, partition="cn")
        document = fetch_offer_file(client, file, landing, fetched_at=NOW)

    stream = landing.open(document.sha256)
    (rows,) = read_offer_rows(stream, source_id=document.source_id)

    assert rows.select("region_code", "currency", "price_per_unit", "offer_term_code").rows() == [
        ("cn-northwest-1", "CNY", "1.9920000000", "5Y9WH78GDR")
    ]


def test_what_is_no_index_of_china_is_said_of_china(client, server, landing):
    server.misbehave(sends_html(), times=None)

    with pytest.raises(WireFormatError, match="expected the region index") as caught:
        index_of(client, server, landing, partition="cn")

    assert caught.value.source == "aws_price_list_index/cn"


@pytest.mark.parametrize(
    ("base_url", "partition"),
    [
        ("https://pricing.us-east-1.amazonaws.com", "aws"),
        ("https://pricing.cn-north-1.amazonaws.com.cn", "cn"),
        ("http://127.0.0.1:8080", "aws"),
    ],
)
def test_partition_is_known_by_the_host(base_url, partition):
    assert partition_of(base_url) == partition


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"<html>", "expected the region index"),
        (b"{}", "expected the region index"),
        (b'{"publicationDate":"2026-07-05T12:00:00Z","regions":{}}', "got none"),
        # The savings plan index has a list there.
        (b'{"publicationDate":"2026-07-05T12:00:00Z","regions":[]}', "expected the region index"),
    ],
)
def test_what_is_no_index_is_an_error_after_retries(client, server, landing, waits, body, message):
    server.misbehave(sends(body), times=None)

    with pytest.raises(WireFormatError, match=message):
        index_of(client, server, landing)

    assert waits == [1.0, 2.0]
    assert landing.bodies == {}


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example/offers/v1.0/aws/AmazonEC2/1/r1/index.json",
        "//evil.example/offers/v1.0/aws/AmazonEC2/1/r1/index.json",
        "http://127.0.0.1:port/index.json",
        "/offers/v1.0/aws/AmazonEC2/1/r1/index.zip",
    ],
)
def test_index_cannot_lead_elsewhere(client, server, landing, url):
    body = (
        '{"publicationDate":"2026-07-05T12:00:00Z",'
        f'"regions":{{"r1":{{"regionCode":"r1","currentVersionUrl":"{url}"}}}}}}'
    )
    server.misbehave(sends(body.encode()), times=None)

    with pytest.raises(WireFormatError, match="not followed") as caught:
        index_of(client, server, landing)

    assert caught.value.region_id == "r1"


def test_index_that_mixes_up_its_regions_is_refused(client, server, landing):
    body = (
        b'{"publicationDate":"2026-07-05T12:00:00Z","regions":{"r1":{"regionCode":"r2",'
        b'"currentVersionUrl":"/offers/v1.0/aws/AmazonEC2/1/r2/index.json"}}}'
    )
    server.misbehave(sends(body))

    with pytest.raises(WireFormatError, match=r"r1's offer file .* for 'r2'"):
        index_of(client, server, landing)


def test_wrong_address_of_the_price_list_is_not_waited_for(client, server, landing, waits):
    with pytest.raises(SourceRejectedError, match="404"):
        fetch_region_index(client, f"{server.aws_url}/wrong", landing, fetched_at=NOW)

    assert waits == []


@pytest.mark.parametrize("gzips", [True, False])
def test_offer_file_is_landed_as_it_is_after_gzip(client, server, aws, landing, gzips):
    aws.gzips = gzips
    file = offer_file_of(client, server, landing)

    document = fetch_offer_file(client, file, landing, fetched_at=NOW)

    assert landing.bodies[document.sha256] == OFFERS["eu-central-1"]
    assert document == Document(
        source_id="aws_price_list/eu-central-1",
        source="aws_price_list",
        provider="aws",
        region_id="eu-central-1",
        url=file.url,
        fetched_at=NOW,
        confirmed_at=NOW,
        published_at=PUBLISHED,
        version=VERSION,
        media_type="text/csv",
        sha256=hashlib.sha256(OFFERS["eu-central-1"]).hexdigest(),
        bytes=len(OFFERS["eu-central-1"]),
    )


def test_unchanged_file_costs_a_304_and_keeps_its_document(client, server, landing, monkeypatch):
    file = offer_file_of(client, server, landing)
    first = fetch_offer_file(client, file, landing, fetched_at=NOW)
    monkeypatch.setattr(landing, "put", None)

    again = fetch_offer_file(client, file, landing, fetched_at=LATER)

    assert again == replace(first, fetched_at=NOW, confirmed_at=LATER)
    etag = f'"{hashlib.md5(OFFERS["eu-central-1"]).hexdigest()}"'
    assert server.requests[-1].headers["if-none-match"] == etag
    assert "if-none-match" not in server.requests[-2].headers


def test_changed_file_of_the_same_version_is_fetched(client, server, aws, landing):
    file = offer_file_of(client, server, landing)
    fetch_offer_file(client, file, landing, fetched_at=NOW)
    aws.offers["eu-central-1"] = offer("eu-central-2")

    document = fetch_offer_file(client, file, landing, fetched_at=LATER)

    assert landing.bodies[document.sha256] == offer("eu-central-2")
    assert (document.fetched_at, document.confirmed_at) == (LATER, LATER)


def test_without_etags_the_version_in_the_first_lines_tells(
    client, server, aws, landing, monkeypatch
):
    aws.has_etags = False
    file = offer_file_of(client, server, landing)
    first = fetch_offer_file(client, file, landing, fetched_at=NOW)
    put = landing.put
    monkeypatch.setattr(landing, "put", None)

    again = fetch_offer_file(client, file, landing, fetched_at=LATER)
    assert again == replace(first, fetched_at=NOW, confirmed_at=LATER)
    assert landing.validators(file.url).document == again

    monkeypatch.setattr(landing, "put", put)
    aws.offers["eu-central-1"] = offer("eu-central-1", "2026-07-06T00:00:00Z")
    newer = fetch_offer_file(client, file, landing, fetched_at=LATER)
    assert (newer.version, newer.fetched_at) == ("20260706000000", LATER)


def test_confirmation_is_remembered_and_a_later_one_takes_its_place(client, server, landing):
    file = offer_file_of(client, server, landing)
    first = fetch_offer_file(client, file, landing, fetched_at=NOW)
    known = landing.validators(file.url)

    for night in (LATER, LATER + timedelta(days=1)):
        again = fetch_offer_file(client, file, landing, fetched_at=night)
        assert (again.fetched_at, again.confirmed_at) == (NOW, night)
        assert landing.validators(file.url) == replace(known, document=again)

    assert server.requests[-1].headers["if-none-match"] == known.etag
    assert again.sha256 == first.sha256


def test_new_version_has_a_new_url_and_is_fetched(client, server, aws, landing):
    first = fetch_offer_file(
        client, offer_file_of(client, server, landing), landing, fetched_at=NOW
    )
    aws.version = "20260706000000"
    aws.offers["eu-central-1"] = offer("eu-central-1", "2026-07-06T00:00:00Z")

    file = offer_file_of(client, server, landing)
    second = fetch_offer_file(client, file, landing, fetched_at=LATER)

    assert (first.version, second.version) == (VERSION, "20260706000000")
    assert second.sha256 != first.sha256


def test_file_that_disagrees_with_the_index_about_its_version_is_believed(
    client, server, landing, caplog
):
    file = replace(offer_file_of(client, server, landing), version="20260101000000")

    document = fetch_offer_file(client, file, landing, fetched_at=NOW)

    assert document.version == VERSION
    assert "the index says version 20260101000000, the file 20260705120000" in caplog.text


def test_file_missing_during_a_publication_is_waited_for(client, server, landing, waits):
    file = offer_file_of(client, server, landing)
    server.misbehave(refuses(404), on="/eu-central-1/")

    document = fetch_offer_file(client, file, landing, fetched_at=NOW)

    assert landing.bodies[document.sha256] == OFFERS["eu-central-1"]
    assert waits == [1.0]


@pytest.mark.parametrize(
    ("fault", "error", "message"),
    [
        (refuses(404), SourceUnavailableError, "404"),
        (refuses(503), SourceUnavailableError, "503"),
        (cuts_off(0.9), SourceUnavailableError, "broke off"),
        (sends_html(), WireFormatError, "expected an AWS offer file"),
        (sends(b"", "text/csv"), WireFormatError, "expected an AWS offer file"),
        (
            sends(offer("r1").replace(b"AmazonEC2", b"AmazonRDS", 1), "text/csv"),
            WireFormatError,
            "expected a file of AmazonEC2, got one of 'AmazonRDS'",
        ),
    ],
    ids=["404", "503", "cut off", "HTML", "empty", "another service"],
)
def test_lasting_fault_of_one_region_lands_nothing_and_leaves_the_others_alone(
    client, server, landing, waits, fault, error, message
):
    file = offer_file_of(client, server, landing)
    other = offer_file_of(client, server, landing, "us-east-1")
    landed = set(landing.bodies)
    server.misbehave(fault, on="/eu-central-1/", times=None)

    with pytest.raises(error, match=message):
        fetch_offer_file(client, file, landing, fetched_at=NOW)

    assert waits == [1.0, 2.0]
    assert set(landing.bodies) == landed
    assert landing.validators(file.url) is None
    assert fetch_offer_file(client, other, landing, fetched_at=NOW).region_id == "us-east-1"


@pytest.mark.parametrize("fault", [refuses(503), cuts_off(0.9), sends_html()])
def test_passing_fault_leaves_no_trace_in_the_document(client, server, landing, fault):
    file = offer_file_of(client, server, landing)
    server.misbehave(fault, on="/eu-central-1/", times=2)

    document = fetch_offer_file(client, file, landing, fetched_at=NOW)

    assert document.bytes == len(OFFERS["eu-central-1"])
    assert len(landing.bodies) == 2


def test_signature_of_a_url_is_neither_stored_nor_part_of_its_name(client, server, landing):
    file = offer_file_of(client, server, landing)
    signed = [replace(file, url=f"{file.url}?X-Amz-Signature={text}") for text in ("one", "two")]

    first = fetch_offer_file(client, signed[0], landing, fetched_at=NOW)
    again = fetch_offer_file(client, signed[1], landing, fetched_at=LATER)

    assert first.url == f"{file.url}?X-Amz-Signature=REDACTED"
    assert again == replace(first, confirmed_at=LATER)
    assert "one" in server.targets("Signature")[0]


@pytest.mark.parametrize(
    ("version", "time"),
    [("20260705120000", PUBLISHED), ("current", None), ("20261305120000", None)],
)
def test_version_is_a_time(version, time):
    assert version_time(version) == time
