"""Foreign keys: what one table names is a row of another."""

from dataclasses import dataclass
from functools import partial

import polars as pl

from expectations.evidence import CASELESS, Evidence
from expectations.table_checks.measured import Measured, TableCheck, count_failures, no_limit
from warehouse.schemas.rules import RULE


@dataclass(frozen=True, slots=True)
class Reference:
    """Columns of one table that name a row of another; a null names nothing."""

    rule_id: str
    table: str
    columns: tuple[str, ...]
    target: str
    target_columns: tuple[str, ...]


_REGION = ("provider", "region_id")
_TYPE = ("provider", "instance_type")
_OFFER = ("provider", "region_id", "instance_type")
_SOURCE = ("source_id",)

REFERENCES: tuple[Reference, ...] = (
    *(
        Reference(f"{table}.{name}", table, columns, target, columns)
        for table in ("prices", "announced_prices")
        for name, columns, target in (
            ("region_known", _REGION, "regions"),
            ("instance_type_known", _TYPE, "instance_types"),
            ("source_known", _SOURCE, "sources"),
        )
    ),
    Reference("prices.offer_known", "prices", _OFFER, "offers", _OFFER),
    Reference("offers.region_known", "offers", _REGION, "regions", _REGION),
    Reference("offers.instance_type_known", "offers", _TYPE, "instance_types", _TYPE),
    Reference("cheapest_region.region_known", "cheapest_region", _REGION, "regions", _REGION),
    Reference(
        "cheapest_region.instance_type_known", "cheapest_region", _TYPE, "instance_types", _TYPE
    ),
    Reference("purchase_advice.region_known", "purchase_advice", _REGION, "regions", _REGION),
    Reference(
        "purchase_advice.instance_type_known", "purchase_advice", _TYPE, "instance_types", _TYPE
    ),
    Reference("rejected_rows.source_known", "rejected_rows", _SOURCE, "sources", _SOURCE),
    Reference(
        "regions.parent_known", "regions", ("provider", "parent_region_id"), "regions", _REGION
    ),
)


def reference_checks() -> tuple[TableCheck, ...]:
    """Return one check for each reference."""
    return tuple(
        TableCheck(RULE[reference.rule_id], partial(_orphans, reference), no_limit, "none")
        for reference in REFERENCES
    )


def _orphans(reference: Reference, evidence: Evidence) -> Measured:
    frame = evidence.table(reference.table)
    named = (
        frame.group_by(reference.columns)
        .agg(rows=pl.len())
        .with_columns(pl.col(reference.columns).cast(pl.String))
        .collect(engine="in-memory")
    )
    key = [
        _key(column, name)
        for column, name in zip(reference.columns, reference.target_columns, strict=True)
    ]
    targets = evidence.table(reference.target).select(
        _key(column, column) for column in reference.target_columns
    )
    orphans = (
        named.drop_nulls(list(reference.columns))
        .with_columns(key)
        .join(
            targets.unique().collect(engine="in-memory"),
            on=[f"_{name}" for name in reference.target_columns],
            how="anti",
        )
        .select(*reference.columns, "rows")
    )
    return count_failures(
        orphans, of=reference.table, checked=int(named["rows"].sum()), counted="rows"
    )


def _key(column: str, name: str) -> pl.Expr:
    """Return what is compared for a column; `name` is its name in the target."""
    value = pl.col(column).cast(pl.String)
    return (value.str.to_lowercase() if name in CASELESS else value).alias(f"_{name}")
