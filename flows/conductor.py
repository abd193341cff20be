"""Two ways to conduct the same refresh: with Prefect, or with plain threads.

The refresh itself (flows.refresh_catalog) is written once, against `Conductor`. What runs at
once, what is tried again and what one failure means is the same in both.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

logger = logging.getLogger(__name__)

Item = TypeVar("Item")
Fetched = TypeVar("Fetched")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Outcome(Generic[Item, Result]):
    """What became of one item of a fan-out: a result, or the error that ended it.

    `fetched` is what the first step gave, also where the second one failed.
    """

    item: Item
    fetched: Any
    result: Result | None
    error: BaseException | None


@dataclass(frozen=True, slots=True)
class Retry:
    """When a step is done again. Only for failures that nothing beneath has retried."""

    attempts: int
    on: tuple[type[BaseException], ...]
    delay_seconds: float


@dataclass(frozen=True, slots=True)
class Lane(Generic[Item, Fetched, Result]):
    """The two steps that every item of a fan-out goes through: `fetch` may be tried again.

    `known` is quick and gives the result of `then` where it need not be computed, else None.
    """

    fetch_name: str
    fetch: Callable[[Item], Fetched]
    retry: Retry
    known: Callable[[Fetched], Result | None]
    then_name: str
    then: Callable[[Fetched], Result]


class Progress(Protocol):
    """Who is told how far a refresh is. Called from several threads."""

    def begin(self, stage: str, total: int) -> None:
        """A stage of so many items begins."""

    def advance(self, stage: str) -> None:
        """One item of a stage is done, well or not."""

    def done(self, stage: str) -> None:
        """The stage is over."""


class Conductor(Protocol):
    """Runs the stages of a refresh."""

    def subflow(self, name: str, function: Callable[[], Result]) -> Result:
        """Run a named part of the refresh that fans out by itself."""

    def subflows(self, parts: Mapping[str, Callable[[], Result]]) -> tuple[Result, ...]:
        """Run parts that are independent of each other; results are in their order."""

    def stage(self, name: str, function: Callable[[], Result]) -> Result:
        """Run one named step."""

    def fan_out(
        self, stage: str, lane: Lane[Item, Any, Result], items: Sequence[Item]
    ) -> list[Outcome[Item, Result]]:
        """Run the lane for each item, a few at once.

        One item's failure leaves the others alone; outcomes are in the order of the items.
        """


class PlainConductor:
    """Runs a refresh in this process, with threads and without Prefect."""

    def __init__(
        self, workers: int, progress: Progress, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        """Run at most `workers` items of a fan-out at once."""
        self._workers = workers
        self._progress = progress
        self._sleep = sleep

    def subflow(self, name: str, function: Callable[[], Result]) -> Result:
        """Run a named part of the refresh."""
        logger.info("%s begins", name)
        return function()

    def subflows(self, parts: Mapping[str, Callable[[], Result]]) -> tuple[Result, ...]:
        """Run parts one after the other, for the main thread must be there for Ctrl-C."""
        return tuple(self.subflow(name, function) for name, function in parts.items())

    def stage(self, name: str, function: Callable[[], Result]) -> Result:
        """Run one named step."""
        self._progress.begin(name, 1)
        result = function()
        self._progress.done(name)
        return result

    def fan_out(
        self, stage: str, lane: Lane[Item, Any, Result], items: Sequence[Item]
    ) -> list[Outcome[Item, Result]]:
        """Run the lane for each item on a pool of threads."""
        self._progress.begin(stage, len(items))

        def run(item: Item) -> Outcome[Item, Result]:
            fetched = None
            try:
                fetched = self._retried(lane, item)
                result = lane.known(fetched)
                if result is None:
                    result = lane.then(fetched)
            except Exception as error:  # noqa: BLE001 - one region never takes the night with it
                return Outcome(item, fetched, None, error)
            finally:
                self._progress.advance(stage)
            return Outcome(item, fetched, result, None)

        pool = ThreadPoolExecutor(self._workers, thread_name_prefix=stage)
        try:
            outcomes = list(pool.map(run, items))
        finally:
            # Not waited for: after Ctrl-C a provider may keep an item under way for minutes.
            pool.shutdown(wait=False, cancel_futures=True)
        self._progress.done(stage)
        return outcomes

    def _retried(self, lane: Lane[Item, Fetched, Result], item: Item) -> Fetched:
        for attempt in range(1, lane.retry.attempts):
            try:
                return lane.fetch(item)
            except lane.retry.on as error:
                logger.warning("%s: attempt %d is repeated: %s", item, attempt, error)
                self._sleep(lane.retry.delay_seconds)
        return lane.fetch(item)
