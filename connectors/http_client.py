"""The one way out to HTTP sources: GET, retried within bounds, whole bodies only.

All retries of single requests happen here and nowhere else. A request is tried again when asking
again may help: no connection, timeout, 429, 5xx, a body that was cut off, a body that is not in
its format (a gateway's HTML page under status 200). What remains after the last attempt is raised.
"""

import contextlib
import email.utils
import json
import logging
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self, TypeVar

import requests
import urllib3
from requests.adapters import BaseAdapter, HTTPAdapter

from connectors.errors import (
    ConnectorError,
    RateLimitedError,
    SourceRejectedError,
    SourceUnavailableError,
    TransientSourceError,
    WireFormatError,
)
from connectors.http_body import CHUNK_BYTES, iter_body
from connectors.recording import RECORDED_AT_HEADER, RECORDED_NOTE_HEADER
from connectors.urls import redact_url, with_query

logger = logging.getLogger(__name__)

T = TypeVar("T")

_NOT_MODIFIED = 304
_TOO_MANY_REQUESTS = 429
_TRANSIENT_STATUSES = frozenset({408, 425, 429})
_FIRST_SERVER_ERROR = 500
_ERROR_BODY_BYTES = 4096
_ERROR_TEXT_LENGTH = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpPolicy:
    """Limits of the client. Times are in seconds.

    The wait before attempt n+1 is backoff_seconds * 2**(n-1), at most max_backoff_seconds, or what
    the source asks for, at most max_retry_after_seconds. There is no random part: the client is
    one program with a bounded number of workers, and its runs can be repeated exactly.
    """

    max_attempts: int = 6
    backoff_seconds: float = 1.0
    max_backoff_seconds: float = 60.0
    max_retry_after_seconds: float = 120.0
    rate_limit_window_seconds: float = 60.0
    connect_timeout: float = 10.0
    read_timeout: float = 60.0
    max_connections: int = 16
    user_agent: str = "cloud-price-catalog"


@dataclass(frozen=True, slots=True)
class Recorded:
    """Says that an answer was replayed: when it was fetched, and what a reader must know."""

    at: datetime
    note: str | None


