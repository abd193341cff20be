from datetime import UTC, date, datetime
from decimal import Decimal

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from connectors.ecb import fetch_reference_rates, parse_reference_rates
from connectors.errors import WireFormatError
from support.clients import NOW
from support.encode_ecb import encode_reference_rates
from support.fake_ecb import FakeEcb
from support.fake_http import FakeServer, sends_html
from warehouse.schemas.documents import Document
from warehouse.schemas.table import PRICE

RATES = encode_reference_rates(
    {"USD": "1.1582", "JPY": "181.17", "IDR": "19012.31"}, rate_date=date(2026, 11, 27)
)


def test_rates_are_exact_and_sorted_by_currency():
    assert_frame_equal(
        parse_reference_rates(RATES),
        pl.DataFrame(
            {
                "currency": ["IDR", "JPY", "USD"],
                "rate_date": [date(2026, 11, 27)] * 3,
                "units_per_eur": [Decimal("19012.31"), Decimal("181.17"), Decimal("1.1582")],
            },
            schema={"currency": pl.String, "rate_date": pl.Date, "units_per_eur": PRICE},
        ),
    )


def test_fetched_rates_are_landed_with_their_day(client, landing):
    with FakeServer(FakeEcb(RATES)) as server:
        document = fetch_reference_rates(client, server.ecb_url, landing, fetched_at=NOW)

    assert landing.open(document.sha256).read() == RATES
    assert document == Document(
        source_id="ecb_reference_rates",
        source="ecb_reference_rates",
        provider=None,
        region_id=None,
        url=server.ecb_url,
        fetched_at=NOW,
        confirmed_at=NOW,
        published_at=datetime(2026, 11, 27, tzinfo=UTC),
        version="2026-11-27",
        media_type="text/xml",
        sha256=document.sha256,
        bytes=len(RATES),
    )


def test_html_instead_of_rates_is_fetched_again(client, landing, waits):
    with FakeServer(FakeEcb(RATES)) as server:
        server.misbehave(sends_html())
        fetch_reference_rates(client, server.ecb_url, landing, fetched_at=NOW)

    assert waits == [1.0]


def test_lasting_html_is_an_error_and_nothing_is_landed(client, landing):
    with FakeServer(FakeEcb(RATES)) as server:
        server.misbehave(sends_html(), times=None)
        with pytest.raises(WireFormatError):
            fetch_reference_rates(client, server.ecb_url, landing, fetched_at=NOW)

    assert landing.bodies == {}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("</gesmes:Envelope>", "", "expected XML"),
        ("USD", "CHF", "expected a rate of the US dollar"),
        ("JPY", "USD", "expected each currency once"),
        ("JPY", "", "expected each currency once, as three letters"),
        ("1.1582", "0", "expected a positive number of at most 10 decimals for USD .* got '0'"),
        ("1.1582", "-1", "expected a positive number"),
        ("1.1582", "1.12345678901", "at most 10 decimals"),
        ("1.1582", "NaN", "expected a positive number"),
        ("1.1582", "n/a", "expected a decimal number for USD .* got 'n/a'"),
        ("2026-11-27", "27.11.2026", "expected a date"),
        (" time='2026-11-27'", "", "expected the rates of one day .* got '0 days'"),
        ("<gesmes:subject", "<!DOCTYPE x><gesmes:subject", "without a document type"),
    ],
)
def test_what_is_not_the_daily_file_is_refused(old, new, message):
    with pytest.raises(WireFormatError, match=message):
        parse_reference_rates(RATES.replace(old.encode(), new.encode()))
