"""The report that people read: one static page, whole in itself, that needs no network."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup, escape

from expectations.gate_report import GateReport, RuleResult
from expectations.samples import Cell, Sample
from warehouse.schemas.rules import RULE

_NOTHING = "–"  # noqa: RUF001 - an en dash, for people

_CODE = re.compile("`([^`]+)`")

_PROVIDERS = {"aws": "AWS", "azure": "Azure", "None": "Others"}

_TEMPLATES = files("expectations") / "templates"

_VERDICTS = {
    "publish": ("Published", "Every rule that could be checked holds."),
    "publish_with_warnings": (
        "Published with warnings",
        "Nothing critical failed. What is listed under warnings is worth a look.",
    ),
    "refuse": (
        "Refused",
        "A critical rule failed. The last good release stays the latest one.",
    ),
}


@dataclass(frozen=True, slots=True)
class ReportFacts:
    """What the page says of the release and the gate does not know.

    release_id: None where the release was refused. previous_release: None where it is the first.
    """

    release_id: str | None
    previous_release: str | None
    schema_version: str
    code_version: str


@dataclass(frozen=True, slots=True)
class _Outcome:
    """Rows of one provider that a rule took, with the rule's reason."""

    provider: str
    outcome: str
    rule: str
    rows: int
    reason: str


def render_html(report: GateReport, facts: ReportFacts) -> str:
    """Write the page: verdict, failing rules with rows, accounts, inputs, then every rule.

    The same report and facts give the same page. It holds its style and runs no script.
    """
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.filters.update(
        number=_number, cell=_cell, size=_size, title=_title, words=_words, shown=_shown
    )
    template = environment.from_string((_TEMPLATES / "report.html").read_text(encoding="utf-8"))
    title, meaning = _VERDICTS[report.verdict]
    return template.render(
        style=(_TEMPLATES / "report.css").read_text(encoding="utf-8"),
        report=report,
        facts=facts,
        verdict_title=title,
        verdict_meaning=meaning,
        critical=report.failed("critical"),
        warnings=report.failed("warning"),
        counts=_status_counts(report.rules),
        groups=_by_table(report.rules),
        figures=report.figures,
        rejected=_outcomes(report.figures.outcomes, "rejected"),
        filtered=_outcomes(report.figures.outcomes, "filtered"),
        recorded=_recorded_sentences(report.figures.inputs),
        asked=_asked(report),
    )


def _status_counts(rules: Iterable[RuleResult]) -> dict[str, int]:
    counts = {"passed": 0, "failed": 0, "not_applicable": 0}
    for result in rules:
        counts[result.status] += 1
    return counts


def _by_table(rules: Iterable[RuleResult]) -> dict[str, list[RuleResult]]:
    groups: dict[str, list[RuleResult]] = {}
    for result in rules:
        groups.setdefault(result.rule.table, []).append(result)
    return groups


def _outcomes(rows: Sample, outcome: str) -> list[_Outcome]:
    """Return what rules took, the most rows first."""
    taken = [
        _Outcome(
            provider=str(row["provider"] or "unknown"),
            outcome=outcome,
            rule=str(row["rule"]),
            rows=int(row["rows"] or 0),
            reason=RULE[str(row["rule"])].reason if row["rule"] in RULE else "not in the registry",
        )
        for row in rows
        if row["outcome"] == outcome
    ]
    return sorted(taken, key=lambda item: (-item.rows, item.provider, item.rule))


def _recorded_sentences(inputs: Sample) -> list[str]:
    """Say of every recorded provider how old its prices are."""
    dates: dict[str, list[str]] = {}
    for row in inputs:
        if row["is_recorded"] and row["provider"]:
            day = str(row["published_to"] or row["fetched_to"])[:10]
            dates.setdefault(str(row["provider"]), []).append(day)
    return [
        f"{_title(provider)}: recorded list prices of {max(days)}, not today's."
        for provider, days in sorted(dates.items())
    ]


def _asked(report: GateReport) -> list[str]:
    return [
        f"{_title(provider)}: " + ("all regions" if regions is None else f"{len(regions)} regions")
        for provider, regions in sorted(report.request.regions.items())
    ]


@dataclass(frozen=True, slots=True)
class _Shown:
    """Rows as a table that fits a page: what is the same in all of them is said once."""

    common: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


def _shown(sample: Sample) -> _Shown:
    first, *others = sample
    same = {
        name
        for name, value in first.items()
        if name != "came" and (value is None or others)
        if all(row[name] == value for row in others)
    }
    columns = tuple(name for name in first if name not in same) or tuple(first)
    said = (f"{name} {_cell(first[name])}" for name in first if name not in columns)
    return _Shown(
        common=", ".join(word for word in said if not word.endswith(_NOTHING)),
        columns=columns,
        rows=tuple(tuple(row[name] for name in columns) for row in sample),
    )


def _words(reason: str) -> Markup:
    """Show what a reason sets in backticks as code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(reason))))  # noqa: S704 - escaped above


def _title(provider: Cell) -> str:
    return _PROVIDERS.get(str(provider), str(provider))


def _number(value: Any) -> str:  # noqa: ANN401 - a template's value
    """Write whole numbers with thin spaces between thousands."""
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}".replace(",", "\u202f")
    return f"{value:g}" if isinstance(value, float) else str(value)


def _cell(value: Cell) -> str:
    if value is None:
        return _NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    return _number(value) if isinstance(value, int | float) else str(value)


def _size(count: int | None) -> str:
    """Write a number of bytes for people."""
    size = float(count or 0)
    for unit in ("B", "kB", "MB"):
        if size < 1000:  # noqa: PLR2004 - SI prefixes
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
