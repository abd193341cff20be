"""Hypothesis strategies for frames of prices.

Values come from small pools, so that keys collide, spellings differ and prices tie often.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
from hypothesis import settings
from hypothesis import strategies as st

from support.rows import Row, price_rows

PROPERTY = settings(deadline=None, max_examples=30)
"""No deadline: the first call of a polars expression is slower than the next ones."""

AS_OF = datetime(2026, 11, 30, tzinfo=UTC)

_DATES = tuple(AS_OF + timedelta(days=days) for days in (-400, -30, 0, 40))

_ENDS = (None, None, None, *(AS_OF + timedelta(days=days) for days in (-10, 0, 20, 60)))

REGION_SPELLINGS = ("eastus", "EastUS", "westus2", "germanynorth", "germanywestcentral")

TYPE_SPELLINGS = ("Standard_D2s_v5", "standard_d2s_v5", "Standard_NC40ads_H100_v5")

PRICE_TEXTS = ("0.0000000001", "0.096", "0.0960000001", "6.98", "55.04", "99999999.9999999999")


@st.composite
def price_row(draw: st.DrawFn, **fixed: Any) -> Row:
    """Draw one row of prices; `fixed` columns are not drawn."""
    rate = draw(st.sampled_from(PRICE_TEXTS))
    valid_from, end = draw(st.sampled_from(_DATES)), draw(st.sampled_from(_ENDS))
    drawn = {
        "provider": draw(st.sampled_from(("aws", "azure"))),
        "region_id": draw(st.sampled_from(REGION_SPELLINGS)),
        "availability_zone_id": draw(st.sampled_from((None, "z1"))),
        "instance_type": draw(st.sampled_from(TYPE_SPELLINGS)),
        "operating_system": draw(st.sampled_from(("linux", "windows"))),
        "license_model": draw(st.sampled_from(("included", "included", "byol"))),
        "tenancy": draw(st.sampled_from(("shared", "shared", "dedicated"))),
        "purchase_option": draw(st.sampled_from(("on_demand", "spot"))),
        "hourly_rate": rate,
        "upfront_fee": draw(st.sampled_from((None, None, None, "3"))),
        "currency": draw(st.sampled_from(("USD", "USD", "CNY"))),
        "valid_from": valid_from,
        "valid_to": end if end is not None and end > valid_from else None,
        "sku_id": draw(st.sampled_from(("A", "B"))),
        "sku_price_id": draw(st.sampled_from(("A.1", "B.1"))),
        "source_id": draw(st.sampled_from(("document/1", "document/2"))),
    }
    return {**drawn, **fixed}


@st.composite
def price_frames(draw: st.DrawFn, max_rows: int = 12, **fixed: Any) -> pl.DataFrame:
    """Draw rows of prices of all dates, with doubles: PRICE_CANDIDATES before they are settled."""
    return price_rows(*draw(st.lists(price_row(**fixed), max_size=max_rows)))


@st.composite
def crowded_price_frames(draw: st.DrawFn, max_rows: int = 8) -> pl.DataFrame:
    """Draw rows that differ in little but price, date and document: nearly all share a key."""
    return draw(
        price_frames(
            max_rows,
            availability_zone_id=None,
            operating_system="linux",
            license_model="included",
            tenancy="shared",
            purchase_option="on_demand",
            currency="USD",
            region_id=draw(st.sampled_from(("eastus", "EastUS"))),
            instance_type="Standard_D2s_v5",
        )
    )


@st.composite
def shuffled(draw: st.DrawFn, frames: st.SearchStrategy[pl.DataFrame]) -> tuple[Any, Any]:
    """Draw a frame, and the same rows in another order."""
    frame = draw(frames)
    return frame, frame[draw(st.permutations(range(frame.height)))]
