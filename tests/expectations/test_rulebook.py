"""Every rule of the registry is bound, and its two bindings count alike."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from expectations.bounds import Between, OneOf
from expectations.checkpoint import Expected, run_checkpoint
from expectations.measured_rows import measure_rows
from expectations.row_checks import RowCheck, all_row_checks, row_checks
from expectations.rulebook import ACCEPTABLE, table_checks
from expectations.table_checks.shape import columns_check
from support.candidates import prices, rows_of
from warehouse.schemas.catalog import TABLE, TABLES
from warehouse.schemas.rules import RULE
from warehouse.schemas.rules.gate import GATE
from warehouse.schemas.table import Table

_VALUES = {
    pl.String: (None, "", "nothing like it"),
    pl.Int32: (None, 0, -1, 7),
    pl.Int64: (None, 0, -1, 7),
    pl.Float64: (None, 0.0, -1.5),
    pl.Boolean: (None, True),
    pl.Date: (None, date(2026, 1, 1)),
}


def _odd_values(dtype: object) -> tuple[object, ...]:
    if isinstance(dtype, pl.Decimal):
        return (None, Decimal(0), Decimal("-0.0000000001"), Decimal("0.0000000001"), Decimal(5))
    if isinstance(dtype, pl.Datetime):
        return (None, datetime(2025, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC))
    if isinstance(dtype, pl.List):
        return (None, ["x"] if dtype.inner == pl.String else [])
    return _VALUES[dtype]


def odd_rows(table: Table) -> pl.DataFrame:
    """Make rows of a table that are wrong in every way that one column alone can be."""
    good = {
        field.name: (field.vocabulary[-1] if field.vocabulary else _odd_values(field.dtype)[-1])
        for field in table.fields
    }
    rows = [good] + [
        {**good, field.name: value}
        for field in table.fields
        for value in (*(field.vocabulary or ()), *_odd_values(field.dtype))
    ]
    return rows_of(table, *rows)


def gx_counts(checks: tuple[RowCheck, ...], frame: pl.DataFrame) -> dict[str, int]:
    """Count failures with Great Expectations alone."""
    outcome = run_checkpoint(
        [frame], [Expected(check.rule.id, check.rule.severity, check.bound) for check in checks]
    )
    return {rule_id: judged.unexpected for rule_id, judged in outcome.by_rule.items()}


def test_every_rule_is_bound_once_and_nothing_else_is():
    bound = (*all_row_checks(), columns_check(), *table_checks())
    assert sorted(check.rule.id for check in bound) == sorted(rule.id for rule in GATE)


def test_row_checks_are_bound_to_row_rules_and_table_checks_to_table_rules():
    row_rules = {rule.id for rule in GATE if rule.kind == "row_check"}
    assert {check.rule.id for check in all_row_checks()} == row_rules


def test_every_rule_says_why_in_words_without_a_full_stop():
    assert [rule.id for rule in GATE if len(rule.reason) < 20 or rule.reason.endswith(".")] == []


def test_every_table_has_a_check_of_nulls_and_every_vocabulary_is_checked():
    for table in TABLES:
        assert f"{table.name}.not_null" in RULE
        has_words = any(field.vocabulary for field in table.fields)
        assert (f"{table.name}.vocabulary" in RULE) == has_words


def test_only_critical_rules_need_accepting():
    assert {RULE[rule_id].severity for rule_id in ACCEPTABLE} == {"critical"}


@pytest.fixture(scope="module")
def counted() -> Iterator[dict[str, tuple[int, int]]]:
    """Count the failures of odd rows with both, for all tables at once."""
    measured = [measure_rows(table, odd_rows(table).lazy()) for table in TABLES]
    padded = pl.concat([part.frame for part in measured], how="horizontal_extend")
    gx = gx_counts(all_row_checks(), padded)
    return {
        rule_id: (part.failed[rule_id], gx[rule_id]) for part in measured for rule_id in part.failed
    }


@pytest.mark.slow
@pytest.mark.parametrize("rule_id", [check.rule.id for check in all_row_checks()])
def test_great_expectations_and_polars_count_the_same_failures(counted, rule_id):
    by_polars, by_gx = counted[rule_id]
    assert by_polars == by_gx
    assert by_polars > 0


_MONEY = st.one_of(
    st.none(),
    st.decimals("-1", "100000", places=10),
    st.sampled_from([Decimal(0), Decimal("1E-10"), Decimal("99999999.9999999999")]),
)

_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
_STEPS = (timedelta(days=-9000), timedelta(microseconds=-1), timedelta(), timedelta(microseconds=1))

_PRICE = st.fixed_dictionaries(
    {
        "hourly_rate": _MONEY,
        "upfront_fee": _MONEY,
        "effective_hourly_price": _MONEY,
        "term_years": st.sampled_from([None, 1, 3, 5]),
        "commitment_type": st.sampled_from([None, "standard"]),
        "payment_option": st.sampled_from([None, "all_upfront"]),
        "purchase_option": st.sampled_from([None, "on_demand", "spot", "reserved", "lease"]),
        "pricing_category": st.sampled_from([None, "Standard", "Dynamic", "Committed"]),
        "valid_from": st.sampled_from([None, _BEGIN]),
        "valid_to": st.sampled_from([None, *(_BEGIN + step for step in _STEPS)]),
    }
)


@given(st.lists(_PRICE, min_size=1, max_size=40))
@settings(max_examples=60, deadline=None)
def test_what_is_measured_of_a_price_fails_its_bound_where_the_predicate_fails(rows):
    frame = prices(*rows)
    measured = measure_rows(TABLE["prices"], frame.lazy())
    for check in row_checks("prices"):
        column = measured.frame[check.rule.id]
        assert int(_outside(check.bound, column).sum()) == measured.failed[check.rule.id], (
            check.rule
        )


def _outside(bound: Between | OneOf, column: pl.Series) -> pl.Series:
    """Judge as Great Expectations documents its expectations; nulls are not judged."""
    known = column.drop_nulls()
    if isinstance(bound, OneOf):
        return ~known.cast(pl.String).is_in(bound.words)
    low, high = bound.minimum, bound.maximum
    wrong = pl.Series([False] * len(known), dtype=pl.Boolean)
    if low is not None:
        wrong = wrong | (known <= low if bound.is_minimum_strict else known < low)
    if high is not None:
        wrong = wrong | (known >= high if bound.is_maximum_strict else known > high)
    return wrong
