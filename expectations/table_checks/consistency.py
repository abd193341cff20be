"""What prices and offers must agree on among themselves."""

import polars as pl

from expectations.evidence import CASELESS, PRICE_KEY, Evidence, caseless, is_reference
from expectations.table_checks.measured import (
    Measured,
    TableCheck,
    count_failures,
    judge_each,
    no_limit,
)
from warehouse.schemas.rules import RULE


def consistency_checks() -> tuple[TableCheck, ...]:
    """Return the checks of this module."""
    return (
        TableCheck(RULE["prices.in_force"], _in_force, no_limit, "none"),
        TableCheck(RULE["announced_prices.ahead"], _ahead, no_limit, "none"),
        TableCheck(RULE["prices.one_currency"], _one_currency, lambda _: 1.0, "currency"),
        TableCheck(RULE["prices.windows_above_linux"], _windows_above_linux, no_limit, "none"),
        TableCheck(RULE["offers.status_true"], _status_true, no_limit, "none"),
        TableCheck(
            RULE["offers.price_without_offering"], _price_without_offering, no_limit, "none"
        ),
        TableCheck(
            RULE["offers.offering_without_price"], _offering_without_price, no_limit, "none"
        ),
    )


def _in_force(evidence: Evidence) -> Measured:
    as_of = evidence.request.as_of
    return _misdated(
        "prices", (pl.col("valid_from") > as_of) | (pl.col("valid_to") <= as_of), evidence
    )


def _ahead(evidence: Evidence) -> Measured:
    return _misdated("announced_prices", pl.col("valid_from") <= evidence.request.as_of, evidence)


def _misdated(table: str, wrong: pl.Expr, evidence: Evidence) -> Measured:
    frame = evidence.table(table)
    shown = (*CASELESS, "operating_system", "valid_from", "valid_to", "source_id")
    return count_failures(
        frame.filter(wrong).select(shown).collect(engine="in-memory"),
        of=table,
        checked=frame.select(pl.len()).collect(engine="in-memory").item(),
        counted="rows",
    )


def _one_currency(evidence: Evidence) -> Measured:
    partitions = evidence.regions.select("provider", "region_key", "partition").unique(
        ["provider", "region_key"], keep="any"
    )
    currencies = (
        evidence.prices.filter(~is_reference())
        .group_by("provider", "region_key", "currency")
        .agg(rows=pl.len())
        .join(partitions, on=["provider", "region_key"], validate="m:1")
        .group_by("provider", "partition")
        .agg(
            currencies=pl.col("currency").n_unique(),
            listed=pl.col("currency").cast(pl.String).unique().sort().str.join(", "),
            prices=pl.col("rows").sum(),
        )
    )
    return judge_each(
        currencies,
        subject=pl.col("partition"),
        measured="currencies",
        counted="partitions",
    )


def _windows_above_linux(evidence: Evidence) -> Measured:
    """Compare Windows and Linux prices of one machine, licence model and way to pay."""
    key = [name for name in PRICE_KEY if name != "operating_system"]
    steady = evidence.prices.filter(pl.col("pricing_category") != "Dynamic")
    linux = steady.filter(pl.col("operating_system") == "linux").select(
        *key, linux_price="effective_hourly_price"
    )
    windows = steady.filter(pl.col("operating_system") == "windows").select(
        *key, *CASELESS, windows_price="effective_hourly_price"
    )
    pairs = windows.join(linux, on=key, nulls_equal=True)
    failing = pairs.filter(pl.col("windows_price") < pl.col("linux_price"))
    shown = ["provider", *CASELESS, "tenancy", "purchase_option", "windows_price", "linux_price"]
    return count_failures(failing.select(shown), of="prices", checked=pairs.height, counted="pairs")


def _status_true(evidence: Evidence) -> Measured:
    """Compare offers that say `priced` with what prices holds, both ways."""
    key = ["provider", "region_key", "type_key"]
    priced = evidence.prices.select(key).unique().with_columns(has_price=True)
    compared = (
        evidence.table("offers")
        .select(
            pl.col("provider").cast(pl.Categorical),
            "region_id",
            "instance_type",
            "price_status",
            *(caseless(name) for name in CASELESS),
        )
        .collect(engine="in-memory")
        .join(priced, on=key, how="left", validate="m:1")
        .with_columns(pl.col("has_price").fill_null(value=False))
    )
    says_priced = pl.col("price_status") == "priced"
    failing = compared.filter(says_priced != pl.col("has_price")).drop("region_key", "type_key")
    return count_failures(failing, of="offers", checked=compared.height, counted="rows")


def _price_without_offering(evidence: Evidence) -> Measured:
    is_priced = pl.col("price_status") == "priced"
    return _offers_that(evidence, is_priced, ~pl.col("offered"))


def _offering_without_price(evidence: Evidence) -> Measured:
    return _offers_that(evidence, pl.col("offered"), pl.col("price_status") == "not_published")


def _offers_that(evidence: Evidence, checked: pl.Expr, failing: pl.Expr) -> Measured:
    """Count offers of one kind; what is not known to be orderable or not takes no part."""
    known = (
        evidence.table("offers")
        .filter(pl.col("offered").is_not_null(), checked)
        .select("provider", "region_id", "instance_type", "price_status", "offered")
        .collect(engine="in-memory")
    )
    return count_failures(
        known.filter(failing), of="offers", checked=known.height, counted="offers"
    )
