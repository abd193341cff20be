"""Two ways to conduct, for tests that must find the same of both."""

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from flows.conductor import Conductor, Lane, PlainConductor, Retry

Result = TypeVar("Result")


class Passing(Exception):  # noqa: N818 - it is no error of the project
    """Worth another try."""


class Lasting(Exception):  # noqa: N818
    """Not worth one."""


class Told:
    """Remembers what progress was told, in order; `advances` counts by stage."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.stages: list[tuple[str, str, int]] = []
        self.advances: Counter[str] = Counter()

    def begin(self, stage: str, total: int) -> None:
        self.stages.append(("begin", stage, total))

    def advance(self, stage: str) -> None:
        with self._lock:
            self.advances[stage] += 1

    def done(self, stage: str) -> None:
        self.stages.append(("done", stage, self.advances[stage]))


class Conducted(Protocol):
    """Runs a function with a conductor, where that one can be used."""

    def __call__(
        self, function: Callable[[Conductor], Result], *, workers: int = 2, told: Told | None = None
    ) -> Result: ...


def plainly(waits: list[float]) -> Conducted:
    """Conduct with threads; `waits` gets what would have been waited."""

    def run(
        function: Callable[[Conductor], Result], *, workers: int = 2, told: Told | None = None
    ) -> Result:
        return function(PlainConductor(workers, told or Told(), sleep=waits.append))

    return run


def with_prefect() -> Conducted:
    """Conduct inside of a flow run; a server must be at hand."""
    from prefect import flow

    from flows.prefect_conductor import PrefectConductor

    def run(
        function: Callable[[Conductor], Result], *, workers: int = 2, told: Told | None = None
    ) -> Result:
        outcome: list[Result] = []

        @flow(name="conducted")
        def conducted() -> None:
            conductor = PrefectConductor(workers, told or Told())
            # As in a refresh: fan-outs are in subflows, which bring the threads.
            outcome.append(conductor.subflow("part", lambda: function(conductor)))

        conducted()
        return outcome[0]

    return run


def lane_of(
    fetch: Callable[[Any], Any],
    then: Callable[[Any], Any] = lambda fetched: fetched,
    *,
    known: Callable[[Any], Any] = lambda _: None,
    attempts: int = 1,
    delay_seconds: float = 0.0,
) -> Lane[Any, Any, Any]:
    """Make a lane that is retried on `Passing`."""
    retry = Retry(attempts, (Passing,), delay_seconds)
    return Lane("fetch-item", fetch, retry, known, "then-item", then)


class Flaky:
    """Fails the first times that it is asked for an item, then gives the item in capitals."""

    def __init__(self, **failures: list[Exception]) -> None:
        self._failures = failures
        self._lock = threading.Lock()
        self.calls: Counter[str] = Counter()

    def __call__(self, item: str) -> str:
        with self._lock:
            self.calls[item] += 1
            left = self._failures.get(item)
            error = left.pop(0) if left else None
        if error is not None:
            raise error
        return item.upper()
