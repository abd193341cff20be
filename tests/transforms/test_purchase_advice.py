from datetime import date
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from support.rows import Row, price_rows, rate_rows, type_rows
from support.strategies import PROPERTY
from transforms.comparable import comparable_prices
from transforms.purchase_advice import make_purchase_advice
from warehouse.schemas.catalog import FX_RATES, INSTANCE_TYPES, PRICES, PURCHASE_ADVICE

TEN_DECIMALS = Decimal("1e-10")

FRIDAY = date(2026, 11, 27)

USES = {100: Decimal(1), 60: Decimal("0.6"), 30: Decimal("0.3")}

ON_DEMAND: Row = {}
SPOT: Row = {"purchase_option": "spot"}


def _commitment(way: str, price: str, **others: Any) -> Row:
    """Make a row of what `way` spells as the view does."""
    option, kind, years, payment = way.split("/")
    return {
        "purchase_option": option,
        "commitment_type": kind,
        "term_years": int(years),
        "payment_option": payment,
        "hourly_rate": price,
        **others,
    }


def _advice(
    *rows: Row, lost: str = "10", fx_rates: pl.DataFrame | None = None, **fixed: Any
) -> pl.DataFrame:
    prices = price_rows(*({**row, **fixed} for row in rows))
    return make_purchase_advice(
        comparable_prices(prices, instance_types=INSTANCE_TYPES.empty()),
        fx_rates=FX_RATES.empty() if fx_rates is None else fx_rates,
        lost_work_pct=Decimal(lost),
    )


def _row(*rows: Row, **others: Any) -> dict[str, Any]:
    view = _advice(*rows, **others)
    assert view.height == 1
    return view.row(0, named=True)


def test_all_columns_of_a_machine_with_every_kind_of_price():
    view = _advice(
        {"hourly_rate": "0.096"},
        {**SPOT, "availability_zone_id": "use1-az4", "hourly_rate": "0.0421"},
        {**SPOT, "availability_zone_id": "use1-az1", "hourly_rate": "0.0384"},
        {**SPOT, "availability_zone_id": "use1-az2", "hourly_rate": "0.0384"},
        _commitment("reserved/standard/1/no_upfront", "0.06"),
        _commitment(
            "reserved/standard/3/all_upfront",
            "0",
            upfront_fee="962",
            effective_hourly_price="0.0366057839",
        ),
        _commitment("savings_plan/compute/3/no_upfront", "0.0480"),
        provider="aws",
        region_id="us-east-1",
        instance_type="m5.large",
        fx_rates=rate_rows({"units_per_eur": "1.25", "rate_date": FRIDAY}),
    )
    ways = ("purchase_option", "commitment_type", "term_years", "payment_option")
    figures = ("price_usd", "price_eur", "saving_pct", "break_even_utilisation")
    commitments = [
        (
            ("reserved", "standard", 3, "all_upfront"),
            (Decimal("0.0366057839"), Decimal("0.0292846271"), 61.869, 0.38131),
        ),
        (
            ("savings_plan", "compute", 3, "no_upfront"),
            (Decimal("0.048"), Decimal("0.0384"), 50.0, 0.5),
        ),
        (
            ("reserved", "standard", 1, "no_upfront"),
            (Decimal("0.06"), Decimal("0.048"), 37.5, 0.625),
        ),
    ]
    assert view.row(0, named=True) == {
        "provider": "aws",
        "instance_type": "m5.large",
        "region_id": "us-east-1",
        "operating_system": "linux",
        "currency": "USD",
        "on_demand_usd": Decimal("0.096"),
        "on_demand_eur": Decimal("0.0768"),
        "spot_usd": Decimal("0.0384"),
        "spot_eur": Decimal("0.03072"),
        "spot_saving_pct": 60.0,
        "spot_availability_zone_id": "use1-az1",
        "spot_zone_count": 3,
        "spot_lost_work_pct": 10.0,
        "spot_useful_hour_usd": Decimal("0.0426666667"),
        "spot_break_even_lost_work_pct": 60.0,
        "spot_advice": "if_interruptible",
        "commitments": [
            {
                **dict(zip(ways, way, strict=True)),
                **dict(zip(figures, figure, strict=True)),
            }
            for way, figure in commitments
        ],
        "cheapest_at_100_pct": "reserved/standard/3/all_upfront",
        "cost_at_100_pct_usd": Decimal("0.0366057839"),
        "cheapest_at_60_pct": "reserved/standard/3/all_upfront",
        "cost_at_60_pct_usd": Decimal("0.0366057839"),
        "cheapest_at_30_pct": "on_demand",
        "cost_at_30_pct_usd": Decimal("0.0288"),
        "fx_rate_date": FRIDAY,
        "price_quality": "ok",
    }
    assert view.schema == PURCHASE_ADVICE.schema


