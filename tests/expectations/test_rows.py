"""Rows are split in one pass, and every refused row says why."""

import json
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from expectations.errors import UncheckableTableError
from expectations.rows import split_rows
from support.candidates import prices
from warehouse.schemas.catalog import ANNOUNCED_PRICES, REGIONS
from warehouse.schemas.parts import REJECTED, ROW_COUNTS

_RESERVED = {
    "purchase_option": "reserved",
    "commitment_type": "standard",
    "payment_option": "partial_upfront",
    "pricing_category": "Committed",
}

_PLAN = {
    "purchase_option": "savings_plan",
    "commitment_type": "compute",
    "term_years": 3,
    "payment_option": "partial_upfront",
    "pricing_category": "Committed",
}

_BEGIN = datetime(2026, 8, 1, tzinfo=UTC)
_DAY = timedelta(days=1)


def refused_by(**values) -> str | None:
    split = split_rows("prices", prices(values))
    return None if split.rejected.is_empty() else split.rejected["rule"].item()


def test_good_rows_are_kept_as_they_came():
    frame = prices({}, {"region_id": "eu-central-1"})
    split = split_rows("prices", frame)
    assert_frame_equal(split.kept, frame)
    assert_frame_equal(split.rejected, REJECTED.empty())
    assert_frame_equal(split.counts, ROW_COUNTS.empty())


def test_a_refused_row_goes_whole_with_rule_reason_and_coordinates():
    split = split_rows("prices", prices({}, {"hourly_rate": "0", "region_id": "eu-central-1"}))
    (row,) = split.rejected.to_dicts()
    assert split.kept.height == 1
    assert (row["rule"], row["table"]) == ("prices.price_positive", "prices")
    assert (row["provider"], row["region_id"]) == ("aws", "eu-central-1")
    assert row["source_id"] == "aws/eu-central-1"
    assert row["reason"].endswith("Came: effective_hourly_price=0.0000000000")
    assert json.loads(row["row"])["hourly_rate"] == "0.0000000000"


def test_counts_move_rows_from_kept_to_rejected_so_that_a_document_adds_up():
    bad = {"hourly_rate": "0"}
    split = split_rows("prices", prices({}, bad, {**bad, "instance_type": "c5.large"}))
    expected = pl.DataFrame(
        [
            ("aws/us-east-1", "kept", None, -2),
            ("aws/us-east-1", "rejected", "prices.price_positive", 2),
        ],
        schema=ROW_COUNTS.schema,
        orient="row",
    )
    assert_frame_equal(split.counts, expected)
    assert split.rejected.schema == REJECTED.schema


def test_a_row_that_fails_twice_is_refused_once_by_the_first_rule():
    assert refused_by(operating_system="beos", hourly_rate="0") == "prices.vocabulary"


def test_a_null_price_is_named():
    split = split_rows("prices", prices({"effective_hourly_price": None}))
    assert split.rejected["rule"].item() == "prices.not_null"
    assert split.rejected["reason"].item().endswith("Came: effective_hourly_price null")


@pytest.mark.parametrize(
    ("rate", "upfront", "years", "effective", "rule"),
    [
        ("0.0000000000", "2750", 1, "0.3139269406", None),  # 2750 / 8760 = 0.31392694063...
        ("0.10463", "2750", 3, "0.2092723135", None),  # 0.20927231354...
        ("0.10463", "2750", 3, "0.2092723136", None),  # rounded up
        ("0.10463", "2750", 3, "0.2092723134", "prices.effective_price"),
        ("0.10463", "2750", 1, "0.2092723135", "prices.effective_price"),
        ("0.10463", "2750", 3, "0.2092723137", "prices.effective_price"),
        ("0.10463", None, 3, "0.1046300001", "prices.effective_price"),
        ("0.10463", None, 3, "0.1046300000", None),
        ("0", "551221", 1, "62.9247716895", None),  # Azure, ND96isr_H100_v5, one year
        ("0", "551221", 1, "62.9247716897", "prices.effective_price"),
    ],
)
def test_the_effective_price_is_exact_to_the_tenth_decimal(rate, upfront, years, effective, rule):
    row = {
        **_RESERVED,
        "hourly_rate": rate,
        "upfront_fee": upfront,
        "term_years": years,
        "effective_hourly_price": effective,
    }
    assert refused_by(**row) == rule


@pytest.mark.parametrize(
    ("values", "rule"),
    [
        (
            {"hourly_rate": "-0.1", "effective_hourly_price": "0.1"},
            "prices.hourly_rate_not_negative",
        ),
        ({"upfront_fee": "-1"}, "prices.upfront_fee_not_negative"),
        ({"upfront_fee": "1"}, "prices.effective_price"),
        ({"term_years": 1}, "prices.commitment"),
        ({"purchase_option": "spot"}, "prices.pricing_category"),
        ({"currency": "usd"}, "prices.currency_known"),
        ({"currency": "CNY"}, None),
        ({"currency": "EUR"}, "prices.currency_known"),
        ({"currency": "EUR", "price_quality": "reference"}, None),
        ({"currency": "CNY", "price_quality": "carried_over,reference"}, None),
        ({"currency": "USD", "price_quality": "reference"}, "prices.currency_known"),
        ({"currency": "XAU", "price_quality": "reference"}, "prices.currency_known"),
        ({"price_quality": "ok,carried_over"}, "prices.quality_flags"),
        ({"price_quality": "spot_above_on_demand,carried_over"}, "prices.quality_flags"),
        ({"price_quality": "carried_over,spot_above_on_demand"}, None),
        ({"operating_system": "windows", "license_model": "byol"}, None),
        (_PLAN, None),
        ({**_PLAN, "effective_hourly_price": "0.0961"}, "prices.effective_price"),
        ({**_PLAN, "pricing_category": "Standard"}, "prices.pricing_category"),
        ({"valid_from": _BEGIN, "valid_to": None}, None),
        ({"valid_from": _BEGIN, "valid_to": _BEGIN + timedelta(microseconds=1)}, None),
        ({"valid_from": _BEGIN, "valid_to": _BEGIN}, "prices.period_not_empty"),
        ({"valid_from": _BEGIN, "valid_to": _BEGIN - _DAY}, "prices.period_not_empty"),
    ],
)
def test_each_rule_refuses_what_it_is_for(values, rule):
    assert refused_by(**values) == rule


def test_an_announced_price_that_ends_before_it_begins_is_refused():
    later = {"valid_from": _BEGIN, "valid_to": _BEGIN - _DAY}
    split = split_rows("announced_prices", prices({}, later, table=ANNOUNCED_PRICES))
    assert split.kept.height == 1
    assert split.rejected["rule"].to_list() == ["announced_prices.period_not_empty"]
    came = split.rejected["reason"].item().partition("Came: ")[2]
    assert came == (
        "valid_from=2026-08-01 00:00:00.000000+00:00, valid_to=2026-07-31 00:00:00.000000+00:00"
    )


def test_a_row_that_names_no_document_is_still_accounted_for():
    split = split_rows("prices", prices({"source_id": None}))
    assert split.rejected["source_id"].item() == "unknown"
    assert split.counts["rows"].sum() == 0


def test_tables_that_name_no_document_cannot_be_split():
    with pytest.raises(UncheckableTableError, match="regions name no document"):
        split_rows("regions", REGIONS.empty())
