"""Small frames of the catalog's tables, one mapping a row: what a test does not name is ordinary.

Money is written as text and becomes Decimal. A column without an ordinary value is null.
"""

from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import polars as pl

from warehouse.schemas.catalog import (
    FX_RATES,
    INSTANCE_TYPES,
    OFFERS,
    PRICES,
    REGIONS,
    SOURCES,
)
from warehouse.schemas.parts import LISTINGS, REJECTED, ROW_COUNTS
from warehouse.schemas.table import Table

Row = Mapping[str, Any]

PAGE = "azure_retail_prices/eastus/Consumption/001"

_PRICE: Row = {
    "provider": "azure",
    "region_id": "eastus",
    "instance_type": "Standard_D2s_v5",
    "operating_system": "linux",
    "license_model": "included",
    "pre_installed_software": "none",
    "tenancy": "shared",
    "purchase_option": "on_demand",
    "hourly_rate": "0.096",
    "pricing_category": "Standard",
    "currency": "USD",
    "pricing_unit": "Hours",
    "valid_from": datetime(2026, 1, 1, tzinfo=UTC),
    "sku_id": "DZH318Z0BQ4L/00H0",
    "sku_price_id": "000-1",
    "price_quality": "ok",
    "source_id": PAGE,
}
_REGION: Row = {
    "provider": "azure",
    "region_id": "eastus",
    "region_name": "East US",
    "region_kind": "region",
    "partition": "azure",
    "source": "test",
}
_TYPE: Row = {"provider": "azure", "instance_type": "Standard_D2s_v5", "sources": ["test"]}
_OFFER: Row = {
    "provider": "azure",
    "region_id": "eastus",
    "instance_type": "Standard_D2s_v5",
    "price_status": "priced",
}
_RATE: Row = {
    "currency": "USD",
    "rate_date": date(2026, 11, 27),
    "units_per_eur": "1.25",
    "units_per_usd": "1",
    "source": "test",
}
_SOURCE: Row = {
    "source_id": PAGE,
    "source": "azure_retail_prices",
    "provider": "azure",
    "region_id": "eastus",
    "url": "https://prices.azure.com/api/retail/prices",
    "fetched_at": datetime(2026, 11, 29, tzinfo=UTC),
    "confirmed_at": datetime(2026, 11, 29, tzinfo=UTC),
    "sha256": "0" * 64,
    "bytes": 1,
    "rows": 1,
    "is_recorded": False,
}
_REJECTED: Row = {
    "table": "prices",
    "source_id": PAGE,
    "provider": "azure",
    "region_id": "eastus",
    "rule": "unknown_unit",
    "reason": "expected 1 Hour, got 1/Month",
    "row": "{}",
}


def day(text: str) -> datetime:
    """Return the first moment of a day, in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def price_rows(*rows: Row) -> pl.DataFrame:
    """Make rows of `prices`; effective_hourly_price is hourly_rate unless it is named."""
    complete = ({**_PRICE, **row} for row in rows)
    return table_rows(
        PRICES, *({"effective_hourly_price": row["hourly_rate"], **row} for row in complete)
    )


def region_rows(*rows: Row) -> pl.DataFrame:
    return table_rows(REGIONS, *({**_REGION, **row} for row in rows))


def type_rows(*rows: Row) -> pl.DataFrame:
    return table_rows(INSTANCE_TYPES, *({**_TYPE, **row} for row in rows))


def offer_rows(*rows: Row) -> pl.DataFrame:
    return table_rows(OFFERS, *({**_OFFER, **row} for row in rows))


def listing_rows(*rows: Row) -> pl.DataFrame:
    return table_rows(LISTINGS, *({**_OFFER, **row} for row in rows))


def rate_rows(*rows: Row) -> pl.DataFrame:
    return table_rows(FX_RATES, *({**_RATE, **row} for row in rows))


def source_rows(*rows: Row) -> pl.DataFrame:
    return table_rows(SOURCES, *({**_SOURCE, **row} for row in rows))


def rejected_rows(*rows: Row) -> pl.DataFrame:
    return table_rows(REJECTED, *({**_REJECTED, **row} for row in rows))


def count_lines(*rows: tuple[str, str, str | None, int]) -> pl.DataFrame:
    """Make ROW_COUNTS of (source_id, outcome, rule, rows)."""
    return pl.DataFrame(rows, schema=ROW_COUNTS.schema, orient="row")


def table_rows(table: Table, *rows: Row) -> pl.DataFrame:
    """Make rows of any table; a field that a row does not name is null."""
    columns = {
        field.name: [_exact(row.get(field.name), field.dtype) for row in rows]
        for field in table.fields
    }
    return pl.DataFrame(columns, schema=table.schema)


def _exact(value: Any, dtype: Any) -> Any:
    return Decimal(value) if isinstance(dtype, pl.Decimal) and value is not None else value