def test_a_gpu_machine_is_worth_a_commitment_at_full_use_only():
    row = _row(
        {"hourly_rate": "55.04"},
        _commitment("savings_plan/compute/1/no_upfront", "41.2800"),
        _commitment("reserved/convertible/1/partial_upfront", "42.7661"),
    )
    assert [way["saving_pct"] for way in row["commitments"]] == [25.0, 22.3]
    assert [way["break_even_utilisation"] for way in row["commitments"]] == [0.75, 0.777]
    assert row["cheapest_at_100_pct"] == "savings_plan/compute/1/no_upfront"
    assert row["cost_at_100_pct_usd"] == Decimal("41.28")
    assert (row["cheapest_at_60_pct"], row["cheapest_at_30_pct"]) == ("on_demand", "on_demand")
    assert (row["cost_at_60_pct_usd"], row["cost_at_30_pct_usd"]) == (
        Decimal("33.024"),
        Decimal("16.512"),
    )


def test_a_commitment_that_is_dearer_than_on_demand_is_listed_and_never_pays():
    row = _row({"hourly_rate": "1"}, _commitment("savings_plan/compute/1/no_upfront", "1.25"))
    assert row["commitments"][0]["saving_pct"] == -25.0
    assert row["commitments"][0]["break_even_utilisation"] == 1.25
    assert row["cheapest_at_100_pct"] == "on_demand"


@pytest.mark.parametrize(
    ("tied", "first"),
    [
        (["on_demand", "reserved/azure/1/all_upfront"], "on_demand"),
        (
            ["reserved/standard/3/no_upfront", "savings_plan/compute/1/all_upfront"],
            "savings_plan/compute/1/all_upfront",
        ),
        (
            [
                "reserved/standard/1/all_upfront",
                "reserved/standard/1/partial_upfront",
                "savings_plan/compute/1/no_upfront",
            ],
            "savings_plan/compute/1/no_upfront",
        ),
        (
            ["savings_plan/compute/1/no_upfront", "reserved/standard/1/no_upfront"],
            "reserved/standard/1/no_upfront",
        ),
        (
            ["reserved/standard/1/no_upfront", "reserved/convertible/1/no_upfront"],
            "reserved/convertible/1/no_upfront",
        ),
    ],
)
def test_of_equal_prices_the_one_with_less_commitment_wins_then_the_first_name(tied, first):
    rows = [{"hourly_rate": "1"} if way == "on_demand" else _commitment(way, "1") for way in tied]
    for order in (rows, rows[::-1]):
        row = _row(*order)
        assert row["cheapest_at_100_pct"] == first
        assert row["cost_at_100_pct_usd"] == 1


def test_a_difference_in_the_tenth_decimal_decides():
    plan = "savings_plan/compute/1/no_upfront"
    at_par = _row({"hourly_rate": "0.0000000005"}, _commitment(plan, "0.0000000003"))
    assert at_par["cheapest_at_60_pct"] == "on_demand"
    dearer = _row({"hourly_rate": "0.0000000006"}, _commitment(plan, "0.0000000003"))
    # 60 % of it would round to 4, and 30 % to 2: what is compared is not rounded.
    assert dearer["cheapest_at_60_pct"] == plan
    assert dearer["cost_at_30_pct_usd"] == Decimal("0.0000000002")


def test_without_on_demand_the_cheapest_commitment_is_taken_and_nothing_is_compared():
    row = _row(
        _commitment("reserved/azure/3/all_upfront", "0.4"),
        _commitment("reserved/azure/1/all_upfront", "0.5"),
    )
    assert row["on_demand_usd"] is None
    assert [way["term_years"] for way in row["commitments"]] == [3, 1]
    assert {way["saving_pct"] for way in row["commitments"]} == {None}
    assert {way["break_even_utilisation"] for way in row["commitments"]} == {None}
    for use in USES:
        assert row[f"cheapest_at_{use}_pct"] == "reserved/azure/3/all_upfront"
        assert row[f"cost_at_{use}_pct_usd"] == Decimal("0.4")


def test_spot_without_on_demand_has_a_price_and_no_advice():
    row = _row({**SPOT, "hourly_rate": "0.9"})
    assert (row["spot_usd"], row["spot_useful_hour_usd"]) == (Decimal("0.9"), Decimal(1))
    assert (row["spot_advice"], row["spot_saving_pct"]) == (None, None)
    assert (row["cheapest_at_100_pct"], row["cost_at_100_pct_usd"]) == (None, None)
    assert row["commitments"] == []


@pytest.mark.parametrize(
    ("spot", "advice", "break_even"),
    [
        (None, "not_listed", None),
        ("1", "never", 0.0),
        ("1.5", "never", -50.0),
        ("0.9999999999", "if_little_is_lost", 0.0),
        ("0.8", "if_little_is_lost", 20.0),
        ("0.7999999999", "if_interruptible", 20.0),
        ("0.3", "if_interruptible", 70.0),
    ],
)
def test_spot_pays_as_long_as_less_work_is_lost_than_it_saves(spot, advice, break_even):
    listed = [] if spot is None else [{**SPOT, "hourly_rate": spot}]
    row = _row({"hourly_rate": "1"}, *listed, lost="20")
    assert (row["spot_advice"], row["spot_break_even_lost_work_pct"]) == (advice, break_even)
    assert row["spot_saving_pct"] == row["spot_break_even_lost_work_pct"]


@pytest.mark.parametrize(
    ("lost", "useful"),
    [("0", "0.3"), ("10", "0.3333333333"), ("12.5", "0.3428571429"), ("99.9999", "300000")],
)
def test_a_useful_hour_of_spot_costs_its_price_over_the_share_that_is_kept(lost, useful):
    row = _row({**SPOT, "hourly_rate": "0.3"}, lost=lost)
    assert row["spot_useful_hour_usd"] == Decimal(useful)
    assert row["spot_lost_work_pct"] == float(lost)


@pytest.mark.parametrize("lost", ["-0.1", "100", "150", "10.00001"])
def test_a_share_of_lost_work_that_is_none_is_refused(lost):
    with pytest.raises(ValueError, match=f"lost_work_pct is {lost}: expected a percentage"):
        _advice({}, lost=lost)


def test_a_spot_price_that_is_said_of_no_zone_has_none():
    row = _row({**SPOT, "hourly_rate": "0.3"})
    assert (row["spot_availability_zone_id"], row["spot_zone_count"]) == (None, None)


def test_each_type_region_and_system_has_its_row_sorted_by_key():
    reservation = _commitment("reserved/azure/1/all_upfront", "0.5")
    view = _advice(
        {"hourly_rate": "2", "operating_system": "windows"},
        {**SPOT, "hourly_rate": "0.7", "operating_system": "windows"},
        {"hourly_rate": "1", "region_id": "westus2"},
        {"hourly_rate": "1", "instance_type": "Standard_B1s", "region_id": "westus2"},
        {"hourly_rate": "1", "provider": "aws", "region_id": "us-east-1", "instance_type": "z1d"},
        {"hourly_rate": "1"},
        reservation,
    )
    key = ["provider", "instance_type", "region_id", "operating_system"]
    assert view.select(*key, pl.col("commitments").list.len(), "spot_usd").rows() == [
        ("aws", "z1d", "us-east-1", "linux", 0, None),
        ("azure", "Standard_B1s", "westus2", "linux", 0, None),
        ("azure", "Standard_D2s_v5", "eastus", "linux", 1, None),
        # The reservation is of the machine, and says nothing of a price with Windows.
        ("azure", "Standard_D2s_v5", "eastus", "windows", 0, Decimal("0.7")),
        ("azure", "Standard_D2s_v5", "westus2", "linux", 0, None),
    ]


def test_regions_and_types_are_matched_without_case():
    row = _row(
        {"hourly_rate": "1", "region_id": "EastUS"},
        {"hourly_rate": "0.3", **SPOT, "instance_type": "standard_d2s_v5"},
    )
    assert (row["region_id"], row["instance_type"]) == ("EastUS", "Standard_D2s_v5")
    assert (row["on_demand_usd"], row["spot_usd"]) == (Decimal(1), Decimal("0.3"))


@pytest.mark.parametrize(
    "other",
    [
        {"tenancy": "dedicated"},
        {"tenancy": "host"},
        {"license_model": "byol"},
        {"pre_installed_software": "sql_web"},
        {"currency": "EUR", "price_quality": "reference"},
        {"currency": "EUR", "price_quality": "carried_over,reference"},
        {"purchase_option": "low_priority"},
        {"purchase_option": "capacity_block"},
    ],
)
def test_what_is_not_comparable_or_not_advised_changes_no_row_and_makes_none(other):
    alone = _advice({"hourly_rate": "5"})
    assert_frame_equal(_advice({"hourly_rate": "5"}, {"hourly_rate": "1", **other}), alone)
    assert _advice({"hourly_rate": "1", **other}).is_empty()


def test_retired_types_are_left_out():
    compared = comparable_prices(
        price_rows({}, {"instance_type": "Standard_NC6"}),
        instance_types=type_rows({"instance_type": "STANDARD_NC6", "lifecycle": "retired"}),
    )
    view = make_purchase_advice(
        compared,
        fx_rates=FX_RATES.empty(),
        lost_work_pct=Decimal(10),
    )
    assert view["instance_type"].to_list() == ["Standard_D2s_v5"]


def test_no_prices_give_an_empty_view():
    view = make_purchase_advice(
        comparable_prices(PRICES.empty(), instance_types=INSTANCE_TYPES.empty()),
        fx_rates=rate_rows({}),
        lost_work_pct=Decimal(10),
    )
    assert_frame_equal(view, PURCHASE_ADVICE.empty())


YUAN = {
    "currency": "CNY",
    "provider": "aws",
    "region_id": "cn-north-1",
    "instance_type": "m5.large",
}

RATES = rate_rows(
    {"units_per_eur": "1.25", "rate_date": FRIDAY},
    {
        "currency": "CNY",
        "units_per_eur": "8.75",
        "units_per_usd": "7",
        "rate_date": date(2026, 11, 26),
    },
    {
        "currency": "CNY",
        "units_per_eur": "8",
        "units_per_usd": "6.4",
        "rate_date": date(2026, 11, 25),
    },
)


def test_prices_in_yuan_are_converted_at_the_newest_rate_of_the_yuan():
    row = _row(
        {**YUAN, "hourly_rate": "0.7"},
        {**YUAN, **SPOT, "hourly_rate": "0.28"},
        {**YUAN, **_commitment("reserved/standard/1/no_upfront", "0.35")},
        fx_rates=RATES,
    )
    assert (row["currency"], row["fx_rate_date"]) == ("CNY", date(2026, 11, 26))
    assert (row["on_demand_usd"], row["on_demand_eur"]) == (Decimal("0.1"), Decimal("0.08"))
    assert (row["spot_usd"], row["spot_eur"]) == (Decimal("0.04"), Decimal("0.032"))
    assert row["commitments"][0]["price_usd"] == Decimal("0.05")
    assert row["commitments"][0]["price_eur"] == Decimal("0.04")
    assert (row["cheapest_at_30_pct"], row["cost_at_30_pct_usd"]) == ("on_demand", Decimal("0.03"))


