import polars as pl
import pytest
from polars.testing import assert_frame_equal

from support.rows import count_lines, listing_rows, price_rows, rejected_rows, type_rows
from transforms.errors import RowsNotConservedError, UnregisteredRuleError
from transforms.normalized import (
    Normalized,
    combine,
    count_rows,
    final_counts,
    first_rule,
    moved_rows,
    rejected_frame,
    row_json,
)
from warehouse.schemas.parts import (
    INSTANCE_FACTS,
    LISTINGS,
    OFFERINGS,
    PRICE_CANDIDATES,
    REJECTED,
    ROW_COUNTS,
)
from warehouse.schemas.rules.shared import UNKNOWN_UNIT, UNPARSEABLE_DATE, ZERO_PRICE
from warehouse.schemas.table import PRICE


def _part(**frames: pl.DataFrame) -> Normalized:
    return combine([])._replace(**frames)


def test_no_parts_make_empty_tables_of_the_right_schema():
    tables = (PRICE_CANDIDATES, REJECTED, ROW_COUNTS, INSTANCE_FACTS, LISTINGS, OFFERINGS)
    for frame, table in zip(combine([]), tables, strict=True):
        assert_frame_equal(frame, table.empty())


def test_combining_stacks_prices_and_refused_rows_and_adds_up_counts():
    first = _part(
        prices=price_rows({"sku_id": "A"}),
        rejected=rejected_rows({"row": "1"}),
        counts=count_lines(("d", "kept", None, 1), ("d", "rejected", "unknown_unit", 1)),
    )
    second = _part(
        prices=price_rows({"sku_id": "B"}, {"sku_id": "A"}),
        rejected=rejected_rows({"row": "1"}),
        counts=count_lines(("d", "rejected", "unknown_unit", 1), ("d", "kept", None, 2)),
    )

    both = combine(iter([first, second]))

    assert both.prices["sku_id"].to_list() == ["A", "B", "A"]
    assert both.rejected["row"].to_list() == ["1", "1"]
    assert_frame_equal(
        both.counts, count_lines(("d", "kept", None, 3), ("d", "rejected", "unknown_unit", 2))
    )


def test_facts_and_listings_that_parts_repeat_appear_once_and_contradictions_stay():
    part = _part(
        instance_facts=type_rows({"vcpu_count": 2}), listings=listing_rows({"region_id": "b"})
    )
    other = _part(
        instance_facts=type_rows({"vcpu_count": 4}, {"vcpu_count": 2}),
        listings=listing_rows({"region_id": "b"}, {"region_id": "a"}),
    )

    both = combine([part, other, part])

    assert both.instance_facts["vcpu_count"].to_list() == [2, 4]
    assert both.listings["region_id"].to_list() == ["a", "b"]


def test_the_first_rule_that_holds_takes_the_row_and_a_null_condition_does_not_hold():
    rows = pl.DataFrame({"price": [0, 0, 1, None], "unit": ["Hrs", "GB", "GB", "Hrs"]})
    rule = first_rule([(ZERO_PRICE, pl.col("price") == 0), (UNKNOWN_UNIT, pl.col("unit") != "Hrs")])

    taken = rows.select(rule=rule)["rule"]

    assert taken.to_list() == ["zero_price", "zero_price", "unknown_unit", None]
    assert taken.dtype == pl.Enum(["zero_price", "unknown_unit"])


def test_a_rule_may_have_several_conditions():
    rows = pl.DataFrame({"since": ["?", "1", "1"], "until": ["?", "?", "2"]})
    rule = first_rule(
        [(UNPARSEABLE_DATE, pl.col("since") == "?"), (UNPARSEABLE_DATE, pl.col("until") == "?")]
    )
    assert rows.select(rule=rule)["rule"].to_list() == ["unparseable_date"] * 2 + [None]


