from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from support.rows import rejected_rows
from support.strategies import PROPERTY, shuffled
from transforms.rejected_rows import number_rejected_rows
from warehouse.schemas.catalog import REJECTED_ROWS
from warehouse.schemas.parts import REJECTED

FRAMES = st.lists(
    st.builds(
        dict,
        source_id=st.sampled_from(("d", "e")),
        rule=st.sampled_from(("unknown_unit", "negative_price")),
        region_id=st.sampled_from((None, "eastus")),
        row=st.sampled_from(("1", "2")),
    ),
    max_size=12,
).map(lambda rows: rejected_rows(*rows))


def test_rows_are_numbered_within_their_document_and_rule():
    numbered = number_rejected_rows(
        rejected_rows(
            {"source_id": "d", "rule": "unknown_unit", "row": "2"},
            {"source_id": "e", "rule": "unknown_unit", "row": "1"},
            {"source_id": "d", "rule": "unknown_unit", "row": "1"},
            {"source_id": "d", "rule": "negative_price", "row": "3"},
        )
    )
    assert numbered.select("row_id", "row").rows() == [
        ("d#negative_price#0000001", "3"),
        ("d#unknown_unit#0000001", "1"),
        ("d#unknown_unit#0000002", "2"),
        ("e#unknown_unit#0000001", "1"),
    ]


def test_rows_that_are_equal_word_for_word_keep_an_id_each():
    numbered = number_rejected_rows(rejected_rows({"source_id": "d"}, {"source_id": "d"}))
    assert numbered["row_id"].to_list() == ["d#unknown_unit#0000001", "d#unknown_unit#0000002"]


def test_ids_sort_as_numbers_do():
    numbered = number_rejected_rows(rejected_rows(*({"row": f"{n:02}"} for n in range(11))))
    assert numbered["row"].to_list() == [f"{n:02}" for n in range(11)]


def test_no_rows_give_an_empty_table():
    assert_frame_equal(number_rejected_rows(REJECTED.empty()), REJECTED_ROWS.empty())


@PROPERTY
@given(shuffled(FRAMES))
def test_ids_do_not_depend_on_the_order_of_rows_and_are_unique(frames):
    first, second = (number_rejected_rows(frame) for frame in frames)
    assert_frame_equal(first, second)
    assert first["row_id"].is_unique().all()
    assert_frame_equal(first.drop("row_id"), frames[0], check_row_order=False)
