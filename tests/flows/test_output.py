"""Answers are written exactly for programs and readably for people."""

import csv
import io
import json
from datetime import UTC, date, datetime
from decimal import Decimal

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from rich.console import Console

from flows.output import Format, as_text, serialise, write_frame
from warehouse.schemas.table import PRICE, TIMESTAMP

FRAME = pl.DataFrame(
    {
        "region_id": ["us-east-1", "eu-north-1"],
        "price": [Decimal("55.04"), Decimal("12345678.1234567891")],
        "tied": [["us-east-2", "us-west-2"], []],
        "valid_from": [datetime(2026, 7, 1, tzinfo=UTC), None],
        "spread": [68.0, None],
    },
    schema_overrides={"price": PRICE, "valid_from": TIMESTAMP},
)


def as_table(frame, width=120):
    text = io.StringIO()
    console = Console(file=text, width=width)
    write_frame(frame, Format.table, console=console, output=None)
    return text.getvalue()


def test_money_is_exact_text_in_json_and_lists_stay_lists():
    body = serialise(FRAME, Format.json)
    assert body.endswith(b"]\n")
    first, second = json.loads(body)
    assert first["price"] == "55.0400000000"
    assert second["price"] == "12345678.1234567891"
    assert (first["tied"], second["tied"]) == (["us-east-2", "us-west-2"], [])
    assert second["valid_from"] is None
    assert first["spread"] == 68.0


def test_money_is_exact_in_csv_and_lists_are_joined_by_spaces():
    first, second = csv.DictReader(io.StringIO(serialise(FRAME, Format.csv).decode()))
    assert first["price"] == "55.0400000000"
    assert second["price"] == "12345678.1234567891"
    assert (first["tied"], second["tied"]) == ("us-east-2 us-west-2", "")
    assert (first["valid_from"], second["valid_from"]) == ("2026-07-01T00:00:00.000000+0000", "")


def test_lists_of_anything_can_be_written_as_csv():
    frame = pl.DataFrame({"numbers": [[1, 2]], "money": [[Decimal("1.50")]]})
    (row,) = csv.DictReader(io.StringIO(serialise(frame, Format.csv).decode()))
    assert row == {"numbers": "1 2", "money": "1.50"}


def test_parquet_gives_the_same_frame_back():
    assert_frame_equal(pl.read_parquet(serialise(FRAME, Format.parquet)), FRAME)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (Decimal("55.0400000000"), "55.04"),
        (Decimal(100), "100"),
        (Decimal("100.0000000000"), "100"),
        (Decimal("0.0000000001"), "0.0000000001"),
        (datetime(2026, 7, 1, tzinfo=UTC), "2026-07-01"),
        (datetime(2026, 7, 1, 6, 5, tzinfo=UTC), "2026-07-01 06:05"),
        (date(2026, 7, 1), "2026-07-01"),
        ([], "-"),
        (["a", None, Decimal("1.50")], "a, -, 1.5"),
        (68.5, "68.5"),
        (7, "7"),
        ("", ""),
    ],
)
def test_a_cell_is_spelled_for_people(value, text):
    assert as_text(value) == text


def test_a_table_shows_a_dash_for_null_and_money_without_noughts():
    shown = as_table(FRAME)
    cells = [line.split() for line in shown.splitlines() if "north" in line or "us-east-1" in line]
    assert cells == [
        ["us-east-1", "55.04", "us-east-2,", "us-west-2", "2026-07-01", "68.0"],
        ["eu-north-1", "12345678.1234567891", "-", "-", "-"],
    ]


def test_brackets_in_names_and_values_are_shown_and_are_no_markup():
    shown = as_table(pl.DataFrame({"[bold]name": ['["a"]', "[/]", "[red]x"]}))
    assert [line.strip() for line in shown.splitlines() if "[" in line] == [
        "[bold]name",
        '["a"]',
        "[/]",
        "[red]x",
    ]


@pytest.mark.parametrize("how", list(Format))
def test_a_file_holds_what_standard_output_would(how, tmp_path, capsysbinary):
    path = tmp_path / "answer"
    write_frame(FRAME, how, console=Console(width=120), output=path)
    assert capsysbinary.readouterr().out == b""
    assert path.read_bytes() == serialise(FRAME, how)
    if how is not Format.table:
        write_frame(FRAME, how, console=Console(width=120), output=None)
        assert capsysbinary.readouterr().out == path.read_bytes()


def test_lists_of_structs_are_json_in_csv_and_plain_words_in_a_table():
    frame = pl.DataFrame(
        {"ways": [[{"years": 1, "price": Decimal("0.0600")}, {"years": None, "price": None}], []]}
    )
    first, second = csv.DictReader(io.StringIO(serialise(frame, Format.csv).decode()))
    assert first["ways"] == '{"years":1,"price":"0.0600"} {"years":null,"price":null}'
    assert second["ways"] == ""
    assert as_text(frame["ways"].to_list()[0]) == "1 0.06, - -"
