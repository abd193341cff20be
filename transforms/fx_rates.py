"""Exchange rates of the euro, and what they make of a price."""

import polars as pl

from transforms.errors import MissingRateError
from warehouse.schemas.catalog import FX_RATES
from warehouse.schemas.table import PRICE

_SOURCE = "European Central Bank, euro foreign exchange reference rates"


def make_fx_rates(reference_rates: pl.DataFrame) -> pl.DataFrame:
    """Turn the ECB's reference rates into FX_RATES, sorted by key.

    The ECB quotes units of a currency for one euro. A row for the euro itself is added for each
    day, and the rate to the US dollar goes by way of the euro, as the ECB's method says that
    cross rates do: units_per_usd = units_per_eur / (US dollars per euro of the same day), rounded
    half-even to 10 decimals.

    Args:
        reference_rates: currency (ISO 4217), rate_date, units_per_eur (Decimal), of one day or
            several. No rows give no rows.

    Raises:
        MissingRateError: a day has rates, but none of the US dollar.
    """
    quoted = reference_rates.select("currency", "rate_date", pl.col("units_per_eur").cast(PRICE))
    euro = quoted.select(
        pl.lit("EUR").alias("currency"),
        "rate_date",
        pl.lit(1).cast(PRICE).alias("units_per_eur"),
    )
    rates = pl.concat([quoted, euro]).unique()
    dollar = rates.filter(pl.col("currency") == "USD").select(
        "rate_date", usd_per_eur="units_per_eur"
    )
    crossed = rates.join(dollar, on="rate_date", how="left", validate="m:1")
    without = crossed.filter(pl.col("usd_per_eur").is_null())["rate_date"].unique().sort()
    if not without.is_empty():
        raise MissingRateError("USD", tuple(without.cast(pl.String)))
    return (
        crossed.with_columns(
            units_per_usd=divide_money(pl.col("units_per_eur"), pl.col("usd_per_eur")),
            source=pl.lit(_SOURCE),
        )
        .pipe(FX_RATES.conform)
        .sort(FX_RATES.key)
        .collect()
    )


def newest_rates(fx_rates: pl.DataFrame) -> pl.DataFrame:
    """Return the newest rate of every currency: FX_RATES, one row a currency, sorted by it."""
    return (
        fx_rates.sort("currency", "rate_date")
        .unique("currency", keep="last", maintain_order=True)
        .select(FX_RATES.columns)
    )


def newest_rate(fx_rates: pl.DataFrame, currency: str) -> pl.DataFrame:
    """Return the newest rate of a currency: FX_RATES of one row, or of none where it has none."""
    return newest_rates(fx_rates.filter(pl.col("currency") == currency))


def divide_money(amount: pl.Expr, rate: pl.Expr) -> pl.Expr:
    """Divide money by a rate, exactly, and round half-even to the 10 decimals of money.

    polars divides decimals in integers and rounds half-even at the wider of the two scales; a
    test holds it to that.
    """
    return (amount.cast(PRICE) / rate.cast(PRICE)).cast(PRICE)
