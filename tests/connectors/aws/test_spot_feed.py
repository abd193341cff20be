import gzip
from datetime import UTC, datetime
from pathlib import Path

import pytest

from connectors.aws.spot_feed import fetch_spot_feed, read_spot_feed
from connectors.errors import SourceUnavailableError, WireFormatError
from support.clients import NOW
from support.encode_spot import as_script, encode_spot_feed
from support.fake_http import FakeServer, Reply, cuts_off, sends_html

RECORDED = (
    Path(__file__).resolve().parents[3] / "../shared/data/aws/prices/spot.js_test_2021.json.gz"
)
FEED = encode_spot_feed(
    [("us-east", "a1.medium", "0.0084", None), ("eu-central-1", "m5.large", "0.0403", "0.1323")]
)
ROWS = [
    ("us-east", "a1.medium", "linux", "USD", "0.0084"),
    ("us-east", "a1.medium", "mswin", "USD", "N/A*"),
    ("eu-central-1", "m5.large", "linux", "USD", "0.0403"),
    ("eu-central-1", "m5.large", "mswin", "USD", "0.1323"),
]


class _FakeFeed:
    """Serves the feed, compressed, with the headers of a web server."""

    def __init__(self, body: bytes, **headers: str) -> None:
        self.body = body
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}

    def answer(self, request):
        return Reply(200, self.headers, self.body).gzipped_for(request)


def _fetch(client, landing, feed, *faults):
    with FakeServer(feed) as server:
        for fault in faults:
            server.misbehave(fault)
        return fetch_spot_feed(client, f"{server.base_url}/spot.json", landing, fetched_at=NOW)


def test_the_feed_is_landed_as_it_was_sent(client, landing):
    feed = _FakeFeed(
        FEED, Content_Type="application/json", Last_Modified="Sun, 29 Nov 2026 23:55:01 GMT"
    )

    document = _fetch(client, landing, feed)

    assert landing.bodies == {document.sha256: FEED}
    assert (document.source_id, document.source) == ("aws_spot_feed", "aws_spot_feed")
    assert (document.provider, document.region_id) == ("aws", None)
    assert document.url.endswith("/spot.json")
    assert document.fetched_at == document.confirmed_at == NOW
    assert document.published_at == datetime(2026, 11, 29, 23, 55, 1, tzinfo=UTC)
    assert document.media_type == "application/json"
    assert not document.is_recorded


def test_a_replayed_feed_is_as_old_as_its_recording(client, landing):
    replayed = {"x_recorded_at": "2026-07-05T12:00:00+00:00", "x_recorded_note": "a sample"}

    document = _fetch(client, landing, _FakeFeed(FEED, **replayed))

    assert document.is_recorded
    assert document.note == "a sample"
    assert document.fetched_at == document.confirmed_at == datetime(2026, 7, 5, 12, tzinfo=UTC)


@pytest.mark.parametrize("headers", [{}, {"Last_Modified": "yesterday"}, {"Last_Modified": ""}])
def test_a_feed_that_does_not_say_when_it_changed_has_no_date(client, landing, headers):
    assert _fetch(client, landing, _FakeFeed(FEED, **headers)).published_at is None


@pytest.mark.parametrize(
    "body",
    [FEED, as_script(FEED), b"callback(" + FEED + b")", b" callback( " + FEED + b" ) ;"],
    ids=["json", "script", "no semicolon", "spaces"],
)
def test_both_wire_forms_give_the_same_rows(client, landing, body):
    document = _fetch(client, landing, _FakeFeed(body))

    rows = read_spot_feed(landing.bodies[document.sha256], source_id=document.source_id)

    assert rows.rows() == ROWS


@pytest.mark.parametrize("fault", [sends_html(), cuts_off()])
def test_what_is_no_whole_feed_is_fetched_again(client, landing, waits, fault):
    document = _fetch(client, landing, _FakeFeed(as_script(FEED)), fault)

    assert landing.bodies == {document.sha256: as_script(FEED)}
    assert len(waits) == 1


def test_a_feed_that_stays_broken_is_refused(client, landing):
    with pytest.raises(WireFormatError, match="expected AWS's spot feed"):
        _fetch(client, landing, _FakeFeed(b"<html></html>"))
    with pytest.raises(SourceUnavailableError):
        _fetch(client, landing, _FakeFeed(FEED), *[cuts_off()] * 3)
    assert landing.bodies == {}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "expected AWS's spot feed"),
        (b"null", "expected AWS's spot feed"),
        (b"{}", "expected AWS's spot feed"),
        (b"callback()", "expected AWS's spot feed"),
        (as_script(FEED)[:-40], "expected AWS's spot feed"),
        (b"other(" + FEED + b");", "expected AWS's spot feed"),
        (FEED.replace(b'"0.0084"', b"0.0084"), "expected AWS's spot feed"),
        (encode_spot_feed([]), "expected regions"),
        (FEED.replace(b'"perhr"', b'"permonth"'), "expected prices by the hour"),
    ],
)
def test_what_is_no_feed_is_refused(body, message):
    with pytest.raises(WireFormatError, match=message) as raised:
        read_spot_feed(body, source_id="aws_spot_feed")

    assert raised.value.source == "aws_spot_feed"


@pytest.mark.skipif(not RECORDED.exists(), reason="the collected data is not here")
def test_the_recorded_feed_of_2021_is_read_whole():
    body = gzip.decompress(RECORDED.read_bytes())

    rows = read_spot_feed(body, source_id="aws_spot_feed")

    assert rows.height == 3890
    assert rows.row(0) == ("us-east", "a1.medium", "linux", "USD", "0.0084")
    assert rows["region"].unique().sort().to_list() == [
        "apac-syd",
        "eu-ireland",
        "us-east",
        "us-east-2",
        "us-west",
    ]
    assert rows["price"].eq("N/A*").sum() == 908
    assert read_spot_feed(as_script(body), source_id="aws_spot_feed").equals(rows)
