from datetime import UTC, datetime
from decimal import Decimal

import polars as pl
import pytest

from transforms.checks import (
    Check,
    exact_price,
    is_none_of,
    judge,
    moment,
    no_price,
    refused_rows,
    rule_of,
)
from warehouse.schemas.rules.shared import (
    NEGATIVE_PRICE,
    UNKNOWN_REGION,
    UNKNOWN_UNIT,
    UNPARSEABLE_PRICE,
    ZERO_PRICE,
)

UNIT = Check(UNKNOWN_UNIT, pl.col("unit") != "Hrs", ("unit", "sku"))
ZERO = Check(ZERO_PRICE, pl.col("price") == "0", ("price",))


def _rows(*rows: dict[str, str | None]) -> pl.DataFrame:
    given = {"sku": "A", "unit": "Hrs", "price": "1"}
    return pl.DataFrame([given | row for row in rows], schema=dict.fromkeys(given, pl.String))


def test_the_first_check_that_holds_takes_a_row():
    judged = judge(_rows({}, {"unit": "GB", "price": "0"}, {"price": "0"}), [UNIT, ZERO])
    assert judged["rule"].to_list() == [None, "unknown_unit", "zero_price"]


def test_no_rows_are_judged_to_none():
    judged = judge(_rows(), [UNIT, ZERO])
    assert judged.columns == ["sku", "unit", "price", "rule"]
    assert refused_rows(judged, [UNIT, ZERO]).columns == [*judged.columns, "reason"]


def test_only_rejected_rows_are_refused_and_the_reason_quotes_what_came():
    judged = judge(_rows({}, {"unit": "GB", "sku": None}, {"price": "0"}), [UNIT, ZERO])
    refused = refused_rows(judged, [UNIT, ZERO])
    assert refused["rule"].to_list() == ["unknown_unit"]
    assert refused["reason"].to_list() == [
        f'{UNKNOWN_UNIT.reason}. Got unit "GB", sku missing',
    ]


def test_each_condition_of_one_rule_quotes_its_own_columns():
    checks = [
        Check(UNKNOWN_REGION, pl.col("sku") == "B", ("sku",)),
        Check(UNKNOWN_REGION, pl.col("unit") == "GB", ("unit",)),
    ]
    refused = refused_rows(judge(_rows({"unit": "GB"}, {"sku": "B"}), checks), checks)
    assert refused["reason"].to_list() == [
        f'{UNKNOWN_REGION.reason}. Got unit "GB"',
        f'{UNKNOWN_REGION.reason}. Got sku "B"',
    ]


def test_a_check_that_shows_nothing_gives_no_reason():
    silent = [Check(UNKNOWN_REGION, pl.lit(value=True))]
    assert refused_rows(judge(_rows({}), silent), silent)["reason"].to_list() == [None]


@pytest.mark.parametrize(
    ("text", "price"),
    [
        ("0.0416000000", Decimal("0.0416")),
        ("12345678.1234567890", Decimal("12345678.123456789")),
        ("0.00000000010000", Decimal("0.0000000001")),
        ("-1", Decimal(-1)),
        ("0.00000000001", None),
        ("123456789", None),
        ("1e3", None),
        ("1,5", None),
        ("", None),
        (None, None),
    ],
)
def test_a_price_is_read_exactly_or_not_at_all(text, price):
    assert _rows({"price": text}).select(exact_price("price")).item() == price


def test_a_price_that_is_none_is_taken_by_the_rule_that_says_why():
    rows = _rows({"price": "1"}, {"price": "free"}, {"price": "-0.1"}, {"price": None})
    rules = rows.select(rule_of(no_price(exact_price("price"), "price"))).to_series()
    assert rules.to_list() == [None, UNPARSEABLE_PRICE.id, NEGATIVE_PRICE.id, UNPARSEABLE_PRICE.id]


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("2026-07-01T01:02:03Z", datetime(2026, 7, 1, 1, 2, 3, tzinfo=UTC)),
        ("2026-07-01T01:02:03", None),
        ("2026-07-01T01:02:03Z and more", None),
        ("2026-02-30T00:00:00Z", None),
        (None, None),
    ],
)
def test_a_moment_is_of_utc_or_none(text, when):
    assert _rows({"sku": text}).select(moment(pl.col("sku"))).item() == when


def test_null_is_none_of_the_known_unless_it_is_named():
    rows = _rows({"unit": "Hrs"}, {"unit": "GB"}, {"unit": None})
    assert rows.select(is_none_of("unit", ["Hrs"])).to_series().to_list() == [False, True, True]
    named = rows.select(is_none_of("unit", ["Hrs", None])).to_series()
    assert named.to_list() == [False, True, False]
