"""The tables that several checks look at, each read once and kept narrow."""

from functools import cached_property

import polars as pl

from expectations.canaries import Canary
from expectations.cheapest_prices import cheapest_by_scope, comparable_prices
from expectations.release import Candidate, Request, Tables
from expectations.thresholds import GateThresholds
from warehouse.schemas.catalog import PRICE_KEY_NOW

CASELESS = {"region_id": "region_key", "instance_type": "type_key"}
"""Columns that providers spell in more than one way, and the lower-case columns that stand for
them in comparisons."""

PRICE_KEY = tuple(CASELESS.get(name, name) for name in PRICE_KEY_NOW)
"""PRICE_KEY_NOW in the columns of `Evidence.prices`: one spelling for each region and type."""

NO_PREVIOUS = "there is no earlier release to compare with"

CARRIED_OVER = "carried_over"
"""The flag in price_quality of a price that an earlier release knew."""

_WORDS = (
    *PRICE_KEY_NOW,
    "pricing_category",
    "price_quality",
    "source_id",
)


class Evidence:
    """A candidate, the last release and the request, with what several checks need of them.

    Frames are collected on first use and stay in memory: words as Categorical, which makes a
    million prices some tens of megabytes and joins on thirteen columns cheap.
    """

    def __init__(
        self,
        candidate: Candidate,
        previous: Tables | None,
        request: Request,
        thresholds: GateThresholds,
        canaries: tuple[Canary, ...],
    ) -> None:
        """Keep what is judged; nothing is read yet."""
        self.candidate = candidate
        self.previous = previous
        self.request = request
        self.thresholds = thresholds
        self.canaries = canaries

    def table(self, name: str) -> pl.LazyFrame:
        """Return a table of the candidate."""
        return self.candidate.tables[name]

    @cached_property
    def prices(self) -> pl.DataFrame:
        """The candidate's prices, narrow: see `narrow_prices`."""
        return narrow_prices(self.table("prices"))

    @cached_property
    def announced(self) -> pl.DataFrame:
        """The candidate's announced prices, narrow: see `narrow_prices`."""
        return narrow_prices(self.table("announced_prices"))

    @cached_property
    def previous_prices(self) -> pl.DataFrame:
        """The last release's prices of the regions asked for, narrow; empty without one."""
        if self.previous is None:
            return self.prices.clear()
        asked = self.asked.select("provider", "region_key")
        return narrow_prices(self.previous["prices"]).join(
            asked, on=["provider", "region_key"], how="semi"
        )

    @cached_property
    def regions(self) -> pl.DataFrame:
        """`regions` of the candidate, with region_key; words as Categorical."""
        words = ["provider", "region_id", "region_kind", "partition"]
        return (
            self.table("regions")
            .with_columns(caseless("region_id"))
            .with_columns(pl.col(words).cast(pl.Categorical))
            .collect(engine="in-memory")
        )

    @cached_property
    def sources(self) -> pl.DataFrame:
        """`sources` of the candidate, by source_id, with is_carried_over.

        A region is carried over as a whole, so all its documents are, also those that no price
        in force names.
        """
        carried = (
            self.prices.filter(is_carried_over())
            .select(pl.col("provider", "region_key").cast(pl.String))
            .unique()
            .with_columns(is_carried_over=True)
        )
        return (
            self.table("sources")
            .with_columns(region_key=pl.col("region_id").str.to_lowercase())
            .collect(engine="in-memory")
            .join(carried, on=["provider", "region_key"], how="left", validate="m:1")
            .with_columns(pl.col("is_carried_over").fill_null(value=False))
            .drop("region_key")
            .sort("source_id")
        )

    @cached_property
    def row_counts(self) -> pl.DataFrame:
        """ROW_COUNTS of the candidate, sorted by key."""
        key = ["source_id", "outcome", "rule"]
        return self.candidate.row_counts.collect(engine="in-memory").sort(key)

    @cached_property
    def asked(self) -> pl.DataFrame:
        """Regions that the run was asked for: provider, region_id, region_key; sorted.

        Where all regions were asked for, those are all that the candidate's documents or prices
        or the last release's prices name: the providers publish no other list.
        """
        named = [
            (provider, region_id)
            for provider, regions in self.request.regions.items()
            for region_id in regions or ()
        ]
        explicit = pl.DataFrame(
            named, schema={"provider": pl.String, "region_id": pl.String}, orient="row"
        )
        everything = [name for name, regions in self.request.regions.items() if regions is None]
        known = pl.concat(
            frame.filter(pl.col("provider").is_in(everything) & pl.col("region_id").is_not_null())
            .select("provider", "region_id")
            .unique()
            for frame in self._naming_regions()
        ).collect(engine="in-memory")
        return (
            pl.concat([explicit, known])
            .with_columns(caseless("region_id"))
            .group_by("provider", "region_key")
            .agg(pl.col("region_id").min())
            .with_columns(pl.col("provider").cast(pl.Categorical))
            .sort("provider", "region_key")
        )

    def _naming_regions(self) -> list[pl.LazyFrame]:
        frames = [self.table("prices"), self.table("sources")]
        return frames if self.previous is None else [*frames, self.previous["prices"]]

    @cached_property
    def asked_prices(self) -> pl.DataFrame:
        """`prices` of the regions asked for."""
        asked = self.asked.select("provider", "region_key")
        return self.prices.join(asked, on=["provider", "region_key"], how="semi")

    @cached_property
    def comparable_prices(self) -> pl.DataFrame:
        """`prices` that views compare."""
        return comparable_prices(self.prices, self.table("instance_types"))

    @cached_property
    def cheapest_by_scope(self) -> pl.DataFrame:
        """The lowest comparable price of every way to pay and scope: see `cheapest_by_scope`."""
        return cheapest_by_scope(self.comparable_prices, self.regions)

    @cached_property
    def compared(self) -> pl.DataFrame:
        """The last release's prices beside the candidate's, one row for each of the former.

        Columns: PRICE_KEY, region_id, instance_type, pricing_category, old_price, new_price; the
        latter is null where the price is gone.
        """
        now = self.prices.select(*PRICE_KEY, new_price="effective_hourly_price")
        # A key that occurs twice is its own finding; here one row each keeps the join one to one.
        now = now.group_by(PRICE_KEY).agg(pl.col("new_price").min())
        return self.previous_prices.select(
            *PRICE_KEY,
            "region_id",
            "instance_type",
            "pricing_category",
            old_price="effective_hourly_price",
        ).join(now, on=PRICE_KEY, how="left", nulls_equal=True, validate="m:1")


NARROW = (*_WORDS, "effective_hourly_price", "valid_from")
"""Columns of prices that the table checks need."""


def narrow_prices(prices: pl.LazyFrame) -> pl.DataFrame:
    """Collect what the table checks need of prices.

    Returns:
        PRICE_KEY_NOW, region_key, type_key, pricing_category, price_quality, source_id
        as Categorical (term_years as it is), effective_hourly_price, valid_from.
    """
    words = [name for name in _WORDS if name != "term_years"]
    return (
        prices.select(NARROW)
        .with_columns(caseless(name) for name in CASELESS)
        .with_columns(pl.col(words).cast(pl.Categorical))
        .collect(engine="in-memory")
    )


def is_carried_over() -> pl.Expr:
    """Say whether a price row is flagged as carried over from an earlier release."""
    return pl.col("price_quality").cast(pl.String).str.contains(CARRIED_OVER, literal=True)


def caseless(column: str) -> pl.Expr:
    """Return the lower-case column that stands for a column of CASELESS, as Categorical."""
    return pl.col(column).str.to_lowercase().cast(pl.Categorical).alias(CASELESS[column])
