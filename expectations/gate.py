"""The gate: judge a candidate release by every rule, and say whether it may be published.

Polars measures, Great Expectations judges: row checks become one narrow frame a table, table
checks one frame of measured numbers, and all of them run in one Checkpoint with their severities.
Where the two count differently, nothing is published and nothing is refused: the gate itself is
broken and says so.
"""

import logging
from collections.abc import Iterable, Mapping

import polars as pl

from expectations.bounds import Between
from expectations.canaries import CANARIES, Canary
from expectations.checkpoint import CheckpointOutcome, Expected, run_checkpoint
from expectations.errors import GateDisagreementError, GateInputError
from expectations.evidence import NARROW, Evidence
from expectations.gate_report import GateReport, RuleResult, Worst
from expectations.measured_rows import MeasuredRows, measure_rows
from expectations.release import Candidate, Request, Tables
from expectations.release_figures import Figures, release_figures
from expectations.rulebook import ACCEPTABLE, table_checks
from expectations.samples import sample_rows
from expectations.table_checks.measured import Measured, TableCheck
from expectations.table_checks.shape import columns_check
from expectations.thresholds import GateThresholds
from warehouse.schemas.catalog import TABLES
from warehouse.schemas.parts import ROW_COUNTS
from warehouse.schemas.rules.gate import GATE
from warehouse.schemas.rules.rule import Rule, Severity

logger = logging.getLogger(__name__)

_LARGE = 100_000
"""Rows from which a table gets a frame of its own instead of being padded."""

_UNREADABLE = "a table lacks columns or has other types, so nothing else was checked"


def check_release(
    candidate: Candidate,
    previous: Tables | None,
    request: Request,
    thresholds: GateThresholds | None = None,
    *,
    canaries: tuple[Canary, ...] = CANARIES,
) -> GateReport:
    """Judge a candidate by every rule of the registry.

    The same input gives the same report, byte for byte: it holds no clock but the request's.

    Args:
        candidate: every published table, and the row counts of all documents.
        previous: tables of the last release; None where there is none, and then the rules that
            compare releases are shown as not applicable.
        request: what the run was asked for; coverage and drift are judged against it.
        thresholds: limits; the defaults where None.
        canaries: types that must be there; a run against something other than the providers'
            whole lists has its own.

    Raises:
        GateInputError: row counts, or prices of the last release, lack columns.
        GateDisagreementError: polars and Great Expectations count differently.
        ExpectationCrashedError: Great Expectations could not judge a rule.
    """
    limits = thresholds or GateThresholds()
    _require_columns("row counts", candidate.row_counts, ROW_COUNTS.columns)
    if previous is not None:
        _require_columns("prices of the last release", previous["prices"], NARROW)
    evidence = Evidence(candidate, previous, request, limits, canaries)
    tables = _measure((columns_check(),), evidence)
    rows: dict[str, MeasuredRows] = {}
    figures = Figures()
    if not any(measured.failed for _, measured in tables.values()):
        rows = {table.name: measure_rows(table, evidence.table(table.name)) for table in TABLES}
        tables |= _measure(table_checks(), evidence)
        figures = release_figures(evidence)
    outcome = run_checkpoint(
        _frames(rows, tables),
        [*_expected_rows(rows, request), *_expected_numbers(tables, limits, request)],
    )
    results = (
        *_row_results(rows, outcome, request, limits),
        *_table_results(tables, outcome, request, limits),
    )
    report = GateReport.of(_in_registry_order(results), request, limits, figures, outcome)
    logger.info("gate: %s; %s", report.verdict, report.headline)
    return report


def _require_columns(what: str, frame: pl.LazyFrame, columns: Iterable[str]) -> None:
    missing = sorted(set(columns) - set(frame.collect_schema().names()))
    if missing:
        raise GateInputError(
            f"{what}: expected the columns of the contract, missing are {', '.join(missing)}; "
            "compare with a release of the same major schema version, or with none"
        )


def _measure(
    checks: Iterable[TableCheck], evidence: Evidence
) -> dict[str, tuple[TableCheck, Measured]]:
    return {check.rule.id: (check, check.measure(evidence)) for check in checks}


