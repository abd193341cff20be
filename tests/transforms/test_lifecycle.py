from datetime import UTC, date, datetime, timedelta, timezone
from importlib.resources import files

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from transforms.errors import ReferenceTableError
from transforms.lifecycle import make_lifecycle, parse_lifecycle
from warehouse.schemas.catalog import LIFECYCLE

HEADER = "provider,subject,subject_kind,announced_date,end_date,successor,evidence\n"


def _parsed(*lines: str) -> pl.DataFrame:
    return parse_lifecycle((HEADER + "\n".join(lines)).encode())


def _status(as_of: datetime, end_date: str = "2026-03-31") -> str:
    curated = _parsed(f"azure,Series X,series,,{end_date},,test")
    status: str = make_lifecycle(curated, as_of=as_of)["status"].item()
    return status


def test_facts_keep_their_order_and_get_a_status():
    curated = _parsed(
        'azure,Service B,service,,2027-01-01,Service C,"a page, and another"',
        "aws,Series A,series,2025-01-01,2026-01-01,,a page",
    )
    table = make_lifecycle(curated, as_of=datetime(2026, 11, 30, tzinfo=UTC))
    assert table.rows() == [
        (
            "aws",
            "Series A",
            "series",
            "retired",
            date(2025, 1, 1),
            date(2026, 1, 1),
            None,
            "a page",
        ),
        (
            "azure",
            "Service B",
            "service",
            "retiring",
            None,
            date(2027, 1, 1),
            "Service C",
            "a page, and another",
        ),
    ]
    assert table.schema == LIFECYCLE.schema
    assert_frame_equal(
        make_lifecycle(curated.reverse(), as_of=datetime(2026, 11, 30, tzinfo=UTC)), table
    )


@pytest.mark.parametrize(
    ("as_of", "status"),
    [
        (datetime(2026, 3, 30, 23, 59, 59, tzinfo=UTC), "retiring"),
        (datetime(2026, 3, 31, tzinfo=UTC), "retired"),
        (datetime(2026, 4, 1, tzinfo=UTC), "retired"),
        (datetime(2026, 3, 31, 1, tzinfo=timezone(timedelta(hours=2))), "retiring"),
    ],
)
def test_a_subject_is_retired_from_the_day_of_its_end_on(as_of, status):
    assert _status(as_of) == status


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("azure,A,series,,,,test", "no end_date: azure A"),
        ("azure,A,series,2026-02-01,2026-01-01,,test", "an end before its announcement: azure A"),
        ("azure,A,series,,2026-02-30,,test", "could not parse `2026-02-30`"),
        ("azure,A,way,,2026-01-01,,test", r"subject_kind \['way'\]"),
        ("gcp,A,series,,2026-01-01,,test", r"provider \['gcp'\]"),
        ("azure,A,series,,2026-01-01,,", "an empty evidence"),
    ],
)
def test_a_fact_that_is_none_is_refused(line, problem):
    with pytest.raises(ReferenceTableError, match=problem):
        _parsed(line)


def test_a_subject_is_said_once():
    with pytest.raises(ReferenceTableError, match="a key more than once"):
        _parsed("azure,A,series,,2026-01-01,,test", "azure,a,series,,2026-02-01,,test")


def test_the_curated_file_knows_when_low_priority_ended():
    content = (files("transforms") / "reference" / "lifecycle.csv").read_bytes()
    table = make_lifecycle(parse_lifecycle(content), as_of=datetime(2026, 11, 30, tzinfo=UTC))
    low_priority = table.filter(pl.col("subject").str.contains("low-priority"))
    assert low_priority.select("subject", "status", "end_date", "successor").rows() == [
        ("Azure Batch low-priority VMs", "retired", date(2025, 9, 30), "spot"),
        ("Azure Machine Learning low-priority VMs", "retired", date(2026, 3, 31), "spot"),
    ]
    assert low_priority["subject_kind"].unique().to_list() == ["purchase_option"]
    assert table["evidence"].str.contains("https://").all()
