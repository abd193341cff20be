"""Whole price lists of summer 2026 from ../shared/data, as releases for single table checks."""

import gzip
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import polars as pl

from support.candidates import Release
from transforms.azure_instance_types import azure_instance_types, parse_vm_sizes
from warehouse.schemas.catalog import INSTANCE_TYPES, PRICES, TABLES
from warehouse.schemas.parts import ROW_COUNTS
from warehouse.schemas.table import PRICE

_ROOT = Path(__file__).resolve().parents[2]
_DATA = _ROOT / "../shared/data"

VANTAGE = _DATA / "aws/prices/vantage_tidy_all-regions_all-os_2026-07-05.parquet"
KARPENTER = _DATA / "aws/prices/karpenter_ondemand_changes.csv.gz"
AZURE_HUB = _DATA / "azure/retail_all_regions_2026-08.parquet"
AZURE_METERS = _DATA / "azure/retail_vm_consumption_5eu_2026-08-20.parquet"
AZURE_CHANGES = _DATA / "azure/retail_vm_changes_5eu_2026-07_08.parquet"

AS_OF = datetime(2026, 8, 22, tzinfo=UTC)

_ORDINARY: Mapping[str, object] = {
    "operating_system": "linux",
    "license_model": "included",
    "pre_installed_software": "none",
    "tenancy": "shared",
    "currency": "USD",
    "pricing_unit": "Hours",
    "valid_from": datetime(2026, 7, 1, tzinfo=UTC),
    "sku_id": "SKU",
    "sku_price_id": "RATE",
    "price_quality": "ok",
}

WAYS: Mapping[str, Mapping[str, object]] = {
    "on_demand": {"purchase_option": "on_demand", "pricing_category": "Standard"},
    "spot": {"purchase_option": "spot", "pricing_category": "Dynamic"},
    "low_priority": {"purchase_option": "low_priority", "pricing_category": "Dynamic"},
    **{
        f"{option}{years}": {
            "purchase_option": option,
            "commitment_type": kind,
            "term_years": years,
            "payment_option": payment,
            "pricing_category": "Committed",
        }
        for option, kind, payment in (
            ("reserved", "standard", "all_upfront"),
            ("savings_plan", "azure_compute", "no_upfront"),
        )
        for years in (1, 3)
    },
}

_AWS_COLUMNS = {
    "ondemand_usd_per_hour": "on_demand",
    "spot_avg_usd_per_hour": "spot",
    "reserved_1yr_allupfront_usd_per_hour": "reserved1",
    "reserved_3yr_allupfront_usd_per_hour": "reserved3",
}

_AWS_SYSTEMS: Mapping[str, Mapping[str, object]] = {
    "linux": {},
    "mswin": {"operating_system": "windows"},
    "rhel": {"operating_system": "rhel"},
    "rhelHA": {"operating_system": "rhel_ha"},
    "sles": {"operating_system": "suse"},
    "ubuntu": {"operating_system": "ubuntu_pro"},
    "dedicated": {"tenancy": "host"},
    **{
        f"{system}{name}": {"operating_system": known, "pre_installed_software": software}
        for system, known in (
            ("linux", "linux"),
            ("mswin", "windows"),
            ("rhel", "rhel"),
            ("rhelHA", "rhel_ha"),
        )
        for name, software in (
            ("SQL", "sql_standard"),
            ("SQLWeb", "sql_web"),
            ("SQLEnterprise", "sql_enterprise"),
        )
    },
}

_AZURE_COLUMNS: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "lpayg": ("on_demand", {}),
    "lspot": ("spot", {}),
    "llow": ("low_priority", {}),
    "lri1": ("reserved1", {"commitment_type": "azure"}),
    "lri3": ("reserved3", {"commitment_type": "azure"}),
    "lsp1": ("savings_plan1", {}),
    "lsp3": ("savings_plan3", {}),
    "wpayg": ("on_demand", {"operating_system": "windows"}),
    "wspot": ("spot", {"operating_system": "windows"}),
    "wlow": ("low_priority", {"operating_system": "windows"}),
    "wdev": ("on_demand", {"operating_system": "windows", "license_model": "byol"}),
}