def _frames(
    rows: Mapping[str, MeasuredRows], tables: Mapping[str, tuple[TableCheck, Measured]]
) -> list[pl.DataFrame]:
    """Return frames whose columns are the measured columns of all rules.

    Every validation costs Great Expectations as much as several expectations, so all but large
    tables share one frame: nulls are not judged, so columns of any length can be padded.
    """
    numbers = pl.concat(
        (
            measured.judged.select(pl.col("measured").alias(rule_id))
            for rule_id, (_, measured) in tables.items()
        ),
        how="horizontal_extend",
    )
    large = [part.frame for part in rows.values() if part.checked > _LARGE]
    small = [part.frame for part in rows.values() if part.checked <= _LARGE]
    return [*large, pl.concat([*small, numbers], how="horizontal_extend")]


def _expected_rows(rows: Mapping[str, MeasuredRows], request: Request) -> list[Expected]:
    return [
        Expected(check.rule.id, _severity(check.rule, request), check.bound)
        for measured in rows.values()
        for check in measured.checks
    ]


def _expected_numbers(
    tables: Mapping[str, tuple[TableCheck, Measured]], limits: GateThresholds, request: Request
) -> list[Expected]:
    return [
        Expected(rule_id, _severity(check.rule, request), Between(maximum=check.limit(limits)))
        for rule_id, (check, measured) in tables.items()
        if measured.not_applicable is None
    ]


def _severity(rule: Rule, request: Request) -> Severity:
    """Return the severity in force: what a person accepted is published with a warning."""
    word = ACCEPTABLE.get(rule.id)
    return "warning" if word is not None and getattr(request, word) else rule.severity


def _row_results(
    rows: Mapping[str, MeasuredRows],
    outcome: CheckpointOutcome,
    request: Request,
    limits: GateThresholds,
) -> Iterable[RuleResult]:
    for measured in rows.values():
        for check in measured.checks:
            failed = measured.failed[check.rule.id]
            _agree(check.rule.id, failed, outcome)
            yield RuleResult(
                rule=check.rule,
                severity=_severity(check.rule, request),
                status="failed" if failed else "passed",
                checked=measured.checked,
                counted="rows",
                failed=failed,
                sample=sample_rows(measured.failing(check), limits.sample_rows),
            )


def _table_results(
    tables: Mapping[str, tuple[TableCheck, Measured]],
    outcome: CheckpointOutcome,
    request: Request,
    limits: GateThresholds,
) -> Iterable[RuleResult]:
    for rule_id, (check, measured) in tables.items():
        severity = _severity(check.rule, request)
        if measured.not_applicable is not None:
            yield RuleResult(check.rule, severity, "not_applicable", note=measured.not_applicable)
            continue
        limit = check.limit(limits)
        beyond = measured.judged["measured"] > limit
        _agree(rule_id, int(beyond.sum()), outcome)
        is_each = measured.failed is None
        failing = measured.failing.filter(beyond) if is_each else measured.failing
        yield RuleResult(
            rule=check.rule,
            severity=severity,
            status="failed" if beyond.any() else "passed",
            checked=measured.checked,
            counted=measured.counted,
            failed=int(beyond.sum()) if measured.failed is None else measured.failed,
            limit=f"{limit:g} {check.limit_text}" if is_each else None,
            worst=_worst(measured) if is_each else None,
            note=_acceptance(check.rule, request) if beyond.any() else None,
            sample=sample_rows(failing, limits.sample_rows),
        )


def _agree(rule_id: str, failed: int, outcome: CheckpointOutcome) -> None:
    verdict = outcome.by_rule[rule_id]
    if verdict.unexpected != failed or verdict.success != (failed == 0):
        raise GateDisagreementError(rule_id, failed, verdict.unexpected)


def _acceptance(rule: Rule, request: Request) -> str | None:
    """Say that a failure was accepted, or with which word it could be."""
    word = ACCEPTABLE.get(rule.id)
    if word is None:
        return None
    option = "--" + word.replace("_", "-")
    if getattr(request, word):
        return f"accepted for this run with {option}"
    return f"if a person has looked and it is true, {option} lets it through"


def _worst(measured: Measured) -> Worst | None:
    ranked = measured.judged.drop_nulls().sort(["measured", "subject"], descending=[True, False])
    if ranked.is_empty():
        return None
    subject, number = ranked.row(0)
    return Worst(subject, number)


def _in_registry_order(results: Iterable[RuleResult]) -> tuple[RuleResult, ...]:
    """Return one result for every rule of the registry; what was not reached is not applicable."""
    found = {result.rule.id: result for result in results}
    return tuple(
        found.get(rule.id) or RuleResult(rule, rule.severity, "not_applicable", note=_UNREADABLE)
        for rule in GATE
    )
