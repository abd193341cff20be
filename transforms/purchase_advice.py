"""What each way to pay costs, and from which use on a commitment pays."""

from decimal import Decimal

import polars as pl

from transforms.comparable import Comparable
from transforms.fx_rates import divide_money, newest_rates
from warehouse.schemas.catalog import PURCHASE_ADVICE
from warehouse.schemas.table import PRICE
from warehouse.schemas.vocabulary import PAYMENT_OPTIONS

_COMMITMENTS = ("reserved", "savings_plan")

_ADVISED = ("on_demand", "spot", *_COMMITMENTS)

_WAY_PARTS = ("purchase_option", "commitment_type", "term_years", "payment_option")

_COMMITMENT_FIELDS = (
    *_WAY_PARTS,
    "price_usd",
    "price_eur",
    "saving_pct",
    "break_even_utilisation",
)

_USE_PCT = (100, 60, 30)

_PERCENT_DECIMALS = 4

_SHARE_DECIMALS = 6

_LOST_WORK_DECIMALS = 4

_EXACT_COST = pl.Decimal(38, 16)
"""A price has 10 decimals, a percentage of at most 4 is a share of 6."""


def make_purchase_advice(
    compared: Comparable, *, fx_rates: pl.DataFrame, lost_work_pct: Decimal
) -> pl.DataFrame:
    """Set the ways to pay side by side for every type, region and system: PURCHASE_ADVICE, by key.

    The prices are those that `comparable_prices` selects: on demand, spot and every commitment. A
    row has what is listed for its operating system, and nothing is added up. So a windows row of
    Azure has no reservation: that covers the machine and not the licence, and is in the linux row.
    Savings plans are in the row of the system whose meter quotes them. Low priority is not advised.

    A commitment costs its effective price in every hour of its term, used or not; on demand costs
    its price in the hours that are used. So on demand costs price x use, break_even_utilisation is
    commitment / on demand, and the cheapest commitment is the same at every use. Ties: on demand,
    then the commitment with the shorter term, with less upfront, first by name. The same rule
    orders `commitments` behind the price. Choices compare exact prices, as listed.

    Spot has no say in cheapest_at: what it costs depends on how much work interruptions destroy.
    spot_useful_hour_usd assumes `lost_work_pct`; spot_break_even_lost_work_pct says what may be
    lost before on demand is cheaper, which by arithmetic is what spot saves. spot_advice and the
    three comparisons with on demand are null where there is no on-demand price.

    A row rests on prices of one currency: of US dollars where there are any, else of the first
    currency in the alphabet (yuan, in China). Amounts in US dollars and euro go by the newest rates
    of that currency; without one they are null, and ratios and choices, which need none, stay.
    Amounts are rounded half-even to 10 decimals, percentages to 4, break_even_utilisation to 6.

    price_quality has the flags of all prices in the row; of spot those of the cheapest zone.

    Args:
        compared: what `comparable_prices` selects.
        fx_rates: FX_RATES.
        lost_work_pct: share of spot hours whose work is lost, in percent: an assumption.

    Raises:
        ValueError: lost_work_pct is not from 0 to below 100, or has more than 4 decimals.
    """
    kept_share = _kept_share(lost_work_pct)
    ways = _ranked_ways(compared.ways)
    listed = _listed(compared, ways)
    places = _places(listed, compared, ways).join(
        newest_rates(fx_rates).drop("source"), on="currency", how="left", validate="m:1"
    )
    priced = _converted(listed, places)
    on_demand = _on_demand(priced)
    return (
        places.lazy()
        .join(on_demand.lazy(), on="place_number", how="left", validate="1:1")
        .join(_spot(priced).lazy(), on="place_number", how="left", validate="1:1")
        .join(
            _commitments(priced, on_demand, ways).lazy(),
            on="place_number",
            how="left",
            validate="1:1",
        )
        .join(_flags(priced).lazy(), on="place_number", how="left", validate="1:1")
        .with_columns(
            *_spot_compared(kept_share),
            *(column for use_pct in _USE_PCT for column in _cheapest_at(use_pct)),
            pl.col("commitments").fill_null([]),
            pl.col("price_quality").fill_null("ok"),
            spot_lost_work_pct=pl.lit(float(lost_work_pct)),
            fx_rate_date="rate_date",
        )
        # The order of the numbers is that of the key, and faster.
        .sort("place_number")
        .pipe(PURCHASE_ADVICE.conform)
        .collect(engine="in-memory")
    )


