"""Where each instance type is cheapest."""

import polars as pl

from transforms.comparable import Comparable
from transforms.fx_rates import divide_money, newest_rate
from transforms.list_prices import add_flag
from warehouse.schemas.catalog import CHEAPEST_REGION
from warehouse.schemas.table import PRICE
from warehouse.schemas.vocabulary import CONTINENTS, PUBLIC_PARTITIONS

_GOVERNMENT_PARTITIONS = ("aws-us-gov", "azure-us-gov")

_SPREAD_DECIMALS = 4

_CARRIED_OVER = "carried_over"


def make_cheapest_region(
    compared: Comparable, *, regions: pl.DataFrame, fx_rates: pl.DataFrame
) -> pl.DataFrame:
    """Find the cheapest region of every type, way to pay and scope: CHEAPEST_REGION, by key.

    Compared are the prices that are listed in US dollars. Other currencies are left out rather than
    mixed in: at the day's rate they would change places without any provider having changed a
    price. A region takes part with the cheapest of its zones (spot is priced by zone), and only in
    scopes that its row in `regions` is known to belong to.

    Ties: the regions of the lowest price are sorted by region_id; the first is region_id, the
    others are tied_region_ids. dearest_region_id is the first by region_id of the highest price.
    spread_pct is rounded to 4 decimals. price_eur is rounded half-even to 10 decimals.

    price_quality has the flags of the price of region_id, and carried_over where the price of any
    compared region has it: ties, second price, dearest region and spread rest on all of them.

    Args:
        compared: what `comparable_prices` selects.
        regions: REGIONS.
        fx_rates: FX_RATES; the newest day of the US dollar is taken. Without one, price_eur and
            fx_rate_date are null.
    """
    ranked = _ranked(compared)
    answers = pl.concat(
        _answers(ranked.join(members, on="region_number", how="semi", maintain_order="left"), scope)
        for scope, members in _scopes(regions, compared.regions).items()
    )
    return (
        answers.lazy()
        # The order of the numbers is that of the texts, and faster.
        .sort("offer_number", "scope")
        .with_columns(
            type_number=pl.col("offer_number") // compared.ways.height,
            way_number=pl.col("offer_number") % compared.ways.height,
        )
        .join(compared.types.lazy(), on="type_number", validate="m:1", maintain_order="left")
        .join(compared.ways.lazy(), on="way_number", validate="m:1", maintain_order="left")
        .join(_euro_rate(fx_rates).lazy(), how="cross", maintain_order="left")
        .with_columns(price_eur=divide_money(pl.col("price_usd"), pl.col("usd_per_eur")))
        .pipe(CHEAPEST_REGION.conform)
        .collect(engine="in-memory")
    )


def _ranked(compared: Comparable) -> pl.DataFrame:
    """Sort the prices in dollars by offer, price and region_id.

    An offer is a type and a way to pay, in one number: sorting takes a quarter of the time.
    """
    region_ids = compared.regions.lazy().select("region_number", "region_id")
    return (
        compared.prices.lazy()
        .filter(pl.col("currency") == "USD")
        .select(
            "region_number",
            "price",
            "availability_zone_id",
            "zone_count",
            "price_quality",
            offer_number=pl.col("type_number") * compared.ways.height + pl.col("way_number"),
            is_carried_over=pl.col("price_quality").str.contains(_CARRIED_OVER, literal=True),
        )
        .sort("offer_number", "price", "region_number")
        .join(region_ids, on="region_number", validate="m:1", maintain_order="left")
        .collect(engine="in-memory")
    )


def _scopes(regions: pl.DataFrame, numbered: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Return the region numbers of each scope."""
    is_region = pl.col("region_kind") == "region"
    is_public = pl.col("partition").is_in(PUBLIC_PARTITIONS)
    orderable = is_region & is_public
    conditions = {
        "world": orderable,
        "eu": orderable & pl.col("is_eu"),
        "eea": orderable & pl.col("is_eea"),
        "de": orderable & (pl.col("country_code") == "DE"),
        **{place: orderable & (pl.col("geography") == place) for place in CONTINENTS},
        "us_gov": is_region & pl.col("partition").is_in(_GOVERNMENT_PARTITIONS),
        "zones": ~is_region & is_public,
    }
    known = regions.with_columns(region_key=pl.col("region_id").str.to_lowercase()).join(
        numbered.select("provider", "region_key", "region_number"), on=["provider", "region_key"]
    )
    return {
        scope: known.filter(condition).select("region_number")
        for scope, condition in conditions.items()
    }


def _answers(ranked: pl.DataFrame, scope: str) -> pl.DataFrame:
    """Read each offer's answer off its regions, which come sorted by price and region_id."""
    price = pl.col("price")
    gap = (pl.col("dearest_price_usd") - pl.col("price_usd")).cast(pl.Float64)
    return (
        ranked.with_columns(
            is_cheapest=price == price.first().over("offer_number"),
            is_dearest=price == price.last().over("offer_number"),
        )
        .group_by("offer_number")
        .agg(
            pl.col("region_id", "availability_zone_id", "zone_count", "price_quality").first(),
            pl.col("is_carried_over").any(),
            price_usd=price.first(),
            dearest_price_usd=price.last(),
            region_count=pl.len().cast(pl.Int32),
            cheapest_count=pl.col("is_cheapest").sum(),
            below_dearest_count=(~pl.col("is_dearest")).sum(),
            regions=pl.col("region_id"),
            prices=price,
        )
        .with_columns(
            add_flag(_CARRIED_OVER, where=pl.col("is_carried_over")),
            scope=pl.lit(scope),
            tied_region_ids=pl.col("regions").list.slice(1, pl.col("cheapest_count") - 1),
            second_price_usd=pl.col("prices").list.get(pl.col("cheapest_count"), null_on_oob=True),
            dearest_region_id=pl.col("regions").list.get(pl.col("below_dearest_count")),
            spread_pct=(gap / pl.col("price_usd").cast(pl.Float64) * 100).round(_SPREAD_DECIMALS),
        )
        .drop("regions", "prices", "is_carried_over", "cheapest_count", "below_dearest_count")
    )


def _euro_rate(fx_rates: pl.DataFrame) -> pl.DataFrame:
    """One row, with nulls where there is no rate."""
    newest = newest_rate(fx_rates, "USD").select(
        usd_per_eur="units_per_eur", fx_rate_date="rate_date"
    )
    nothing = pl.DataFrame(
        {"usd_per_eur": [None], "fx_rate_date": [None]},
        schema={"usd_per_eur": PRICE, "fx_rate_date": pl.Date},
    )
    return nothing if newest.is_empty() else newest
