from datetime import date
from decimal import ROUND_HALF_EVEN, Decimal, localcontext

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from support.strategies import PROPERTY
from transforms.errors import MissingRateError
from transforms.fx_rates import divide_money, make_fx_rates, newest_rate, newest_rates
from warehouse.schemas.catalog import FX_RATES
from warehouse.schemas.table import PRICE

SCHEMA = {"currency": pl.String, "rate_date": pl.Date, "units_per_eur": PRICE}

FRIDAY, MONDAY = date(2026, 11, 27), date(2026, 11, 30)


def _quoted(*rows: tuple[str, date, str]) -> pl.DataFrame:
    exact = [(currency, day, Decimal(units)) for currency, day, units in rows]
    return pl.DataFrame(exact, schema=SCHEMA, orient="row")


def test_rates_are_given_for_the_euro_and_the_dollar_as_well():
    rates = make_fx_rates(_quoted(("USD", FRIDAY, "1.1582"), ("JPY", FRIDAY, "180.62")))
    assert rates.drop("source").rows() == [
        ("EUR", FRIDAY, Decimal("1.0000000000"), Decimal("0.8634087377")),
        ("JPY", FRIDAY, Decimal("180.6200000000"), Decimal("155.9488862027")),
        ("USD", FRIDAY, Decimal("1.1582000000"), Decimal("1.0000000000")),
    ]
    assert rates.schema == FX_RATES.schema
    assert rates["source"].unique().to_list() == [
        "European Central Bank, euro foreign exchange reference rates"
    ]


def test_each_day_goes_by_its_own_dollar_rate():
    rates = make_fx_rates(
        _quoted(
            ("USD", MONDAY, "2"), ("CNY", MONDAY, "8"), ("CNY", FRIDAY, "8"), ("USD", FRIDAY, "1")
        )
    )
    cny = rates.filter(pl.col("currency") == "CNY").select("rate_date", "units_per_usd")
    assert cny.rows() == [(FRIDAY, Decimal(8)), (MONDAY, Decimal(4))]


def test_a_day_without_the_dollar_is_an_error_that_names_the_day():
    with pytest.raises(MissingRateError, match="rate of USD on every day") as caught:
        make_fx_rates(_quoted(("USD", MONDAY, "1.1"), ("JPY", FRIDAY, "180")))
    assert (caught.value.currency, caught.value.days) == ("USD", ("2026-11-27",))


def test_no_rates_give_an_empty_table():
    assert_frame_equal(make_fx_rates(_quoted()), FX_RATES.empty())


def test_the_newest_rate_is_that_of_the_last_day():
    rates = make_fx_rates(_quoted(("USD", MONDAY, "1.2"), ("USD", FRIDAY, "1.1")))
    assert newest_rate(rates, "USD")["rate_date"].to_list() == [MONDAY]
    assert newest_rate(rates, "CHF").is_empty()


def test_each_currency_has_a_newest_rate_of_its_own():
    rates = make_fx_rates(
        _quoted(
            ("USD", FRIDAY, "1"), ("CNY", FRIDAY, "8"), ("USD", MONDAY, "2"), ("JPY", FRIDAY, "180")
        )
    )
    assert newest_rates(rates).select("currency", "rate_date", "units_per_usd").rows() == [
        ("CNY", FRIDAY, Decimal(8)),
        ("EUR", MONDAY, Decimal("0.5")),
        ("JPY", FRIDAY, Decimal(180)),
        ("USD", MONDAY, Decimal(1)),
    ]
    assert_frame_equal(newest_rates(rates.reverse()), newest_rates(rates))
    assert_frame_equal(newest_rates(FX_RATES.empty()), FX_RATES.empty())


@pytest.mark.parametrize(
    ("amount", "quotient"),
    [
        ("0.0000000001", "0.0000000000"),
        ("0.0000000003", "0.0000000002"),
        ("0.0000000005", "0.0000000002"),
        ("0.0000000007", "0.0000000004"),
    ],
)
def test_a_half_is_rounded_to_the_even_neighbour(amount, quotient):
    frame = pl.DataFrame({"amount": [Decimal(amount)]}, schema={"amount": PRICE})
    result = frame.select(divide_money(pl.col("amount"), pl.lit(Decimal(2)))).item()
    assert result == Decimal(quotient)


@PROPERTY
@given(
    st.decimals("0.0000000001", "99999999.9999999999", places=10),
    st.decimals("0.5", "30000", places=10),
)
def test_quotients_are_those_of_exact_arithmetic(amount, rate):
    frame = pl.DataFrame({"a": [amount], "r": [rate]}, schema={"a": PRICE, "r": PRICE})
    with localcontext(prec=60):
        expected = (amount / rate).quantize(Decimal("1e-10"), rounding=ROUND_HALF_EVEN)
    if expected < Decimal(10) ** 8:
        assert frame.select(divide_money(pl.col("a"), pl.col("r"))).item() == expected
