"""Azure Retail Prices pages, from bytes to `raw.AZURE_RETAIL_ITEMS`.

The only module that knows how the API writes an item (api-version 2023-01-01-preview, see
https://learn.microsoft.com/en-us/rest/api/cost-management/retail-prices/azure-retail-prices).

Prices are JSON numbers. They are taken as the text that was sent and become decimals from it: a
reader that goes through binary floats turns 1134310.37 into 1134310.3700000002. Keys that are not
named here are ignored, for Azure adds some without notice and withdraws others (availabilityId).
"""

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, Inexact, InvalidOperation
from functools import lru_cache
from itertools import accumulate
from typing import Any, TypeVar

import msgspec
import polars as pl
import pyarrow as pa

from connectors.errors import WireFormatError
from warehouse.schemas.raw import AZURE_RETAIL_ITEMS
from warehouse.schemas.rules.azure import LARGEST_AMOUNT
from warehouse.schemas.table import PRICE

logger = logging.getLogger(__name__)

_SCHEMA = AZURE_RETAIL_ITEMS.schema

_PLAIN = b"0123456789.-\n"
_SHORT = PRICE.precision - PRICE.scale
_TOO_LARGE = 10**_SHORT
_TOO_LONG = re.compile(rf"\.[0-9]{{{PRICE.scale + 1}}}|^-?[0-9]{{{_SHORT + 1}}}")
"""More digits than the type of money has, before or after the point."""


@dataclass(frozen=True, slots=True)
class PageEnvelope:
    """What is around the items of a page: all that paging needs.

    `count` is what the page says of itself, `items_count` what it holds. They are equal on an
    intact page; whether a page with other counts is fetched again is the pager's decision.
    """

    count: int
    items_count: int
    next_page_link: str | None
    billing_currency: str


@dataclass(frozen=True, slots=True)
class RetailPage:
    """One page: its items as raw.AZURE_RETAIL_ITEMS in the order sent, and its way on."""

    items: pl.DataFrame
    next_page_link: str | None
    count: int


class _SavingsPlan(msgspec.Struct, gc=False, rename="camel"):
    term: str
    retail_price: msgspec.Raw
    unit_price: msgspec.Raw


class _Item(msgspec.Struct, gc=False, rename="camel"):
    """An item under the raw table's column names; `rename` makes them the API's keys."""

    currency_code: str
    arm_region_name: str
    location: str
    effective_start_date: str
    meter_id: str
    meter_name: str
    product_id: str
    product_name: str
    sku_id: str
    sku_name: str
    service_name: str
    unit_of_measure: str
    type: str
    arm_sku_name: str
    tier_minimum_units: msgspec.Raw
    retail_price: msgspec.Raw
    unit_price: msgspec.Raw
    is_primary_meter_region: bool
    reservation_term: str | None = None
    effective_end_date: str | None = None
    savings_plan: list[_SavingsPlan] | None = None


class _Envelope(msgspec.Struct, rename="pascal"):
    items: list[msgspec.Raw]
    count: int
    next_page_link: str | None
    billing_currency: str


class _Page(msgspec.Struct, rename="pascal"):
    items: list[_Item]
    count: int
    next_page_link: str | None


_Body = TypeVar("_Body")
_ENVELOPE = msgspec.json.Decoder(_Envelope)
_PAGE = msgspec.json.Decoder(_Page)


def read_page_envelope(body: bytes, source_id: str) -> PageEnvelope:
    """Check that a body is a page of the price list, without parsing its items.

    Raises:
        WireFormatError: the body is `null`, `{}`, an error object, HTML, cut short, or lacks a key.
            It is never "no prices": a page without prices has `Items: []` and `Count: 0`.
    """
    envelope = _decode(_ENVELOPE, body, source_id)
    return PageEnvelope(
        count=envelope.count,
        items_count=len(envelope.items),
        next_page_link=envelope.next_page_link,
        billing_currency=envelope.billing_currency,
    )


def read_retail_page(body: bytes, *, source_id: str) -> RetailPage:
    """Parse one page into raw.AZURE_RETAIL_ITEMS, one row an item, numbers exact.

    A number with more decimals than Decimal(18, 10) has is left null and logged: the row is
    refused later for it, its neighbours are not. One that is too large for it becomes
    LARGEST_AMOUNT, for in some currencies that is nothing strange. Keys that only some items have
    (reservationTerm, effectiveEndDate, savingsPlan) are null where they are absent.

    Raises:
        WireFormatError: the body is no page, an item lacks a key or has a value of another JSON
            type; the message names the item and the key.
    """
    page = _decode(_PAGE, body, source_id)
    if page.items:
        # Row by row into tuples and then turned, for to ask each item for each value takes thrice
        # the time, and that was a third of parsing.
        turned = zip(*map(msgspec.structs.astuple, page.items), strict=True)
        values = dict(zip(_Item.__struct_fields__, turned, strict=True))
        frame = pl.DataFrame([_column(name, values[name], source_id=source_id) for name in _SCHEMA])
    else:
        frame = AZURE_RETAIL_ITEMS.empty()
    return RetailPage(items=frame, next_page_link=page.next_page_link, count=page.count)


