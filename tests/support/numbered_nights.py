"""Nights that follow one another, and what tells from a release of which night it is.

From night to night one price changes on each cloud, by a millionth of a dollar times the night's
number, and nothing else does. So a release that is mixed from two nights is recognised.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import polars as pl

from support.small_night import SmallNight
from warehouse.releases import Release

_FIRST = datetime(2026, 8, 22, 6, tzinfo=UTC)
_STEP = Decimal("0.000001")

_AWS_LIST_PRICE = '"0.0960000000"'
_AWS_PRICE = Decimal("0.096")
_AZURE_LISTING = ("westeurope", "Consumption")

_CHANGING = {"aws": ("us-east-1", "m5.large"), "azure": ("westeurope", "Standard_D2s_v5")}


def as_of(number: int) -> datetime:
    """Nights are an hour apart, so that none of them is stale."""
    return _FIRST + number * timedelta(hours=1)


def night(first: SmallNight, number: int) -> SmallNight:
    """Give the night of a number; number 0 is the first itself."""
    price = f'"{_AWS_PRICE + number * _STEP:.10f}"'
    region, instance_type = _CHANGING["aws"]
    changed = first.with_aws_lines(
        region,
        lambda line: line.replace(_AWS_LIST_PRICE, price) if instance_type in line else line,
    )
    items = [_repriced(item, number) for item in first.azure[_AZURE_LISTING]]
    return replace(changed, azure={**first.azure, _AZURE_LISTING: items})


def number_of(release: Release, first: pl.DataFrame) -> int:
    """Tell of which night a release is; `first` are the prices of night 0.

    Raises AssertionError for a release that is not of exactly one night, table for table.
    """
    for name, file in release.manifest.tables.items():
        assert pl.read_parquet(release.table(name)).height == file.rows, f"{release.id}: {name}"
    prices = pl.read_parquet(release.table("prices"))
    steps = {(_rate(prices, provider) - _rate(first, provider)) / _STEP for provider in _CHANGING}
    hours = (release.manifest.as_of - _FIRST) / timedelta(hours=1)
    assert steps == {Decimal(hours)}, f"{release.id} is mixed from nights: {steps}, {hours}"
    unchanged = ~pl.any_horizontal(*map(_is_changing, _CHANGING))
    assert prices.filter(unchanged).equals(first.filter(unchanged)), release.id
    return int(hours)


def _repriced(item: dict[str, Any], number: int) -> dict[str, Any]:
    name = f"{item['productName']} {item['skuName']}"
    is_changing = item["armSkuName"] == _CHANGING["azure"][1] and not any(
        word in name for word in ("Windows", "Spot", "Low Priority")
    )
    if not is_changing:
        return item
    price = float(Decimal(str(item["retailPrice"])) + number * _STEP)
    return {**item, "retailPrice": price, "unitPrice": price}


def _is_changing(provider: str) -> pl.Expr:
    region, instance_type = _CHANGING[provider]
    return (pl.col("region_id") == region) & (pl.col("instance_type") == instance_type)


def _rate(prices: pl.DataFrame, provider: str) -> Decimal:
    rate: Decimal = prices.filter(
        _is_changing(provider),
        pl.col("operating_system") == "linux",
        pl.col("tenancy") == "shared",
        pl.col("purchase_option") == "on_demand",
        pl.col("license_model") == "included",
        pl.col("pre_installed_software") == "none",
    )["hourly_rate"].item()
    return rate
