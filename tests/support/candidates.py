"""Small releases for the gate, one line a row: what a test does not name has an ordinary value.

`release(prices)` makes a whole release that passes every rule: reference tables, offers, sources,
row counts and the cheapest regions all follow from its prices. A test then breaks one thing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import polars as pl

from expectations.canaries import Canary
from expectations.evidence import Evidence
from expectations.gate import check_release
from expectations.gate_report import GateReport
from expectations.release import Candidate, Request, Tables
from expectations.rulebook import table_checks
from expectations.samples import sample_rows
from expectations.table_checks.measured import Measured
from expectations.table_checks.shape import columns_check
from expectations.thresholds import GateThresholds
from warehouse.schemas.catalog import (
    ANNOUNCED_PRICES,
    CHEAPEST_REGION,
    FX_RATES,
    INSTANCE_TYPES,
    LIFECYCLE,
    OFFERS,
    PRICES,
    PURCHASE_ADVICE,
    REGIONS,
    REJECTED_ROWS,
    SOURCES,
    TABLES,
)
from warehouse.schemas.parts import ROW_COUNTS
from warehouse.schemas.table import Table

AS_OF = datetime(2026, 8, 22, 3, tzinfo=UTC)

_FETCHED = AS_OF - timedelta(hours=1)

_ORDINARY_PRICE: Mapping[str, Any] = {
    "provider": "aws",
    "region_id": "us-east-1",
    "instance_type": "m5.large",
    "operating_system": "linux",
    "license_model": "included",
    "pre_installed_software": "none",
    "tenancy": "shared",
    "purchase_option": "on_demand",
    "hourly_rate": "0.096",
    "pricing_category": "Standard",
    "currency": "USD",
    "pricing_unit": "Hours",
    "valid_from": datetime(2026, 8, 1, tzinfo=UTC),
    "sku_id": "SKU",
    "sku_price_id": "SKU.TERM.RATE",
    "price_quality": "ok",
}

_ORDINARY_REGION: Mapping[str, Any] = {
    "region_kind": "region",
    "country_code": "US",
    "geography": "north_america",
    "is_eu": False,
    "is_eea": False,
    "source": "test",
}

_REGION_FACTS: Mapping[str, Mapping[str, Any]] = {
    "eu-central-1": {"country_code": "DE", "geography": "europe", "is_eu": True, "is_eea": True},
    "germanynorth": {"country_code": "DE", "geography": "europe", "is_eu": True, "is_eea": True},
    "germanywestcentral": {
        "country_code": "DE",
        "geography": "europe",
        "is_eu": True,
        "is_eea": True,
    },
    "northeurope": {"country_code": "IE", "geography": "europe", "is_eu": True, "is_eea": True},
    "us-east-1-bos-1": {"region_kind": "local_zone", "parent_region_id": "us-east-1"},
    "us-gov-west-1": {"partition": "aws-us-gov"},
}


def rows_of(table: Table, *rows: Mapping[str, Any]) -> pl.DataFrame:
    """Make a frame of a table; columns that a row does not name are null. Money is text."""
    columns = {
        field.name: [_exact(row.get(field.name), field.dtype) for row in rows]
        for field in table.fields
    }
    return pl.DataFrame(columns, schema=table.schema)


def prices(*rows: Mapping[str, Any], table: Table = PRICES) -> pl.DataFrame:
    """Make price rows; effective_hourly_price is hourly_rate and source_id the region's."""
    complete = []
    for named in rows:
        row = {**_ORDINARY_PRICE, **named}
        row.setdefault("effective_hourly_price", row["hourly_rate"])
        row.setdefault("source_id", f"{row['provider']}/{row['region_id']}")
        complete.append(row)
    return rows_of(table, *complete)


