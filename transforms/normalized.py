"""What a block of a provider's rows becomes, and the steps that both providers share.

A provider's transform judges every raw row once: `first_rule` names the rule that takes the row,
or null where the row is a price. From that one column follow the three counts (`count_rows`) and
the refused rows (`rejected_frame`), so they add up by construction.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import polars as pl

from transforms.errors import RowsNotConservedError, UnregisteredRuleError
from warehouse.schemas.parts import (
    INSTANCE_FACTS,
    LISTINGS,
    OFFERINGS,
    PRICE_CANDIDATES,
    REJECTED,
    ROW_COUNTS,
)
from warehouse.schemas.rules import RULE
from warehouse.schemas.rules.rule import Rule

_OUTCOME_OF_KIND = {"filter": "filtered", "reject": "rejected", "row_check": "rejected"}

_OUTCOME_OF: dict[str | None, str] = {None: "kept"} | {
    rule_id: _OUTCOME_OF_KIND[rule.kind]
    for rule_id, rule in RULE.items()
    if rule.kind in _OUTCOME_OF_KIND
}

_OUTCOMES = pl.DataFrame(
    {"rule": _OUTCOME_OF.keys(), "outcome": _OUTCOME_OF.values()},
    schema={"rule": pl.String, "outcome": pl.String},
)

_REASON_OF = {rule_id: rule.reason for rule_id, rule in RULE.items()}


class Normalized(NamedTuple):
    """One block, page or region after normalisation: the tables of `warehouse.schemas.parts`.

    prices: PRICE_CANDIDATES of every date. rejected: REJECTED. counts: ROW_COUNTS; kept is the
    number of rows of `prices`. instance_facts: INSTANCE_FACTS. listings: LISTINGS. offerings:
    OFFERINGS.
    """

    prices: pl.DataFrame
    rejected: pl.DataFrame
    counts: pl.DataFrame
    instance_facts: pl.DataFrame = INSTANCE_FACTS.empty()
    listings: pl.DataFrame = LISTINGS.empty()
    offerings: pl.DataFrame = OFFERINGS.empty()


_TABLES = (PRICE_CANDIDATES, REJECTED, ROW_COUNTS, INSTANCE_FACTS, LISTINGS, OFFERINGS)
"""What each field of Normalized holds, in the same order."""

_EMPTY = Normalized(*(table.empty() for table in _TABLES))


def combine(parts: Iterable[Normalized]) -> Normalized:
    """Put blocks, pages or regions together; of no parts, empty tables.

    Prices and refused rows are stacked, counts added up. Facts and listings that several parts
    repeat word for word appear once; facts that contradict each other stay side by side, for
    they are no rows of a price list but evidence to weigh. All but `prices` and `rejected` are
    sorted.

    Raises:
        polars.exceptions.PolarsError: a part's frame has not its table's columns and types.
    """
    stacked = Normalized(*map(pl.concat, zip(_EMPTY, *parts, strict=True)))
    return stacked._replace(
        counts=_sum_counts(stacked.counts),
        instance_facts=_distinct(stacked.instance_facts, pl.all()),
        listings=_distinct(stacked.listings, pl.all()),
        offerings=_distinct(stacked.offerings, pl.col(OFFERINGS.key)),
    )


def _distinct(rows: pl.DataFrame, order: pl.Expr) -> pl.DataFrame:
    return rows if rows.is_empty() else rows.unique().sort(order)


def first_rule(checks: Sequence[tuple[Rule, pl.Expr]]) -> pl.Expr:
    """Name the first rule whose condition holds, in the order given; null where none holds.

    A rule may have several conditions.
    The result is an Enum of the rules' ids: a code a row instead of a text. A condition that is
    null does not hold, so write conditions that are true for what is missing.
    """
    ids = pl.Enum(list(dict.fromkeys(rule.id for rule, _ in checks)))
    return pl.coalesce(
        pl.when(condition).then(pl.lit(rule.id, dtype=ids)) for rule, condition in checks
    )


def count_rows(judged: pl.DataFrame, *, source_id: str, rule: str = "rule") -> pl.DataFrame:
    """Count a document's rows by the rule that took them: ROW_COUNTS.

    Args:
        judged: every raw row, with the column `rule`.
        source_id: document that the rows came in.
        rule: column that names the rule; null where the row is kept.

    Raises:
        UnregisteredRuleError: a rule is not in the registry, or neither filters nor rejects.
    """
    counted = judged.group_by(pl.col(rule).cast(pl.String).alias("rule")).len("rows")
    return _as_counts(counted.with_columns(source_id=pl.lit(source_id)))


def moved_rows(moved: pl.DataFrame) -> pl.DataFrame:
    """Say that rows which were counted as kept went elsewhere: ROW_COUNTS to add to those before.

    Args:
        moved: one row for each row that moved, with `source_id` and the `rule` that took it.

    Returns:
        Signed counts: what a rule took is added to it and taken from kept, so each document's
        rows add up to 0 here and stay what they were in `final_counts`.

    Raises:
        UnregisteredRuleError: a rule is not in the registry, or neither filters nor rejects.
    """
    if moved.is_empty():
        return ROW_COUNTS.empty()
    taken = moved.group_by("source_id", "rule").len("rows").cast({"rows": pl.Int64})
    given = taken.with_columns(rule=pl.lit(None, dtype=pl.String), rows=-pl.col("rows"))
    return _as_counts(pl.concat([taken, given]))


def final_counts(counts: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Add up the counts of normalising and of all later steps: ROW_COUNTS, sorted by key.

    Raises:
        RowsNotConservedError: steps took more rows from a document than it had.
    """
    total = _sum_counts(pl.concat([ROW_COUNTS.empty(), *counts]))
    overdrawn = total.filter(pl.col("rows") < 0)
    if not overdrawn.is_empty():
        said = pl.format("{}: {} rows {}", "source_id", "rows", "outcome")
        raise RowsNotConservedError(tuple(overdrawn.select(said.head(5)).to_series()))
    return total


