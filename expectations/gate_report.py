"""What the gate found: one result for each rule, and the verdict that follows from them."""

import dataclasses
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from expectations.checkpoint import CheckpointOutcome
from expectations.release import Request
from expectations.release_figures import Figures
from expectations.samples import Sample
from expectations.thresholds import GateThresholds
from warehouse.schemas.rules.rule import Rule, Severity

Status = Literal["passed", "failed", "not_applicable"]
Verdict = Literal["publish", "publish_with_warnings", "refuse"]


@dataclass(frozen=True, slots=True)
class Worst:
    """The thing that measured highest, and its number."""

    subject: str
    measured: float


@dataclass(frozen=True, slots=True)
class RuleResult:
    """One rule's outcome.

    severity: the one in force, which is warning for what a person accepted. checked, counted: how
    many of what were looked at. limit: what is allowed, where that is more than none. worst: what
    came nearest to the limit or is furthest beyond it. note: why it is not applicable, or how a
    failure was or can be accepted. sample: some of the failing rows.
    """

    rule: Rule
    severity: Severity
    status: Status
    checked: int = 0
    counted: str = ""
    failed: int = 0
    limit: str | None = None
    worst: Worst | None = None
    note: str | None = None
    sample: Sample = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, in the order in which people read them."""
        return {
            "id": self.rule.id,
            "table": self.rule.table,
            "kind": self.rule.kind,
            "severity": self.severity,
            "status": self.status,
            "reason": self.rule.reason,
            "checked": self.checked,
            "counted": self.counted,
            "failed": self.failed,
            "limit": self.limit,
            "worst": None if self.worst is None else dataclasses.asdict(self.worst),
            "note": self.note,
            "sample": list(self.sample),
        }


@dataclass(frozen=True, slots=True)
class GateReport:
    """The gate's verdict on one candidate, and everything that it rests on."""

    verdict: Verdict
    rules: tuple[RuleResult, ...]
    request: Request
    thresholds: GateThresholds
    figures: Figures
    checkpoint: CheckpointOutcome

    @classmethod
    def of(
        cls,
        rules: tuple[RuleResult, ...],
        request: Request,
        thresholds: GateThresholds,
        figures: Figures,
        checkpoint: CheckpointOutcome,
    ) -> "GateReport":
        """Draw the verdict: one failed critical rule refuses, a failed warning is published."""
        failed = {result.severity for result in rules if result.status == "failed"}
        verdict: Verdict = "publish"
        if "critical" in failed:
            verdict = "refuse"
        elif failed:
            verdict = "publish_with_warnings"
        return cls(verdict, rules, request, thresholds, figures, checkpoint)

    @property
    def refused_because(self) -> tuple[str, ...]:
        """Ids of the critical rules that failed."""
        return tuple(result.rule.id for result in self.failed("critical"))

    @property
    def headline(self) -> str:
        """Say in one line how many rules passed and failed."""
        counts = {
            "critical": len(self.failed("critical")),
            "warning": len(self.failed("warning")),
            "passed": sum(result.status == "passed" for result in self.rules),
            "not applicable": sum(result.status == "not_applicable" for result in self.rules),
        }
        return ", ".join(f"{number} {name}" for name, number in counts.items())

    def failed(self, severity: Severity) -> tuple[RuleResult, ...]:
        """Return the failed rules of a severity."""
        return tuple(
            result
            for result in self.rules
            if result.status == "failed" and result.severity == severity
        )

    def result(self, rule_id: str) -> RuleResult:
        """Return one rule's result; raises KeyError if no rule has that id."""
        for result in self.rules:
            if result.rule.id == rule_id:
                return result
        raise KeyError(f"the gate has no rule {rule_id}")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: what `quality.json` holds."""
        figures = dataclasses.asdict(self.figures)
        return {
            "verdict": self.verdict,
            "refused_because": list(self.refused_because),
            "as_of": self.request.as_of.isoformat(),
            "summary": {
                "critical_failed": len(self.failed("critical")),
                "warnings_failed": len(self.failed("warning")),
                "passed": _count(self.rules, "passed"),
                "not_applicable": _count(self.rules, "not_applicable"),
                "rows_rejected": sum(int(row["rejected"] or 0) for row in self.figures.rows),
            },
            "asked_for": {
                provider: None if regions is None else sorted(regions)
                for provider, regions in sorted(self.request.regions.items())
            },
            "accepted": {
                "jumps": self.request.accept_jumps,
                "losses": self.request.accept_losses,
            },
            "great_expectations": {
                "success": self.checkpoint.success,
                "expectations": len(self.checkpoint.by_rule),
                "worst_failure": self.checkpoint.worst_failure,
            },
            "thresholds": dataclasses.asdict(self.thresholds),
            "rules": [result.to_dict() for result in self.rules],
            **{name: list(rows) for name, rows in figures.items()},
        }

    def to_json(self) -> str:
        """Return `quality.json`: the same text for the same input."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _count(results: Iterable[RuleResult], status: Status) -> int:
    return sum(result.status == status for result in results)