def _kept_share(lost_work_pct: Decimal) -> Decimal:
    kept_share = 1 - lost_work_pct / 100
    if not 0 < kept_share <= 1 or lost_work_pct != round(lost_work_pct, _LOST_WORK_DECIMALS):
        raise ValueError(
            f"lost_work_pct is {lost_work_pct}: expected a percentage from 0 to below 100 with at "
            f"most {_LOST_WORK_DECIMALS} decimals"
        )
    return kept_share


def _ranked_ways(ways: pl.DataFrame) -> pl.DataFrame:
    """Select the ways that are advised, with a number for each system and the rank in ties."""
    return (
        ways.filter(pl.col("purchase_option").is_in(_ADVISED))
        .with_columns(
            system_number=pl.col("operating_system").rank("dense") - 1,
            way=pl.concat_str(_WAY_PARTS, separator="/", ignore_nulls=True),
        )
        .sort("term_years", pl.col("payment_option").cast(pl.Enum(PAYMENT_OPTIONS)), "way")
        .with_row_index("way_rank")
    )


def _listed(compared: Comparable, ways: pl.DataFrame) -> pl.DataFrame:
    """Give each price its place (type, region, system), in one number that sorts as the key does.

    Where a place has prices in several currencies, those in one of them stay.
    """
    region_count, system_count = compared.regions.height, ways["system_number"].n_unique()
    machine = pl.col("type_number") * region_count + pl.col("region_number")
    listed = compared.prices.join(
        ways.select("way_number", "way_rank", "system_number", "purchase_option"),
        on="way_number",
        validate="m:1",
    ).with_columns(place_number=machine * system_count + pl.col("system_number"))
    dollars = listed.filter(pl.col("currency") == "USD")
    others = listed.filter(pl.col("currency") != "USD").join(dollars, on="place_number", how="anti")
    first = pl.col("currency").min().over("place_number")
    return pl.concat([dollars, others.filter(pl.col("currency") == first)])


def _places(listed: pl.DataFrame, compared: Comparable, ways: pl.DataFrame) -> pl.DataFrame:
    return (
        listed.select("place_number", "type_number", "region_number", "way_rank", "currency")
        .unique("place_number", keep="any")
        .join(compared.types, on="type_number", validate="m:1")
        .join(compared.regions.drop("provider"), on="region_number", validate="m:1")
        .join(ways.select("way_rank", "operating_system"), on="way_rank", validate="m:1")
    )


def _converted(listed: pl.DataFrame, places: pl.DataFrame) -> pl.DataFrame:
    rates = places.select("currency", "units_per_usd", "units_per_eur").unique()
    price = pl.col("price")
    in_dollars = pl.when(pl.col("currency") == "USD").then(price)
    return listed.join(rates, on="currency", validate="m:1").select(
        "place_number",
        "way_rank",
        "purchase_option",
        "price",
        "availability_zone_id",
        "zone_count",
        "price_quality",
        price_usd=in_dollars.otherwise(divide_money(price, pl.col("units_per_usd"))),
        price_eur=divide_money(price, pl.col("units_per_eur")),
    )


def _on_demand(priced: pl.DataFrame) -> pl.DataFrame:
    return priced.filter(pl.col("purchase_option") == "on_demand").select(
        "place_number", on_demand="price", on_demand_usd="price_usd", on_demand_eur="price_eur"
    )


def _spot(priced: pl.DataFrame) -> pl.DataFrame:
    return priced.filter(pl.col("purchase_option") == "spot").select(
        "place_number",
        spot="price",
        spot_usd="price_usd",
        spot_eur="price_eur",
        spot_availability_zone_id="availability_zone_id",
        spot_zone_count="zone_count",
    )