@dataclass(frozen=True)
class Release:
    """A release as eager frames, to be changed by tests."""

    tables: Mapping[str, pl.DataFrame]
    row_counts: pl.DataFrame

    def with_table(self, name: str, frame: pl.DataFrame) -> "Release":
        """Put another frame in place of a table."""
        return replace(self, tables={**self.tables, name: frame})

    def with_values(self, name: str, **values: Any) -> "Release":
        """Set columns of a whole table; a value is an expression or a constant."""
        frame = self.tables[name].with_columns(
            **{column: _literal(value) for column, value in values.items()}
        )
        return self.with_table(name, frame.cast(dict(self.tables[name].schema)))

    def with_rows(self, name: str, *rows: Mapping[str, Any]) -> "Release":
        """Add rows to a table."""
        table = next(table for table in TABLES if table.name == name)
        return self.with_table(name, pl.concat([self.tables[name], rows_of(table, *rows)]))

    def with_counts(self, *rows: Mapping[str, Any]) -> "Release":
        """Put other row counts in place."""
        return replace(self, row_counts=rows_of(ROW_COUNTS, *rows))

    @property
    def candidate(self) -> Candidate:
        """What the gate takes."""
        return Candidate(self.lazy, self.row_counts.lazy())

    @property
    def lazy(self) -> Tables:
        """The tables as the gate takes those of the last release."""
        return {name: frame.lazy() for name, frame in self.tables.items()}


def release(
    listed: pl.DataFrame,
    *,
    announced: pl.DataFrame | None = None,
    regions: Iterable[Mapping[str, Any]] = (),
    types: Iterable[Mapping[str, Any]] = (),
) -> Release:
    """Make a release that holds together from its prices.

    `regions` and `types` add to what prices name: a row of a known one completes it.
    """
    later = ANNOUNCED_PRICES.empty() if announced is None else announced
    both = pl.concat([listed, later])
    known = _regions(both, regions)
    sources = _sources(both)
    tables = {
        "regions": known,
        "instance_types": _instance_types(both, types),
        "offers": _offers(listed, later),
        "prices": listed,
        "announced_prices": later,
        "fx_rates": rows_of(
            FX_RATES,
            {
                "currency": "USD",
                "rate_date": date(2026, 8, 21),
                "units_per_eur": "1.1",
                "units_per_usd": "1",
                "source": "ECB",
            },
        ),
        "lifecycle": LIFECYCLE.empty(),
        "cheapest_region": cheapest(listed, known),
        "purchase_advice": advice(listed),
        "sources": sources,
        "rejected_rows": REJECTED_ROWS.empty(),
    }
    counts = both.group_by("source_id").agg(rows=pl.len().cast(pl.Int64)).sort("source_id")
    kept = counts.with_columns(outcome=pl.lit("kept"), rule=pl.lit(None, dtype=pl.String))
    return Release(tables, kept.select(ROW_COUNTS.columns))


def check(
    candidate: Release,
    previous: Release | None = None,
    *,
    regions: Mapping[str, tuple[str, ...] | None] | None = None,
    thresholds: GateThresholds | None = None,
    canaries: tuple[Canary, ...] = (),
    as_of: datetime = AS_OF,
    accept_jumps: bool = False,
    accept_losses: bool = False,
) -> GateReport:
    """Judge a release; without `regions`, the run was asked for all of the providers it has."""
    providers = candidate.tables["regions"]["provider"].unique().sort()
    asked = dict.fromkeys(providers) if regions is None else regions
    request = Request(asked, as_of, accept_jumps=accept_jumps, accept_losses=accept_losses)
    return check_release(
        candidate.candidate,
        None if previous is None else previous.lazy,
        request,
        thresholds,
        canaries=canaries,
    )


@dataclass(frozen=True)
class Judged:
    """One table check without Great Expectations: the same limit, held against the numbers."""

    measured: Measured
    failed: int
    rows: list[dict[str, Any]]


def judge(
    rule_id: str,
    candidate: Release,
    previous: Release | None = None,
    *,
    regions: Mapping[str, tuple[str, ...] | None] | None = None,
    thresholds: GateThresholds | None = None,
    canaries: tuple[Canary, ...] = (),
    as_of: datetime = AS_OF,
) -> Judged:
    """Measure one table check; `failed` counts what is beyond the limit."""
    providers = candidate.tables["regions"]["provider"].unique().sort()
    limits = thresholds or GateThresholds()
    evidence = Evidence(
        candidate.candidate,
        None if previous is None else previous.lazy,
        Request(dict.fromkeys(providers) if regions is None else regions, as_of),
        limits,
        canaries,
    )
    (found,) = [item for item in (columns_check(), *table_checks()) if item.rule.id == rule_id]
    measured = found.measure(evidence)
    beyond = measured.judged["measured"] > found.limit(limits)
    failing = measured.failing if measured.failed is not None else measured.failing.filter(beyond)
    failed = int(beyond.sum()) if measured.failed is None else measured.failed
    return Judged(measured, failed, list(sample_rows(failing, 1000)))


