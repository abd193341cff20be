"""One Great Expectations Checkpoint over measured columns.

Great Expectations has no polars engine, and its pandas path is quick on narrow frames of floats
and categories and very slow on Decimals and on COMPLETE results; so it gets the measured columns
only, and answers in SUMMARY. The context is ephemeral: nothing is written and nobody is called.

Import this module through `expectations.checkpoint` only.
"""

from collections.abc import Sequence
from typing import Any

import great_expectations as gx
import pandas as pd
import polars as pl
from great_expectations.checkpoint import CheckpointResult
from great_expectations.compatibility.pydantic import PrivateAttr
from great_expectations.core.expectation_validation_result import (
    ExpectationSuiteValidationResult,
    ExpectationValidationResult,
)
from great_expectations.data_context.types.base import ProgressBarsConfig
from great_expectations.expectations.core import (
    ExpectColumnValuesToBeBetween,
    ExpectColumnValuesToBeInSet,
)
from great_expectations.expectations.expectation import Expectation

from expectations.bounds import Between, OneOf
from expectations.checkpoint import CheckpointOutcome, Expected, Judged
from expectations.errors import ExpectationCrashedError

_SEVERITIES = ("critical", "warning", "info")


class _FrameValidation(gx.ValidationDefinition):
    """A validation that brings its own frame.

    `Checkpoint.run` hands the same batch parameters to all its validations, and the frame of one
    table is not the frame of another.
    """

    _frame: pd.DataFrame = PrivateAttr()

    def run(
        self,
        *,
        batch_parameters: dict[str, Any] | None = None,  # noqa: ARG002 - the base's signature
        **settings: Any,  # noqa: ANN401 - passed on as they come
    ) -> ExpectationSuiteValidationResult:
        return super().run(batch_parameters={"dataframe": self._frame}, **settings)


def run(frames: Sequence[pl.DataFrame], expected: Sequence[Expected]) -> CheckpointOutcome:
    """Validate every frame: see `expectations.checkpoint.run_checkpoint`."""
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    source = context.data_sources.add_pandas("candidate")
    validations: list[gx.ValidationDefinition] = []
    for place, frame in enumerate(frames):
        name = f"measured columns {place}"
        own = [_expectation(item) for item in expected if item.rule_id in frame.columns]
        suite = context.suites.add(gx.ExpectationSuite(name=name, expectations=own))
        batch = source.add_dataframe_asset(name).add_batch_definition_whole_dataframe("whole")
        validation = _FrameValidation(name=name, data=batch, suite=suite)
        validation._frame = frame.to_pandas()  # noqa: SLF001 - no constructor takes it
        context.validation_definitions.add(validation)
        validations.append(validation)
    # Not added to the context: what a context returns are copies without the frames.
    checkpoint = gx.Checkpoint(
        name="gate", validation_definitions=validations, result_format={"result_format": "SUMMARY"}
    )
    return _outcome(checkpoint.run())


def _expectation(expected: Expected) -> Expectation:
    common: dict[str, Any] = {
        "column": expected.rule_id,
        "severity": expected.severity,
        "meta": {"rule": expected.rule_id},
    }
    match expected.bound:
        case Between() as bound:
            return ExpectColumnValuesToBeBetween(
                **common,
                min_value=bound.minimum,
                max_value=bound.maximum,
                strict_min=bound.is_minimum_strict,
                strict_max=bound.is_maximum_strict,
            )
        case OneOf(words=words):
            return ExpectColumnValuesToBeInSet(**common, value_set=list(words))


def _outcome(result: CheckpointResult) -> CheckpointOutcome:
    suites = list(result.run_results.values())
    worst = {
        str(severity.value)
        for severity in (suite.get_max_severity_failure() for suite in suites)
        if severity is not None
    }
    return CheckpointOutcome(
        by_rule=dict(_judged(item) for suite in suites for item in suite.results),
        success=bool(result.success),
        worst_failure=next((name for name in _SEVERITIES if name in worst), None),
    )


def _judged(item: ExpectationValidationResult) -> tuple[str, Judged]:
    config = item.expectation_config
    rule_id = str(config.meta["rule"]) if config and config.meta else "unnamed"
    if "unexpected_count" not in item.result:
        raise ExpectationCrashedError(rule_id, str(item.exception_info))
    return rule_id, Judged(bool(item.success), int(item.result["unexpected_count"]))
