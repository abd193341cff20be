"""HTTP clients that do not wait."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from requests.adapters import BaseAdapter

from connectors.http_client import HttpClient, HttpPolicy

NOW = datetime(2026, 11, 30, 3, 0, tzinfo=UTC)
"""The time of every test of connectors."""


@contextmanager
def client_without_waits(
    *,
    transport: BaseAdapter | None = None,
    policy: HttpPolicy | None = None,
    waits: list[float] | None = None,
) -> Iterator[HttpClient]:
    """Give a client at `NOW` which notes its waits in `waits` instead of waiting."""
    with HttpClient(
        policy or HttpPolicy(max_attempts=3),
        sleep=[].append if waits is None else waits.append,
        now=lambda: NOW,
        transport=transport,
    ) as client:
        yield client
