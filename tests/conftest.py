"""What holds for every test: no network but this machine's own, and no settings of its user."""

import ipaddress
import os
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from connectors.http_client import HttpClient
from support.clients import client_without_waits
from support.memory_landing import MemoryLanding

_USERS_SETTINGS = ("AWS_", "AZURE_", "PRICE_CATALOG_", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


class NetworkBlockedError(Exception):
    """A test tried to leave this machine. Not an OSError, so nothing takes it for an outage."""


@pytest.fixture(autouse=True, scope="session")
def _network_is_blocked() -> Iterator[None]:
    connect, connect_ex, getaddrinfo = (
        socket.socket.connect,
        socket.socket.connect_ex,
        socket.getaddrinfo,
    )

    def check(host: object) -> None:
        if not _is_own_machine(host):
            raise NetworkBlockedError(f"tests may not connect to {host!r}")

    def checked_connect(own: socket.socket, address: Any) -> None:
        if own.family != socket.AF_UNIX:
            check(address[0])
        connect(own, address)

    def checked_connect_ex(own: socket.socket, address: Any) -> int:
        if own.family != socket.AF_UNIX:
            check(address[0])
        return connect_ex(own, address)

    def checked_getaddrinfo(host: Any, *args: Any, **kwargs: Any) -> Any:
        check(host)
        return getaddrinfo(host, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", checked_connect)
        patch.setattr(socket.socket, "connect_ex", checked_connect_ex)
        patch.setattr(socket, "getaddrinfo", checked_getaddrinfo)
        yield


@pytest.fixture(autouse=True)
def _settings_of_the_user_are_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in tuple(os.environ):  # noqa: TID251 - to take it away
        if name.upper().startswith(_USERS_SETTINGS):
            monkeypatch.delenv(name)
    # Looking for credentials must not wait for a machine that is not there.
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")


@pytest.fixture
def landing() -> MemoryLanding:
    return MemoryLanding()


@pytest.fixture
def waits() -> list[float]:
    """What the client of the `client` fixture waited, in seconds."""
    return []


@pytest.fixture
def client(waits: list[float]) -> Iterator[HttpClient]:
    """A client of three attempts that does not wait."""
    with client_without_waits(waits=waits) as client:
        yield client


def _is_own_machine(host: object) -> bool:
    if host in (None, "", "localhost", b"localhost", socket.gethostname()):
        return True
    try:
        text = host.decode() if isinstance(host, bytes) else str(host)
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified
