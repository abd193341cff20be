from datetime import date
from decimal import ROUND_HALF_EVEN, Decimal

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from support.rows import day, price_rows, rate_rows, region_rows, type_rows
from support.strategies import PRICE_TEXTS, PROPERTY, price_frames, shuffled
from transforms.cheapest_region import make_cheapest_region
from transforms.comparable import comparable_prices
from warehouse.schemas.catalog import CHEAPEST_REGION, FX_RATES, INSTANCE_TYPES, PRICES

GERMANY = {"country_code": "DE", "geography": "europe", "is_eu": True, "is_eea": True}
AMERICA = {"country_code": "US", "geography": "north_america", "is_eu": False, "is_eea": False}
NORWAY = {"country_code": "NO", "geography": "europe", "is_eu": False, "is_eea": True}

REGIONS = region_rows(
    {"region_id": "eastus", **AMERICA},
    {"region_id": "westus2", **AMERICA},
    {"region_id": "germanynorth", **GERMANY},
    {"region_id": "germanywestcentral", **GERMANY},
    {"region_id": "norwayeast", **NORWAY},
    {"region_id": "mystery"},
    {"region_id": "usgovvirginia", "partition": "azure-us-gov", **AMERICA},
    {"region_id": "chinanorth", "partition": "azure-cn", "geography": "asia"},
    {"region_id": "attdallas1", "region_kind": "edge_zone", **AMERICA},
    {
        "region_id": "govzone",
        "region_kind": "local_zone",
        "partition": "azure-us-gov",
        **AMERICA,
    },
)


def _view(prices, *, regions=REGIONS, instance_types=None, fx_rates=None) -> pl.DataFrame:
    compared = comparable_prices(
        prices,
        instance_types=INSTANCE_TYPES.empty() if instance_types is None else instance_types,
    )
    return make_cheapest_region(
        compared,
        regions=regions,
        fx_rates=FX_RATES.empty() if fx_rates is None else fx_rates,
    )


def _of(view: pl.DataFrame, scope: str, *columns: str):
    rows = view.filter(pl.col("scope") == scope).select(columns)
    return rows.item() if len(columns) == 1 else rows.row(0)


def _priced(**rates: str) -> pl.DataFrame:
    return price_rows(
        *({"region_id": region, "hourly_rate": rate} for region, rate in rates.items())
    )


def test_all_columns_of_a_world_of_four_regions():
    view = _view(
        _priced(eastus="6.98", westus2="6.98", germanywestcentral="9.074", germanynorth="8"),
        fx_rates=rate_rows({"units_per_eur": "1.1582", "rate_date": date(2026, 11, 27)}),
    )
    assert view.filter(pl.col("scope") == "world").row(0, named=True) == {
        "provider": "azure",
        "instance_type": "Standard_D2s_v5",
        "operating_system": "linux",
        "purchase_option": "on_demand",
        "commitment_type": None,
        "term_years": None,
        "payment_option": None,
        "scope": "world",
        "region_id": "eastus",
        "availability_zone_id": None,
        "zone_count": None,
        "price_usd": Decimal("6.98"),
        "price_eur": Decimal("6.0265929891"),
        "tied_region_ids": ["westus2"],
        "second_price_usd": Decimal(8),
        "region_count": 4,
        "dearest_region_id": "germanywestcentral",
        "dearest_price_usd": Decimal("9.074"),
        "spread_pct": 30.0,
        "fx_rate_date": date(2026, 11, 27),
        "price_quality": "ok",
    }
    assert view.schema == CHEAPEST_REGION.schema
    assert_frame_equal(view, view.sort(CHEAPEST_REGION.key))


def test_each_scope_sees_its_own_regions():
    every = {region: f"{rank}" for rank, region in enumerate(REGIONS["region_id"], start=1)}
    view = _view(_priced(**every))
    assert view.select("scope", "region_id", "region_count").rows() == [
        ("de", "germanynorth", 2),
        ("eea", "germanynorth", 3),
        ("eu", "germanynorth", 2),
        ("europe", "germanynorth", 3),
        ("north_america", "eastus", 2),
        ("us_gov", "usgovvirginia", 1),
        ("world", "eastus", 6),
        ("zones", "attdallas1", 1),
    ]


def test_a_region_whose_place_is_not_known_is_in_the_world_alone():
    assert _view(_priced(mystery="1"))["scope"].to_list() == ["world"]


def test_a_region_that_is_not_in_the_reference_takes_no_part():
    assert _view(_priced(atlantis="0.01")).is_empty()


def test_tied_regions_are_all_named_in_order_and_the_second_price_is_higher():
    view = _view(_priced(westus2="1", norwayeast="1", eastus="1", germanynorth="2", mystery="2"))
    assert _of(view, "world", "region_id", "tied_region_ids", "second_price_usd") == (
        "eastus",
        ["norwayeast", "westus2"],
        Decimal(2),
    )
    assert _of(view, "world", "dearest_region_id") == "germanynorth"


def test_where_all_are_equal_there_is_no_second_price_and_no_spread():
    view = _view(_priced(westus2="1", eastus="1"))
    assert _of(
        view, "world", "second_price_usd", "dearest_region_id", "dearest_price_usd", "spread_pct"
    ) == (None, "eastus", Decimal(1), 0.0)


def test_prices_that_differ_in_the_tenth_decimal_are_not_tied():
    view = _view(_priced(eastus="21.9576420001", westus2="21.9576420000"))
    assert _of(view, "world", "region_id", "tied_region_ids") == ("westus2", [])


@pytest.mark.parametrize(
    "other",
    [
        {"tenancy": "dedicated"},
        {"license_model": "byol"},
        {"pre_installed_software": "sql_web"},
        {"currency": "CNY"},
        {"currency": "EUR", "price_quality": "reference"},
        {"price_quality": "reference"},
    ],
)
def test_other_tenancy_licence_software_and_currency_are_not_compared(other):
    prices = price_rows({"hourly_rate": "5"}, {"region_id": "westus2", "hourly_rate": "1", **other})
    assert _of(_view(prices), "world", "region_id", "region_count") == ("eastus", 1)


def test_every_way_to_pay_has_its_own_rows():
    reserved = {
        "purchase_option": "reserved",
        "commitment_type": "azure",
        "payment_option": "all_upfront",
        "hourly_rate": "0",
        "effective_hourly_price": "0.5",
    }
    view = _view(
        price_rows(
            {"hourly_rate": "1"},
            {"hourly_rate": "2", "operating_system": "windows"},
            {"hourly_rate": "0.3", "purchase_option": "spot"},
            {"hourly_rate": "0.2", "purchase_option": "low_priority"},
            {"hourly_rate": "0.9", "purchase_option": "capacity_block"},
            {
                "hourly_rate": "0.7",
                "purchase_option": "savings_plan",
                "commitment_type": "azure_compute",
                "term_years": 1,
                "payment_option": "no_upfront",
            },
            {**reserved, "term_years": 1},
            {**reserved, "term_years": 3, "effective_hourly_price": "0.4"},
        )
    )
    world = view.filter(pl.col("scope") == "world")
    assert world.select(
        "operating_system", "purchase_option", "term_years", "price_usd"
    ).rows() == [
        ("linux", "capacity_block", None, Decimal("0.9")),
        ("linux", "low_priority", None, Decimal("0.2")),
        ("linux", "on_demand", None, Decimal(1)),
        ("linux", "reserved", 1, Decimal("0.5")),
        ("linux", "reserved", 3, Decimal("0.4")),
        ("linux", "savings_plan", 1, Decimal("0.7")),
        ("linux", "spot", None, Decimal("0.3")),
        ("windows", "on_demand", None, Decimal(2)),
    ]


def test_a_region_of_several_zones_takes_part_once_with_its_cheapest():
    spot = {"purchase_option": "spot", "provider": "azure"}
    prices = price_rows(
        {**spot, "availability_zone_id": "z1", "hourly_rate": "3", "price_quality": "indicative"},
        {
            **spot,
            "availability_zone_id": "z2",
            "hourly_rate": "1",
            "price_quality": "spot_above_on_demand",
        },
        {**spot, "region_id": "westus2", "hourly_rate": "2"},
    )
    assert _of(
        _view(prices), "world", "region_id", "price_usd", "region_count", "price_quality"
    ) == ("eastus", Decimal(1), 2, "spot_above_on_demand")
    assert _of(_view(prices), "world", "availability_zone_id", "zone_count") == ("z2", 2)
    assert _of(_view(prices), "world", "dearest_price_usd") == Decimal(2)


@pytest.mark.parametrize(
    ("zones", "zone", "zone_count"),
    [
        ({"z3": "1", "z2": "1", "z1": "2"}, "z2", 3),
        ({"z1": "1"}, "z1", 1),
        ({None: "1"}, None, None),
        ({None: "1", "z1": "1"}, "z1", 1),
        ({None: "1", "z1": "2"}, None, 1),
    ],
)
def test_of_zones_of_one_price_the_first_by_id_is_named(zones, zone, zone_count):
    spot = {"purchase_option": "spot"}
    rows = [
        {**spot, "availability_zone_id": name, "hourly_rate": rate} for name, rate in zones.items()
    ]
    for order in (rows, rows[::-1]):
        view = _view(price_rows(*order))
        assert _of(view, "world", "price_usd", "availability_zone_id", "zone_count") == (
            Decimal(1),
            zone,
            zone_count,
        )


def test_zones_are_those_of_the_winning_region_and_of_tied_ones_of_the_first():
    spot = {"purchase_option": "spot", "hourly_rate": "1"}
    prices = price_rows(
        {**spot, "region_id": "westus2", "availability_zone_id": "a1"},
        {**spot, "availability_zone_id": "b2"},
        {**spot, "availability_zone_id": "b1"},
        {**spot, "region_id": "norwayeast"},
    )
    assert _of(
        _view(prices), "world", "region_id", "availability_zone_id", "zone_count", "tied_region_ids"
    ) == ("eastus", "b1", 2, ["norwayeast", "westus2"])


def test_the_flags_shown_are_those_of_the_cheapest_region_and_of_the_first_of_tied_ones():
    prices = price_rows(
        {"hourly_rate": "3", "region_id": "germanynorth", "price_quality": "indicative"},
        {"hourly_rate": "1", "region_id": "westus2", "price_quality": "indicative"},
        {"hourly_rate": "1", "region_id": "eastus", "price_quality": "spot_above_on_demand"},
        {"hourly_rate": "2", "region_id": "norwayeast"},
    )
    assert _of(_view(prices), "world", "price_quality") == "spot_above_on_demand"


@pytest.mark.parametrize("aged", ["westus2", "norwayeast", "mystery", "germanynorth"])
@pytest.mark.parametrize(
    ("of_cheapest", "of_aged", "shown"),
    [
        ("ok", "carried_over", "carried_over"),
        ("ok", "carried_over,spot_above_on_demand", "carried_over"),
        ("indicative", "carried_over", "carried_over,indicative"),
        ("carried_over,indicative", "carried_over", "carried_over,indicative"),
        ("carried_over", "indicative", "carried_over"),
        (
            "indicative,spot_above_on_demand",
            "carried_over",
            "carried_over,indicative,spot_above_on_demand",
        ),
    ],
)
def test_an_answer_is_carried_over_where_the_price_of_any_compared_region_is(
    aged, of_cheapest, of_aged, shown
):
    rates = {"eastus": "1", "westus2": "1", "norwayeast": "2", "mystery": "3", "germanynorth": "4"}
    qualities = dict.fromkeys(rates, "ok") | {"eastus": of_cheapest, aged: of_aged}
    prices = price_rows(
        *(
            {"region_id": region, "hourly_rate": rate, "price_quality": qualities[region]}
            for region, rate in rates.items()
        )
    )
    assert _of(_view(prices), "world", "region_id", "dearest_region_id", "price_quality") == (
        "eastus",
        "germanynorth",
        shown,
    )


def test_an_aged_price_marks_no_answer_that_it_is_not_compared_in():
    aged = {"region_id": "germanynorth", "hourly_rate": "4", "price_quality": "carried_over"}
    prices = price_rows(
        {"region_id": "eastus", "hourly_rate": "1"},
        aged,
        {"region_id": "eastus", "hourly_rate": "1", "operating_system": "windows"},
        {"region_id": "eastus", "hourly_rate": "1", "instance_type": "Standard_X"},
        {**aged, "instance_type": "Standard_X", "tenancy": "dedicated"},
    )
    answers = _view(prices).select("instance_type", "operating_system", "scope", "price_quality")
    assert answers.filter(pl.col("scope").is_in(["world", "north_america", "de"])).rows() == [
        ("Standard_D2s_v5", "linux", "de", "carried_over"),
        ("Standard_D2s_v5", "linux", "north_america", "ok"),
        ("Standard_D2s_v5", "linux", "world", "carried_over"),
        ("Standard_D2s_v5", "windows", "north_america", "ok"),
        ("Standard_D2s_v5", "windows", "world", "ok"),
        ("Standard_X", "linux", "north_america", "ok"),
        ("Standard_X", "linux", "world", "ok"),
    ]


def test_an_aged_price_of_a_zone_that_is_not_its_regions_cheapest_marks_no_answer():
    spot = {"purchase_option": "spot", "region_id": "westus2"}
    prices = price_rows(
        {"purchase_option": "spot", "hourly_rate": "1"},
        {**spot, "availability_zone_id": "z1", "hourly_rate": "2"},
        {
            **spot,
            "availability_zone_id": "z2",
            "hourly_rate": "3",
            "price_quality": "carried_over",
        },
    )
    assert _of(_view(prices), "world", "dearest_price_usd", "price_quality") == (Decimal(2), "ok")


def test_retired_types_are_left_out_and_types_of_unknown_lifecycle_are_not():
    prices = price_rows({}, {"instance_type": "Standard_NC6"}, {"instance_type": "Standard_X"})
    types = type_rows({"instance_type": "STANDARD_NC6", "lifecycle": "retired"}, {})
    view = _view(prices, instance_types=types)
    assert set(view["instance_type"]) == {"Standard_D2s_v5", "Standard_X"}


def test_a_type_retired_by_one_provider_is_not_retired_by_the_other():
    types = type_rows({"provider": "aws", "lifecycle": "retired"})
    assert not _view(price_rows({}), instance_types=types).is_empty()


def test_regions_and_types_are_matched_without_case_and_written_as_the_price_list_does():
    prices = price_rows(
        {"region_id": "WestUS2", "hourly_rate": "1", "instance_type": "standard_d2s_v5"},
        {"region_id": "eastus", "hourly_rate": "2", "instance_type": "Standard_D2s_v5"},
    )
    assert _of(_view(prices), "world", "region_id", "instance_type", "region_count") == (
        "WestUS2",
        "Standard_D2s_v5",
        2,
    )


def test_providers_are_not_compared_with_each_other():
    regions = pl.concat([REGIONS, region_rows({"provider": "aws", "region_id": "us-east-1"})])
    prices = price_rows(
        {"hourly_rate": "2"}, {"provider": "aws", "region_id": "us-east-1", "hourly_rate": "1"}
    )
    world = _view(prices, regions=regions).filter(pl.col("scope") == "world")
    assert world.select("provider", "region_id").rows() == [
        ("aws", "us-east-1"),
        ("azure", "eastus"),
    ]


def test_the_newest_dollar_rate_makes_the_euro_price():
    rates = rate_rows(
        {"rate_date": date(2026, 11, 27), "units_per_eur": "1.25"},
        {"rate_date": date(2026, 11, 26), "units_per_eur": "2"},
        {"rate_date": date(2026, 11, 28), "units_per_eur": "8", "currency": "CNY"},
    )
    view = _view(_priced(eastus="55.04"), fx_rates=rates)
    assert _of(view, "world", "price_eur", "fx_rate_date") == (
        Decimal("44.032"),
        date(2026, 11, 27),
    )


def test_without_a_dollar_rate_there_is_no_euro_price():
    rates = rate_rows({"currency": "EUR", "units_per_eur": "1"})
    view = _view(_priced(eastus="55.04"), fx_rates=rates)
    assert _of(view, "world", "price_usd", "price_eur", "fx_rate_date") == (
        Decimal("55.04"),
        None,
        None,
    )


def test_no_prices_give_an_empty_view():
    assert_frame_equal(_view(PRICES.empty()), CHEAPEST_REGION.empty())


def test_the_spread_is_rounded_to_four_decimals():
    assert _of(_view(_priced(eastus="3", westus2="4")), "world", "spread_pct") == 33.3333


FRAMES = price_frames(
    20,
    provider="azure",
    tenancy="shared",
    license_model="included",
    valid_from=day("2026-01-01"),
    upfront_fee=None,
)


def _comparable(prices: pl.DataFrame, scope: str) -> pl.DataFrame:
    """Written without the view's code: the prices that a scope's rows may come from."""
    members = {
        "world": ["eastus", "westus2", "germanynorth", "germanywestcentral"],
        "de": ["germanynorth", "germanywestcentral"],
        "north_america": ["eastus", "westus2"],
    }
    return prices.filter(
        pl.col("region_id").str.to_lowercase().is_in(members[scope]), pl.col("currency") == "USD"
    ).with_columns(
        pl.col("region_id").str.to_lowercase(), pl.col("instance_type").str.to_lowercase()
    )


@PROPERTY
@given(shuffled(FRAMES), st.permutations(range(REGIONS.height)))
def test_the_view_does_not_depend_on_the_order_of_rows(frames, order):
    first, second = frames
    assert_frame_equal(_view(first), _view(second, regions=REGIONS[order]))


@PROPERTY
@given(FRAMES, st.sampled_from(("world", "de", "north_america")))
def test_the_cheapest_is_never_beaten_and_its_ties_are_complete(prices, scope):
    view = _view(prices).filter(pl.col("scope") == scope)
    rows = _comparable(prices, scope)
    offers = ["instance_type", "operating_system", "purchase_option"]

    assert view.height == rows.select(offers).n_unique()
    for answer in view.iter_rows(named=True):
        same = rows.filter(
            pl.col("instance_type") == answer["instance_type"].lower(),
            pl.col("operating_system") == answer["operating_system"],
            pl.col("purchase_option") == answer["purchase_option"],
        )
        lowest: dict[str, Decimal] = {}
        for region, price in same.select("region_id", "effective_hourly_price").iter_rows():
            lowest[region] = min(price, lowest.get(region, price))
        best, worst = min(lowest.values()), max(lowest.values())
        tied = sorted(region for region, price in lowest.items() if price == best)
        assert answer["price_usd"] == best
        assert answer["dearest_price_usd"] == worst
        assert answer["region_count"] == len(lowest)
        named = [answer["region_id"], *answer["tied_region_ids"]]
        assert sorted(region.lower() for region in named) == tied
        assert named == sorted(named)
        assert answer["second_price_usd"] == min(
            (price for price in lowest.values() if price > best), default=None
        )
        assert answer["dearest_region_id"].lower() in {
            region for region, price in lowest.items() if price == worst
        }


@PROPERTY
@given(FRAMES)
def test_asking_again_of_what_is_cheapest_changes_nothing(prices):
    once = _view(prices)
    answers = once.filter(pl.col("scope") == "world")
    winners = price_rows(
        *(
            {
                "region_id": row["region_id"],
                "instance_type": row["instance_type"],
                "operating_system": row["operating_system"],
                "purchase_option": row["purchase_option"],
                "hourly_rate": row["price_usd"],
            }
            for row in answers.iter_rows(named=True)
        )
    )
    again = _view(winners).filter(pl.col("scope") == "world")
    same = [*CHEAPEST_REGION.key, "region_id", "price_usd"]
    assert_frame_equal(again.select(same), answers.select(same))


@PROPERTY
@given(FRAMES, st.data())
def test_a_dearer_price_in_the_same_region_changes_no_answer(prices, data):
    rows = _comparable(prices, "world")
    if rows.is_empty():
        return
    position = data.draw(st.integers(0, rows.height - 1))
    dearer = rows[[position]].with_columns(
        pl.lit(Decimal("99999999.9999999999")).cast(PRICES.field("hourly_rate").dtype).alias(c)
        for c in ("hourly_rate", "effective_hourly_price")
    )
    canonical = prices.with_columns(
        pl.col("region_id").str.to_lowercase(), pl.col("instance_type").str.to_lowercase()
    )
    before, after = _view(canonical), _view(pl.concat([canonical, dearer]))
    answer = [*CHEAPEST_REGION.key, "region_id", "price_usd", "tied_region_ids", "region_count"]
    assert_frame_equal(after.select(answer), before.select(answer))


@PROPERTY
@given(st.sampled_from(PRICE_TEXTS), st.decimals("0.6", "1.8", places=4))
def test_euro_prices_are_those_of_exact_arithmetic(price, rate):
    expected = (Decimal(price) / rate).quantize(Decimal("1e-10"), rounding=ROUND_HALF_EVEN)
    if expected < Decimal(10) ** 8:
        view = _view(_priced(eastus=price), fx_rates=rate_rows({"units_per_eur": rate}))
        assert _of(view, "world", "price_eur") == expected
