import logging
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests
from requests.adapters import BaseAdapter

from connectors.errors import (
    RateLimitedError,
    SourceRejectedError,
    SourceUnavailableError,
    WireFormatError,
)
from connectors.http_client import HttpPolicy
from support.clients import client_without_waits
from support.fake_http import (
    FakeServer,
    Reply,
    cuts_off,
    cuts_off_unannounced,
    hangs_up,
    rate_limited,
    refuses,
    sends,
    sends_html,
)

BODY = b"words " * 5000
SECRET = "s3cr3t"


class Words:
    """Serves BODY everywhere, compressed for /gzip."""

    def answer(self, request):
        reply = Reply(200, {"Content-Type": "text/plain; charset=utf-8"}, BODY)
        return reply.gzipped_for(request) if request.path == "/gzip" else reply


@pytest.fixture
def server():
    with FakeServer(Words()) as server:
        yield server


@pytest.mark.parametrize("path", ["/plain", "/gzip"])
def test_body_is_decoded(server, client, path):
    answer = client.get(f"{server.base_url}{path}")

    assert answer.body == BODY
    assert answer.head.media_type == "text/plain"
    assert answer.head.recorded is None
    assert server.requests[0].headers["accept-encoding"] == "gzip"
    assert server.requests[0].headers["user-agent"] == "cloud-price-catalog"


@pytest.mark.parametrize("path", ["/plain", "/gzip"])
@pytest.mark.parametrize(
    "fault",
    [hangs_up(), cuts_off(), cuts_off(0.0), refuses(500), refuses(503), refuses(408)],
    ids=["hangs up", "cut off", "no body", "500", "503", "408"],
)
def test_passing_faults_are_waited_out_with_doubling_waits(server, client, waits, path, fault):
    server.misbehave(fault, times=2)

    assert client.get(f"{server.base_url}{path}").body == BODY
    assert waits == [1.0, 2.0]


def test_gzip_that_is_cut_off_without_an_announced_length_is_noticed(server, client, waits):
    server.misbehave(cuts_off_unannounced())

    assert client.get(f"{server.base_url}/gzip").body == BODY
    assert waits == [1.0]


@pytest.mark.parametrize("fault", [hangs_up(), cuts_off(), refuses(502)])
def test_lasting_faults_end_after_the_last_attempt(server, client, waits, fault):
    server.misbehave(fault, times=None)

    with pytest.raises(SourceUnavailableError):
        client.get(f"{server.base_url}/gzip")

    assert waits == [1.0, 2.0]
    assert len(server.requests) == 3


def test_backoff_is_capped(server):
    waits = []
    policy = HttpPolicy(max_attempts=6, backoff_seconds=0.5, max_backoff_seconds=3)
    server.misbehave(refuses(503), times=5)

    with client_without_waits(policy=policy, waits=waits) as client:
        client.get(f"{server.base_url}/")

    assert waits == [0.5, 1.0, 2.0, 3.0, 3.0]


@pytest.mark.parametrize(
    ("fault", "wait"),
    [
        (rate_limited("7"), 7.0),
        (rate_limited("0"), 0.0),
        (rate_limited("Mon, 30 Nov 2026 03:00:12 GMT"), 12.0),
        (rate_limited("Mon, 30 Nov 2026 02:00:00 GMT"), 0.0),
        (rate_limited("86400"), 120.0),
        (rate_limited("soon"), 1.0),
        (rate_limited("nan"), 1.0),
        (rate_limited(), 1.0),
        (rate_limited(**{"x-ms-ratelimit-remaining-retailPrices-requests": "0"}), 60.0),
        (rate_limited(**{"x-ms-ratelimit-remaining-retailPrices-requests": "9"}), 1.0),
        (rate_limited(**{"x-ms-ratelimit-microsoft.consumption-retry-after": "21"}), 21.0),
        (refuses(503, Retry_After="9"), 9.0),
    ],
)
def test_wait_is_what_the_source_asks_for_within_bounds(server, client, waits, fault, wait):
    server.misbehave(fault)

    client.get(f"{server.base_url}/")

    assert waits == [wait]


def test_lasting_rate_limit_says_how_long_it_lasts(server, client):
    server.misbehave(rate_limited("7"), times=None)

    with pytest.raises(RateLimitedError, match="429: Too many") as caught:
        client.get(f"{server.base_url}/")

    assert caught.value.retry_after_seconds == 7.0


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (
            refuses(400, b'{"Error":{"Code":"BadRequest","Message":"Invalid OData"}}'),
            "HTTP 400: Invalid OData",
        ),
        (refuses(401, b'{"error":{"code":"x","message":"who?"}}'), "HTTP 401: who?"),
        (refuses(403, b"<html>\n  forbidden"), "HTTP 403: <html> forbidden"),
        (refuses(404), "HTTP 404: no message"),
        (refuses(400, b"[1]"), r"HTTP 400: \[1\]"),
        (refuses(302, Location="https://h/?token=s3cr3t"), "moved to https://h/.token=REDACTED"),
        (refuses(204), "HTTP 204"),
    ],
)
def test_refusals_are_not_repeated_and_give_the_sources_words(
    server, client, waits, fault, message
):
    server.misbehave(fault)

    with pytest.raises(SourceRejectedError, match=message):
        client.get(f"{server.base_url}/")

    assert waits == []
    assert len(server.requests) == 1


