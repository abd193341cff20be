import json
import pickle
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from connectors.aws.aws_errors import RegionNotUsableError
from connectors.aws.ec2_api import (
    create_ec2_client,
    fetch_instance_type_offerings,
    fetch_spot_prices,
    read_offerings,
    read_spot_prices,
)
from connectors.errors import (
    RateLimitedError,
    SourceRejectedError,
    SourceUnavailableError,
    UnstableListingError,
    WireFormatError,
)
from support.clients import NOW
from support.encode_spot import encode_answer, encode_error
from support.fake_ec2 import FakeEc2, FakeRegion
from support.fake_http import FakeServer, cuts_off, cuts_off_unannounced, hangs_up, refuses, sends

EC2_DATA = Path(__file__).resolve().parents[3] / "../shared/data/aws/ec2api"

ZONES = {"us-east-1a": "use1-az6", "us-east-1b": "use1-az1"}
LONG_AGO = "2026-08-30T00:00:00+00:00"
BEFORE = "2026-11-29T17:40:10+00:00"
AFTER = "2026-11-30T03:00:01+00:00"


def _price(**fields: str) -> dict[str, str]:
    return {
        "AvailabilityZone": "us-east-1b",
        "AvailabilityZoneId": "use1-az1",
        "InstanceType": "m5.large",
        "ProductDescription": "Linux/UNIX",
        "SpotPrice": "0.043700",
        "Timestamp": BEFORE,
    } | fields


def _nameless(price: dict[str, str], *missing: str) -> dict[str, str]:
    return {name: text for name, text in price.items() if name not in missing}


@pytest.fixture
def region():
    return FakeRegion(prices=[_price()], offerings=[("m5.large", "use1-az1")], zones=ZONES)


@pytest.fixture
def aws(region):
    return FakeEc2({"us-east-1": region})


@pytest.fixture
def server(aws, monkeypatch):
    with FakeServer(aws) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_EC2", server.base_url)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
        yield server


@pytest.fixture
def ec2(server):
    client = create_ec2_client("us-east-1", max_attempts=1)
    yield client
    client.close()


def _fetch(ec2, landing, as_of=NOW):
    document = fetch_spot_prices(ec2, "us-east-1", landing, as_of=as_of, fetched_at=NOW)
    return document, json.loads(landing.bodies[document.sha256])["SpotPriceHistory"]


def test_the_price_in_force_is_asked_for_and_landed(ec2, aws, region, landing):
    region.prices = [
        _price(SpotPrice="0.041000", Timestamp=LONG_AGO),
        _price(),
        _price(SpotPrice="0.050000", Timestamp=AFTER),
    ]

    document, landed = _fetch(ec2, landing)

    assert landed == [_price()]
    asked = aws.asked[0]
    assert asked["StartTime"] == asked["EndTime"] == "2026-11-30T03:00:00Z"
    assert document.source_id == "aws_spot_price_history/us-east-1"
    assert document.source == "aws_spot_price_history"
    assert (document.provider, document.region_id) == ("aws", "us-east-1")
    assert document.url.endswith("/?Action=DescribeSpotPriceHistory")
    assert document.fetched_at == document.confirmed_at == NOW
    assert document.published_at is None
    assert document.bytes == len(landing.bodies[document.sha256])


@pytest.mark.parametrize("page_size", [1, 2, 3, 1000])
@pytest.mark.parametrize("has_last_token", [True, False])
def test_every_page_is_read_to_the_last(ec2, aws, region, landing, page_size, has_last_token):
    region.prices = [
        _price(InstanceType=name) for name in ("m5.large", "c5.large", "r5.large", "m5.xlarge")
    ]
    aws.page_size, aws.has_last_token = page_size, has_last_token

    _, landed = _fetch(ec2, landing)

    assert [entry["InstanceType"] for entry in landed] == [
        "c5.large",
        "m5.large",
        "m5.xlarge",
        "r5.large",
    ]