def test_without_a_rate_there_are_no_amounts_and_the_choices_stay():
    row = _row(
        {**YUAN, "hourly_rate": "0.7"},
        {**YUAN, **SPOT, "hourly_rate": "0.28"},
        {**YUAN, **_commitment("reserved/standard/1/no_upfront", "0.35")},
        fx_rates=rate_rows({}),
    )
    assert (row["currency"], row["fx_rate_date"]) == ("CNY", None)
    amounts = [name for name in row if name.endswith(("_usd", "_eur"))]
    assert {row[name] for name in amounts} == {None}
    commitment = row["commitments"][0]
    assert (commitment["price_usd"], commitment["price_eur"]) == (None, None)
    assert (commitment["saving_pct"], commitment["break_even_utilisation"]) == (50.0, 0.5)
    assert row["cheapest_at_100_pct"] == "reserved/standard/1/no_upfront"
    assert (row["spot_advice"], row["spot_saving_pct"]) == ("if_interruptible", 60.0)


def test_prices_in_dollars_need_no_rate_to_stay_as_listed():
    row = _row({"hourly_rate": "55.04"}, fx_rates=rate_rows({"currency": "EUR"}))
    assert (row["on_demand_usd"], row["on_demand_eur"], row["fx_rate_date"]) == (
        Decimal("55.04"),
        None,
        None,
    )


def test_a_row_rests_on_one_currency_and_dollars_come_first():
    cheap_yuan = {**YUAN, **SPOT, "hourly_rate": "0.01"}
    elsewhere = {**cheap_yuan, "region_id": "cn-northwest-1"}
    for other, currency, on_demand in (("USD", "USD", Decimal(1)), ("JPY", "CNY", None)):
        rows = [{**YUAN, "hourly_rate": "1", "currency": other}, cheap_yuan, elsewhere]
        for order in (rows, rows[::-1]):
            view = _advice(*order, fx_rates=RATES)
            assert view["region_id"].to_list() == ["cn-north-1", "cn-northwest-1"]
            assert view["currency"].to_list() == [currency, "CNY"]
            assert view["on_demand_usd"].to_list() == [on_demand, None]
            assert view["spot_usd"].is_null().to_list() == [currency == "USD", False]


@pytest.mark.parametrize(
    ("lost", "advice"), [("6.8965", "if_interruptible"), ("6.8966", "if_little_is_lost")]
)
def test_what_is_lost_and_saved_is_compared_exactly(lost, advice):
    # What is left of on demand is 0.0000000027000015 and 0.0000000026999986: alike, if rounded.
    row = _row({"hourly_rate": "0.0000000029"}, {**SPOT, "hourly_rate": "0.0000000027"}, lost=lost)
    assert row["spot_advice"] == advice


def test_the_flags_of_all_prices_of_a_row_are_merged():
    row = _row(
        {"hourly_rate": "1", "price_quality": "carried_over"},
        {
            **SPOT,
            "hourly_rate": "2",
            "availability_zone_id": "z1",
            "price_quality": "carried_over,spot_above_on_demand",
        },
        _commitment(
            "savings_plan/compute/1/no_upfront", "3", price_quality="commitment_above_on_demand"
        ),
        _commitment("savings_plan/compute/3/no_upfront", "0.5"),
    )
    assert row["price_quality"] == "carried_over,commitment_above_on_demand,spot_above_on_demand"


def test_flags_of_other_rows_and_of_dearer_zones_are_not_shown():
    zone = {**SPOT, "hourly_rate": "1", "availability_zone_id": "z1"}
    view = _advice(
        zone,
        {**zone, "hourly_rate": "2", "availability_zone_id": "z2", "price_quality": "indicative"},
        {"region_id": "westus2", "hourly_rate": "1", "price_quality": "carried_over"},
    )
    assert view["price_quality"].to_list() == ["ok", "carried_over"]


