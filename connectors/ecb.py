"""Euro reference rates of the European Central Bank.

Source: "Euro foreign exchange reference rates", https://www.ecb.europa.eu/stats/eurofxref, file
eurofxref-daily.xml. Published on working days at about 16:00 CET; each rate is units of a currency
for one euro.
"""

from datetime import UTC, date, datetime, time
from decimal import Decimal, InvalidOperation
from xml.etree import ElementTree as ET

import polars as pl

from connectors.errors import WireFormatError
from connectors.http_client import HttpClient
from connectors.landing import Landing
from connectors.urls import canonical_url
from warehouse.schemas.documents import Document
from warehouse.schemas.table import PRICE

SOURCE = "ecb_reference_rates"

_CUBE = "{http://www.ecb.int/vocabulary/2002-08-01/eurofxref}Cube"
_SCHEMA = pl.Schema({"currency": pl.String(), "rate_date": pl.Date(), "units_per_eur": PRICE})
_PRICE_DECIMALS = 10
_CURRENCY_LENGTH = 3


def fetch_reference_rates(
    client: HttpClient, url: str, landing: Landing, *, fetched_at: datetime
) -> Document:
    """Fetch and land the rates of the last working day.

    Raises:
        ConnectorError: they could not be fetched, or are not in their format.
    """
    answer = client.get(url, check=parse_reference_rates)
    stored = landing.put([answer.body])
    rate_date: date = parse_reference_rates(answer.body)["rate_date"][0]
    recorded = answer.head.recorded
    at = recorded.at if recorded else fetched_at
    return Document(
        source_id=SOURCE,
        source=SOURCE,
        provider=None,
        region_id=None,
        url=canonical_url(url),
        fetched_at=at,
        confirmed_at=at,
        published_at=datetime.combine(rate_date, time(), UTC),
        version=rate_date.isoformat(),
        media_type="text/xml",
        sha256=stored.sha256,
        bytes=stored.bytes,
        is_recorded=recorded is not None,
        note=recorded.note if recorded else None,
    )


def parse_reference_rates(body: bytes) -> pl.DataFrame:
    """Read the rates of one day, exactly.

    Returns:
        currency (ISO 4217), rate_date, units_per_eur (Decimal); one row a currency, sorted by it.
        The euro itself is not among them.

    Raises:
        WireFormatError: not the daily file, no US dollar, a currency twice, or a rate that is not
            a positive number of at most ten decimals.
    """
    day = _only_day(body)
    rate_date = _rate_date(day)
    rates: dict[str, Decimal] = {}
    for cube in day.iter(_CUBE):
        if cube is day:
            continue
        currency = cube.get("currency", "")
        if len(currency) != _CURRENCY_LENGTH or currency in rates:
            raise _unexpected("each currency once, as three letters", currency, field="currency")
        rates[currency] = _rate(cube.get("rate", ""), currency)
    if "USD" not in rates:
        raise _unexpected("a rate of the US dollar", ", ".join(sorted(rates)), field="currency")
    currencies = sorted(rates)
    return pl.DataFrame(
        {
            "currency": currencies,
            "rate_date": [rate_date] * len(currencies),
            "units_per_eur": [rates[currency] for currency in currencies],
        },
        schema=_SCHEMA,
    )


def _only_day(body: bytes) -> ET.Element:
    # Entities are what makes XML from outside dangerous; they need a document type, which the
    # bank's file does not have.
    if b"<!DOCTYPE" in body.upper():
        raise _unexpected("XML without a document type", body[:80].decode("utf-8", "replace"))
    try:
        root = ET.fromstring(body)  # noqa: S314 - see above
    except ET.ParseError as exc:
        raise _unexpected("XML", body[:80].decode("utf-8", "replace")) from exc
    days = [cube for cube in root.iter(_CUBE) if cube.get("time") is not None]
    if len(days) != 1:
        raise _unexpected("the rates of one day (eurofxref-daily.xml)", f"{len(days)} days")
    return days[0]


def _rate_date(day: ET.Element) -> date:
    text = day.get("time", "")
    try:
        return date.fromisoformat(text)
    except ValueError as exc:
        raise _unexpected("a date", text, field="time") from exc


def _rate(text: str, currency: str) -> Decimal:
    try:
        rate = Decimal(text)
    except InvalidOperation as exc:
        raise _unexpected(f"a decimal number for {currency}", text, field="rate") from exc
    exponent = rate.as_tuple().exponent
    if not isinstance(exponent, int) or exponent < -_PRICE_DECIMALS or rate <= 0:
        raise _unexpected(
            f"a positive number of at most {_PRICE_DECIMALS} decimals for {currency}",
            text,
            field="rate",
        )
    return rate


def _unexpected(expected: str, came: str, *, field: str | None = None) -> WireFormatError:
    return WireFormatError(
        f"expected {expected} in the euro reference rates, got {came!r}; "
        "check the url of the rates",
        source=SOURCE,
        field=field,
    )
