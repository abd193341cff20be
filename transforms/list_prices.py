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
    FOREIGN_REGION,
    SUPERSEDED,
    UNKNOWN_REGION,
)
from warehouse.schemas.table import TIMESTAMP

_CASELESS = ("region_id", "instance_type")

_SKU = ("region_id", "sku_id")

_AMOUNTS = ("hourly_rate", "upfront_fee", "effective_hourly_price")

_LATEST_FIRST = ("valid_from", "valid_to")

_SOURCE_ORDER = ("source_id", "sku_id", "sku_price_id")

_TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"

_QUOTED_AS = {
    "purchase_option": "on_demand",
    "commitment_type": None,
    "term_years": None,
    "payment_option": None,
}
"""What tells an on-demand price of Azure from the savings plans that its item quotes."""

_IN_NO_SLOT = (AMBIGUOUS_PRICE.id, FOREIGN_REGION.id, UNKNOWN_REGION.id)
"""Rules whose rows are no refused Azure listing of the region: candidates, or of another one."""

_ITEM = pl.Struct(
    dict.fromkeys(
        (
            "arm_sku_name",
            "currency_code",
            "sku_id",
            "type",
            "effective_start_date",
            "effective_end_date",
        ),
        pl.String,
    )
)
"""What of a refused Azure item names the listings that it follows, and says when it holds."""

