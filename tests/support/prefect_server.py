"""A real Prefect server on a free port, and commands that work with it, each in its own group.

Everything that is started here ends with its `with` block, whatever it has started itself.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, TypeVar

import requests

BIN = Path(sys.executable).parent
ROOT = Path(__file__).resolve().parents[2]

_POLL_SECONDS = 0.25
_END_SECONDS = 20

Found = TypeVar("Found")


@dataclass(frozen=True)
class Deadline:
    """When a test gives up; all that it waits for shares it."""

    seconds: float
    _ends_at: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_ends_at", time.monotonic() + self.seconds)

    def wait_for(
        self, look: Callable[[], Found | Literal[False] | None], what: str, *running: "Running"
    ) -> Found:
        """Look until there is something that is true.

        Raises AssertionError with all output where time is up or a process has ended.
        """
        while True:
            # In this order: what a process did before it ended is seen.
            ended = [process for process in running if process.has_ended]
            found = look()
            if found:
                return found
            if ended or time.monotonic() > self._ends_at:
                why = f"{ended[0].name} has ended" if ended else f"no {what} in {self.seconds} s"
                said = "\n".join(f"--- {process.name}\n{process.said}" for process in running)
                raise AssertionError(f"waiting for {what}: {why}\n{said}")
            time.sleep(_POLL_SECONDS)


@dataclass(frozen=True)
class Running:
    """A process that is at work, and what it has written."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def has_ended(self) -> bool:
        return self.process.poll() is not None

    @property
    def said(self) -> str:
        return self.log.read_text(errors="replace")


@dataclass(frozen=True)
class PrefectHome:
    """A Prefect of the test's own: its folder, and the environment of every command."""

    folder: Path
    environment: Mapping[str, str]

    def run(self, *command: str) -> str:
        """Run a command in the repository to its end; returns what it wrote."""
        answer = subprocess.run(
            [str(BIN / command[0]), *command[1:]],
            cwd=ROOT,
            env=dict(self.environment),
            capture_output=True,
            text=True,
            check=False,
        )
        assert answer.returncode == 0, f"{command}:\n{answer.stdout}\n{answer.stderr}"
        return answer.stdout

    @contextmanager
    def running(self, *command: str) -> Iterator[Running]:
        """Start a command in a folder that is not the repository; end it and all it started."""
        log = self.folder / f"{'-'.join(command[:3])}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [str(BIN / command[0]), *command[1:]],
                cwd=self.folder,
                env=dict(self.environment),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                yield Running(" ".join(command[:3]), process, log)
            finally:
                _end_group(process)


@dataclass(frozen=True)
class PrefectServer:
    """A server that answers."""

    url: str

    def read(self, path: str) -> Any:
        return _answered(requests.get(f"{self.url}{path}", timeout=30))

    def ask(self, path: str, **body: Any) -> Any:
        return _answered(requests.post(f"{self.url}{path}", json=body, timeout=30))

    def find_deployment(self, name: str) -> dict[str, Any] | None:
        """Give the deployment `flow/deployment`, once it is registered."""
        response = requests.get(f"{self.url}/deployments/name/{name}", timeout=30)
        found: dict[str, Any] | None = None if response.status_code == 404 else _answered(response)
        return found

    def planned_runs(self, deployment_id: str) -> list[datetime]:
        """Give when the scheduler is going to start a deployment."""
        only = {"id": {"any_": [deployment_id]}}
        runs = self.ask("/flow_runs/filter", deployments=only)
        return [datetime.fromisoformat(run["expected_start_time"]) for run in runs]

    def start_run(self, deployment: str) -> str:
        """Trigger a run of `flow/deployment`; returns its id."""
        found = self.read(f"/deployments/name/{deployment}")
        state = {"type": "SCHEDULED"}
        run = self.ask(f"/deployments/{found['id']}/create_flow_run", state=state)
        return str(run["id"])

    def finished_run(self, run_id: str) -> dict[str, Any] | None:
        """Give a flow run, once it has come to an end."""
        run: dict[str, Any] = self.read(f"/flow_runs/{run_id}")
        return run if run["state_type"] in {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"} else None

    def artifacts(self, run_id: str) -> dict[str, dict[str, Any]]:
        """Give a flow run's artifacts by key; those that Prefect makes of results have none."""
        only = {"flow_run_id": {"any_": [run_id]}}
        found = self.ask("/artifacts/filter", artifacts=only)
        return {artifact["key"]: artifact for artifact in found if artifact["key"]}

    def log_of(self, run_id: str) -> str:
        """Give what a flow run has logged."""
        only = {"flow_run_id": {"any_": [run_id]}}
        return "\n".join(line["message"] for line in self.ask("/logs/filter", logs=only))

    def is_healthy(self) -> bool:
        try:
            return requests.get(f"{self.url}/health", timeout=5).ok
        except requests.ConnectionError:
            return False


@contextmanager
def prefect_server(home: PrefectHome, deadline: Deadline) -> Iterator[PrefectServer]:
    """Start a server; `home` must name its address as PREFECT_API_URL."""
    server = PrefectServer(home.environment["PREFECT_API_URL"])
    port = server.url.removesuffix("/api").rpartition(":")[2]
    start = ("prefect", "server", "start", "--host", "127.0.0.1", "--port", port, "--no-ui")
    with home.running(*start) as process:
        deadline.wait_for(server.is_healthy, "a healthy server", process)
        yield server


def prefect_home(folder: Path, **settings: str) -> PrefectHome:
    """Give a Prefect with nothing of its user's, that phones nobody and looks for work often."""
    inherited = ("PATH", "LANG", "TMPDIR", "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV")
    environment = {name: os.environ[name] for name in inherited if name in os.environ}  # noqa: TID251 - for subprocesses
    return PrefectHome(
        folder,
        {
            **environment,
            "PATH": f"{BIN}:{environment['PATH']}",
            "HOME": str(folder),
            "PREFECT_HOME": str(folder / "prefect"),
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            "DO_NOT_TRACK": "1",
            "PREFECT_WORKER_QUERY_SECONDS": "1",
            "PREFECT_RUNNER_POLL_FREQUENCY": "1",
            "AWS_EC2_METADATA_DISABLED": "true",
            **settings,
        },
    )


def free_port() -> int:
    """Give a port of 127.0.0.1 that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def _answered(response: requests.Response) -> Any:
    assert response.ok, f"{response.request.url}: {response.status_code} {response.text}"
    return response.json()


def _end_group(process: subprocess.Popen[bytes]) -> None:
    for sign in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, sign)
        except ProcessLookupError:
            break
        try:
            process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            continue
    process.wait()
