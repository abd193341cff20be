"""What Great Expectations is asked and what it answers, without importing it.

It costs seconds to import, so only a gate that runs does so.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType

import polars as pl

from expectations.bounds import Bound
from warehouse.schemas.rules.rule import Severity


@dataclass(frozen=True, slots=True)
class Expected:
    """One expectation: the column of the frame that is named like the rule keeps to the bound."""

    rule_id: str
    severity: Severity
    bound: Bound


@dataclass(frozen=True, slots=True)
class Judged:
    """What Great Expectations says of one rule."""

    success: bool
    unexpected: int


@dataclass(frozen=True, slots=True)
class CheckpointOutcome:
    """The Checkpoint's result: by rule, and as a whole.

    worst_failure: the highest severity among failed expectations; None where none failed.
    """

    by_rule: Mapping[str, Judged]
    success: bool
    worst_failure: str | None


def run_checkpoint(
    frames: Sequence[pl.DataFrame], expected: Sequence[Expected]
) -> CheckpointOutcome:
    """Validate every frame against its expectations in one Checkpoint.

    Args:
        frames: columns of Float64 or Categorical, each named like a rule, no rule twice.
        expected: of each rule at most one; columns without one are not judged.

    Raises:
        ExpectationCrashedError: an expectation could not be evaluated.
    """
    outcome: CheckpointOutcome = load_great_expectations().run(frames, expected)
    return outcome


def load_great_expectations() -> ModuleType:
    """Import Great Expectations, which takes seconds, ahead of the gate or for it."""
    with warnings.catch_warnings():
        # Great Expectations 1.24 imports deprecated modules of the standard library.
        warnings.simplefilter("ignore", DeprecationWarning)
        from expectations import great_expectations_checkpoint  # noqa: PLC0415

    return great_expectations_checkpoint
