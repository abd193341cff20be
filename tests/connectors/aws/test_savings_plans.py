"""Savings plan files are found by their own index, and fetched and landed as offer files are."""

import hashlib
import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from connectors.aws.bulk_files import OfferFile
from connectors.aws.price_list import fetch_offer_file, fetch_region_index
from connectors.aws.savings_plans import fetch_savings_plan_file, fetch_savings_plan_index
from connectors.errors import SourceRejectedError, SourceUnavailableError, WireFormatError
from support.clients import NOW
from support.encode_savings_plans import encode_savings_plan_csv
from support.fake_aws import FakeAws
from support.fake_http import FakeServer, Reply, cuts_off, refuses, sends, sends_html
from support.wire_aws import encode_offer_csv
from warehouse.schemas.documents import Document

SAMPLES = Path(__file__).resolve().parents[3].parent / "shared/data/aws/savings_plan"
needs_samples = pytest.mark.skipif(not SAMPLES.exists(), reason="shared sample data is absent")

VERSION = "20260705130000"
PUBLISHED = datetime(2026, 7, 5, 13, tzinfo=UTC)
LATER = datetime(2026, 12, 1, 3, tzinfo=UTC)
ROOT = "/savingsPlan/v1.0/aws/AWSComputeSavingsPlan"


def plans(region: str, version: str = VERSION) -> bytes:
    at = datetime.strptime(version, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    rows = [{"SKU": "P", "DiscountedSKU": f"{region}{number}"} for number in range(4000)]
    return encode_savings_plan_csv(rows, version=version, published_at=f"{at:%Y-%m-%dT%H:%M:%SZ}")


PLANS = {
    region: plans(region)
    for region in ("us-west-2", "us-west-2-lax-1", "us-gov-west-1", "us-east-1")
}


@pytest.fixture
def aws():
    return FakeAws({"us-east-1": encode_offer_csv([{"SKU": "A"}])}, savings_plans=PLANS)


@pytest.fixture
def server(aws):
    with FakeServer(aws) as server:
        yield server


def index_of(client, server, landing, **options):
    return fetch_savings_plan_index(client, server.aws_url, landing, fetched_at=NOW, **options)


def file_of(client, server, landing, region="us-east-1") -> OfferFile:
    _, files = index_of(client, server, landing)
    return next(file for file in files if file.region_id == region)


def fetch(client, file, landing, at=NOW) -> Document:
    return fetch_savings_plan_file(client, file, landing, fetched_at=at)


def index_body(*entries: tuple[str, str]) -> bytes:
    regions = [{"regionCode": region, "versionUrl": url} for region, url in entries]
    return json.dumps({"publicationDate": "2026-07-05T13:00:00Z", "regions": regions}).encode()


def test_index_is_a_list_of_regions_and_zones_and_names_each_csv(client, server, landing):
    document, files = index_of(client, server, landing)

    assert files == tuple(
        OfferFile(
            region_id=region,
            url=f"{server.aws_url}{ROOT}/{VERSION}/{region}/index.csv",
            version=VERSION,
            published_at=PUBLISHED,
        )
        for region in sorted(PLANS)
    )
    body = landing.open(document.sha256).read()
    assert document == Document(
        source_id="aws_savings_plans_index",
        source="aws_savings_plans_index",
        provider="aws",
        region_id=None,
        url=f"{server.aws_url}{ROOT}/current/region_index.json",
        fetched_at=NOW,
        confirmed_at=NOW,
        published_at=PUBLISHED,
        version=None,
        media_type="application/json",
        sha256=hashlib.sha256(body).hexdigest(),
        bytes=len(body),
    )


def test_plans_are_published_apart_from_the_offer_files(client, server, landing):
    _, (offer_file,) = fetch_region_index(client, server.aws_url, landing, fetched_at=NOW)
    plan_file = file_of(client, server, landing)

    offer = fetch_offer_file(client, offer_file, landing, fetched_at=NOW)
    plan = fetch(client, plan_file, landing)

    assert (offer.source_id, plan.source_id) == (
        "aws_price_list/us-east-1",
        "aws_savings_plans/us-east-1",
    )
    assert offer_file.version != plan_file.version == plan.version


def test_china_is_below_its_own_partition(client, landing):
    china = FakeAws({}, savings_plans={"cn-north-1": plans("cn-north-1")}, partition="cn")
    with FakeServer(china) as server:
        document, (file,) = index_of(client, server, landing, partition="cn")

    assert document.source_id == "aws_savings_plans_index/cn"
    assert file.url == (
        f"{server.aws_url}/savingsPlan/v1.0/cn/AWSComputeSavingsPlan/{VERSION}/cn-north-1/index.csv"
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"<html>", "expected the region index of AWSComputeSavingsPlan"),
        (b"{}", "expected the region index of AWSComputeSavingsPlan"),
        (index_body(), "got none"),
        # The index of the EC2 offer files has a dict there.
        (b'{"publicationDate":"2026-07-05T12:00:00Z","regions":{}}', "expected the region index"),
    ],
)
def test_what_is_no_index_is_an_error_after_retries(client, server, landing, waits, body, message):
    server.misbehave(sends(body), times=None)

    with pytest.raises(WireFormatError, match=message) as caught:
        index_of(client, server, landing)

    assert caught.value.source == "aws_savings_plans_index"
    assert waits == [1.0, 2.0]
    assert landing.bodies == {}


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example/savingsPlan/v1.0/aws/AWSComputeSavingsPlan/1/r1/index.json",
        "//evil.example/index.json",
        "http://127.0.0.1:port/index.json",
        "/savingsPlan/v1.0/aws/AWSComputeSavingsPlan/1/r1/index.zip",
    ],
)
def test_index_cannot_lead_elsewhere(client, server, landing, url):
    server.misbehave(sends(index_body(("r1", url))), times=None)

    with pytest.raises(WireFormatError, match="not followed") as caught:
        index_of(client, server, landing)

    assert (caught.value.region_id, caught.value.field) == ("r1", "versionUrl")


