"""Which prices are listed dearer than the same machine on demand."""

from decimal import Decimal
from typing import Final

import polars as pl

from transforms.list_prices import add_flag, price_key

_MACHINE: Final = (
    "provider",
    "region_id",
    "instance_type",
    "operating_system",
    "license_model",
    "pre_installed_software",
    "tenancy",
    "currency",
)

_SPOT: Final = ("spot", "low_priority")

_COMMITTED: Final = ("reserved", "savings_plan")

_AWS_SPOT_ROUNDING: Final = Decimal("0.00005")
"""AWS lists spot prices with four decimals and on-demand prices with five or more. Where spot costs
exactly as much as on demand, it is therefore listed up to half a unit of the fourth decimal dearer
(10.3379 for 10.33786). Azure lists both alike, and commitments are listed as finely as on-demand
prices, so nothing else is allowed anything."""

_ROWS_AT_A_TIME: Final = 250_000

_SPOT_FLAG: Final = "spot_above_on_demand"

_COMMITMENT_FLAG: Final = "commitment_above_on_demand"


def flag_prices(prices: pl.DataFrame) -> pl.DataFrame:
    """Flag what is listed dearer than the same machine on demand, and nothing else.

    The same machine: provider, region, instance type, operating system, licence model, software,
    tenancy and currency; regions and types compared without case. A price of a zone is held
    against its region's on-demand price. What has no on-demand price is not flagged: it is not
    known to be dear. spot_above_on_demand: spot and low priority, AWS spot by more than rounding
    can explain. commitment_above_on_demand: reservations and savings plans, whose effective hourly
    price counts. Flags of the two kinds that a row brings along (it may be carried over from
    an earlier release) are judged anew; other flags stay.

    Args:
        prices: PRICES, with all rows of each region: one on-demand price for a machine at most.

    Returns:
        The same rows in the same order.
    """
    is_dearer = _dearer(prices)
    option = pl.col("purchase_option")
    judged = prices.with_columns(is_dearer)
    touched = is_dearer | judged["price_quality"].str.contains("_above_on_demand", literal=True)
    # Lists of flags are taken apart for the few rows that have or get one, not for millions.
    few = (
        judged.filter(touched)
        .with_columns(_without_our_flags())
        .with_columns(add_flag(_SPOT_FLAG, where=pl.col("is_dearer") & option.is_in(_SPOT)))
        .with_columns(
            add_flag(_COMMITMENT_FLAG, where=pl.col("is_dearer") & option.is_in(_COMMITTED))
        )
    )
    quality = prices["price_quality"].scatter(touched.arg_true(), few["price_quality"])
    return prices.with_columns(quality)


def _dearer(prices: pl.DataFrame) -> pl.Series:
    """Say of each row whether it is spot or committed and dearer than on demand: `is_dearer`."""
    listed = _machines(prices.filter(pl.col("purchase_option") == "on_demand")).select(
        *_MACHINE, on_demand="effective_hourly_price"
    )
    nothing = pl.Series("is_dearer", [], dtype=pl.Boolean)
    # A join of all rows at once would take twice the memory that the prices themselves do.
    slices = prices.iter_slices(_ROWS_AT_A_TIME)
    return pl.concat([nothing, *(_dearer_of(_machines(rows), listed) for rows in slices)])


def _machines(prices: pl.DataFrame) -> pl.DataFrame:
    # Joins on eight texts are what costs time here: as categories they are eight small numbers.
    return prices.select(
        *(key.cast(pl.Categorical) for key in price_key(_MACHINE)),
        "purchase_option",
        "effective_hourly_price",
    )


def _dearer_of(machines: pl.DataFrame, listed: pl.DataFrame) -> pl.Series:
    price, option = pl.col("effective_hourly_price"), pl.col("purchase_option")
    rounding = (
        pl.when((pl.col("provider") == "aws") & option.is_in(_SPOT))
        .then(pl.lit(_AWS_SPOT_ROUNDING))
        .otherwise(pl.lit(Decimal(0)))
    )
    return (
        machines.join(listed, on=_MACHINE, how="left", validate="m:1", maintain_order="left")
        .select(
            is_dearer=option.is_in(_SPOT + _COMMITTED)
            & (price > pl.col("on_demand") + rounding).fill_null(value=False)
        )
        .to_series()
    )


def _without_our_flags() -> pl.Expr:
    flags = pl.col("price_quality").str.split(",")
    others = flags.list.eval(
        pl.element().filter(~pl.element().is_in([_SPOT_FLAG, _COMMITMENT_FLAG]))
    )
    joined = others.list.join(",")
    return pl.when(joined == "").then(pl.lit("ok")).otherwise(joined).alias("price_quality")
