"""`price-catalog refresh` in a process of its own, which ends with the `with` block."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

Process = subprocess.Popen[bytes]


@contextmanager
def refresh_process(arguments: list[str], *, prefect_home: Path, log: Path) -> Iterator[Process]:
    """Start the command in a session of its own; at the end kill whatever is left of it.

    Args:
        arguments: `refresh` and its flags.
        prefect_home: Prefect's folder, for a run that Prefect conducts.
        log: where standard output and standard error go.
    """
    inherited = os.environ.items()  # noqa: TID251 - handed on to a process
    environment = {
        **{name: value for name, value in inherited if not name.startswith("PRICE_CATALOG_")},
        "PREFECT_HOME": str(prefect_home),
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-c", "from flows.cli import main; main()", *arguments],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            kill_with_children(process)


def kill_with_children(process: Process) -> int:
    """Kill a process and all it has started (SIGKILL); returns its exit code."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    return process.wait()
