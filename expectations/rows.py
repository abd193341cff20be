"""Split rows into those that every critical row check passes and those that one refuses."""

from typing import NamedTuple

import polars as pl

from expectations.errors import UncheckableTableError
from expectations.row_checks import RowCheck, row_checks
from warehouse.schemas.catalog import TABLE
from warehouse.schemas.parts import REJECTED, ROW_COUNTS
from warehouse.schemas.table import Table


class RowSplit(NamedTuple):
    """Rows of one table, split.

    kept: the table's rows that obey all its critical row checks, in the order they came.
    rejected: REJECTED, the others; `rule` is the first rule in the registry's order that refuses
    the row, `reason` says what was expected and what came. counts: signed ROW_COUNTS to add to
    those that counted these rows as kept: what is rejected here is taken from kept.
    """

    kept: pl.DataFrame
    rejected: pl.DataFrame
    counts: pl.DataFrame


def split_rows(table_name: str, frame: pl.DataFrame | pl.LazyFrame) -> RowSplit:
    """Hold every row against the table's critical row checks, in one pass.

    Args:
        table_name: published table that the rows are meant for, such as `prices`.
        frame: rows of that table; `provider` and `region_id` go to rejected where the table has
            them.

    Raises:
        UncheckableTableError: the table's rows do not name the document they came from.
    """
    table = TABLE[table_name]
    if "source_id" not in table.columns or table.key == ("source_id",):
        raise UncheckableTableError(
            f"rows of {table_name} name no document, so a refused one could not be accounted for; "
            "split the rows that it is made from instead"
        )
    checks = [check for check in row_checks(table_name) if check.rule.severity == "critical"]
    judged = frame.lazy().with_columns(_rule=_first_failure(checks)).collect(engine="in-memory")
    refused = judged.filter(pl.col("_rule").is_not_null())
    return RowSplit(
        kept=judged.filter(pl.col("_rule").is_null()).drop("_rule"),
        rejected=_rejected(table, refused, checks),
        counts=_moved(refused),
    )


def _first_failure(checks: list[RowCheck]) -> pl.Expr:
    ids = pl.Enum([check.rule.id for check in checks])
    return pl.coalesce(
        pl.when(~check.holds).then(pl.lit(check.rule.id, dtype=ids)) for check in checks
    )


def _rejected(table: Table, refused: pl.DataFrame, checks: list[RowCheck]) -> pl.DataFrame:
    reason = pl.coalesce(
        pl.when(pl.col("_rule") == check.rule.id).then(
            pl.concat_str(pl.lit(f"{check.rule.reason}. Came: "), check.came)
        )
        for check in checks
    )
    return refused.select(
        pl.lit(table.name).alias("table"),
        # A row without a source must still be accounted for, under a name that nobody has.
        pl.col("source_id").fill_null("unknown"),
        "provider",
        "region_id",
        pl.col("_rule").cast(pl.String).alias("rule"),
        reason.alias("reason"),
        pl.struct(table.columns).struct.json_encode().alias("row"),
    ).select(REJECTED.columns)


def _moved(refused: pl.DataFrame) -> pl.DataFrame:
    taken = (
        refused.group_by(
            pl.col("source_id").fill_null("unknown"), rule=pl.col("_rule").cast(pl.String)
        )
        .agg(rows=pl.len().cast(pl.Int64))
        .with_columns(outcome=pl.lit("rejected"))
    )
    given = (
        taken.group_by("source_id")
        .agg(-pl.col("rows").sum())
        .with_columns(outcome=pl.lit("kept"), rule=pl.lit(None, dtype=pl.String))
    )
    return pl.concat([taken, given], how="diagonal").select(ROW_COUNTS.columns).sort(ROW_COUNTS.key)
