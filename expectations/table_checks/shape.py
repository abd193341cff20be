"""Checks that follow from the tables' schemas: columns, their types, and one row a key."""

import polars as pl

from expectations.evidence import CASELESS, PRICE_KEY, Evidence
from expectations.table_checks.measured import Measured, TableCheck, no_limit
from warehouse.schemas.catalog import PRICES, TABLES
from warehouse.schemas.rules import RULE
from warehouse.schemas.table import Table

_DIFFERENCE = {
    "table": pl.String,
    "place": pl.Int64,
    "expected": pl.String,
    "found": pl.String,
}


def columns_check() -> TableCheck:
    """Return the check that comes first and alone: where it fails, nothing else can be asked."""
    return TableCheck(RULE["tables.columns"], _columns, no_limit, "none")


def key_checks() -> tuple[TableCheck, ...]:
    """Return the checks of keys."""
    return (
        TableCheck(RULE["tables.key_unique"], _key_unique, no_limit, "none"),
        TableCheck(RULE["prices.one_in_force"], _one_in_force, no_limit, "none"),
    )


def _columns(evidence: Evidence) -> Measured:
    """Compare the names, order and types of columns; one failure for each place that differs."""
    differences = {table.name: _differences(table, evidence) for table in TABLES}
    return _judge_tables(
        {name: len(rows) for name, rows in differences.items()},
        pl.DataFrame([row for rows in differences.values() for row in rows], schema=_DIFFERENCE),
        checked=sum(len(table.fields) for table in TABLES),
        counted="columns",
    )


def _differences(table: Table, evidence: Evidence) -> list[dict[str, object]]:
    frame = evidence.candidate.tables.get(table.name)
    found = [] if frame is None else list(frame.collect_schema().items())
    expected = list(table.schema.items())
    return [
        {
            "table": table.name,
            "place": place + 1,
            "expected": _column(expected, place),
            "found": _column(found, place),
        }
        for place in range(max(len(found), len(expected)))
        if found[place : place + 1] != expected[place : place + 1]
    ]


def _column(columns: list[tuple[str, pl.DataType]], place: int) -> str:
    if place >= len(columns):
        return "nothing"
    name, dtype = columns[place]
    return f"{name}: {dtype}"


def _key_unique(evidence: Evidence) -> Measured:
    repeated = {table.name: _repeated_keys(table, evidence) for table in TABLES}
    rows = pl.concat(
        frame.select(
            table=pl.lit(name),
            key=pl.concat_str(
                pl.exclude("rows").cast(pl.String).fill_null("null"), separator=" / "
            ),
            rows="rows",
        )
        for name, frame in repeated.items()
    )
    checked = sum(
        frame.select(pl.len()).collect(engine="in-memory").item()
        for frame in map(evidence.table, repeated)
    )
    counts = {name: int(frame["rows"].sum()) for name, frame in repeated.items()}
    return _judge_tables(counts, rows, checked=checked, counted="rows")


def _repeated_keys(table: Table, evidence: Evidence) -> pl.DataFrame:
    frame = evidence.table(table.name).select(table.key)
    if table is PRICES and _repeated(evidence.prices, PRICE_KEY).is_empty():
        # Unique without valid_from is unique with it, and this is the largest table.
        frame = frame.clear()
    return _repeated(frame.collect(engine="in-memory"), table.key)


def _one_in_force(evidence: Evidence) -> Measured:
    shown = {key: name for name, key in CASELESS.items()}
    repeated = _repeated(evidence.prices, PRICE_KEY).rename(shown)
    return _judge_tables(
        {"prices": int(repeated["rows"].sum())},
        repeated,
        checked=evidence.prices.height,
        counted="rows",
    )


def _repeated(frame: pl.DataFrame, key: tuple[str, ...]) -> pl.DataFrame:
    """Return keys that occur more than once, with the number of their rows; nulls are equal."""
    # Nearly all keys are alone, and telling so takes a quarter of the time of counting each.
    doubles = frame.filter(pl.len().over(key) > 1)
    return doubles.group_by(key).agg(rows=pl.len())


def _judge_tables(
    counts: dict[str, int], failing: pl.DataFrame, *, checked: int, counted: str
) -> Measured:
    return Measured(
        checked=checked,
        counted=counted,
        judged=pl.DataFrame(
            {"subject": list(counts), "measured": list(counts.values())},
            schema={"subject": pl.String, "measured": pl.Float64},
        ),
        failing=failing,
        failed=sum(counts.values()),
    )