def _as_counts(counted: pl.DataFrame) -> pl.DataFrame:
    named = counted.join(_OUTCOMES, on="rule", how="left", nulls_equal=True, validate="m:1")
    if named["outcome"].null_count():
        strangers = named.filter(pl.col("outcome").is_null())["rule"].unique().sort()
        raise UnregisteredRuleError(tuple(strangers))
    return _sum_counts(named.with_columns(pl.col("rows").cast(pl.Int64)))


def _sum_counts(counts: pl.DataFrame) -> pl.DataFrame:
    return (
        counts.lazy()
        .group_by(ROW_COUNTS.key)
        .agg(pl.col("rows").sum())
        .filter(pl.col("rows") != 0)
        .select(ROW_COUNTS.columns)
        .sort(ROW_COUNTS.key)
        .collect(engine="in-memory")
    )


def rejected_frame(
    rows: pl.DataFrame | pl.LazyFrame,
    *,
    source_id: str | pl.Expr,
    provider: str | pl.Expr,
    region_id: str | pl.Expr | None,
    rule: pl.Expr,
    reason: pl.Expr,
    row_columns: Sequence[str],
    table: str = "prices",
) -> pl.DataFrame:
    """Turn refused rows into REJECTED rows, in the order they came.

    Args:
        rows: the refused rows only.
        source_id: document that they came in.
        provider: provider of the document.
        region_id: region of the document; null where it has none.
        rule: id of the rule that refused the row, text or Enum.
        reason: what was expected, what came, what to do; where it is null, as it is when a
            value that it quotes is missing, the registry's reason stands for it.
        row_columns: columns that make up `row`, in the order in which they are written.
        table: table that the rows were meant for.
    """
    if isinstance(rows, pl.DataFrame) and rows.is_empty():
        return REJECTED.empty()
    return (
        rows.lazy()
        .select(
            table=pl.lit(table),
            source_id=_text(source_id),
            provider=_text(provider),
            region_id=_text(region_id),
            rule=rule.cast(pl.String),
            reason=pl.coalesce(reason, rule.cast(pl.String).replace(_REASON_OF)),
            row=row_json(row_columns),
        )
        .pipe(REJECTED.conform)
        .collect(engine="in-memory")
    )


def row_json(columns: Sequence[str]) -> pl.Expr:
    """Write a row as one JSON object: fields in the order given, null where nothing came.

    Money is written as text with all its decimals, for a JSON number would be read as a float.
    The same row gives the same text on every machine, so equal rows can be told by it.
    """
    return pl.struct(columns).struct.json_encode()


def _text(value: str | pl.Expr | None) -> pl.Expr:
    return value if isinstance(value, pl.Expr) else pl.lit(value, dtype=pl.String)
