"""What the last release knows of regions that could not be fetched this time."""

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple

import polars as pl

from transforms.list_prices import add_flag, has_ended, in_force, price_key
from transforms.normalized import Normalized, final_counts
from warehouse.schemas.catalog import PRICE_KEY_NOW, SOURCES
from warehouse.schemas.parts import INSTANCE_FACTS, LISTINGS, PRICE_CANDIDATES, REJECTED
from warehouse.schemas.rules.shared import ENDED, LEFT_IN_LAST_RELEASE
from warehouse.schemas.table import TIMESTAMP
from warehouse.schemas.vocabulary import TONIGHT_ONLY_SOURCES


class LastRelease(NamedTuple):
    """The tables of a release that a region is carried over from, as they were published.

    Scans of the release's files: only the rows of what is carried over are read.
    """

    prices: pl.LazyFrame
    announced_prices: pl.LazyFrame
    instance_types: pl.LazyFrame
    offers: pl.LazyFrame
    sources: pl.LazyFrame
    rejected_rows: pl.LazyFrame


class CarriedOver(NamedTuple):
    """Regions of the last release, in the shape of regions that were fetched.

    part: as if normalised and settled; all its prices are flagged carried_over. sources: SOURCES,
    the documents that they were made from, with their own dates.
    """

    part: Normalized
    sources: pl.DataFrame


def carry_over(
    last: LastRelease,
    *,
    provider: str,
    region_ids: Collection[str],
    as_of: datetime,
    only_sources: Collection[str] | None = None,
) -> CarriedOver:
    """Take regions from the last release, moved on to `as_of`.

    Prices that have ended since are filtered as `ended`. Of those left of each price key the newest
    that is not after `as_of` stays: one that was announced in the last release and has come into
    force since replaces the one before it. Prices that start later stay announced. Dates stay the
    provider's own.

    Refused rows are not carried, but what they said of prices still counts, as in `in_force`: where
    the price that was announced for a date since was refused, there is none. Rows of the documents
    that gave no price in force are counted as `left_in_last_release`, so that kept and filtered add
    up to the rows of the document.

    Spot prices of AWS and what it offers are of the moment they were asked for, so they are left
    behind, with their documents.

    Args:
        last: tables of the last release.
        provider: provider of the regions.
        region_ids: regions to take, compared without case. One that the last release does not
            know gives no rows: whether that is too much to miss is for the gate to say.
        as_of: moment of this release, with a time zone.
        only_sources: sources (what a source_id begins with, as aws_savings_plans) whose documents
            and prices are taken, where others of the regions were fetched. Types that are listed
            without a price are then left: a document that was fetched may say otherwise.

    Returns:
        Instance facts are those of the last release for the types that are carried: use them for
        types that no fetched document describes.
    """
    is_ours = (pl.col("provider") == provider) & pl.col("region_id").str.to_lowercase().is_in(
        [region_id.lower() for region_id in region_ids]
    )
    source = pl.col("source_id").str.extract("^([^/]*)")
    is_asked = pl.lit(value=True) if only_sources is None else source.is_in(list(only_sources))
    is_carried = is_ours & is_asked & ~source.is_in(TONIGHT_ONLY_SOURCES)
    is_unpriced = ~pl.col("price_status").is_in(["priced", "not_published"])

    sources = last.sources.filter(is_carried).collect().sort(SOURCES.key)
    listed = pl.concat([last.prices, last.announced_prices]).filter(is_carried).collect()
    refused = last.rejected_rows.filter(is_ours).select(REJECTED.columns).collect()
    listings = last.offers.filter(is_ours, is_unpriced, only_sources is None).collect()
    is_over = has_ended(as_of)
    now = in_force(_moved_on(listed.filter(~is_over), as_of), rejected=refused, as_of=as_of)
    prices = pl.concat([now.prices, now.announced]).with_columns(add_flag("carried_over"))
    part = Normalized(
        prices=prices,
        rejected=REJECTED.empty(),
        counts=_counts(prices, listed.filter(is_over), sources),
        instance_facts=_facts(last.instance_types, prices, listings),
        listings=listings.select(LISTINGS.columns).sort(LISTINGS.key),
    )
    return CarriedOver(part, sources)


def _moved_on(listed: pl.DataFrame, as_of: datetime) -> pl.DataFrame:
    """Leave out what was replaced since: to `in_force`, two dates of AWS contradict each other."""
    is_due = pl.col("valid_from") <= pl.lit(as_of, dtype=TIMESTAMP)
    newest = pl.col("valid_from").max().over(price_key(PRICE_KEY_NOW))
    due = listed.filter(is_due).filter(pl.col("valid_from") == newest)
    return pl.concat([due, listed.filter(~is_due)]).select(PRICE_CANDIDATES.columns)


def _facts(
    instance_types: pl.LazyFrame, prices: pl.DataFrame, listings: pl.DataFrame
) -> pl.DataFrame:
    type_key = pl.col("instance_type").str.to_lowercase().alias("type_key")
    carried = pl.concat([frame.select("provider", type_key) for frame in (prices, listings)])
    return (
        instance_types.with_columns(type_key)
        .join(carried.lazy(), on=["provider", "type_key"], how="semi")
        .select(INSTANCE_FACTS.columns)
        .collect()
        .sort(INSTANCE_FACTS.key)
    )


def _counts(prices: pl.DataFrame, ended: pl.DataFrame, sources: pl.DataFrame) -> pl.DataFrame:
    rows_of_source = sources.filter(pl.col("rows").is_not_null())
    for name, rows in (("kept", prices), ("ended", ended)):
        rows_of_source = rows_of_source.join(
            rows.group_by("source_id").agg(pl.len().cast(pl.Int64).alias(name)),
            on="source_id",
            how="left",
            validate="1:1",
        ).with_columns(pl.col(name).fill_null(0))
    outcomes = (
        ("kept", None, pl.col("kept")),
        ("filtered", ENDED.id, pl.col("ended")),
        ("filtered", LEFT_IN_LAST_RELEASE.id, pl.col("rows") - pl.col("kept") - pl.col("ended")),
    )
    return final_counts(
        rows_of_source.select(
            "source_id",
            outcome=pl.lit(outcome),
            rule=pl.lit(rule, dtype=pl.String),
            rows=rows,
        )
        for outcome, rule, rows in outcomes
    )