@dataclass(frozen=True, slots=True)
class Head:
    """An answer without its body. `url` has no secrets; header names are case-insensitive."""

    status: int
    url: str
    headers: Mapping[str, str]
    recorded: Recorded | None

    @property
    def is_not_modified(self) -> bool:
        """Tell a 304 from a 200; the client raises for everything else."""
        return self.status == _NOT_MODIFIED

    @property
    def media_type(self) -> str:
        """Give the media type without its parameters."""
        return self.headers.get("Content-Type", "").partition(";")[0].strip().lower()


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer; `body` is decoded."""

    head: Head
    body: bytes


class HttpClient:
    """GETs documents; may be shared by threads.

    Each thread has its own requests session, since a session is not safe to share; all sessions
    share one adapter with its pool of connections, which is.
    """

    def __init__(
        self,
        policy: HttpPolicy,
        *,
        sleep: Callable[[float], object],
        now: Callable[[], datetime],
        transport: BaseAdapter | None = None,
    ) -> None:
        """Make a client.

        Args:
            policy: limits.
            sleep: waits for a number of seconds.
            now: the time in UTC, only to read a Retry-After that is a date.
            transport: stands where the network stands; default is the network.
        """
        self._policy = policy
        self._sleep = sleep
        self._now = now
        self._transport = transport or HTTPAdapter(
            pool_connections=policy.max_connections, pool_maxsize=policy.max_connections
        )
        self._threads = threading.local()
        _keep_secrets_out_of_urllib3_logs()

    def __enter__(self) -> Self:
        """Give itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def get(
        self,
        url: str,
        *,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        check: Callable[[bytes], object] | None = None,
    ) -> Answer:
        """GET a small document whole.

        Args:
            url: where.
            params: query parameters to append.
            headers: further request headers.
            check: raises WireFormatError on a body that is not in its format, which is then
                fetched again like one that was cut off.

        Raises:
            ConnectorError: see `read`.
        """

        def consume(head: Head, chunks: Iterator[bytes]) -> Answer:
            body = b"".join(chunks)
            if check is not None and not head.is_not_modified:
                check(body)
            return Answer(head, body)

        return self.read(with_query(url, params or {}), consume, headers=headers)

    def read(
        self,
        url: str,
        consume: Callable[[Head, Iterator[bytes]], T],
        *,
        headers: Mapping[str, str] | None = None,
        also_retry: Collection[int] = (),
    ) -> T:
        """GET a document of any size and give what `consume` makes of it.

        Args:
            url: where.
            consume: takes the head and the decoded body in chunks of bounded size. It is called
                once an attempt, so a body that breaks off never leaves half a result. For a 304
                there are no chunks.
            headers: further request headers.
            also_retry: statuses that are transient for this document.

        Raises:
            SourceRejectedError: the source refused, and asking again is pointless.
            RateLimitedError: asked too often, to the last attempt.
            SourceUnavailableError: no whole answer, to the last attempt.
            WireFormatError: not in its format, to the last attempt.
            ConnectorError: what else `consume` raises, at once.
        """
        attempt = 1
        while True:
            try:
                return self._attempt(url, consume, headers or {}, also_retry)
            except (TransientSourceError, WireFormatError) as exc:
                if attempt >= self._policy.max_attempts:
                    exc.add_note(f"given up after {attempt} attempts")
                    raise
                wait = self._wait_after(attempt, exc)
                logger.warning(
                    "attempt %d of %d failed, next in %.1f s: %s",
                    attempt,
                    self._policy.max_attempts,
                    wait,
                    exc,
                )
            self._sleep(wait)
            attempt += 1

    def _attempt(
        self,
        url: str,
        consume: Callable[[Head, Iterator[bytes]], T],
        headers: Mapping[str, str],
        also_retry: Collection[int],
    ) -> T:
        with contextlib.closing(self._send(url, headers)) as response:
            head = _head(response)
            if head.is_not_modified:
                return consume(head, iter(()))
            if head.status != requests.codes.ok:
                raise self._refusal(response, head, also_retry)
            return consume(head, iter_body(response, CHUNK_BYTES))

    def _send(self, url: str, headers: Mapping[str, str]) -> requests.Response:
        shown = redact_url(url)
        try:
            return self._session().get(
                url,
                headers=headers,
                stream=True,
                allow_redirects=False,
                timeout=(self._policy.connect_timeout, self._policy.read_timeout),
            )
        except ConnectorError:
            raise
        except ValueError as exc:  # requests' errors for a malformed url are ValueErrors
            raise SourceRejectedError(
                f"expected an http or https url ({type(exc).__name__}); correct the setting",
                url=shown,
            ) from _unless_secret(exc, url)
        except (requests.RequestException, urllib3.exceptions.HTTPError) as exc:
            raise SourceUnavailableError(
                f"no answer ({type(exc).__name__}); check the network and the source's status",
                url=shown,
            ) from _unless_secret(exc, url)

    def _session(self) -> requests.Session:
        session: requests.Session | None = getattr(self._threads, "session", None)
        if session is None:
            session = requests.Session()
            session.headers.update(
                {"User-Agent": self._policy.user_agent, "Accept-Encoding": "gzip", "Accept": "*/*"}
            )
            session.auth = _no_authentication
            session.mount("http://", self._transport)
            session.mount("https://", self._transport)
            self._threads.session = session
        return session

    def _refusal(
        self, response: requests.Response, head: Head, also_retry: Collection[int]
    ) -> ConnectorError:
        message = f"HTTP {head.status}: {_error_text(response)}"
        asked = self._asked_wait(head.headers)
        if head.status == _TOO_MANY_REQUESTS:
            return RateLimitedError(
                f"{message}; ask less often (PRICE_CATALOG_HTTP_WORKERS)",
                url=head.url,
                retry_after_seconds=asked,
            )
        if (
            head.status >= _FIRST_SERVER_ERROR
            or head.status in _TRANSIENT_STATUSES
            or head.status in also_retry
        ):
            return SourceUnavailableError(message, url=head.url, retry_after_seconds=asked)
        return SourceRejectedError(message, url=head.url, status=head.status)

    def _wait_after(self, attempt: int, error: ConnectorError) -> float:
        if isinstance(error, TransientSourceError) and error.retry_after_seconds is not None:
            return min(max(error.retry_after_seconds, 0.0), self._policy.max_retry_after_seconds)
        backoff = self._policy.backoff_seconds * float(2 ** (attempt - 1))
        return min(backoff, self._policy.max_backoff_seconds)

    def _asked_wait(self, headers: Mapping[str, str]) -> float | None:
        """Read how long the source wants to be left alone; None if it does not say.

        Azure says so in Retry-After, in x-ms-ratelimit-...-retry-after, or only by
        x-ms-ratelimit-remaining-...: 0, whose window is a minute.
        """
        asked = _seconds_until(headers.get("Retry-After", ""), self._now())
        if asked is not None:
            return asked
        for name, value in sorted(headers.items()):
            lowered = name.lower()
            if lowered.startswith("x-ms-ratelimit-") and lowered.endswith("retry-after"):
                return _seconds_until(value, self._now())
            if lowered.startswith("x-ms-ratelimit-remaining-") and value.strip() == "0":
                return self._policy.rate_limit_window_seconds
        return None