def _commitments(priced: pl.DataFrame, on_demand: pl.DataFrame, ways: pl.DataFrame) -> pl.DataFrame:
    """List each place's commitments, cheapest first, and the cheapest of them on its own."""
    price, paid_on_demand = pl.col("price"), pl.col("on_demand")
    break_even = price.cast(pl.Float64) / paid_on_demand.cast(pl.Float64)
    return (
        priced.lazy()
        .filter(pl.col("purchase_option").is_in(_COMMITMENTS))
        .select("place_number", "way_rank", "price", "price_usd", "price_eur")
        .sort("place_number", "price", "way_rank")
        .join(
            on_demand.lazy().select("place_number", "on_demand"),
            on="place_number",
            how="left",
            validate="m:1",
            maintain_order="left",
        )
        .join(
            ways.lazy().select("way_rank", "way", *_WAY_PARTS),
            on="way_rank",
            validate="m:1",
            maintain_order="left",
        )
        .with_columns(
            saving_pct=_saving_pct(price, paid_on_demand),
            break_even_utilisation=break_even.round(_SHARE_DECIMALS),
        )
        .group_by("place_number", maintain_order=True)
        .agg(
            commitments=pl.struct(_COMMITMENT_FIELDS),
            commitment=price.first(),
            commitment_usd=pl.col("price_usd").first(),
            commitment_way=pl.col("way").first(),
        )
        .collect(engine="in-memory")
    )


def _flags(priced: pl.DataFrame) -> pl.DataFrame:
    flags = pl.col("price_quality").str.split(",").explode(empty_as_null=False)
    return (
        priced.filter(pl.col("price_quality") != "ok")
        .select("place_number", "price_quality")
        .unique()
        .group_by("place_number")
        .agg(price_quality=flags.unique().sort())
        .with_columns(pl.col("price_quality").list.join(","))
    )


def _spot_compared(kept_share: Decimal) -> list[pl.Expr]:
    spot, on_demand = pl.col("spot"), pl.col("on_demand")
    useful_on_demand = on_demand.cast(_EXACT_COST) * pl.lit(kept_share)
    advice = (
        pl.when(spot.is_null())
        .then(pl.lit("not_listed"))
        .when(on_demand.is_null())
        .then(None)
        .when(spot >= on_demand)
        .then(pl.lit("never"))
        .when(spot.cast(_EXACT_COST) < useful_on_demand)
        .then(pl.lit("if_interruptible"))
        .otherwise(pl.lit("if_little_is_lost"))
    )
    saving_pct = _saving_pct(spot, on_demand)
    return [
        saving_pct.alias("spot_saving_pct"),
        saving_pct.alias("spot_break_even_lost_work_pct"),
        divide_money(pl.col("spot_usd"), pl.lit(kept_share)).alias("spot_useful_hour_usd"),
        advice.alias("spot_advice"),
    ]


def _cheapest_at(use_pct: int) -> list[pl.Expr]:
    used = pl.lit(Decimal(use_pct) / 100)
    commitment = pl.col("commitment")
    on_demand = pl.col("on_demand").cast(_EXACT_COST) * used
    # Where one of them is not listed, the comparison is null, which is no "dearer".
    is_dearer = on_demand > commitment.cast(_EXACT_COST)
    takes_on_demand = pl.col("on_demand").is_not_null() & ~is_dearer.fill_null(value=False)
    on_demand_usd = (pl.col("on_demand_usd").cast(_EXACT_COST) * used).cast(PRICE)
    return [
        pl.when(takes_on_demand)
        .then(pl.lit("on_demand"))
        .otherwise("commitment_way")
        .alias(f"cheapest_at_{use_pct}_pct"),
        pl.when(takes_on_demand)
        .then(on_demand_usd)
        .otherwise("commitment_usd")
        .alias(f"cost_at_{use_pct}_pct_usd"),
    ]


def _saving_pct(price: pl.Expr, on_demand: pl.Expr) -> pl.Expr:
    saved = (on_demand - price).cast(pl.Float64)
    return (saved / on_demand.cast(pl.Float64) * 100).round(_PERCENT_DECIMALS)
