"""Collected spot prices -> AWS's public spot feed: one price a region, type and system.

The price table has the mean over a region's zones, where the feed has a price of AWS's choosing.
Both are no more than an indication, and are flagged so wherever they appear.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import polars as pl

from recording.aws_facts import PRICES, is_selected

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from recording.selection import AwsSelection

_FEED_SYSTEMS = ("linux", "mswin")


def read_feed_prices(
    data: Path, selection: AwsSelection
) -> Iterator[tuple[str, str, str | None, str | None]]:
    """Yield (region id, instance type, price on Linux, price on Windows), in that order."""
    table = (
        pl.read_parquet(data / PRICES)
        .filter(
            pl.col("operating_system").is_in(_FEED_SYSTEMS),
            pl.col("spot_avg_usd_per_hour").is_not_null(),
        )
        .pivot(
            "operating_system",
            on_columns=_FEED_SYSTEMS,
            index=["region_code", "instance_type"],
            values="spot_avg_usd_per_hour",
        )
        .sort("region_code", "instance_type")
    )
    for region_id, instance_type, linux, windows in table.select(
        "region_code", "instance_type", *_FEED_SYSTEMS
    ).iter_rows():
        if is_selected(instance_type, selection):
            yield region_id, instance_type, _text(linux), _text(windows)


def _text(price: float | None) -> str | None:
    return None if price is None else f"{Decimal(repr(price)):f}"