def test_a_status_can_be_declared_transient(server, client, waits):
    server.misbehave(refuses(404), times=None)

    with pytest.raises(SourceUnavailableError, match="404"):
        client.read(f"{server.base_url}/", lambda *_: None, also_retry={404})

    assert waits == [1.0, 2.0]


def test_body_that_fails_its_check_is_fetched_again(server, client, waits):
    server.misbehave(sends_html())

    def check(body):
        if body != BODY:
            raise WireFormatError("expected words")

    assert client.get(f"{server.base_url}/", check=check).body == BODY
    assert waits == [1.0]


def test_body_that_always_fails_its_check_is_an_error_and_never_an_answer(server, client):
    server.misbehave(sends(b"{}"), times=None)

    def check(body):
        raise WireFormatError(f"expected words, got {body!r}")

    with pytest.raises(WireFormatError, match=r"got b'\{\}'"):
        client.get(f"{server.base_url}/", check=check)

    assert len(server.requests) == 3


def test_consumer_gets_each_attempt_from_its_beginning(server, client):
    server.misbehave(cuts_off(0.3))
    kept = []

    def consume(head, chunks):
        kept.append(0)
        for chunk in chunks:
            kept[-1] += len(chunk)
        return kept[-1]

    assert client.read(f"{server.base_url}/", consume) == len(BODY)
    assert len(kept) == 2


def test_errors_of_the_consumer_are_not_taken_for_errors_of_the_source(server, client):
    def consume(head, chunks):
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        client.read(f"{server.base_url}/", consume)

    assert len(server.requests) == 1


@pytest.mark.parametrize("url", ["ftp://h/", "no url", "http://", "http://h:port/"])
def test_what_is_no_http_url_is_an_error_of_settings(client, url):
    with pytest.raises(SourceRejectedError, match="correct the setting"):
        client.get(url)


def test_unreachable_host_is_unavailable(client, waits):
    with FakeServer() as gone:
        url = f"{gone.base_url}/?sig={SECRET}"

    with pytest.raises(SourceUnavailableError, match="no answer") as caught:
        client.get(url)

    assert waits == [1.0, 2.0]
    assert caught.value.__cause__ is None


def test_timeouts_are_unavailable(waits):
    class Slow(BaseAdapter):
        def send(self, request, *args, timeout, **kwargs):
            asked.append(timeout)
            raise requests.ReadTimeout(f"too slow: {request.url}")

        def close(self):
            pass

    asked = []
    policy = HttpPolicy(max_attempts=2, connect_timeout=3, read_timeout=4)
    with (
        client_without_waits(transport=Slow(), policy=policy, waits=waits) as client,
        pytest.raises(SourceUnavailableError, match="ReadTimeout"),
    ):
        client.get("https://h/")

    assert asked == [(3, 4), (3, 4)]


@pytest.mark.parametrize("fault", [hangs_up(), cuts_off(), refuses(400), refuses(503)])
def test_no_secret_reaches_a_log_or_an_error(server, client, fault, caplog):
    caplog.set_level(logging.DEBUG)
    server.misbehave(fault, times=None)
    url = f"{server.base_url}/a?x=1&X-Amz-Signature={SECRET}&token={SECRET}"

    with pytest.raises((SourceUnavailableError, SourceRejectedError)) as caught:
        client.get(url.replace("//", f"//user:{SECRET}@"))

    error, told = caught.value, []
    while error is not None:
        told += [str(error), repr(error), repr(error.__dict__)]
        error = error.__cause__
    assert "X-Amz-Signature=REDACTED" in str(caught.value)
    assert "X-Amz-Signature=REDACTED" in caplog.text
    assert SECRET not in "\n".join(told)
    assert SECRET not in caplog.text


def test_password_file_of_the_user_is_not_read(server, client, tmp_path, monkeypatch):
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password mine\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))

    client.get(f"{server.base_url}/")

    assert "authorization" not in server.requests[0].headers


def test_threads_share_a_client(server, client):
    together = threading.Barrier(4, timeout=10)

    def fetch(number):
        together.wait()
        return client.get(f"{server.base_url}/gzip?n={number}").body

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(fetch, range(8))) == {BODY}


@pytest.mark.parametrize("host", ["192.0.2.1", "prices.azure.com", "2001:db8::1"])
def test_tests_cannot_leave_this_machine(host):
    with pytest.raises(Exception, match="tests may not connect"):
        socket.create_connection((host, 80), timeout=1)
