"""Where series, services and ways to pay stand in their lives, from the curated end dates."""

from datetime import UTC, datetime

import polars as pl

from transforms.errors import ReferenceTableError
from transforms.reference import parse_reference
from warehouse.schemas.catalog import LIFECYCLE
from warehouse.schemas.table import Table

_END_DATES = Table(
    "lifecycle.csv",
    "reference",
    "Announced ends: what the date of a run makes of them is not said here",
    tuple(field for field in LIFECYCLE.fields if field.name != "status"),
    LIFECYCLE.key,
)


def parse_lifecycle(content: bytes) -> pl.DataFrame:
    """Read transforms/reference/lifecycle.csv: LIFECYCLE without `status`, sorted by key.

    One row says when one thing ends, or ended.

    Raises:
        ReferenceTableError: what `parse_reference` refuses; or a row without end_date, or one whose
            end came before its announcement.
    """
    curated = parse_reference(content, _END_DATES)
    for found, is_wrong in (
        ("no end_date", pl.col("end_date").is_null()),
        ("an end before its announcement", pl.col("end_date") < pl.col("announced_date")),
    ):
        wrong = curated.filter(is_wrong)
        if not wrong.is_empty():
            subjects = ", ".join(wrong["provider"] + " " + wrong["subject"])
            raise ReferenceTableError(_END_DATES.name, f"{found}: {subjects}")
    return curated


def make_lifecycle(curated: pl.DataFrame, *, as_of: datetime) -> pl.DataFrame:
    """Say where each subject stands at `as_of`: LIFECYCLE, sorted by key.

    From the day of its end_date on (UTC) a subject is retired, before it is retiring. Prices may be
    listed longer than that.

    Args:
        curated: what `parse_lifecycle` returns.
        as_of: moment that is asked for, with a time zone.
    """
    today = pl.lit(as_of.astimezone(UTC).date())
    status = (
        pl.when(pl.col("end_date") <= today).then(pl.lit("retired")).otherwise(pl.lit("retiring"))
    )
    return (
        curated.lazy()
        .with_columns(status=status)
        .pipe(LIFECYCLE.conform)
        .sort(LIFECYCLE.key)
        .collect(engine="in-memory")
    )