def _decode(decoder: msgspec.json.Decoder[_Body], body: bytes, source_id: str) -> _Body:
    try:
        return decoder.decode(body)
    except msgspec.MsgspecError as exc:
        raise WireFormatError(
            f"expected a page of the Azure Retail Prices API, got {len(body)} bytes of something "
            f"else: {exc}. Fetch it again; if it stays so, the API has changed and "
            f"connectors/azure/wire.py must follow",
            source=source_id,
            sample=repr(body[:80]),
        ) from exc


def _column(name: str, values: Sequence[Any], *, source_id: str) -> pl.Series:
    dtype = _SCHEMA[name]
    if dtype == PRICE:
        return _money(name, values, source_id=source_id)
    if name == "savings_plan":
        return _savings_plans(name, values, source_id=source_id)
    return pl.Series(name, values, dtype=dtype)


def _money(name: str, numbers: Sequence[msgspec.Raw], *, source_id: str) -> pl.Series:
    """Turn JSON number tokens into decimals as `_exact` does, and log those that it cannot hold."""
    plain = _plain_decimals(b"\n".join(numbers))
    if plain is not None:
        return plain.alias(name)
    tokens = [bytes(number).decode() for number in numbers]
    exact = [_exact(token, field=name, source_id=source_id) for token in tokens]
    unheld = [token for token, value in zip(tokens, exact, strict=True) if value is None]
    if unheld:
        logger.warning(
            "%s: %s left null where Decimal(%d, %d) cannot hold it: %d of %d, the first is %s",
            source_id,
            name,
            PRICE.precision,
            PRICE.scale,
            len(unheld),
            len(tokens),
            unheld[0],
        )
    return pl.Series(name, exact, dtype=PRICE)


@lru_cache(maxsize=4)
def _plain_decimals(joined: bytes) -> pl.Series | None:
    """Parse numbers of a line each; null if there is one that is not plain or does not fit.

    Remembered, because unitPrice repeats retailPrice, and tierMinimumUnits is 0.0 on all pages.
    """
    if joined.translate(None, _PLAIN):
        return None
    texts = joined.decode("ascii").split("\n")
    if any(map(_TOO_LONG.search, [text for text in texts if len(text) > _SHORT])):
        return None
    return pl.Series(texts, dtype=pl.String).cast(PRICE)


def _exact(token: str, *, field: str, source_id: str) -> Decimal | None:
    """Return a token's exact value; LARGEST_AMOUNT, with its sign, for one beyond it.

    Null where it has more decimals than Decimal(18, 10).
    """
    if token[0] not in "-0123456789":
        raise WireFormatError(
            "expected a JSON number, got something else. The API has changed and "
            "connectors/azure/wire.py must follow",
            source=source_id,
            field=field,
            sample=token[:80],
        )
    exactly = Context(prec=PRICE.precision, traps=[Inexact, InvalidOperation])
    try:
        value = Decimal(token)
        if value.copy_abs() >= _TOO_LARGE:
            return LARGEST_AMOUNT.copy_sign(value)
        return exactly.quantize(value, Decimal(1).scaleb(-PRICE.scale))
    except (Inexact, InvalidOperation):
        return None


def _savings_plans(
    name: str, plans: Sequence[list[_SavingsPlan] | None], *, source_id: str
) -> pl.Series:
    """Put each item's plans into a list of structs; null where an item has none."""
    dtype = _SCHEMA[name]
    flat = [plan for listed in plans if listed for plan in listed]
    if not flat:
        return pl.Series(name, [None] * len(plans), dtype=dtype)
    terms, retail_prices, unit_prices = zip(*map(msgspec.structs.astuple, flat), strict=True)
    values = pl.DataFrame(
        [
            pl.Series("term", terms, dtype=pl.String),
            _money("retail_price", retail_prices, source_id=source_id),
            _money("unit_price", unit_prices, source_id=source_id),
        ]
    ).to_struct()
    # In Arrow's offsets a null start marks a null list; the last one only ends the last list.
    ends = accumulate([len(listed) if listed else 0 for listed in plans], initial=0)
    offsets = [end if listed else None for end, listed in zip(ends, plans, strict=False)]
    # They are made by polars: pyarrow imports pandas as soon as it is given Python objects.
    arrow_offsets = pl.Series([*offsets, len(flat)], dtype=pl.Int64).to_arrow()
    lists = pa.LargeListArray.from_arrays(arrow_offsets, values.to_arrow())
    return pl.Series(name, lists).cast(dtype)
