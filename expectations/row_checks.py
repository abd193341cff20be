"""Row checks: each rule of the registry bound to a polars predicate and to a measured column.

The predicate (`holds`) splits rows and is exact. The measured column is what Great Expectations
judges by `bound`; money goes there as Float64 with its sign and zero intact, since exactness is
the predicate's part. Both must count the same failures, and the gate refuses to go on if not.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from itertools import combinations

import polars as pl

from expectations.bounds import NONE_ALLOWED, Between, Bound, OneOf
from warehouse.schemas.catalog import TABLE, TABLES
from warehouse.schemas.rules import RULE
from warehouse.schemas.rules.rule import Rule
from warehouse.schemas.table import Table
from warehouse.schemas.vocabulary import PRICE_QUALITY_FLAGS

HOURS_PER_YEAR = 8760

_PRICE_STEP = Decimal("0.0000000001")
"""The last decimal of a price: what rounding may leave between a price and its parts."""

_CHARGED_CURRENCIES = ("USD", "CNY")

_REFERENCE_CODES = (
    "AED ARS AUD BGN BRL CAD CHF CLP CNY COP CZK DKK EUR GBP HKD HRK HUF IDR ILS INR ISK JPY KRW "
    "MXN MYR NOK NZD PEN PHP PLN RON RUB SAR SEK SGD THB TRY TWD VND ZAR"
)

_REFERENCE_CURRENCIES = tuple(_REFERENCE_CODES.split())
"""The currencies besides the dollar in which Azure's price list could be had in August 2026."""

_COMMITTED = ("reserved", "savings_plan")

_CATEGORIES = {
    "on_demand": ("Standard",),
    "spot": ("Dynamic",),
    "low_priority": ("Dynamic",),
    "reserved": ("Committed",),
    "savings_plan": ("Committed",),
    "capacity_block": ("Committed", "Other"),
}
"""FOCUS pricing categories by purchase option. A capacity block is paid in advance for a fixed
time; FOCUS does not say which of the two that is."""


@dataclass(frozen=True, slots=True)
class RowCheck:
    """One row check of one table.

    holds: Boolean, true where the row obeys the rule; never null. measured: Float64 or Categorical
    column that Great Expectations judges by `bound`. came: String that says what is wrong with a
    row that fails. shown: columns that explain a failing row, beside its key.
    """

    rule: Rule
    holds: pl.Expr
    measured: pl.Expr
    bound: Bound
    came: pl.Expr
    shown: tuple[str, ...]


@cache
def row_checks(table_name: str) -> tuple[RowCheck, ...]:
    """Return the row checks of a published table, in the registry's order."""
    checks = {check.rule.id: check for check in _bind(TABLE[table_name])}
    return tuple(checks[rule_id] for rule_id in RULE if rule_id in checks)


def all_row_checks() -> tuple[RowCheck, ...]:
    """Return the row checks of all published tables."""
    return tuple(check for table in TABLES for check in row_checks(table.name))


def _bind(table: Table) -> list[RowCheck]:
    checks = [_not_null(table)]
    if any(field.vocabulary for field in table.fields):
        checks.append(_vocabulary(table))
    match table.name:
        case "prices" | "announced_prices":
            checks += [
                *_price_checks(table.name),
                _quality_flags(table.name),
                _period_not_empty(table.name),
            ]
        case "fx_rates":
            checks.append(_above_zero("fx_rates.rate_positive", "units_per_eur", "units_per_usd"))
        case "cheapest_region":
            checks += [_cheapest_order(), _quality_flags(table.name)]
        case "purchase_advice":
            checks.append(_quality_flags(table.name))
        case "rejected_rows":
            checks.append(_one_of("rejected_rows.rule_registered", "rule", tuple(RULE)))
    return checks


def _not_null(table: Table) -> RowCheck:
    required = [field.name for field in table.fields if not field.nullable]
    return RowCheck(
        RULE[f"{table.name}.not_null"],
        holds=pl.all_horizontal(pl.col(required).is_not_null()),
        measured=pl.sum_horizontal(pl.col(required).is_null()).cast(pl.Float64),
        bound=NONE_ALLOWED,
        came=_listed(pl.when(pl.col(name).is_null()).then(pl.lit(name)) for name in required)
        + pl.lit(" null"),
        shown=(),
    )


