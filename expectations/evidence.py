"""The tables that several checks look at, each read once and kept narrow."""

from functools import cached_property

import polars as pl

from expectations.canaries import Canary
from expectations.cheapest_prices import WAY_KEY, cheapest_by_scope, comparable_prices
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

ADVISED_USES = (100, 60, 30)
"""Percent of all hours for which the advice names the cheapest way to pay."""

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
    def types(self) -> pl.DataFrame:
        """What `instance_types` says of a type's family and vCPUs, one row a type_key.

        Columns: provider, type_key, family (the type itself where none is known) as Categorical,
        vcpu_count, is_bare_metal (false where not known).
        """
        return (
            self.table("instance_types")
            .select(
                pl.col("provider").cast(pl.Categorical),
                caseless("instance_type"),
                pl.coalesce("family", "instance_type").cast(pl.Categorical).alias("family"),
                "vcpu_count",
                pl.col("is_bare_metal").fill_null(value=False),
            )
            .unique(["provider", "type_key"], keep="any")
            .collect(engine="in-memory")
        )

    @cached_property
    def machine_prices(self) -> pl.DataFrame:
        """`prices` of machines alone, with the columns of `types`: see `machine_prices`."""
        return machine_prices(self.prices, self.types)

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

        A region's publication is carried over as a whole, so all its documents are, also those
        that no price in force names.
        """
        key = ["provider", "region_key", "source"]
        sources = (
            self.table("sources")
            .with_columns(region_key=pl.col("region_id").str.to_lowercase())
            .collect(engine="in-memory")
        )
        carried = (
            self.prices.filter(is_carried_over())
            .select(pl.col("source_id").cast(pl.String))
            .unique()
            .join(sources, on="source_id")
            .select(key)
            .unique()
            .with_columns(is_carried_over=True)
        )
        return (
            sources.join(carried, on=key, how="left", validate="m:1")
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
        """`prices` that views compare, in all currencies in which providers charge."""
        return comparable_prices(self.prices, self.table("instance_types"))

    @cached_property
    def comparable_in_usd(self) -> pl.DataFrame:
        """`comparable_prices` in US dollars."""
        return self.comparable_prices.filter(pl.col("currency") == "USD")

    @cached_property
    def cheapest_by_scope(self) -> pl.DataFrame:
        """The lowest comparable price of every way to pay and scope: see `cheapest_by_scope`."""
        return cheapest_by_scope(self.comparable_in_usd, self.regions)

    @cached_property
    def winners(self) -> pl.DataFrame:
        """`cheapest_region` of the candidate, narrow.

        Columns: WAY_KEY, scope, instance_type, region_id, region_key, availability_zone_id as
        Categorical (term_years as it is), zone_count, price_usd.
        """
        way = [name for name in WAY_KEY if name != "type_key"]
        words = [*CASELESS, *way, "scope", "availability_zone_id"]
        return (
            self.table("cheapest_region")
            .select(*words, "zone_count", "price_usd")
            .pipe(_as_categories, [name for name in words if name != "term_years"])
        )

    @cached_property
    def advice(self) -> pl.DataFrame:
        """`purchase_advice` of the candidate, narrow.

        Columns: provider, region_id, region_key, instance_type, type_key, operating_system,
        availability_zone_id (of spot), currency and, for each of ADVISED_USES, the cheapest way as
        Categorical, and its cost; on_demand_usd, spot_usd, spot_zone_count.
        """
        words = [
            "provider",
            *CASELESS,
            "operating_system",
            "availability_zone_id",
            "currency",
            *(f"cheapest_at_{use}_pct" for use in ADVISED_USES),
        ]
        costs = [f"cost_at_{use}_pct_usd" for use in ADVISED_USES]
        return (
            self.table("purchase_advice")
            .rename({"spot_availability_zone_id": "availability_zone_id"})
            .select(*words, *costs, "on_demand_usd", "spot_usd", "spot_zone_count")
            .pipe(_as_categories, words)
        )

    @cached_property
    def compared(self) -> pl.DataFrame:
        """The last release's prices beside the candidate's, one row for each of the former.

        Only those of price lists: see `is_listed`. Columns: PRICE_KEY, region_id, instance_type,
        pricing_category, old_price, new_price; the latter is null where the price is gone.
        """
        now = self.prices.select(*PRICE_KEY, new_price="effective_hourly_price")
        # A key that occurs twice is its own finding; here one row each keeps the join one to one.
        now = now.group_by(PRICE_KEY).agg(pl.col("new_price").min())
        return (
            self.previous_prices.filter(is_listed())
            .select(
                *PRICE_KEY,
                "region_id",
                "instance_type",
                "pricing_category",
                old_price="effective_hourly_price",
            )
            .join(now, on=PRICE_KEY, how="left", nulls_equal=True, validate="m:1")
        )


NARROW = (*_WORDS, "effective_hourly_price", "valid_from")
"""Columns of prices that the table checks need."""


def narrow_prices(prices: pl.LazyFrame) -> pl.DataFrame:
    """Collect what the table checks need of prices.

    Returns:
        PRICE_KEY_NOW, region_key, type_key, pricing_category, price_quality, source_id
        as Categorical (term_years as it is), effective_hourly_price, valid_from.
    """
    words = [name for name in _WORDS if name != "term_years"]
    return _as_categories(prices.select(NARROW), words)


def _as_categories(table: pl.LazyFrame, words: list[str]) -> pl.DataFrame:
    """Collect a table with its words as Categorical, and what stands for those of CASELESS."""
    return (
        table.with_columns(caseless(name) for name in CASELESS)
        .with_columns(pl.col(words).cast(pl.Categorical))
        .collect(engine="in-memory")
    )


def machine_prices(prices: pl.DataFrame, types: pl.DataFrame) -> pl.DataFrame:
    """Return what machines cost by themselves, so that regions and sizes compare.

    Linux without software or licence, shared or dedicated, and no list for reference. A licence's
    fee follows other rules than the machine, a host's price too, and spot follows the hour.
    """
    return prices.filter(
        pl.col("operating_system") == "linux",
        pl.col("license_model") == "included",
        pl.col("pre_installed_software") == "none",
        pl.col("tenancy") != "host",
        pl.col("pricing_category") != "Dynamic",
        ~is_reference(),
    ).join(types, on=["provider", "type_key"], how="left", validate="m:1")


def is_carried_over() -> pl.Expr:
    """Say whether a price row is flagged as carried over from an earlier release."""
    return pl.col("price_quality").cast(pl.String).str.contains(CARRIED_OVER, literal=True)


def is_reference() -> pl.Expr:
    """Say whether a price row is of a list for reference, in which nobody is charged."""
    return pl.col("price_quality").cast(pl.String).str.contains("reference", literal=True)


def is_listed() -> pl.Expr:
    """Say whether a price row is of a price list, whose rows stay from night to night.

    AWS's spot prices are observed, by the hour and from other sources. Azure lists spot and low
    priority beside the rest, where a lost page takes all of them along. Lists in other currencies
    come and go with a setting.
    """
    is_observed = (pl.col("provider") == "aws") & (pl.col("purchase_option") == "spot")
    return ~is_observed & ~is_reference()


def caseless(column: str) -> pl.Expr:
    """Return the lower-case column that stands for a column of CASELESS, as Categorical."""
    return pl.col(column).str.to_lowercase().cast(pl.Categorical).alias(CASELESS[column])
