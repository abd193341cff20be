"""Conducts a refresh as a Prefect flow: subflows, one task a step and region, artifacts."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State, TaskRun
from prefect.futures import PrefectFuture, as_completed
from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner
from prefect.tasks import Task

from flows.conductor import Lane, Outcome, Progress, Retry

Item = TypeVar("Item")
Result = TypeVar("Result")


class PrefectConductor:
    """Runs a refresh inside a Prefect flow run.

    Results are addresses and stay in memory; nothing is cached by Prefect, because the landing
    store already knows what is unchanged.
    """

    def __init__(self, workers: int, progress: Progress) -> None:
        """Run at most `workers` tasks of a fan-out at once."""
        self._workers = workers
        self._progress = progress

    def subflow(self, name: str, function: Callable[[], Result]) -> Result:
        """Run a named part of the refresh as a subflow with a task runner of its own."""
        runner: TaskRunner[Any] = ThreadPoolTaskRunner(max_workers=self._workers)

        @flow(name=name, task_runner=runner)
        def part() -> Result:
            return function()

        return part()

    def stage(self, name: str, function: Callable[[], Result]) -> Result:
        """Run one named step as a task."""
        self._progress.begin(name, 1)
        result = task(name=name, cache_policy=NO_CACHE)(function)()
        self._progress.done(name)
        return result

    def fan_out(
        self, stage: str, lane: Lane[Item, Any, Result], items: Sequence[Item]
    ) -> list[Outcome[Item, Result]]:
        """Run two tasks for each item: only the first is retried, and only where that can help."""
        self._progress.begin(stage, len(items))
        fetch = _retried_task(lane.fetch_name, lane.fetch, lane.retry)
        then = task(name=lane.then_name, cache_policy=NO_CACHE)(lane.then)
        fetched = [fetch.submit(item) for item in items]
        finished = [then.submit(future) for future in fetched]
        for _ in as_completed(finished):
            self._progress.advance(stage)
        self._progress.done(stage)
        return [
            _outcome(item, first, second)
            for item, first, second in zip(items, fetched, finished, strict=True)
        ]


def _retried_task(name: str, function: Callable[[Item], Any], retry: Retry) -> Task[[Item], Any]:
    def is_worth_another_try(_task: Task[..., Any], _run: TaskRun, state: State[Any]) -> bool:
        return isinstance(state.result(raise_on_failure=False), retry.on)

    return task(
        name=name,
        cache_policy=NO_CACHE,
        retries=retry.attempts - 1,
        retry_delay_seconds=retry.delay_seconds,
        retry_condition_fn=is_worth_another_try,
    )(function)


def _outcome(
    item: Item, fetching: PrefectFuture[Any], finishing: PrefectFuture[Result]
) -> Outcome[Item, Result]:
    # Where the fetch failed, the second task never began and only says so: ask the first one first.
    fetched = fetching.result(raise_on_failure=False)
    if isinstance(fetched, BaseException):
        return Outcome(item, None, None, fetched)
    result: Any = finishing.result(raise_on_failure=False)
    if isinstance(result, BaseException):
        return Outcome(item, fetched, None, result)
    return Outcome(item, fetched, result, None)