_LISTING = ("region_id", "instance_type", "currency", "sku_id", "item_type")
"""What the listings of one Azure meter have in common, whatever their dates."""


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

    A savings plan of Azure is quoted in the item of the on-demand price. Where that is refused,
    the plans of its date are refused with it.

    Args:
        prices: PRICE_CANDIDATES, with all rows of each key that occurs: a region, or more.
    """
    merged = _merge(prices, price_key(PRICE_CANDIDATES.key))
    kept, orphaned = _part_from_refused(merged.kept, merged.ambiguous)
    ambiguous = pl.concat([merged.ambiguous, orphaned])
    moved = pl.concat(
        [_taken(merged.equal, EQUAL_DUPLICATE.id), _taken(ambiguous, AMBIGUOUS_PRICE.id)]
    )
    return Settled(kept, _refused(ambiguous), moved_rows(moved))


def in_force(candidates: pl.DataFrame, *, rejected: pl.DataFrame, as_of: datetime) -> InForce:
    """Select what holds at `as_of`; what starts later is announced.

    A price holds from valid_from until just before valid_to. What has ended is filtered as `ended`
    before anything else, and takes no part in what follows. An end is said of one listing, not of
    its key: Azure lists a closed row beside an open one of the same meter and date. So an older
    listing that names no end is in force again when a newer one has ended. That is the listings
    taken at their word; no recorded one shows whether Azure means it so, for Azure also leaves
    superseded listings open.

    Azure, and AWS's spot prices: the newest date of a key that is not after `as_of` wins, older
    ones are filtered as `superseded`. If the newest listing was refused, for whatever reason, the
    key has no price: the one before it no longer holds. (A listing at $0 says nothing, and is no
    candidate: the one before it does hold.) A savings plan of Azure is quoted in the item of the
    on-demand price and comes and goes with it: where the newest item quotes none, or one that was
    refused, there is none, whatever older items quote.

    AWS's other prices are all current and dated by their publication, so two dates of one key are
    two SKUs that we cannot tell apart, not a price and its successor. The date decides nothing
    between them: equal ones are merged (newest stays) and different ones refused. Where the
    on-demand price of SKUs is refused like this, here or by `settle`, so are their reservations and
    savings plans, announced ones too: each would pass for the price of all these machines.

    Args:
        candidates: PRICE_CANDIDATES that `settle` returned, with all rows of each key that
            occurs: a region, or more.
        rejected: REJECTED rows of the same regions, of normalising and of `settle`. They are
            evidence only: neither counted nor returned again.
        as_of: moment that is asked for, with a time zone.
    """
    moment = pl.lit(as_of, dtype=TIMESTAMP)
    key = price_key(PRICE_KEY_NOW)
    is_over = has_ended(as_of)
    is_due = pl.col("valid_from") <= moment
    listed = candidates.filter(~is_over)
    refused = _refused_candidates(rejected).filter(~is_over, is_due)
    doubted = _doubted(refused, _slots_of_refused_items(listed, rejected, as_of=as_of))
    slot = [f"slot_{column}" for column in PRICE_KEY_NOW]
    due = (
        listed.filter(is_due)
        .with_columns(expr.name.prefix("slot_") for expr in _slot())
        .join(doubted, left_on=slot, right_on=PRICE_KEY_NOW, how="left", nulls_equal=True)
    )
    newest_wins = (pl.col("provider") == "azure") | (pl.col("purchase_option") == "spot")

    dated = due.filter(newest_wins)
    is_newest = pl.col("valid_from") == pl.col("valid_from").max().over(slot)
    is_current = is_newest & (pl.col("valid_from") >= pl.col("doubted_from")).fill_null(value=True)
    current = dated.filter(is_current).select(PRICE_CANDIDATES.columns)
    superseded = dated.filter(~is_current)

    undated = due.filter(~newest_wins)
    undoubted = undated.filter(pl.col("doubted_from").is_null())
    merged = _merge(undoubted.select(PRICE_CANDIDATES.columns), key)
    in_doubt = undated.filter(pl.col("doubted_from").is_not_null()).with_columns(
        reason=pl.format(
            "expected one price for one key, found {} beside the rows of this key that were "
            "refused at another date: see there which attribute tells them apart",
            _described(),
        )
    )
    ambiguous = pl.concat([merged.ambiguous, in_doubt.select(merged.ambiguous.columns)])
    machines = _unclear_skus(refused, ambiguous)
    unparted, orphaned = _part_from_skus(merged.kept, machines)
    announced, orphaned_later = _part_from_skus(listed.filter(~is_due), machines)
    ambiguous = pl.concat([ambiguous, orphaned, orphaned_later])
    moved = pl.concat(
        [
            _taken(candidates.filter(is_over), ENDED.id),
            _taken(superseded, SUPERSEDED.id),
            _taken(merged.equal, EQUAL_DUPLICATE.id),
            _taken(ambiguous, AMBIGUOUS_PRICE.id),
        ]
    )
    return InForce(
        prices=pl.concat([current, unparted]),
        announced=announced,
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


def _slot() -> list[pl.Expr]:
    """PRICE_KEY_NOW as `price_key` gives it, a quoted savings plan under its on-demand price."""
    return [
        pl.when(_is_quoted_plan()).then(pl.lit(_QUOTED_AS[name])).otherwise(column).alias(name)
        if name in _QUOTED_AS
        else column
        for name, column in zip(PRICE_KEY_NOW, price_key(PRICE_KEY_NOW), strict=True)
    ]


def _is_quoted_plan() -> pl.Expr:
    return pl.col("commitment_type").eq_missing("azure_compute")


def _part_from_refused(
    kept: pl.DataFrame, refused: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Part rows that stay from savings plans whose on-demand price is refused.

    Returns:
        The rows that stay; the others, with the column `reason`.
    """
    items = refused.filter(~_is_quoted_plan()).select(*price_key(PRICE_KEY_NOW), "valid_from")
    is_plan = _is_quoted_plan()
    plans = kept.filter(is_plan).with_row_index("row")
    quoted = plans.select(*_slot(), "valid_from", "row")
    orphans = quoted.join(items, on=items.columns, how="semi", nulls_equal=True)["row"].implode()
    is_orphan = pl.col("row").is_in(orphans)
    return (
        pl.concat([kept.filter(~is_plan), plans.filter(~is_orphan).drop("row")]),
        plans.filter(is_orphan)
        .drop("row")
        .with_columns(
            reason=pl.format(
                "expected one on-demand price to quote this savings plan, found several that were "
                "refused, and with them {}: see there which attribute tells them apart",
                _described(),
            )
        ),
    )


def _unclear_skus(*refused: pl.DataFrame) -> pl.DataFrame:
    """Return the SKUs of AWS whose on-demand price is refused: region_id and sku_id, as joined."""
    is_machine = (pl.col("provider") == "aws") & (pl.col("purchase_option") == "on_demand")
    return pl.concat(rows.filter(is_machine).select(price_key(_SKU)) for rows in refused)