def test_the_same_prices_in_another_order_are_the_same_document(ec2, region, landing):
    region.prices = [_price(), _price(AvailabilityZoneId="use1-az6"), _price(InstanceType="a1.2xl")]
    first, _ = _fetch(ec2, landing)
    region.prices = [dict(reversed(price.items())) for price in reversed(region.prices)]
    second, _ = _fetch(ec2, landing)

    assert first.sha256 == second.sha256


def test_a_region_without_spot_prices_is_an_empty_document(ec2, aws, region, landing):
    region.prices = []

    document, landed = _fetch(ec2, landing)

    assert landed == []
    assert [asked["Action"] for asked in aws.asked] == ["DescribeSpotPriceHistory"]
    frame = read_spot_prices(landing.bodies[document.sha256], source_id=document.source_id)
    assert frame.is_empty()


def test_an_empty_page_is_not_the_last_one(ec2, server, landing):
    for token in ("1", "2"):
        empty = encode_answer(
            "DescribeSpotPriceHistory", "spotPriceHistorySet", [], next_token=token
        )
        server.misbehave(sends(empty, "text/xml"))
    last = encode_answer(
        "DescribeSpotPriceHistory", "spotPriceHistorySet", [_price()], next_token=""
    )
    server.misbehave(sends(last, "text/xml"))

    assert _fetch(ec2, landing)[1] == [_price()]


def test_zone_ids_are_looked_up_where_the_answer_has_only_names(ec2, aws, region, landing):
    region.prices = [
        _nameless(_price(), "AvailabilityZoneId"),
        _nameless(_price(AvailabilityZone="us-east-1f"), "AvailabilityZoneId"),
        _price(AvailabilityZone="us-east-1a", AvailabilityZoneId="use1-az9"),
    ]

    _, landed = _fetch(ec2, landing)

    assert {entry["AvailabilityZone"]: entry.get("AvailabilityZoneId") for entry in landed} == {
        "us-east-1a": "use1-az9",
        "us-east-1b": "use1-az1",
        "us-east-1f": None,
    }
    assert [asked["Action"] for asked in aws.asked] == [
        "DescribeSpotPriceHistory",
        "DescribeAvailabilityZones",
    ]
    assert aws.asked[1]["AllAvailabilityZones"] == "true"


def test_a_zone_id_that_was_looked_up_makes_no_other_document(ec2, region, landing):
    first, _ = _fetch(ec2, landing)
    region.prices = [_nameless(_price(), "AvailabilityZoneId")]
    second, _ = _fetch(ec2, landing)

    assert first.sha256 == second.sha256


def _page(*prices: dict[str, str], token: str):
    body = encode_answer(
        "DescribeSpotPriceHistory", "spotPriceHistorySet", prices, next_token=token
    )
    return sends(body, "text/xml")


@pytest.mark.parametrize("tokens", [["a"], ["a", "b"], ["a", "b", "c"]])
def test_tokens_that_come_round_again_end_the_walk(ec2, server, landing, tokens):
    for turn in range(3):
        for token in tokens:
            server.misbehave(_page(_price(InstanceType=f"{token}{turn}"), token=token))

    with pytest.raises(UnstableListingError, match="names an earlier page as the next") as raised:
        _fetch(ec2, landing)

    assert raised.value.source == "aws_spot_price_history/us-east-1"
    assert raised.value.region_id == "us-east-1"
    assert len(server.requests) == len(tokens) + 1
    assert landing.bodies == {}


def test_the_same_page_under_ever_new_tokens_ends_the_walk(ec2, server, landing):
    for number in range(5):
        server.misbehave(_page(_price(), token=str(number)))

    with pytest.raises(UnstableListingError, match="page 2 repeats an earlier one"):
        _fetch(ec2, landing)


