"""What a person sees of an answer: the columns that matter, in one currency.

Programs get the whole rows; see `flows.output`.
"""

from collections.abc import Sequence

import polars as pl

from transforms.fx_rates import divide_money, newest_rate

OFFER = ("operating_system", "purchase_option", "commitment_type", "term_years", "payment_option")

DIFFERENCE = (
    "kind",
    "instance_type",
    *OFFER,
    "license_model",
    "pre_installed_software",
    "tenancy",
    "currency",
)

_SIDES = {"published": "release", "listed": "provider"}
_AMOUNTS = {
    "effective_hourly_price": "per hour",
    "upfront_fee": "upfront",
    "valid_from": "from",
}


def cheapest(rows: pl.DataFrame, *, currency: str, fx_rates: pl.DataFrame) -> pl.DataFrame:
    """Show rows of cheapest_region: prices an hour, in US dollars or at the release's euro rate.

    Args:
        rows: CHEAPEST_REGION.
        currency: USD or EUR.
        fx_rates: FX_RATES of the release; without a rate, prices in euro are null.
    """
    unit = f"{currency.lower()}_per_hour"
    return _without_empty(
        rows.select(
            *OFFER,
            "scope",
            pl.concat_list("region_id", "tied_region_ids").alias("cheapest_regions"),
            pl.col("availability_zone_id").alias("zone"),
            pl.col("zone_count").alias("zones"),
            _price("price_usd", currency, fx_rates).alias(unit),
            _price("second_price_usd", currency, fx_rates).alias("next_price"),
            pl.col("dearest_region_id").alias("dearest_region"),
            _price("dearest_price_usd", currency, fx_rates).alias("dearest_price"),
            pl.col("spread_pct").round(1),
            pl.col("region_count").alias("regions"),
            pl.col("price_quality").replace("ok", None),
        )
    )


def prices(rows: pl.DataFrame) -> pl.DataFrame:
    """Show rows of prices, as listed."""
    return _without_empty(
        rows.select(
            "region_id",
            "operating_system",
            pl.col("license_model").alias("licence"),
            pl.col("pre_installed_software").replace("none", None).alias("software"),
            "tenancy",
            *OFFER[1:],
            pl.col("availability_zone_id").alias("zone"),
            pl.col("effective_hourly_price").alias("per_hour"),
            "upfront_fee",
            "currency",
            "valid_from",
            pl.col("price_quality").replace("ok", None),
        )
    )


def differences(rows: pl.DataFrame) -> pl.DataFrame:
    """Show differences between a release and a provider: what the one says and the other."""
    is_plain = rows.select(
        pl.all_horizontal(
            pl.col(f"{side}_hourly_rate").eq_missing(pl.col(f"{side}_effective_hourly_price"))
            for side in _SIDES
        ).all()
    ).item()
    hourly = {} if is_plain else {"hourly_rate": "hourly"}
    return _without_empty(
        rows.select(
            "region_id",
            # Words, for these may then take two lines.
            pl.col("kind").str.replace_all("_", " "),
            *DIFFERENCE[1:],
            *(
                pl.col(f"{side}_{name}").alias(f"{shown} {word}")
                for side, shown in _SIDES.items()
                for name, word in {**hourly, **_AMOUNTS}.items()
            ),
            pl.col("difference_pct").round(2).alias("difference pct"),
        )
    )


def said_once(rows: pl.DataFrame, names: Sequence[str]) -> tuple[pl.DataFrame, str]:
    """Take out columns that say the same in every row, and say it once instead."""
    same = [name for name in names if name in rows.columns and rows[name].n_unique() == 1]
    return rows.drop(same), ", ".join(str(rows[name][0]) for name in same)


def columns(rows: pl.DataFrame) -> pl.DataFrame:
    """Show the columns of a table of the data dictionary."""
    return rows.select("name", "type", "unit", pl.col("key_position").alias("key"), "description")


def tables(rows: pl.DataFrame) -> pl.DataFrame:
    """Show the tables of the data dictionary."""
    return rows.select("table", "rows", "description")


def _price(column: str, currency: str, fx_rates: pl.DataFrame) -> pl.Expr:
    if currency == "USD":
        return pl.col(column)
    dollar = newest_rate(fx_rates, "USD")["units_per_eur"]
    if dollar.is_empty():
        return pl.lit(None, dtype=pl.Decimal(18, 10))
    return divide_money(pl.col(column), pl.lit(dollar.item(), dtype=dollar.dtype)).round(4)


def _without_empty(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.select(
        name for name in rows.columns if rows.is_empty() or rows[name].null_count() < rows.height
    )