def cheapest(listed: pl.DataFrame, regions: pl.DataFrame) -> pl.DataFrame:
    """Find the cheapest regions of ordinary prices in the plainest way: one loop a scope."""
    found = []
    comparable = _comparable(listed)
    way = [name for name in CHEAPEST_REGION.key if name != "scope"]
    for scope, members in _scopes(regions).items():
        within = comparable.join(members, on=["provider", "region_id"], how="semi")
        for key, group in within.group_by(way):
            found.append({**dict(zip(way, key, strict=True)), "scope": scope, **_winner(group)})
    return rows_of(CHEAPEST_REGION, *found).sort(CHEAPEST_REGION.key)


def advice(listed: pl.DataFrame) -> pl.DataFrame:
    """Advise on ordinary prices in US dollars in the plainest way: one loop a machine."""
    key = PURCHASE_ADVICE.key
    comparable = _comparable(listed).filter(pl.col("purchase_option") != "low_priority")
    return rows_of(
        PURCHASE_ADVICE,
        *(
            {**dict(zip(key, machine, strict=True)), **_advised(group)}
            for machine, group in comparable.group_by(key)
        ),
    ).sort(key)


def _advised(group: pl.DataFrame) -> dict[str, Any]:
    steady: dict[str, Decimal] = {}
    spot: list[tuple[Decimal, str | None]] = []
    for row in group.iter_rows(named=True):
        price = row["effective_hourly_price"]
        if row["purchase_option"] == "spot":
            spot.append((price, row["availability_zone_id"]))
        else:
            way = (row["purchase_option"], row["commitment_type"])
            way += (row["term_years"], row["payment_option"])
            steady["/".join(str(word) for word in way if word is not None)] = price
    price, zone = min(spot, default=(None, None), key=lambda item: (item[0], item[1] or ""))
    return {
        "currency": "USD",
        "on_demand_usd": steady.get("on_demand"),
        "spot_usd": price,
        "spot_availability_zone_id": zone,
        "spot_zone_count": len([zone for _, zone in spot if zone]) or None,
        "spot_lost_work_pct": 5.0,
        "spot_advice": "if_interruptible" if spot else "not_listed",
        "commitments": [],
        "price_quality": "ok",
        **{
            name: answer
            for use in (100, 60, 30)
            for name, answer in _cheapest_way(steady, use).items()
        },
    }


def _cheapest_way(steady: Mapping[str, Decimal], use: int) -> dict[str, Any]:
    costs = {
        way: price * use / 100 if way == "on_demand" else price for way, price in steady.items()
    }
    way = min(costs, key=lambda name: (costs[name], name), default=None)
    cost = None if way is None else round(costs[way], 10)
    return {f"cheapest_at_{use}_pct": way, f"cost_at_{use}_pct_usd": cost}


def _comparable(listed: pl.DataFrame) -> pl.DataFrame:
    return listed.filter(
        pl.col("tenancy") == "shared",
        pl.col("license_model") == "included",
        pl.col("pre_installed_software") == "none",
        pl.col("currency") == "USD",
    )


def _winner(group: pl.DataFrame) -> dict[str, Any]:
    zones: dict[str, list[tuple[Decimal, str | None]]] = {}
    for row in group.iter_rows(named=True):
        price = (row["effective_hourly_price"], row["availability_zone_id"])
        zones.setdefault(row["region_id"], []).append(price)
    by_region = {region: min(price for price, _ in listed) for region, listed in zones.items()}
    low, high = min(by_region.values()), max(by_region.values())
    lowest = sorted(region for region, price in by_region.items() if price == low)
    return {
        "region_id": lowest[0],
        "availability_zone_id": min(
            (z for p, z in zones[lowest[0]] if p == low and z), default=None
        ),
        "zone_count": len([zone for _, zone in zones[lowest[0]] if zone]) or None,
        "price_usd": low,
        "tied_region_ids": lowest[1:],
        "second_price_usd": min((p for p in by_region.values() if p > low), default=None),
        "region_count": len(by_region),
        "dearest_region_id": min(r for r, price in by_region.items() if price == high),
        "dearest_price_usd": high,
        "spread_pct": float(100 * (high / low - 1)) if low else 0.0,
        "price_quality": "ok",
    }


