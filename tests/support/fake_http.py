"""A local HTTP server for fake providers, which can be told to misbehave.

    with FakeServer(FakeAws({...}), FakeAzure({...}), FakeEcb(body)) as server:
        server.misbehave(rate_limited("7"), on="/eu-central-1/", times=2)
        server.aws_url, server.azure_url, server.ecb_url

A fake provider has `answer(request) -> Reply | None`; the first that does not give None answers.
A fault makes of a reply another one. Faults are used up in the order in which they were given.
"""

import gzip
import io
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol, Self
from urllib.parse import parse_qsl, urlsplit

import requests
from requests.adapters import BaseAdapter

HTML = b"<!DOCTYPE html><html><body>We'll be right back</body></html>"


@dataclass(frozen=True, slots=True)
class Request:
    """What a fake sees. Header names are in lower case; `target` is path and query, decoded."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    base_url: str

    @property
    def target(self) -> str:
        query = "&".join(f"{name}={value}" for name, value in self.query.items())
        return f"{self.path}?{query}" if query else self.path


@dataclass(frozen=True, slots=True)
class Reply:
    """What is sent. Only `sent` bytes of the body are, if it is not None, and then it hangs up."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    sent: int | None = None
    has_length: bool = True
    hangs_up: bool = False

    def gzipped_for(self, request: Request) -> "Reply":
        """Compress, if the client takes it."""
        if "gzip" not in request.headers.get("accept-encoding", ""):
            return self
        return replace(
            self,
            headers={**self.headers, "Content-Encoding": "gzip"},
            body=gzip.compress(self.body, 1, mtime=0),
        )


class Provider(Protocol):
    """Answers what it knows; None lets the next one try."""

    def answer(self, request: Request) -> Reply | None: ...


Fault = Callable[[Reply], Reply]


def refuses(status: int, body: bytes = b"", **headers: str) -> Fault:
    """Answer with a status; header names are given with underscores."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _: Reply(status, named, body)


def rate_limited(retry_after: str | None = None, **headers: str) -> Fault:
    """429, with Retry-After as seconds or as a date, or with other headers."""
    asked = {"Retry_After": retry_after} if retry_after is not None else {}
    return refuses(429, b'{"Error":{"Code":"429","Message":"Too many"}}', **asked, **headers)


def sends(body: bytes, content_type: str = "application/json") -> Fault:
    """200 with another body."""
    return lambda _: Reply(200, {"Content-Type": content_type}, body)


def sends_html() -> Fault:
    """200 with a gateway's page."""
    return sends(HTML, "text/html")


def cuts_off(at: float = 0.5) -> Fault:
    """Announce the whole body and hang up after a part of it."""
    return lambda reply: replace(reply, sent=int(len(reply.body) * at))


def cuts_off_unannounced(at: float = 0.5) -> Fault:
    """Send a part of the body without having announced its length."""
    return lambda reply: replace(reply, sent=int(len(reply.body) * at), has_length=False)


def hangs_up() -> Fault:
    """Close the connection instead of answering."""
    return lambda reply: replace(reply, hangs_up=True)


@dataclass(slots=True)
class _Planned:
    fault: Fault
    on: str
    left: int | None


class FakeServer:
    """Serves fake providers on a free port of 127.0.0.1 until the `with` block ends."""

    def __init__(self, *providers: Provider) -> None:
        self._providers = providers
        self._planned: list[_Planned] = []
        self._lock = threading.Lock()
        self.requests: list[Request] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    aws_url = base_url
    """Both the bulk files and the API (as AWS_ENDPOINT_URL_PRICING)."""

    @property
    def azure_url(self) -> str:
        return f"{self.base_url}/api/retail/prices"

    @property
    def ecb_url(self) -> str:
        return f"{self.base_url}/stats/eurofxref/eurofxref-daily.xml"

    def misbehave(self, fault: Fault, *, on: str = "", times: int | None = 1) -> None:
        """Apply a fault to the next requests whose target contains `on`; None is for ever."""
        with self._lock:
            self._planned.append(_Planned(fault, on, times))

    def behave(self) -> None:
        """Forget all faults."""
        with self._lock:
            self._planned.clear()

    def targets(self, containing: str = "") -> list[str]:
        """Give the targets that were asked for, in order."""
        with self._lock:
            return [request.target for request in self.requests if containing in request.target]

    def _answer(self, request: Request) -> Reply:
        reply = _first_answer(self._providers, request)
        with self._lock:
            self.requests.append(request)
            for planned in self._planned:
                if planned.left != 0 and planned.on in request.target:
                    planned.left = None if planned.left is None else planned.left - 1
                    return planned.fault(reply)
        return reply

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        answer = self._answer

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Head and body are two writes: the second must not wait for the first's receipt.
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                url = f"http://{self.headers['Host']}{self.path}"
                self._send(answer(_request(self.command, url, self.headers, body)))

            do_POST = do_GET  # noqa: N815 - the name that http.server looks for

            def _send(self, reply: Reply) -> None:
                self.close_connection = reply.hangs_up or reply.sent is not None
                if reply.hangs_up:
                    return
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                if reply.has_length and reply.status != 304:
                    self.send_header("Content-Length", str(len(reply.body)))
                if self.close_connection:
                    self.send_header("Connection", "close")
                self.end_headers()
                self.wfile.write(reply.body[: reply.sent])

            def log_message(self, *_: object) -> None:
                """Keep quiet; `FakeServer.requests` is the log."""

        return Handler


class DirectTransport(BaseAdapter):
    """Asks fake providers without a server in between, whatever the host in the url is."""

    def __init__(self, *providers: Provider) -> None:
        super().__init__()
        self._providers = providers

    def send(
        self, request: requests.PreparedRequest, *args: Any, **kwargs: Any
    ) -> requests.Response:
        asked = _request(request.method or "", request.url or "", request.headers, b"")
        reply = _first_answer(self._providers, asked)
        response = requests.Response()
        response.status_code = reply.status
        response.url = request.url or ""
        response.headers.update(reply.headers)
        response.raw = io.BytesIO(reply.body)
        return response

    def close(self) -> None:
        """There is nothing to close."""


def _request(method: str, url: str, headers: Mapping[str, str], body: bytes) -> Request:
    parts = urlsplit(url)
    return Request(
        method=method,
        path=parts.path,
        query=dict(parse_qsl(parts.query, keep_blank_values=True)),
        headers={name.lower(): value for name, value in headers.items()},
        body=body,
        base_url=f"{parts.scheme}://{parts.netloc}",
    )


def _first_answer(providers: Iterable[Provider], request: Request) -> Reply:
    replies = (provider.answer(request) for provider in providers)
    return next((reply for reply in replies if reply is not None), Reply(404, {}, b"not here"))
