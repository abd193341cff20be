"""What a rule is.

A *filter* says that a row is no price of this catalog (storage, a $0 reservation marker). A
*reject* says that a row should have been one and cannot be trusted: it goes to rejected_rows.
A *row check* holds for every row of a published table and is checked twice: with polars, which
moves failing rows to rejected_rows, and with Great Expectations on what is about to be published.
A *table check* holds for a table as a whole, or between tables or releases.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

RuleKind = Literal["filter", "reject", "row_check", "table_check"]
Severity = Literal["critical", "warning", "info"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: what it is called, what it does, and why it is there."""

    id: str
    kind: RuleKind
    table: str
    severity: Severity
    reason: str


def filter_rule(rule_id: str, reason: str) -> Rule:
    """Return a rule under which a provider's row is no price of this catalog."""
    return Rule(rule_id, "filter", "prices", "info", reason)


def reject_rule(rule_id: str, reason: str) -> Rule:
    """Return a rule under which a provider's row is refused and kept in rejected_rows."""
    return Rule(rule_id, "reject", "prices", "warning", reason)


def row_check(rule_id: str, table: str, severity: Severity, reason: str) -> Rule:
    """Return a rule that every published row of a table obeys."""
    return Rule(rule_id, "row_check", table, severity, reason)


def table_check(rule_id: str, table: str, severity: Severity, reason: str) -> Rule:
    """Return a rule that a table obeys as a whole, or against another table or release."""
    return Rule(rule_id, "table_check", table, severity, reason)


def by_id(rules: tuple[Rule, ...]) -> Mapping[str, Rule]:
    """Index rules by id; raises ValueError where two share one."""
    index = {rule.id: rule for rule in rules}
    if len(index) != len(rules):
        raise ValueError("two rules share one id")
    return index