def _head(response: requests.Response) -> Head:
    recorded_at = response.headers.get(RECORDED_AT_HEADER)
    return Head(
        status=response.status_code,
        url=redact_url(response.url),
        headers=response.headers,
        recorded=Recorded(
            datetime.fromisoformat(recorded_at), response.headers.get(RECORDED_NOTE_HEADER)
        )
        if recorded_at
        else None,
    )


def _seconds_until(retry_after: str, now: datetime) -> float | None:
    """Read a Retry-After value, which is a number of seconds or an HTTP date."""
    text = retry_after.strip()
    if text.replace(".", "", 1).isdecimal():
        return float(text)
    try:
        at = email.utils.parsedate_to_datetime(text)
    except ValueError:
        return None
    return ((at if at.tzinfo else at.replace(tzinfo=UTC)) - now).total_seconds()


def _error_text(response: requests.Response) -> str:
    """Give the source's own words for a refusal, shortened; never raises."""
    location = response.headers.get("Location")
    if location is not None:
        return f"moved to {redact_url(location)}; redirects are not followed, correct the setting"
    body = b""
    with contextlib.suppress(ConnectorError):
        for chunk in iter_body(response, _ERROR_BODY_BYTES):
            body += chunk
            if len(body) >= _ERROR_BODY_BYTES:
                break
    text = body.decode("utf-8", errors="replace")
    with contextlib.suppress(ValueError, AttributeError):
        content = json.loads(text)
        error = content.get("Error") or content.get("error") or {}
        text = error.get("Message") or error.get("message") or text
    return " ".join(text.split())[:_ERROR_TEXT_LENGTH] or "no message"


def _no_authentication(request: requests.PreparedRequest) -> requests.PreparedRequest:
    # Without this, requests would look the host up in ~/.netrc and send what it finds there.
    return request


def _unless_secret(exc: Exception, url: str) -> Exception | None:
    # The texts of requests' errors hold the url.
    return exc if redact_url(url) == url else None


class _RedactUrls(logging.Filter):
    """Redacts the request targets in urllib3's debug messages."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(_redacted(argument) for argument in record.args)
        return True


def _redacted(argument: Any) -> Any:  # noqa: ANN401 - a logging argument is anything
    return redact_url(argument) if isinstance(argument, str) and "?" in argument else argument


def _keep_secrets_out_of_urllib3_logs() -> None:
    log = logging.getLogger("urllib3.connectionpool")
    if not any(isinstance(known, _RedactUrls) for known in log.filters):
        log.addFilter(_RedactUrls())
