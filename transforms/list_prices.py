"""From what documents list to what is in force: one price for each key, or none.

Regions and instance types are compared without case: two spellings are one key.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import polars as pl

from transforms.normalized import moved_rows, rejected_frame
from warehouse.schemas.catalog import PRICE_KEY_NOW
from warehouse.schemas.parts import PRICE_CANDIDATES
from warehouse.schemas.rules.shared import (
    AMBIGUOUS_PRICE,
    ENDED,
    EQUAL_DUPLICATE,
    SUPERSEDED,
)
from warehouse.schemas.table import TIMESTAMP

_CASELESS = ("region_id", "instance_type")

_AMOUNTS = ("hourly_rate", "upfront_fee", "effective_hourly_price")

_LATEST_FIRST = ("valid_from", "valid_to")

_SOURCE_ORDER = ("source_id", "sku_id", "sku_price_id")

_TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"

_NEWEST_WINS = ("azure",)
"""Providers that list a price and those that it replaced side by side, told apart by date alone.
AWS publishes current prices only and dates them by the publication, so with AWS two dates under
one key are two SKUs that we cannot tell apart, not a price and its successor."""


class Settled(NamedTuple):
    """A region's prices without doubles.

    prices: PRICE_CANDIDATES, in no particular order, no two of one key. rejected: REJECTED.
    counts: signed ROW_COUNTS to add to those of normalising (see `moved_rows`).
    """

    prices: pl.DataFrame
    rejected: pl.DataFrame
    counts: pl.DataFrame


class InForce(NamedTuple):
    """Prices at one moment.

    prices: PRICES, one row for each key without valid_from. announced: ANNOUNCED_PRICES.
    rejected: REJECTED. counts: signed ROW_COUNTS to add to those before (see `moved_rows`).
    prices and announced are in no particular order.
    """

    prices: pl.DataFrame
    announced: pl.DataFrame
    rejected: pl.DataFrame
    counts: pl.DataFrame


class _Merged(NamedTuple):
    kept: pl.DataFrame
    equal: pl.DataFrame
    ambiguous: pl.DataFrame
    """With the column `reason`."""


def settle(prices: pl.DataFrame) -> Settled:
    """Merge equal rows of one key and date, and refuse different ones.

    Of rows that say the same price, the one that ends last stays (open is later than any end), of
    these the one with the smallest (source_id, sku_id, sku_price_id), and the others are filtered
    as `equal_duplicate`. Where one key and date has different prices, all its rows are refused as
    `ambiguous_price`, each with the cheapest and the dearest of them in its reason; the row in
    `rejected` is the candidate, as JSON. That they end at different times excuses nothing: while
    both hold, nobody knows which one is charged.

    Args:
        prices: PRICE_CANDIDATES, with all rows of each key that occurs: a region, or more.
    """
    merged = _merge(prices, price_key(PRICE_CANDIDATES.key))
    moved = pl.concat(
        [_taken(merged.equal, EQUAL_DUPLICATE.id), _taken(merged.ambiguous, AMBIGUOUS_PRICE.id)]
    )
    return Settled(merged.kept, _refused(merged.ambiguous), moved_rows(moved))


def in_force(candidates: pl.DataFrame, *, rejected: pl.DataFrame, as_of: datetime) -> InForce:
    """Select what holds at `as_of`; what starts later is announced.

    A price holds from valid_from until just before valid_to. What has ended is filtered as `ended`
    before anything else, and takes no part in what follows. An end is said of one listing, not of
    its key: Azure lists a closed row beside an open one of the same meter and date. So an older
    listing that names no end is in force again when a newer one has ended. That is the listings
    taken at their word; no recorded one shows whether Azure means it so, for Azure also leaves
    superseded listings open.

    Azure: the newest date of a key that is not after `as_of` wins, older ones are filtered as
    `superseded`. If the newest listing was refused as ambiguous, the key has no price: the one
    before it no longer holds. AWS: the date decides nothing between two SKUs of one key that are
    both in force, so equal ones are merged (newest stays) and different ones refused.

    Args:
        candidates: PRICE_CANDIDATES that `settle` returned, with all rows of each key that
            occurs: a region, or more.
        rejected: REJECTED rows that `settle` returned with them; rows of other rules are ignored.
        as_of: moment that is asked for, with a time zone.
    """
    moment = pl.lit(as_of, dtype=TIMESTAMP)
    key = price_key(PRICE_KEY_NOW)
    is_over = has_ended(as_of)
    is_due = pl.col("valid_from") <= moment
    listed = candidates.filter(~is_over)
    doubted = _doubted(rejected).filter(~is_over, is_due).group_by(key).agg(doubted_from=_newest())
    due = (
        listed.filter(is_due)
        .join(doubted, left_on=key, right_on=PRICE_KEY_NOW, how="left", nulls_equal=True)
        .select(*PRICE_CANDIDATES.columns, "doubted_from")
    )
    newest_wins = pl.col("provider").is_in(_NEWEST_WINS)

    dated = due.filter(newest_wins)
    is_newest = pl.col("valid_from") == _newest().over(key)
    is_current = is_newest & (pl.col("valid_from") > pl.col("doubted_from")).fill_null(value=True)
    current = dated.filter(is_current).drop("doubted_from")
    superseded = dated.filter(~is_current)

    undated = due.filter(~newest_wins)
    merged = _merge(undated.filter(pl.col("doubted_from").is_null()).drop("doubted_from"), key)
    in_doubt = undated.filter(pl.col("doubted_from").is_not_null()).with_columns(
        reason=pl.format(
            "expected one price for one key, found {} beside the rows of this key that were "
            "refused at another date: see there which attribute tells them apart",
            _described(),
        )
    )
    ambiguous = pl.concat([merged.ambiguous, in_doubt.drop("doubted_from")])
    moved = pl.concat(
        [
            _taken(candidates.filter(is_over), ENDED.id),
            _taken(superseded, SUPERSEDED.id),
            _taken(merged.equal, EQUAL_DUPLICATE.id),
            _taken(ambiguous, AMBIGUOUS_PRICE.id),
        ]
    )
    return InForce(
        prices=pl.concat([current, merged.kept]),
        announced=listed.filter(~is_due),
        rejected=_refused(ambiguous),
        counts=moved_rows(moved),
    )


def has_ended(as_of: datetime) -> pl.Expr:
    """Tell the prices that the provider says held until `as_of` or earlier; never null."""
    return (pl.col("valid_to") <= pl.lit(as_of, dtype=TIMESTAMP)).fill_null(value=False)


def price_key(columns: Sequence[str]) -> list[pl.Expr]:
    """Return the key columns as they are compared: regions and instance types without case."""
    return [
        pl.col(column).str.to_lowercase() if column in _CASELESS else pl.col(column)
        for column in columns
    ]


def add_flag(flag: str, *, where: pl.Expr | None = None) -> pl.Expr:
    """Add a flag to `price_quality`, which stays a comma list in alphabetical order.

    "ok" gives way to the first flag, and a flag that is there already is not repeated.

    Args:
        flag: one of PRICE_QUALITY_FLAGS other than ok.
        where: rows that get it; all rows by default.
    """
    quality = pl.col("price_quality")
    flags = quality.str.split(",").list.concat(pl.lit([flag])).list.unique().list.sort()
    flagged = pl.when(quality == "ok").then(pl.lit(flag)).otherwise(flags.list.join(","))
    if where is None:
        return flagged.alias("price_quality")
    return pl.when(where).then(flagged).otherwise(quality).alias("price_quality")


def _merge(candidates: pl.DataFrame, key: list[pl.Expr]) -> _Merged:
    # Nearly all rows are alone with their key, and only a hash tells so; sorting is for the rest.
    is_alone = candidates.select(pl.len().over(key) == 1).to_series()
    # Nulls sort first in either direction: an open price comes before one that ends.
    order = list(dict.fromkeys((*_LATEST_FIRST, *_SOURCE_ORDER, *PRICE_CANDIDATES.columns)))
    descending = [column in _LATEST_FIRST for column in order]
    doubles = candidates.filter(~is_alone).sort(order, descending=descending)
    is_ambiguous = doubles.select(pl.struct(_AMOUNTS).n_unique().over(key) > 1).to_series()
    same = doubles.filter(~is_ambiguous)
    is_first = same.select(pl.struct(key).is_first_distinct()).to_series()
    return _Merged(
        kept=pl.concat([candidates.filter(is_alone), same.filter(is_first)]),
        equal=same.filter(~is_first),
        ambiguous=doubles.filter(is_ambiguous).with_columns(reason=_ambiguity(key)),
    )


def _ambiguity(key: list[pl.Expr]) -> pl.Expr:
    # Only the cheapest and the dearest are quoted, so a key that thousands of rows share (an
    # attribute that the provider added) costs no more to report than one that two share.
    by_price = _described().sort_by(*_AMOUNTS, *_SOURCE_ORDER)
    return pl.format(
        "expected one price for one key, found {} rows: {}; and {}. Find the attribute that "
        "tells them apart",
        pl.len().over(key),
        by_price.first().over(key),
        by_price.last().over(key),
    )


def _described() -> pl.Expr:
    return pl.format(
        "{} {} an hour{} (sku_id {}, sku_price_id {}, from {}{}, in {})",
        "hourly_rate",
        "currency",
        pl.format(" and {} upfront", "upfront_fee").fill_null(""),
        "sku_id",
        "sku_price_id",
        pl.col("valid_from").dt.strftime(_TIME_FORMAT),
        pl.format(" until {}", pl.col("valid_to").dt.strftime(_TIME_FORMAT)).fill_null(""),
        "source_id",
    )


def _refused(ambiguous: pl.DataFrame) -> pl.DataFrame:
    return rejected_frame(
        ambiguous,
        source_id=pl.col("source_id"),
        provider=pl.col("provider"),
        region_id=pl.col("region_id"),
        rule=pl.lit(AMBIGUOUS_PRICE.id),
        reason=pl.col("reason"),
        row_columns=PRICE_CANDIDATES.columns,
    )


def _doubted(rejected: pl.DataFrame) -> pl.DataFrame:
    columns = (*PRICE_CANDIDATES.key, "valid_to")
    dated_key = pl.Struct({name: PRICE_CANDIDATES.field(name).dtype for name in columns})
    return (
        rejected.filter(pl.col("rule") == AMBIGUOUS_PRICE.id)
        .select(pl.col("row").str.json_decode(dated_key))
        .unnest("row")
    )


def _newest() -> pl.Expr:
    return pl.col("valid_from").max()


def _taken(rows: pl.DataFrame, rule: str) -> pl.DataFrame:
    return rows.select("source_id", rule=pl.lit(rule))