def test_empty_pages_under_ever_new_tokens_end_the_walk(ec2, server, landing, monkeypatch):
    monkeypatch.setattr("connectors.aws.ec2_api._MAX_PAGES", 5)
    for number in range(9):
        server.misbehave(_page(token=str(number)))

    with pytest.raises(UnstableListingError, match="page 5 is not the last"):
        _fetch(ec2, landing)

    assert len(server.requests) == 5


@pytest.mark.parametrize(
    ("status", "code", "error"),
    [
        (503, "RequestLimitExceeded", RateLimitedError),
        (400, "Throttling", RateLimitedError),
        (500, "InternalError", SourceUnavailableError),
        (503, "Unavailable", SourceUnavailableError),
        (401, "AuthFailure", RegionNotUsableError),
        (403, "UnauthorizedOperation", RegionNotUsableError),
        (401, "OptInRequired", RegionNotUsableError),
        (403, "InvalidClientTokenId", RegionNotUsableError),
        (400, "InvalidParameterValue", SourceRejectedError),
        (403, "RequestExpired", SourceRejectedError),
    ],
)
def test_refusals_are_told_apart(ec2, server, landing, status, code, error):
    server.misbehave(refuses(status, encode_error(code, "not so")))

    with pytest.raises(error, match=f"the EC2 API says .*{code}.*not so") as raised:
        _fetch(ec2, landing)

    assert type(raised.value) is error


def test_a_region_that_the_account_has_not_opted_into_is_named(server, landing):
    client = create_ec2_client("ap-east-1", max_attempts=1)
    with pytest.raises(RegionNotUsableError, match="opt the account into the region") as raised:
        fetch_instance_type_offerings(client, "ap-east-1", landing, fetched_at=NOW)
    client.close()

    copy = pickle.loads(pickle.dumps(raised.value))
    assert copy.region_id == "ap-east-1"
    assert copy.source == "aws_instance_type_offerings/ap-east-1"
    assert copy.status == 401
    assert str(copy) == str(raised.value)


def test_throttled_calls_are_repeated(server, landing, monkeypatch):
    monkeypatch.setattr("botocore.endpoint.time.sleep", lambda _: None)
    client = create_ec2_client("us-east-1", max_attempts=3)
    server.misbehave(refuses(503, encode_error("RequestLimitExceeded", "slow down")), times=2)

    _, landed = _fetch(client, landing)
    client.close()

    assert landed == [_price()]
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    "fault",
    [
        hangs_up(),
        cuts_off(),
        cuts_off_unannounced(),
        sends(b"<not closed", "text/xml"),
        sends(b"", "text/xml"),
    ],
    ids=["hangs up", "cut off", "cut off unannounced", "not closed", "empty"],
)
def test_an_answer_that_is_not_whole_is_unavailable(ec2, server, landing, fault):
    server.misbehave(fault)

    with pytest.raises(SourceUnavailableError, match=r"no (whole )?answer from the EC2 API"):
        _fetch(ec2, landing)


@pytest.mark.parametrize("fetch", [fetch_spot_prices, fetch_instance_type_offerings])
def test_a_gateway_s_page_is_not_taken_for_an_answer_without_entries(ec2, server, landing, fetch):
    server.misbehave(sends(b"<html><body>We'll be right back</body></html>", "text/html"))
    moment = {"as_of": NOW} if fetch is fetch_spot_prices else {}

    with pytest.raises(WireFormatError, match="an answer without them") as raised:
        fetch(ec2, "us-east-1", landing, fetched_at=NOW, **moment)

    assert raised.value.region_id == "us-east-1"


def test_a_time_that_is_none_is_no_answer_of_the_api(ec2, server, landing):
    server.misbehave(_page(_price(Timestamp="yesterday"), token=""))

    with pytest.raises(WireFormatError, match="yesterday"):
        _fetch(ec2, landing)


def test_without_credentials_nothing_is_asked(server, landing, monkeypatch):
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    # boto3 keeps the credentials of its first client in its own session.
    monkeypatch.setattr("boto3.DEFAULT_SESSION", None)
    client = create_ec2_client("us-east-1", max_attempts=1)

    with pytest.raises(SourceRejectedError, match="expected credentials"):
        _fetch(client, landing)
    client.close()
    assert server.requests == []


