from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from warehouse import canonical_json


@dataclass(frozen=True)
class Sample:
    name: str
    at: datetime
    counts: dict[str, int]


def test_one_value_has_one_spelling():
    value = Sample("Zürich", datetime(2026, 8, 22, 3, 30, tzinfo=UTC), {"b": 2, "a": 1})

    assert canonical_json.encode(value).decode() == (
        "{\n"
        '  "at": "2026-08-22T03:30:00Z",\n'
        '  "counts": {\n'
        '    "a": 1,\n'
        '    "b": 2\n'
        "  },\n"
        '  "name": "Zürich"\n'
        "}\n"
    )


def test_reading_gives_back_what_was_written():
    value = Sample("x", datetime(2026, 8, 22, 3, 30, 0, 5, tzinfo=UTC), {})

    assert canonical_json.decode(canonical_json.encode(value), Sample) == value


def test_field_of_a_newer_minor_version_is_passed_over():
    body = b'{"name": "x", "at": "2026-08-22T03:30:00Z", "counts": {}, "colour": "red"}'

    assert canonical_json.decode(body, Sample).name == "x"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"name": "x", "counts": {}}', "missing required field `at`"),
        (b'{"name": 1, "at": "2026-08-22T03:30:00Z", "counts": {}}', r"got `int` - at `\$\.name`"),
        (b"<html>", "malformed"),
        (b"", "truncated"),
    ],
)
def test_record_that_does_not_fit_is_an_error_that_names_the_field(body, message):
    with pytest.raises(ValueError, match=message):
        canonical_json.decode(body, Sample)
