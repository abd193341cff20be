"""All row checks of one table, measured in one pass."""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from expectations.row_checks import RowCheck, row_checks
from warehouse.schemas.table import Table


@dataclass(frozen=True, slots=True)
class MeasuredRows:
    """One table's row checks, measured.

    frame: one measured column for each check, named like its rule. checked: rows looked at.
    failed: failing rows by rule, counted by the predicates.
    """

    table: Table
    source: pl.LazyFrame
    checks: tuple[RowCheck, ...]
    frame: pl.DataFrame
    checked: int
    failed: Mapping[str, int]

    def failing(self, check: RowCheck) -> pl.DataFrame:
        """Return the rows that fail a check: key, what explains it, and what is wrong."""
        if not self.failed[check.rule.id]:
            return pl.DataFrame()
        document = ["source_id"] if "source_id" in self.table.columns else []
        shown = dict.fromkeys([*self.table.key, *check.shown, *document])
        return (
            self.source.filter(~check.holds)
            .select(*shown, check.came.alias("came"))
            .collect(engine="in-memory")
        )


def measure_rows(table: Table, frame: pl.LazyFrame) -> MeasuredRows:
    """Measure every row check of a table.

    Args:
        table: what the frame is.
        frame: all its rows, with the table's columns and types.
    """
    checks = row_checks(table.name)
    measured = frame.select(
        *(check.measured.alias(check.rule.id) for check in checks),
        *((~check.holds).alias(f"fails {check.rule.id}") for check in checks),
    ).collect(engine="in-memory")
    failed = {check.rule.id: int(measured[f"fails {check.rule.id}"].sum()) for check in checks}
    return MeasuredRows(
        table=table,
        source=frame,
        checks=checks,
        frame=measured.select(check.rule.id for check in checks),
        checked=measured.height,
        failed=failed,
    )