def _vocabulary(table: Table) -> RowCheck:
    known = {field.name: list(field.vocabulary) for field in table.fields if field.vocabulary}
    outside = {name: ~pl.col(name).is_in(words) for name, words in known.items()}
    return RowCheck(
        RULE[f"{table.name}.vocabulary"],
        holds=pl.all_horizontal(
            pl.col(name).is_in(words).fill_null(value=True) for name, words in known.items()
        ),
        measured=pl.sum_horizontal(
            condition.fill_null(value=False) for condition in outside.values()
        ).cast(pl.Float64),
        bound=NONE_ALLOWED,
        came=_listed(pl.when(bad).then(_said(name)) for name, bad in outside.items()),
        shown=tuple(known),
    )


def _price_checks(table_name: str) -> list[RowCheck]:
    return [
        _above_zero(f"{table_name}.price_positive", "effective_hourly_price"),
        _not_below_zero(f"{table_name}.hourly_rate_not_negative", "hourly_rate"),
        _not_below_zero(f"{table_name}.upfront_fee_not_negative", "upfront_fee"),
        _effective_price(table_name),
        _commitment(table_name),
        _pricing_category(table_name),
        _currency_known(table_name),
    ]


def _above_zero(rule_id: str, *columns: str) -> RowCheck:
    lowest = pl.min_horizontal(columns)
    return RowCheck(
        RULE[rule_id],
        holds=(lowest > 0).fill_null(value=True),
        measured=lowest.cast(pl.Float64),
        bound=Between(minimum=0, is_minimum_strict=True),
        came=_listed(map(_said, columns)),
        shown=columns,
    )


def _not_below_zero(rule_id: str, column: str) -> RowCheck:
    return RowCheck(
        RULE[rule_id],
        holds=(pl.col(column) >= 0).fill_null(value=True),
        measured=pl.col(column).cast(pl.Float64),
        bound=Between(minimum=0),
        came=_said(column),
        shown=(column,),
    )


def _effective_price(table_name: str) -> RowCheck:
    """Bind the identity without a division, so that it is exact.

    What is off by less than one last decimal an hour is rounding. Measured is the gap minus what
    rounding allows: below 0 is right, and a sign survives Float64.
    """
    columns = ("hourly_rate", "upfront_fee", "effective_hourly_price", "term_years")
    upfront = pl.col("upfront_fee").fill_null(Decimal(0))
    hours = (pl.col("term_years").cast(pl.Int64) * HOURS_PER_YEAR).fill_null(1)
    gap = (pl.col("effective_hourly_price") - pl.col("hourly_rate")) * hours - upfront
    allowed = hours.cast(pl.Decimal(38, 10)) * pl.lit(_PRICE_STEP)
    excess = (
        pl.when(pl.col("term_years").is_null() & (upfront != 0))
        .then(upfront.cast(pl.Decimal(38, 10)).abs())
        .otherwise(gap.abs() - allowed)
    )
    return RowCheck(
        RULE[f"{table_name}.effective_price"],
        holds=(excess < 0).fill_null(value=True),
        measured=excess.cast(pl.Float64),
        bound=Between(maximum=0, is_maximum_strict=True),
        came=_listed(map(_said, columns)),
        shown=columns,
    )


def _commitment(table_name: str) -> RowCheck:
    columns = ("commitment_type", "term_years", "payment_option")
    is_committed = pl.col("purchase_option").is_in(_COMMITTED)
    is_complete = pl.all_horizontal(pl.col(columns).is_not_null())
    is_empty = pl.all_horizontal(pl.col(columns).is_null())
    wrong = (is_committed & ~is_complete) | (~is_committed & ~is_empty)
    said = pl.sum_horizontal(pl.col(columns).is_not_null()).cast(pl.Float64)
    expected = pl.when(is_committed).then(len(columns)).when(~is_committed).then(0)
    return RowCheck(
        RULE[f"{table_name}.commitment"],
        holds=~wrong.fill_null(value=False),
        measured=said - expected,
        bound=Between(minimum=0, maximum=0),
        came=_listed(map(_said, ("purchase_option", *columns))),
        shown=("purchase_option", *columns),
    )


