from datetime import UTC, date, datetime
from decimal import Decimal

import polars as pl

from expectations.samples import sample_rows


def test_values_are_written_for_people():
    frame = pl.DataFrame(
        {
            "price": [Decimal("100.1000000000")],
            "whole": [Decimal("100.0000000000")],
            "zero": [Decimal("0E-10")],
            "at": [datetime(2026, 8, 22, 3, tzinfo=UTC)],
            "day": [date(2026, 8, 22)],
            "list": [["a", "b"]],
            "word": pl.Series(["x"], dtype=pl.Categorical),
            "count": [3],
            "flag": [True],
            "nothing": pl.Series([None], dtype=pl.String),
        }
    ).cast({pl.Decimal: pl.Decimal(18, 10)})
    assert sample_rows(frame, 5) == (
        {
            "price": "100.1",
            "whole": "100",
            "zero": "0",
            "at": "2026-08-22T03:00:00Z",
            "day": "2026-08-22",
            "list": "a, b",
            "word": "x",
            "count": 3,
            "flag": True,
            "nothing": None,
        },
    )


def test_the_first_rows_by_value_are_taken_whatever_their_order():
    frame = pl.DataFrame({"name": ["c", None, "a", "b"]})
    assert sample_rows(frame, 3) == ({"name": "a"}, {"name": "b"}, {"name": "c"})


def test_a_frame_without_columns_has_no_rows():
    assert sample_rows(pl.DataFrame(), 3) == ()
