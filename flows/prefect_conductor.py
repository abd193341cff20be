"""Conducts a refresh as a Prefect flow: subflows, one task a step and region, artifacts."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
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

    def subflows(self, parts: Mapping[str, Callable[[], Result]]) -> tuple[Result, ...]:
        """Run parts at the same time, each as a subflow."""
        with ThreadPoolExecutor(len(parts), thread_name_prefix="part") as pool:
            # With its context, a subflow knows the flow run that it belongs to.
            running = [
                pool.submit(copy_context().run, self.subflow, name, function)
                for name, function in parts.items()
            ]
            return tuple(part.result() for part in running)

    def stage(self, name: str, function: Callable[[], Result]) -> Result:
        """Run one named step as a task."""
        self._progress.begin(name, 1)
        result = task(name=name, cache_policy=NO_CACHE)(function)()
        self._progress.done(name)
        return result

    def fan_out(
        self, stage: str, lane: Lane[Item, Any, Result], items: Sequence[Item]
    ) -> list[Outcome[Item, Result]]:
        """Run a task to fetch each item, and one more where the result is not known then.

        Only the first is retried, and only where that can help.
        """
        self._progress.begin(stage, len(items))
        fetch = _retried_task(lane.fetch_name, lane.fetch, lane.retry)
        then = task(name=lane.then_name, cache_policy=NO_CACHE)(lane.then)
        outcomes: dict[int, Outcome[Item, Result]] = {}
        under_way: dict[PrefectFuture[Result], tuple[int, Any]] = {}
        fetching = {fetch.submit(item): number for number, item in enumerate(items)}
        for future in as_completed(list(fetching)):
            number = fetching[future]
            fetched = future.result(raise_on_failure=False)
            outcome = _after_fetch(lane, items[number], fetched)
            if outcome is None:
                under_way[then.submit(fetched)] = (number, fetched)
                continue
            outcomes[number] = outcome
            self._progress.advance(stage)
        for finished in as_completed(list(under_way)):
            number, fetched = under_way[finished]
            outcomes[number] = _outcome(items[number], fetched, finished)
            self._progress.advance(stage)
        self._progress.done(stage)
        return [outcomes[number] for number in range(len(items))]


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


def _after_fetch(
    lane: Lane[Item, Any, Result], item: Item, fetched: object
) -> Outcome[Item, Result] | None:
    """Return the outcome where it is one already: a failure, or a result that is known."""
    if isinstance(fetched, BaseException):
        return Outcome(item, None, None, fetched)
    try:
        known = lane.known(fetched)
    except Exception as error:  # noqa: BLE001 - one region never takes the night with it
        return Outcome(item, fetched, None, error)
    return None if known is None else Outcome(item, fetched, known, None)


def _outcome(item: Item, fetched: object, finished: PrefectFuture[Result]) -> Outcome[Item, Result]:
    result: Any = finished.result(raise_on_failure=False)
    if isinstance(result, BaseException):
        return Outcome(item, fetched, None, result)
    return Outcome(item, fetched, result, None)