def _pricing_category(table_name: str) -> RowCheck:
    pair = pl.concat_str("purchase_option", "pricing_category", separator="/")
    allowed = {
        f"{option}/{name}": (option, name)
        for option, names in _CATEGORIES.items()
        for name in names
    }
    holds = pl.any_horizontal(
        (pl.col("purchase_option") == option) & (pl.col("pricing_category") == name)
        for option, name in allowed.values()
    )
    return RowCheck(
        RULE[f"{table_name}.pricing_category"],
        holds=pair.is_null() | holds,
        measured=pair.cast(pl.Categorical),
        bound=OneOf(tuple(allowed)),
        came=_listed(map(_said, ("purchase_option", "pricing_category"))),
        shown=("purchase_option", "pricing_category"),
    )


def _currency_known(table_name: str) -> RowCheck:
    """Bind currency and flag together: neither alone says whether a price may be compared."""
    is_reference = _is_flagged("reference")
    currency = pl.col("currency")
    kind = pl.when(is_reference).then(pl.lit("reference")).otherwise(pl.lit("charged"))
    holds = (~is_reference & currency.is_in(_CHARGED_CURRENCIES)) | (
        is_reference & currency.is_in(_REFERENCE_CURRENCIES)
    )
    return RowCheck(
        RULE[f"{table_name}.currency_known"],
        holds=holds.fill_null(value=True),
        measured=pl.concat_str(currency, kind, separator=" ").cast(pl.Categorical),
        bound=OneOf(
            (
                *(f"{name} charged" for name in _CHARGED_CURRENCIES),
                *(f"{name} reference" for name in _REFERENCE_CURRENCIES),
            )
        ),
        came=_listed(map(_said, ("currency", "price_quality"))),
        shown=("currency", "price_quality"),
    )


def _is_flagged(flag: str) -> pl.Expr:
    return pl.col("price_quality").str.contains(flag, literal=True).fill_null(value=False)


def _quality_flags(table_name: str) -> RowCheck:
    good, *flags = (PRICE_QUALITY_FLAGS[0], *sorted(PRICE_QUALITY_FLAGS[1:]))
    lists = (
        ",".join(chosen)
        for size in range(1, len(flags) + 1)
        for chosen in combinations(flags, size)
    )
    return _one_of(f"{table_name}.quality_flags", "price_quality", (good, *lists))


def _period_not_empty(table_name: str) -> RowCheck:
    columns = ("valid_from", "valid_to")
    length = (pl.col("valid_to") - pl.col("valid_from")).dt.total_microseconds()
    return RowCheck(
        RULE[f"{table_name}.period_not_empty"],
        holds=(length > 0).fill_null(value=True),
        measured=length.cast(pl.Float64),
        bound=Between(minimum=0, is_minimum_strict=True),
        came=_listed(map(_said, columns)),
        shown=columns,
    )


def _one_of(rule_id: str, column: str, words: tuple[str, ...]) -> RowCheck:
    return RowCheck(
        RULE[rule_id],
        holds=pl.col(column).is_in(words).fill_null(value=True),
        measured=pl.col(column).cast(pl.Categorical),
        bound=OneOf(words),
        came=_said(column),
        shown=(column,),
    )


def _cheapest_order() -> RowCheck:
    cheapest, dearest = pl.col("price_usd"), pl.col("dearest_price_usd")
    second = pl.coalesce("second_price_usd", "dearest_price_usd")
    wrong = (cheapest > second) | (second > dearest) | (pl.col("region_count") < 1)
    columns = ("price_usd", "second_price_usd", "dearest_price_usd", "region_count")
    steps = (second - cheapest, dearest - second, pl.col("region_count") - 1)
    return RowCheck(
        RULE["cheapest_region.order"],
        holds=~wrong.fill_null(value=False),
        measured=pl.min_horizontal(step.cast(pl.Float64) for step in steps),
        bound=Between(minimum=0),
        came=_listed(map(_said, columns)),
        shown=columns,
    )


def _said(column: str) -> pl.Expr:
    """Write `column=value`, with null spelled out."""
    value = pl.col(column).cast(pl.String).fill_null("null")
    return pl.concat_str(pl.lit(f"{column}="), value)


def _listed(parts: Iterable[pl.Expr]) -> pl.Expr:
    return pl.concat_str(list(parts), separator=", ", ignore_nulls=True)