def test_index_that_lists_a_region_twice_is_refused(client, server, landing):
    paths = [("r1", f"{ROOT}/{version}/r1/index.json") for version in (VERSION, "20260706000000")]
    server.misbehave(sends(index_body(*paths)))

    with pytest.raises(WireFormatError, match=r"got several for \['r1'\]"):
        index_of(client, server, landing)

    assert landing.bodies == {}


def test_wrong_address_of_the_price_list_is_not_waited_for(client, server, landing, waits):
    with pytest.raises(SourceRejectedError, match="404"):
        fetch_savings_plan_index(client, f"{server.aws_url}/wrong", landing, fetched_at=NOW)

    assert waits == []


@pytest.mark.parametrize("gzips", [True, False])
def test_file_is_landed_as_it_is_after_gzip(client, server, aws, landing, gzips):
    aws.gzips = gzips
    file = file_of(client, server, landing)

    document = fetch(client, file, landing)

    assert landing.bodies[document.sha256] == PLANS["us-east-1"]
    assert document == Document(
        source_id="aws_savings_plans/us-east-1",
        source="aws_savings_plans",
        provider="aws",
        region_id="us-east-1",
        url=file.url,
        fetched_at=NOW,
        confirmed_at=NOW,
        published_at=PUBLISHED,
        version=VERSION,
        media_type="text/csv",
        sha256=hashlib.sha256(PLANS["us-east-1"]).hexdigest(),
        bytes=len(PLANS["us-east-1"]),
    )


def test_unchanged_file_costs_a_304_and_keeps_its_document(client, server, landing, monkeypatch):
    file = file_of(client, server, landing)
    first = fetch(client, file, landing)
    monkeypatch.setattr(landing, "put", None)

    again = fetch(client, file, landing, LATER)

    assert again == replace(first, fetched_at=NOW, confirmed_at=LATER)
    etag = f'"{hashlib.md5(PLANS["us-east-1"]).hexdigest()}"'
    assert server.requests[-1].headers["if-none-match"] == etag


def test_without_etags_the_version_in_the_first_lines_tells(
    client, server, aws, landing, monkeypatch
):
    aws.has_etags = False
    file = file_of(client, server, landing)
    first = fetch(client, file, landing)
    put = landing.put
    monkeypatch.setattr(landing, "put", None)

    assert fetch(client, file, landing, LATER) == replace(first, confirmed_at=LATER)

    monkeypatch.setattr(landing, "put", put)
    aws.savings_plans["us-east-1"] = plans("us-east-1", "20260706000000")
    newer = fetch(client, file, landing, LATER)
    assert (newer.version, newer.fetched_at) == ("20260706000000", LATER)


def test_new_version_has_a_new_url_and_is_fetched(client, server, aws, landing):
    first = fetch(client, file_of(client, server, landing), landing)
    aws.plans_version = "20260706000000"
    aws.savings_plans["us-east-1"] = plans("us-east-1", "20260706000000")

    second = fetch(client, file_of(client, server, landing), landing, LATER)

    assert (first.version, second.version) == (VERSION, "20260706000000")
    assert second.sha256 != first.sha256


def test_file_missing_during_a_publication_is_waited_for(client, server, landing, waits):
    file = file_of(client, server, landing)
    server.misbehave(refuses(404), on="/us-east-1/")

    document = fetch(client, file, landing)

    assert landing.bodies[document.sha256] == PLANS["us-east-1"]
    assert waits == [1.0]


@pytest.mark.parametrize(
    ("fault", "error", "message"),
    [
        (refuses(404), SourceUnavailableError, "404"),
        (refuses(503), SourceUnavailableError, "503"),
        (cuts_off(0.9), SourceUnavailableError, "broke off"),
        (sends_html(), WireFormatError, "expected an AWS offer file"),
        (
            sends(encode_offer_csv([{"SKU": "A"}]), "text/csv"),
            WireFormatError,
            "expected a file of AmazonComputeSavingsPlan or .*, got one of 'AmazonEC2'",
        ),
    ],
    ids=["404", "503", "cut off", "HTML", "another service"],
)
def test_lasting_fault_lands_nothing(client, server, landing, waits, fault, error, message):
    file = file_of(client, server, landing)
    landed = set(landing.bodies)
    server.misbehave(fault, on="/us-east-1/", times=None)

    with pytest.raises(error, match=message):
        fetch(client, file, landing)

    assert waits == [1.0, 2.0]
    assert set(landing.bodies) == landed
    assert landing.validators(file.url) is None


class Served:
    """Serves given bytes at given paths."""

    def __init__(self, bodies):
        self.bodies = bodies

    def answer(self, request):
        body = self.bodies.get(request.path)
        return None if body is None else Reply(200, {"ETag": '"1"'}, body)


@needs_samples
def test_the_real_index_and_the_real_file_of_2025_are_fetched(client, landing):
    csv = (SAMPLES / "AWSComputeSavingsPlan_20250911184447_ap-east-2_sample.csv").read_bytes()
    index = (SAMPLES / "AWSComputeSavingsPlan_region_index_20250911184447.json").read_bytes()
    path = f"{ROOT}/20250911184447/ap-east-2/index.csv"

    with FakeServer(Served({f"{ROOT}/current/region_index.json": index, path: csv})) as server:
        _, files = index_of(client, server, landing)
        taipei = next(file for file in files if file.region_id == "ap-east-2")
        document = fetch(client, taipei, landing)

    assert len(files) == 103
    assert {"us-gov-east-1", "us-gov-west-1", "us-west-2-lax-1"} <= {f.region_id for f in files}
    assert {file.version for file in files} == {"20250911184447"}
    assert document.published_at == datetime(2025, 9, 11, 18, 44, 47, tzinfo=UTC)
    assert landing.bodies[document.sha256] == csv