@cache
def aws_list() -> Release:
    """AWS in all regions on 2026-07-05, every system, on demand, spot and two reserved terms."""
    listed = pl.read_parquet(VANTAGE)
    prices = pl.concat(
        price_rows(
            listed.filter(pl.col("operating_system") == system),
            "aws",
            "region_code",
            "instance_type",
            column,
            {**values, **WAYS[way]},
        )
        for system, values in _AWS_SYSTEMS.items()
        for column, way in _AWS_COLUMNS.items()
        if column in listed.columns
    )
    types = listed.select("instance_type", "vcpu_count").unique("instance_type")
    return release_of(prices, aws_types(types))


@cache
def azure_list() -> Release:
    """Azure in all regions on 2026-08-22, every listed slot."""
    listed = pl.read_parquet(AZURE_HUB).filter(pl.col("last_updated") == "2026-08-22")
    prices = pl.concat(
        price_rows(listed, "azure", "arm_region", "arm_sku", column, {**WAYS[way], **values})
        for column, (way, values) in _AZURE_COLUMNS.items()
    )
    sizes = parse_vm_sizes((_ROOT / "transforms/reference/azure_vm_sizes.csv").read_bytes())
    return release_of(prices, azure_instance_types(sizes, prices, as_of=AS_OF))


def karpenter_on(day: str) -> pl.DataFrame:
    """AWS on demand with Linux in four regions, as Karpenter's file said at the end of a day.

    Its bare metal is left out, for its prices are those of dedicated tenancy.
    """
    with gzip.open(KARPENTER) as file:
        changes = pl.read_csv(file.read(), infer_schema=False, eol_char="\n").with_columns(
            pl.col("currency").str.strip_chars()
        )
    listed = (
        changes.filter(
            pl.col("observed_at").str.slice(0, 10) <= day,
            ~pl.col("instance_type").str.contains(".metal", literal=True),
        )
        .sort("observed_at", maintain_order=True)
        .unique(["region", "instance_type"], keep="last", maintain_order=True)
        .filter(pl.col("event") != "removed")
        .with_columns(price=pl.col("price_per_hour").cast(PRICE))
    )
    return price_rows(
        listed, "aws", "region", "instance_type", "price", WAYS["on_demand"]
    ).with_columns(currency=listed["currency"])


def price_rows(
    listed: pl.DataFrame,
    provider: str,
    region: str,
    instance_type: str,
    column: str,
    values: Mapping[str, object],
) -> pl.DataFrame:
    """Make `prices` of one column of a wide table; what is null or 0 there is no price."""
    price = pl.col(column).round(10).cast(PRICE)
    constants = {**_ORDINARY, **values, "provider": provider, "source_id": provider}
    return (
        listed.filter(pl.col(column) > 0)
        .select(
            region_id=region,
            instance_type=instance_type,
            hourly_rate=price,
            effective_hourly_price=price,
            **{name: pl.lit(value, dtype=PRICES.schema[name]) for name, value in constants.items()},
        )
        .with_columns(
            pl.lit(None, dtype=field.dtype).alias(field.name)
            for field in PRICES.fields
            if field.name
            not in {
                *constants,
                "region_id",
                "instance_type",
                "hourly_rate",
                "effective_hourly_price",
            }
        )
        .select(PRICES.columns)
    )


def aws_types(types: pl.DataFrame) -> pl.DataFrame:
    """Make INSTANCE_TYPES of instance_type and vcpu_count."""
    name = pl.col("instance_type")
    known = types.select(
        name,
        pl.col("vcpu_count").cast(pl.Int32),
        provider=pl.lit("aws"),
        family=name.str.extract(r"^([^.]+)\."),
        is_bare_metal=name.str.contains(".metal", literal=True),
        sources=pl.lit(["test"], dtype=pl.List(pl.String)),
    )
    return pl.concat([INSTANCE_TYPES.empty(), known], how="diagonal")


def release_of(prices: pl.DataFrame, types: pl.DataFrame) -> Release:
    """Make a release of prices and types alone: for single checks, not for the gate."""
    empty = {table.name: table.empty() for table in TABLES}
    places = prices.select("provider", "region_id").unique()
    regions = pl.concat([empty["regions"], places], how="diagonal")
    tables = {**empty, "prices": prices, "instance_types": types, "regions": regions}
    return Release(tables, ROW_COUNTS.empty())