WAYS = (
    "reserved/standard/1/no_upfront",
    "reserved/standard/3/all_upfront",
    "reserved/convertible/1/partial_upfront",
    "savings_plan/compute/1/no_upfront",
    "savings_plan/ec2_instance/3/all_upfront",
)

AMOUNTS = st.decimals("0.0000000001", "900000", places=10)


@st.composite
def _machine(draw: st.DrawFn) -> list[Row]:
    """Draw the prices of one machine: each way to pay once, or not at all."""
    place = {
        "region_id": draw(st.sampled_from(("eastus", "westus2"))),
        "operating_system": draw(st.sampled_from(("linux", "windows"))),
    }
    pool = draw(st.lists(AMOUNTS, min_size=1, max_size=3))
    amount = st.sampled_from(pool).map(str)
    rows = [_commitment(way, draw(amount)) for way in WAYS if draw(st.booleans())]
    if draw(st.booleans()):
        rows.append({"hourly_rate": draw(amount)})
    zones = draw(st.lists(st.sampled_from(("z1", "z2", "z3")), unique=True))
    rows += [{**SPOT, "availability_zone_id": zone, "hourly_rate": draw(amount)} for zone in zones]
    return [{**row, **place} for row in rows]


def _costs(rows: list[Row], use: Decimal) -> dict[str, Decimal]:
    """Written without the view's code: what each way but spot costs at a use, exactly."""
    costs = {}
    for row in rows:
        option, price = row.get("purchase_option", "on_demand"), Decimal(row["hourly_rate"])
        if option == "on_demand":
            costs["on_demand"] = price * use
        elif option != "spot":
            parts = (option, row["commitment_type"], row["term_years"], row["payment_option"])
            costs["/".join(map(str, parts))] = price
    return costs


@PROPERTY
@given(_machine(), st.sampled_from(sorted(USES)))
def test_the_cheapest_way_is_never_beaten(rows, use):
    for row in _advice(*rows).iter_rows(named=True):
        costs = _costs(rows, USES[use])
        lowest = min(costs.values(), default=None)
        chosen, cost = row[f"cheapest_at_{use}_pct"], row[f"cost_at_{use}_pct_usd"]
        assert costs.get(chosen) == lowest
        expected = lowest and lowest.quantize(TEN_DECIMALS, rounding=ROUND_HALF_EVEN)
        assert cost == expected
        assert len(row["commitments"]) == len(costs.keys() - {"on_demand"})
        listed = [commitment["price_usd"] for commitment in row["commitments"]]
        assert listed == sorted(listed)


@PROPERTY
@given(_machine())
def test_a_commitment_saves_from_its_break_even_on(rows):
    for row in _advice(*rows).iter_rows(named=True):
        for way in row["commitments"]:
            if row["on_demand_usd"] is None:
                continue
            exact = way["price_usd"] / row["on_demand_usd"]
            assert way["break_even_utilisation"] == pytest.approx(float(exact), abs=1e-6)
            assert way["saving_pct"] == pytest.approx(float((1 - exact) * 100), rel=1e-9, abs=1e-4)


@PROPERTY
@given(_machine())
def test_another_way_that_is_dearer_than_all_changes_no_choice(rows):
    if not rows:
        return
    place = {name: rows[0][name] for name in ("region_id", "operating_system")}
    dearer = {**_commitment("reserved/azure/5/all_upfront", "900001"), **place}
    choices = [
        name
        for name in PURCHASE_ADVICE.columns
        if name.startswith(("cheapest_at", "cost_at", "on_demand", "spot"))
    ]
    before, after = _advice(*rows), _advice(*rows, dearer)
    if _costs(rows, Decimal(1)):
        assert_frame_equal(after.select(choices), before.select(choices))
    assert after["commitments"].list.len().item() == before["commitments"].list.len().item() + 1


@PROPERTY
@given(st.lists(_machine(), max_size=3), st.data())
def test_the_view_does_not_depend_on_the_order_of_rows(machines, data):
    rows = [row for machine in machines for row in machine]
    shuffled = data.draw(st.permutations(rows))
    assert_frame_equal(_advice(*rows), _advice(*shuffled))