def test_what_can_be_ordered_is_asked_for_by_zone_id(ec2, aws, region, landing):
    region.offerings = [("m5.large", "use1-az6"), ("c5.large", "use1-az1")]
    aws.page_size, aws.has_last_token = 1, False

    document = fetch_instance_type_offerings(ec2, "us-east-1", landing, fetched_at=NOW)

    assert document.source_id == "aws_instance_type_offerings/us-east-1"
    assert {asked["LocationType"] for asked in aws.asked} == {"availability-zone-id"}
    body = landing.bodies[document.sha256]
    assert read_offerings(body, source_id=document.source_id).rows() == [
        ("c5.large", "use1-az1", "availability-zone-id"),
        ("m5.large", "use1-az6", "availability-zone-id"),
    ]


@pytest.mark.parametrize("body", [b"", b"null", b"{}", b"[]", b'{"SpotPriceHistory":[{"', b"<a/>"])
@pytest.mark.parametrize("read", [read_spot_prices, read_offerings])
def test_what_is_no_landed_answer_is_refused(read, body):
    with pytest.raises(WireFormatError, match="expected a landed answer") as raised:
        read(body, source_id="aws_spot_price_history/us-east-1")

    assert raised.value.source == "aws_spot_price_history/us-east-1"


def test_missing_keys_are_null_and_new_ones_do_no_harm():
    body = json.dumps({"SpotPriceHistory": [{"InstanceType": "m5.large", "New": 1}]}).encode()

    frame = read_spot_prices(body, source_id="x")

    assert frame.rows() == [(None, None, "m5.large", None, None, None)]


@pytest.mark.skipif(not EC2_DATA.exists(), reason="the collected data is not here")
@pytest.mark.parametrize("page_size", [1000, 100, 7])
def test_the_recorded_history_of_m5_large_is_read_whole(ec2, aws, region, landing, page_size):
    history = json.loads((EC2_DATA / "DescribeSpotPriceHistory_m5_large.json").read_bytes())
    region.prices = history["SpotPriceHistory"]
    region.zones = {
        f"us-east-1{letter}": f"use1-az{number}" for number, letter in enumerate("abcdf", start=1)
    }
    aws.page_size = page_size
    last = datetime(2021, 2, 9, 1, 40, 10, tzinfo=UTC)

    _, at_the_end = _fetch(ec2, landing, as_of=last)
    _, before = _fetch(ec2, landing, as_of=last - timedelta(seconds=1))

    assert {entry["AvailabilityZone"]: entry["SpotPrice"] for entry in at_the_end} == {
        "us-east-1a": "0.042300",
        "us-east-1b": "0.038900",
        "us-east-1c": "0.038100",
        "us-east-1d": "0.043100",
        "us-east-1f": "0.043700",
    }
    assert [entry["SpotPrice"] for entry in before if entry["AvailabilityZone"][-1] == "f"] == [
        "0.043500"
    ]
    assert all(
        entry["AvailabilityZoneId"] == region.zones[entry["AvailabilityZone"]]
        for entry in at_the_end
    )


@pytest.mark.skipif(not EC2_DATA.exists(), reason="the collected data is not here")
def test_what_the_aws_cli_wrote_is_read_too():
    history = (EC2_DATA / "DescribeSpotPriceHistory_m5_large.json").read_bytes()
    offerings = (EC2_DATA / "DescribeInstanceTypeOfferings_us-east-2a.json").read_bytes()

    prices = read_spot_prices(history, source_id="x")

    assert prices.height == 250
    assert prices.row(0) == (
        "us-east-1f",
        None,
        "m5.large",
        "Linux/UNIX",
        "0.043700",
        "2021-02-09T01:40:10+00:00",
    )
    assert read_offerings(offerings, source_id="x").height == 228
