"""What the transforms that judge raw text share: rules as conditions, prices and dates as texts."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import polars as pl

from transforms.normalized import first_rule
from warehouse.schemas.rules import shared
from warehouse.schemas.rules.rule import Rule
from warehouse.schemas.table import PRICE

# What Decimal(18,10) holds exactly: a digit beyond the tenth decimal would be rounded away.
_EXACT_PRICE = r"^-?\d{1,8}(\.\d{0,10}0*)?$"
_DATE_TIME = "%Y-%m-%dT%H:%M:%SZ"


class Check(NamedTuple):
    """A rule, the condition under which it takes a row, and the columns that show why."""

    rule: Rule
    takes: pl.Expr
    shown: tuple[str, ...] = ()


def rule_of(checks: Sequence[Check]) -> pl.Expr:
    """Name the first rule that takes a row: see `transforms.normalized.first_rule`."""
    return first_rule([(check.rule, check.takes) for check in checks])


def judge(rows: pl.DataFrame, checks: Sequence[Check]) -> pl.DataFrame:
    """Add the `rule` that takes each row; null where none does."""
    if rows.is_empty():  # So many conditions take longer to plan than to look at a few rows.
        return rows.with_columns(rule=pl.lit(None, dtype=pl.String))
    return rows.with_columns(rule=rule_of(checks))


def refused_rows(judged: pl.DataFrame, checks: Sequence[Check]) -> pl.DataFrame:
    """Select the rows that a check rejects, with the `reason` of each: what was expected and came.

    The reason is null where the check shows no columns.

    Args:
        judged: rows with the `rule` that took them.
        checks: those that `rule` names, or more.
    """
    rejects = [check for check in checks if check.rule.kind == "reject"]
    rows = judged.filter(pl.col("rule").is_in([check.rule.id for check in rejects]))
    if rows.is_empty():
        return rows.with_columns(reason=pl.lit(None, dtype=pl.String))
    reasons = [_reason(check) for check in rejects if check.shown]
    return rows.with_columns(reason=pl.coalesce(*reasons, pl.lit(None, dtype=pl.String)))


def _reason(check: Check) -> pl.Expr:
    came = pl.concat_str(
        [
            pl.format(f"{name} {{}}", ('"' + pl.col(name) + '"').fill_null("missing"))
            for name in check.shown
        ],
        separator=", ",
    )
    # A rule may have several conditions, and each shows columns of its own.
    return pl.when((pl.col("rule") == check.rule.id) & check.takes).then(
        pl.format("{}. Got {}", pl.lit(check.rule.reason), came)
    )


def no_price(price: pl.Expr, column: str) -> tuple[Check, ...]:
    """Take rows whose price cannot be read, or is below 0; `column` is its text."""
    return (
        Check(shared.UNPARSEABLE_PRICE, price.is_null(), (column,)),
        Check(shared.NEGATIVE_PRICE, price < 0, (column,)),
    )


def exact_price(column: str) -> pl.Expr:
    """Read a price, exactly; null where it has more decimals or digits than money has here."""
    text = pl.col(column)
    return pl.when(text.str.contains(_EXACT_PRICE)).then(text).cast(PRICE)


def moment(text: pl.Expr) -> pl.Expr:
    """Read a date and time of UTC, such as 2026-07-01T00:00:00Z; null where it is none."""
    return text.str.to_datetime(
        _DATE_TIME, time_unit="us", time_zone="UTC", strict=False, exact=True
    )


def is_none_of(column: str, known: Iterable[str | None]) -> pl.Expr:
    """Hold for every other value; for null too, unless null is among the known."""
    values = pl.Series(sorted(known, key=str), dtype=pl.String)
    return ~pl.col(column).is_in(values.implode(), nulls_equal=True)