def _scopes(regions: pl.DataFrame) -> dict[str, pl.DataFrame]:
    is_region = pl.col("region_kind") == "region"
    is_open = is_region & pl.col("partition").is_in(["aws", "azure"])
    conditions = {
        "world": is_open,
        "eu": is_open & pl.col("is_eu"),
        "eea": is_open & pl.col("is_eea"),
        "de": is_open & (pl.col("country_code") == "DE"),
        "europe": is_open & (pl.col("geography") == "europe"),
        "north_america": is_open & (pl.col("geography") == "north_america"),
        "us_gov": is_region & (pl.col("partition") == "aws-us-gov"),
        "zones": ~is_region & pl.col("partition").is_in(["aws", "azure"]),
    }
    return {scope: regions.filter(condition) for scope, condition in conditions.items()}


def _regions(listed: pl.DataFrame, more: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    named = {
        (provider, region_id): {"provider": provider, "region_id": region_id}
        for provider, region_id in listed.select("provider", "region_id")
        .unique()
        .sort(pl.all())
        .rows()
    }
    for row in more:
        key = (row["provider"], row["region_id"])
        named[key] = {**named.get(key, {}), **row}
    for provider, region_id in list(named):
        parent = _REGION_FACTS.get(region_id, {}).get("parent_region_id")
        if parent is not None:
            named.setdefault((provider, parent), {"provider": provider, "region_id": parent})
    facts = (
        {
            **_ORDINARY_REGION,
            "region_name": row["region_id"],
            "partition": row["provider"],
            **_REGION_FACTS.get(row["region_id"], {}),
            **row,
        }
        for row in named.values()
    )
    return rows_of(REGIONS, *facts)


def _instance_types(listed: pl.DataFrame, more: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    named: dict[tuple[str, str], Mapping[str, Any]] = {
        (provider, name): {"family": name.partition(".")[0] if provider == "aws" else None}
        for provider, name in listed.select("provider", "instance_type")
        .unique()
        .sort(pl.all())
        .rows()
    }
    for row in more:
        key = (row["provider"], row["instance_type"])
        named[key] = {**named.get(key, {}), **row}
    return rows_of(
        INSTANCE_TYPES,
        *(
            {"provider": provider, "instance_type": name, "sources": ["test"], **row}
            for (provider, name), row in named.items()
        ),
    )


def _offers(listed: pl.DataFrame, later: pl.DataFrame) -> pl.DataFrame:
    key = list(OFFERS.key)
    now = listed.select(key).unique().with_columns(price_status=pl.lit("priced"))
    soon = (
        later.select(key)
        .unique()
        .join(now, on=key, how="anti")
        .with_columns(price_status=pl.lit("not_published"))
    )
    return rows_of(OFFERS, *pl.concat([now, soon]).sort(key).iter_rows(named=True))


def _sources(listed: pl.DataFrame) -> pl.DataFrame:
    documents = (
        listed.group_by("source_id", "provider", "region_id")
        .agg(rows=pl.len().cast(pl.Int64))
        .sort("source_id")
    )
    return rows_of(
        SOURCES,
        *(
            {
                "source": "test price list",
                "url": f"https://prices.test/{row['source_id']}",
                "fetched_at": _FETCHED,
                "confirmed_at": _FETCHED,
                "sha256": "0" * 64,
                "bytes": 1000,
                "is_recorded": False,
                **row,
            }
            for row in documents.iter_rows(named=True)
        ),
    )


def _exact(value: Any, dtype: Any) -> Any:
    return Decimal(value) if isinstance(dtype, pl.Decimal) and value is not None else value


def _literal(value: Any) -> pl.Expr:
    return value if isinstance(value, pl.Expr) else pl.lit(value)
