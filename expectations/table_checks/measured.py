"""What a table check finds: one number for each thing it judges, and the rows behind it."""

from collections.abc import Callable
from dataclasses import dataclass, field

import polars as pl

from expectations.evidence import Evidence
from expectations.thresholds import GateThresholds
from warehouse.schemas.rules.rule import Rule

_JUDGED = pl.Schema({"subject": pl.String, "measured": pl.Float64})


def _nothing() -> pl.DataFrame:
    return pl.DataFrame(schema=_JUDGED)


@dataclass(frozen=True, slots=True)
class Measured:
    """The outcome of measuring, before it is judged.

    judged: `subject` (String) and `measured` (Float64), one row for each thing that is judged.
    checked, counted: how many of what were looked at ("rows", "regions").
    failing: rows to show where the check fails, at any width, all of them.
    failed: how many failed, if that is another number than the subjects above the limit.
    not_applicable: why nothing could be judged; None where something was.
    """

    checked: int
    counted: str
    judged: pl.DataFrame = field(default_factory=_nothing)
    failing: pl.DataFrame = field(default_factory=_nothing)
    failed: int | None = None
    not_applicable: str | None = None


@dataclass(frozen=True, slots=True)
class TableCheck:
    """One table check: a measured number above the limit fails.

    limit_text says the limit with its unit, for people.
    """

    rule: Rule
    measure: Callable[[Evidence], Measured]
    limit: Callable[[GateThresholds], float]
    limit_text: str


def no_limit(_: GateThresholds) -> float:
    """Return 0: a count of failures of which none is allowed."""
    return 0.0


def count_failures(failing: pl.DataFrame, *, of: str, checked: int, counted: str) -> Measured:
    """Judge one count of failing rows, of which none is allowed.

    Args:
        failing: every failing row; or fewer rows with a column `rows` that says how many each
            stands for.
        of: what is judged, as the one subject.
        checked: how many were looked at.
        counted: of what, in the plural.
    """
    failed = int(failing["rows"].sum()) if "rows" in failing.columns else failing.height
    return Measured(
        checked=checked,
        counted=counted,
        judged=pl.DataFrame({"subject": [of], "measured": [float(failed)]}, schema=_JUDGED),
        failing=failing,
        failed=failed,
    )


def judge_each(things: pl.DataFrame, *, subject: pl.Expr, measured: str, counted: str) -> Measured:
    """Judge each row of a frame by one of its columns.

    Args:
        things: one row for each thing that is judged, with whatever explains it.
        subject: names the thing.
        measured: the column that is held against the limit.
        counted: what the things are, in the plural.
    """
    judged = things.select(
        subject=subject.cast(pl.String), measured=pl.col(measured).cast(pl.Float64)
    )
    return Measured(checked=things.height, counted=counted, judged=judged, failing=things)


def not_applicable(because: str) -> Measured:
    """Say that there is nothing to judge, and why."""
    return Measured(checked=0, counted="", not_applicable=because)
