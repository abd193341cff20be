"""Telling how far a refresh is: to the log, or to a person at a terminal."""

import logging
from contextvars import ContextVar
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

from flows import conductor

logger = logging.getLogger(__name__)

_listener: ContextVar[conductor.Progress] = ContextVar("listener")


def listen(progress: conductor.Progress) -> None:
    """Tell this one how far a flow is that runs in this context."""
    _listener.set(progress)


def listener() -> conductor.Progress:
    """Return who listens in this context; where nobody does, the log.

    A flow asks here and does not hold the variable: a served flow is pickled with its globals.
    """
    return _listener.get(LogProgress())


class LogProgress:
    """One line in the log as a stage begins."""

    def begin(self, stage: str, total: int) -> None:
        """Say that a stage of so many items begins."""
        logger.info("%s: %d", stage, total)

    def advance(self, stage: str) -> None:
        """Say nothing of single items."""

    def done(self, stage: str) -> None:
        """Say nothing more."""


class BarProgress:
    """A bar for each stage on a terminal; elsewhere a line for each stage that is done."""

    def __init__(self, console: Console) -> None:
        """Draw on this console while used as a context."""
        self._bars = Progress(
            SpinnerColumn(finished_text="[green]✓"),
            TextColumn("{task.description}"),
            BarColumn(bar_width=28),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
        )
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        """Begin to draw."""
        self._bars.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        """Leave the bars as they are."""
        self._bars.stop()

    def begin(self, stage: str, total: int) -> None:
        """Draw a new bar."""
        self._tasks[stage] = self._bars.add_task(stage, total=total)

    def advance(self, stage: str) -> None:
        """Move a bar on."""
        self._bars.advance(self._tasks[stage])

    def done(self, stage: str) -> None:
        """Fill a bar."""
        task = self._bars.tasks[self._tasks[stage]]
        self._bars.update(task.id, completed=task.total)
