"""A Prefect server that schedules, for as long as `price-catalog serve` runs.

Where no server is configured Prefect starts a temporary one for a flow run. That one has no
scheduler: a deployment that is served on it never starts by itself.
"""

import logging
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from prefect.client.orchestration import get_client
from prefect.settings import (
    PREFECT_API_URL,
    PREFECT_SERVER_API_HOST,
    PREFECT_SERVER_API_PORT,
    temporary_settings,
)

from flows.errors import ServerNotStartedError

logger = logging.getLogger(__name__)

_PATIENCE_SECONDS = 180
"""A new home migrates its database first; measured 11 seconds on two idle cores."""
_POLL_SECONDS = 0.5


@contextmanager
def scheduling_server() -> Iterator[str]:
    """Give the address of the configured server, or start one of our own and end it afterwards.

    Raises ServerNotStartedError where its port is taken or it does not answer in time.
    """
    configured = PREFECT_API_URL.value()
    if configured is not None:
        yield configured
        return
    url = f"http://{PREFECT_SERVER_API_HOST.value()}:{PREFECT_SERVER_API_PORT.value()}/api"
    with temporary_settings({PREFECT_API_URL: url}):
        if _is_answered():
            raise ServerNotStartedError(
                f"something answers at {url} already: set PREFECT_API_URL to use that server, or "
                "PREFECT_SERVER_API_PORT to start another one beside it"
            )
        server = subprocess.Popen(
            [sys.executable, "-m", "prefect", "server", "start"], stdout=subprocess.DEVNULL
        )
        try:
            _wait_for(server, url)
            yield url
        finally:
            server.terminate()
            server.wait()


def _wait_for(server: subprocess.Popen[bytes], url: str) -> None:
    ends_at = time.monotonic() + _PATIENCE_SECONDS
    while not _is_answered():
        if server.poll() is not None:
            raise ServerNotStartedError(
                f"the Prefect server for {url} ended with code {server.returncode}; "
                "`prefect server start` says why. PREFECT_SERVER_API_PORT chooses another port"
            )
        if time.monotonic() > ends_at:
            raise ServerNotStartedError(f"no answer from {url} within {_PATIENCE_SECONDS} seconds")
        time.sleep(_POLL_SECONDS)


def _is_answered() -> bool:
    with get_client(sync_client=True) as client:
        return client.api_healthcheck() is None
