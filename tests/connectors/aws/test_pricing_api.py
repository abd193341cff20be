import json
from datetime import UTC, datetime

import pytest

from connectors.aws.price_list import OfferFile, fetch_offer_file
from connectors.aws.pricing_api import (
    create_pricing_client,
    fetch_price_list_index,
    has_credentials,
)
from connectors.errors import (
    RateLimitedError,
    SourceRejectedError,
    SourceUnavailableError,
    WireFormatError,
)
from support.clients import NOW
from support.fake_aws import FakeAws
from support.fake_http import FakeServer, refuses
from support.wire_aws import encode_offer_csv

OFFERS = {
    region: encode_offer_csv([{"SKU": region}], published="2026-07-05T12:00:00Z")
    for region in ("us-west-2", "eu-central-1", "us-gov-west-1")
}


@pytest.fixture
def aws():
    return FakeAws(OFFERS)


@pytest.fixture
def server(aws, monkeypatch):
    with FakeServer(aws) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_PRICING", server.aws_url)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
        yield server


@pytest.fixture
def pricing(server):
    client = create_pricing_client(max_attempts=1)
    yield client
    client.close()


def test_credentials_are_found_where_boto3_looks_for_them(monkeypatch):
    assert not has_credentials()

    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    assert has_credentials()


@pytest.mark.parametrize("list_page_size", [1, 2, 100])
def test_every_page_of_price_lists_is_read(pricing, aws, landing, list_page_size):
    aws.list_page_size = list_page_size

    document, offer_files = fetch_price_list_index(pricing, landing, as_of=NOW, fetched_at=NOW)

    assert [file.region_id for file in offer_files] == sorted(OFFERS)
    assert {file.version for file in offer_files} == {"20260705120000"}
    assert document.source_id == "aws_price_list_index"
    assert document.published_at == datetime(2026, 7, 5, 12, tzinfo=UTC)
    landed = json.loads(landing.open(document.sha256).read())
    assert [item["RegionCode"] for item in landed["PriceLists"]] == sorted(OFFERS)


def test_listed_files_are_those_of_the_bulk_api(pricing, server, client, landing):
    _, offer_files = fetch_price_list_index(pricing, landing, as_of=NOW, fetched_at=NOW)

    document = fetch_offer_file(client, offer_files[0], landing, fetched_at=NOW)

    assert offer_files[0] == OfferFile(
        region_id="eu-central-1",
        url=f"{server.aws_url}/offers/v1.0/aws/AmazonEC2/20260705120000/eu-central-1/index.csv"
        "?X-Amz-Signature=s3cr",
        version="20260705120000",
        published_at=datetime(2026, 7, 5, 12, tzinfo=UTC),
    )
    assert landing.bodies[document.sha256] == OFFERS["eu-central-1"]
    assert b"s3cr" not in b"".join(landing.bodies.values())


def test_day_and_currency_are_asked_for(pricing, server, landing):
    fetch_price_list_index(
        pricing, landing, as_of=datetime(2026, 7, 5, tzinfo=UTC), fetched_at=NOW, currency="CNY"
    )

    asked = json.loads(server.requests[0].body)
    assert asked["ServiceCode"] == "AmazonEC2"
    assert asked["CurrencyCode"] == "CNY"
    assert asked["EffectiveDate"] == datetime(2026, 7, 5, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("status", "code", "error"),
    [
        (400, "ThrottlingException", RateLimitedError),
        (500, "InternalErrorException", SourceUnavailableError),
        (400, "AccessDeniedException", SourceRejectedError),
        # The API serves all regions from one: a wrong key is no fact about a region.
        (400, "InvalidClientTokenId", SourceRejectedError),
        (400, "InvalidParameterException", SourceRejectedError),
    ],
)
def test_refusals_are_told_apart(pricing, server, landing, status, code, error):
    server.misbehave(refuses(status, json.dumps({"__type": code, "message": "no"}).encode()))

    with pytest.raises(error, match=f"{code}.*no") as raised:
        fetch_price_list_index(pricing, landing, as_of=NOW, fetched_at=NOW)

    assert type(raised.value) is error


def test_unreachable_api_is_unavailable(landing, monkeypatch, server):
    with FakeServer() as gone:
        monkeypatch.setenv("AWS_ENDPOINT_URL_PRICING", gone.base_url)
    pricing = create_pricing_client(max_attempts=1)

    with pytest.raises(SourceUnavailableError, match="EndpointConnectionError"):
        fetch_price_list_index(pricing, landing, as_of=NOW, fetched_at=NOW)

    pricing.close()


def test_no_price_list_is_an_error(pricing, aws, landing):
    aws.offers.clear()

    with pytest.raises(WireFormatError, match="in USD at 2026-11-30, got none"):
        fetch_price_list_index(pricing, landing, as_of=NOW, fetched_at=NOW)


def test_price_list_without_a_csv_file_is_an_error(pricing, server, landing):
    price_list = {"PriceListArn": "a", "RegionCode": "r1", "FileFormats": ["json"]}
    server.misbehave(refuses(200, json.dumps({"PriceLists": [price_list]}).encode()))

    with pytest.raises(WireFormatError, match="expected an offer file as csv") as caught:
        fetch_price_list_index(pricing, landing, as_of=NOW, fetched_at=NOW)

    assert caught.value.region_id == "r1"
