"""Reserved terms of EC2: an hourly rate and, unless nothing is paid upfront, a fee make one price.

The two are rows of their own in an offer file, and nothing promises that they are neighbours. So
they are collected over the whole file, without the columns that describe the machine, and put
together at its end by SKU and term code. The code only says which rows belong together; what the
term is comes from its words. Whether a row is a rate or a fee comes from its unit.
"""

from typing import NamedTuple

import polars as pl

from transforms.fx_rates import divide_money
from warehouse.schemas.rules import aws
from warehouse.schemas.table import PRICE

HOURS_A_YEAR = 8760

TERM = ("sku", "offer_term_code")

_SAME = (
    "instance_type",
    "product_system",
    "product_software",
    "product_license",
    "product_tenancy",
    "commitment",
    "years",
    "payment",
    "effective_at",
)
"""What both rates of a term must say alike."""

RATE_COLUMNS = (*TERM, "rate_code", "usage_type", "operation", *_SAME, "rate", "price")
"""What is kept of a rate until its term is known whole: columns of `aws_offer_checks.read_words`.
As a refused row it is written with these names."""


class ReservedTerms(NamedTuple):
    """The terms of a file.

    priced: the hourly rates that are prices, RATE_COLUMNS with `upfront_fee` (null where there is
    none; else a fee row of the file is part of this price) and `effective_hourly_price`. refused:
    all rates of terms that make no price, RATE_COLUMNS with `rule` and `reason`. Both are in no
    particular order.
    """

    priced: pl.DataFrame
    refused: pl.DataFrame


def pair_rates(rates: pl.DataFrame, spoiled: pl.DataFrame) -> ReservedTerms:
    """Make one price of each term whose rates fit together, and refuse all rates of the others.

    effective_hourly_price = hourly rate + fee / (8760 x years), rounded half-even to 10 decimals.

    Args:
        rates: RATE_COLUMNS of the whole file; rows on demand are ignored.
        spoiled: `TERM` of the terms of which a rate was refused already; such a term gives no
            price, for nobody knows what the refused rate would have said.
    """
    indexed = rates.lazy().with_row_index("row")
    fees = indexed.filter(pl.col("rate") == "fee")
    # The join sees only what it compares: the texts of a whole file would be held twice.
    pairs = (
        indexed.filter(pl.col("rate") == "hour")
        .select("row", *TERM, *_SAME, "price")
        .join(
            fees.select(*TERM, *_SAME, upfront_fee="price"),
            on=TERM,
            how="full",
            suffix="_of_fee",
            coalesce=True,
        )
        .with_columns(effective_hourly_price=_effective())
        .select(
            "row",
            *TERM,
            "upfront_fee",
            "effective_hourly_price",
            fits=_fits() & ~pl.struct(TERM).is_duplicated(),
        )
        .collect(engine="in-memory")
    )
    misfits = pl.concat([pairs.filter(~pl.col("fits")).select(TERM), spoiled.select(TERM)]).unique()
    whole = pairs.join(misfits, on=TERM, how="anti")
    return ReservedTerms(
        rates[whole["row"]].with_columns(whole["upfront_fee"], whole["effective_hourly_price"]),
        _refused(rates, misfits),
    )


def _refused(rates: pl.DataFrame, misfits: pl.DataFrame) -> pl.DataFrame:
    """Select all rates of the terms that make no price, with `rule` and `reason`."""
    if misfits.is_empty():
        return rates.clear().with_columns(
            rule=pl.lit(None, dtype=pl.String), reason=pl.lit(None, dtype=pl.String)
        )
    is_of_a_term = pl.col("rate") != "on_demand"
    return (
        rates.filter(is_of_a_term)
        .join(misfits, on=TERM, how="semi")
        .with_columns(rule=pl.lit(aws.AWS_INCOMPLETE_TERM.id), reason=_reason())
    )


def _effective() -> pl.Expr:
    """Spread the fee over the hours of the term; null where the sum is more than money holds."""
    fee = pl.col("upfront_fee").fill_null(0)
    share = divide_money(fee, pl.col("years") * HOURS_A_YEAR)
    return (pl.col("price") + share).cast(PRICE, strict=False)


def _fits() -> pl.Expr:
    """Tell the pairs that are a whole term; false, never null, for the others."""
    fee = pl.col("upfront_fee")
    hourly = pl.col("price")
    is_alike = pl.all_horizontal(pl.col(name) == pl.col(f"{name}_of_fee") for name in _SAME)
    is_paid_upfront = is_alike & (fee > 0)
    is_money = pl.col("effective_hourly_price").is_not_null()
    payment = pl.col("payment")
    return is_money & (
        pl.when(payment == "no_upfront")
        .then(fee.is_null() & (hourly > 0))
        .when(payment == "partial_upfront")
        .then(is_paid_upfront & (hourly > 0))
        .when(payment == "all_upfront")
        .then(is_paid_upfront & (hourly == 0))
        .otherwise(pl.lit(value=False))
        .fill_null(value=False)
    )


def _reason() -> pl.Expr:
    """Say which rates came for the term; those that were refused before are refused rows too."""
    each = pl.format("{} {} of {} years {} {}", "rate", "price", "years", "commitment", "payment")
    found = each.sort_by("rate", "price", "rate_code").str.join("; ").over(TERM)
    return pl.format("{}. Got {}", pl.lit(aws.AWS_INCOMPLETE_TERM.reason), found)