def _part_from_skus(prices: pl.DataFrame, skus: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Part prices that stay from commitments to a machine that cannot be told from another.

    Returns:
        The prices that stay; the others, with the column `reason`.
    """
    is_commitment = (pl.col("provider") == "aws") & pl.col("purchase_option").is_in(
        ["reserved", "savings_plan"]
    )
    commitments = prices.filter(is_commitment)
    sku = price_key(_SKU)
    return (
        pl.concat([prices.filter(~is_commitment), commitments.join(skus, on=sku, how="anti")]),
        commitments.join(skus, on=sku, how="semi").with_columns(
            reason=pl.format(
                "expected one on-demand price of the machine that this commitment is for, found "
                "several of its key that were refused, and with them {}: see there which attribute "
                "tells them apart",
                _described(),
            )
        ),
    )


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


def _refused_candidates(rejected: pl.DataFrame) -> pl.DataFrame:
    """Read what was refused as ambiguous: the key of PRICE_CANDIDATES, valid_to and sku_id."""
    columns = (*PRICE_CANDIDATES.key, "valid_to", "sku_id")
    named = pl.Struct({name: PRICE_CANDIDATES.field(name).dtype for name in columns})
    return (
        rejected.filter(pl.col("rule") == AMBIGUOUS_PRICE.id)
        .select(pl.col("row").str.json_decode(named))
        .unnest("row")
    )


def _slots_of_refused_items(
    listed: pl.DataFrame, rejected: pl.DataFrame, *, as_of: datetime
) -> pl.DataFrame:
    """Find the slots whose listings a refused Azure item follows: the slot, and doubted_from.

    What was wrong with an item may be what names its slot, so the slot is that of the listings
    with the same skuId. It names a product, size, tier and term in a region: in 33,803 recorded
    meters it is one to one with product and name. Only Dev/Test shares it with pay-as-you-go.
    A refused savings plan comes with its item too, which is a listing itself: it changes nothing.
    """
    items = _refused_items(rejected, as_of=as_of)
    item_type = (
        pl.when(pl.col("purchase_option") == "reserved")
        .then(pl.lit("Reservation"))
        .when(pl.col("license_model") == "byol")
        .then(pl.lit("DevTestConsumption"))
        .otherwise(pl.lit("Consumption"))
    )
    return (
        # Of millions of prices, the few that can match at all.
        listed.filter(
            pl.col("provider") == "azure", pl.col("sku_id").is_in(items["sku_id"].implode())
        )
        .with_columns(item_type=item_type)
        .join(items, left_on=price_key(_LISTING), right_on=_LISTING)
        .select(*_slot(), "doubted_from")
    )


def _refused_items(rejected: pl.DataFrame, *, as_of: datetime) -> pl.DataFrame:
    """Read the Azure items that were refused and would hold at `as_of`: _LISTING, doubted_from.

    One without a readable start is none of them. One without a readable end holds.
    """
    start, end = (
        pl.col(f"effective_{name}_date").str.to_datetime(
            _TIME_FORMAT, time_unit="us", time_zone="UTC", strict=False
        )
        for name in ("start", "end")
    )
    return (
        rejected.filter(pl.col("provider") == "azure", ~pl.col("rule").is_in(_IN_NO_SLOT))
        .select("region_id", pl.col("row").str.json_decode(_ITEM))
        .unnest("row")
        .select(
            "region_id",
            "sku_id",
            instance_type=pl.col("arm_sku_name").str.strip_chars(),
            currency="currency_code",
            item_type="type",
            doubted_from=start,
            valid_to=end,
        )
        .filter(pl.col("doubted_from") <= pl.lit(as_of, dtype=TIMESTAMP), ~has_ended(as_of))
        .select(*price_key(_LISTING), "doubted_from")
    )


def _doubted(refused: pl.DataFrame, slots: pl.DataFrame) -> pl.DataFrame:
    """Say since when a slot has a refused listing: PRICE_KEY_NOW, doubted_from.

    Prices of before no longer hold. At that very moment `settle` leaves none beside those that it
    refuses, and what an item was refused for says nothing against another one of its date.
    """
    # Refused plans match no slot, and need not: the item that quotes one is the newest of its slot.
    keys = refused.select(*price_key(PRICE_KEY_NOW), doubted_from="valid_from")
    return pl.concat([keys, slots]).group_by(PRICE_KEY_NOW).agg(pl.col("doubted_from").max())


def _taken(rows: pl.DataFrame, rule: str) -> pl.DataFrame:
    return rows.select("source_id", rule=pl.lit(rule))