def test_rows_are_counted_by_the_rule_that_took_them():
    judged = pl.DataFrame({"rule": ["zero_price", None, "unknown_unit", None, "zero_price", None]})

    counts = count_rows(judged, source_id="d")

    assert_frame_equal(
        counts,
        count_lines(
            ("d", "filtered", "zero_price", 2),
            ("d", "kept", None, 3),
            ("d", "rejected", "unknown_unit", 1),
        ),
    )


def test_a_document_without_rows_has_no_counts():
    judged = pl.DataFrame({"rule": []}, schema={"rule": pl.String})
    assert_frame_equal(count_rows(judged, source_id="d"), ROW_COUNTS.empty())


@pytest.mark.parametrize("rule", ["no_such_rule", ""])
def test_a_rule_that_is_not_registered_is_an_error_that_names_it(rule):
    judged = pl.DataFrame({"rule": [rule, None]})
    with pytest.raises(UnregisteredRuleError) as caught:
        count_rows(judged, source_id="d")
    assert caught.value.rules == (rule,)
    assert "warehouse/schemas/rules" in str(caught.value)


def test_moved_rows_leave_the_total_of_a_document_as_it_was():
    before = count_lines(("d", "kept", None, 5), ("e", "kept", None, 1))
    moved = pl.DataFrame(
        {"source_id": ["d", "d", "d", "e"], "rule": ["superseded"] * 2 + ["ambiguous_price"] * 2}
    )

    after = final_counts([before, moved_rows(moved)])

    assert_frame_equal(
        after,
        count_lines(
            ("d", "filtered", "superseded", 2),
            ("d", "kept", None, 2),
            ("d", "rejected", "ambiguous_price", 1),
            ("e", "rejected", "ambiguous_price", 1),
        ),
    )


def test_taking_more_rows_than_a_document_had_is_an_error():
    moved = moved_rows(pl.DataFrame({"source_id": ["d", "d"], "rule": ["superseded"] * 2}))
    with pytest.raises(RowsNotConservedError, match="d: -1 rows kept"):
        final_counts([count_lines(("d", "kept", None, 1)), moved])


def test_a_refused_row_carries_its_reason_and_its_words_in_fixed_order():
    raw = pl.DataFrame({"unit": ["GB"], "sku": ["A"], "extra": ["not written"]})

    rejected = rejected_frame(
        raw,
        source_id="d",
        provider="aws",
        region_id="eu-west-1",
        rule=pl.lit(UNKNOWN_UNIT.id),
        reason=pl.format("expected Hrs, got {}", "unit"),
        row_columns=["sku", "unit"],
    )

    assert_frame_equal(
        rejected,
        rejected_rows(
            {
                "source_id": "d",
                "provider": "aws",
                "region_id": "eu-west-1",
                "reason": "expected Hrs, got GB",
                "row": '{"sku":"A","unit":"GB"}',
            }
        ),
    )


def test_a_reason_that_quotes_a_missing_value_falls_back_on_the_rule_s_own():
    rejected = rejected_frame(
        pl.DataFrame({"unit": [None]}, schema={"unit": pl.String}),
        source_id="d",
        provider="aws",
        region_id=None,
        rule=pl.lit(UNKNOWN_UNIT.id, dtype=pl.Enum([UNKNOWN_UNIT.id])),
        reason=pl.format("expected Hrs, got {}", "unit"),
        row_columns=["unit"],
    )
    assert rejected["reason"].to_list() == [UNKNOWN_UNIT.reason]
    assert rejected["region_id"].to_list() == [None]


def test_row_json_keeps_every_decimal_escapes_text_and_writes_null_for_what_is_missing():
    rows = pl.DataFrame(
        {"name": ['a "b"\nü', None], "price": ["0.0000000001", "98.32"], "flag": [True, None]}
    ).with_columns(pl.col("price").cast(PRICE))
    assert rows.select(row_json(["price", "name", "flag"])).to_series().to_list() == [
        '{"price":"0.0000000001","name":"a \\"b\\"\\nü","flag":true}',
        '{"price":"98.3200000000","name":null,"flag":null}',
    ]
