"""Publishers in processes of their own, to be killed or to race; run as a script by tests.

    publisher_processes.py kill ROOTS CANDIDATE EXPECTED_PREVIOUS
    publisher_processes.py race ROOT CANDIDATE...

`kill` copies the catalog ROOTS/template for each step of a publish and kills a publisher (SIGKILL)
at that step of its copy, ROOTS/<step number>; the last one is not killed. It prints the steps.
`race` lets one publisher a candidate loose on ROOT at the same moment and prints their outcomes.
Publishers are forked, so that importing everything is paid for once.
"""

import json
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path

from support.release_candidates import AS_OF, candidate_in, release_facts
from support.stepping_storage import SteppingStorage
from warehouse.errors import PublishConflictError
from warehouse.publishing import publish
from warehouse.storage import LocalStorage


def kill_at_every_step(roots: Path, candidate: Path, expected_previous: str | None) -> list[str]:
    facts = release_facts(as_of=AS_OF + timedelta(days=1), expected_previous=expected_previous)
    steps: list[str] = []
    while True:
        root = roots / str(len(steps))
        shutil.copytree(roots / "template", root)
        reader, writer = os.pipe()
        storage = SteppingStorage(root, _killer(len(steps), writer))
        child = _fork(partial(publish, storage, candidate_in(candidate), facts))
        exit_code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os.close(writer)
        with os.fdopen(reader) as pipe:
            step = pipe.read()
        if exit_code == 0:
            return [*steps, "not killed"]
        assert exit_code == -signal.SIGKILL, step
        steps.append(step)


def race(root: Path, candidates: list[Path]) -> list[str]:
    gate, gate_writer = os.pipe()
    children: list[int] = []
    outcomes: list[int] = []
    for candidate in candidates:
        reader, writer = os.pipe()
        children.append(_fork(partial(_publish_once, root, candidate, (gate, gate_writer), writer)))
        outcomes.append(reader)
        os.close(writer)
    os.close(gate)
    os.close(gate_writer)
    for child in children:
        assert os.waitpid(child, 0)[1] == 0
    return [os.fdopen(reader).read() for reader in outcomes]


def _publish_once(root: Path, candidate: Path, gate: tuple[int, int], writer: int) -> None:
    os.close(gate[1])
    os.read(gate[0], 1)  # Comes to its end when all have been started.
    try:
        publish(LocalStorage(root), candidate_in(candidate), release_facts())
    except PublishConflictError as exc:
        os.write(writer, f"conflict: {exc}".encode())
    else:
        os.write(writer, b"published")


def _killer(at: int, writer: int) -> Callable[[str], None]:
    seen = 0

    def on_step(step: str) -> None:
        nonlocal seen
        if seen == at:
            os.write(writer, step.encode())
            os.kill(os.getpid(), signal.SIGKILL)
        seen += 1

    return on_step


def _fork(work: Callable[[], object]) -> int:
    child = os.fork()
    if child:
        return child
    try:
        work()
    except BaseException:  # noqa: BLE001 - whatever it is, it must not run the parent's code
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    mode, first, *rest = sys.argv[1:]
    if mode == "kill":
        said = kill_at_every_step(Path(first), Path(rest[0]), rest[1] or None)
    else:
        said = race(Path(first), [Path(argument) for argument in rest])
    sys.stdout.write(json.dumps(said))
