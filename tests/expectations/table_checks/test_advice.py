"""The advice on how to pay, held against the prices."""

from decimal import Decimal

import polars as pl

from support.candidates import judge, prices, release


def plan(rate, years, **values):
    return {
        "purchase_option": "savings_plan",
        "commitment_type": "compute",
        "term_years": years,
        "payment_option": "no_upfront",
        "pricing_category": "Committed",
        "hourly_rate": rate,
        **values,
    }


_SPOT = {"purchase_option": "spot", "pricing_category": "Dynamic"}
_LISTED = (
    {},
    {**_SPOT, "availability_zone_id": "use1-az1", "hourly_rate": "0.04"},
    {**_SPOT, "availability_zone_id": "use1-az2", "hourly_rate": "0.03"},
    plan("0.07", 1),
    plan("0.05", 3),
    {"operating_system": "windows", "hourly_rate": "0.188"},
    {"region_id": "eu-central-1", "hourly_rate": "0.115"},
)
_GOOD = release(prices(*_LISTED))
_PLAN = "savings_plan/compute/3/no_upfront"


def failing(candidate, rule="never_beaten"):
    return judge(f"purchase_advice.{rule}", candidate).rows


def test_true_advice_passes_and_says_which_way_for_which_use():
    linux = _GOOD.tables["purchase_advice"].filter(
        pl.col("region_id") == "us-east-1", pl.col("operating_system") == "linux"
    )
    row = linux.row(0, named=True)
    assert [row[f"cheapest_at_{use}_pct"] for use in (100, 60, 30)] == [_PLAN, _PLAN, "on_demand"]
    assert row["cost_at_30_pct_usd"] == Decimal("0.0288")
    for rule in ("never_beaten", "complete", "zones_true"):
        found = judge(f"purchase_advice.{rule}", _GOOD)
        assert (found.failed, found.measured.checked > 0) == (0, True)


def test_a_price_that_is_not_the_listed_one_is_found():
    dearer = _GOOD.with_values("purchase_advice", on_demand_usd=pl.col("on_demand_usd") * 2)
    assert {row["answer"] for row in failing(dearer)} == {"on_demand_usd"}
    assert len(failing(dearer)) == 3
    none = _GOOD.with_values("purchase_advice", spot_usd=None)
    assert [(row["answer"], row["lowest"]) for row in failing(none)] == [("spot_usd", "0.03")]


def test_advice_that_another_listed_way_beats_is_found():
    changed = {"cheapest_at_60_pct": "on_demand", "cost_at_60_pct_usd": Decimal("0.0576")}
    is_here = pl.col("cheapest_at_60_pct") == _PLAN
    wrong = _GOOD.with_values(
        "purchase_advice",
        **{
            column: pl.when(is_here).then(pl.lit(value)).otherwise(column)
            for column, value in changed.items()
        },
    )
    (row,) = failing(wrong)
    assert (row["answer"], row["way"]) == ("cheapest_at_60_pct", "on_demand")


def test_a_cost_that_is_not_that_of_the_named_way_is_found():
    wrong = _GOOD.with_values("purchase_advice", cost_at_100_pct_usd=pl.lit(Decimal("0.05")))
    assert {row["way"] for row in failing(wrong)} == {"on_demand"}
    assert len(failing(wrong)) == 2


def test_a_way_that_is_not_listed_is_found():
    other = pl.lit("savings_plan/compute/1/all_upfront")
    assert len(failing(_GOOD.with_values("purchase_advice", cheapest_at_30_pct=other))) == 3


def test_costs_are_right_to_the_rounding_of_the_tenth_decimal():
    odd = release(prices({"hourly_rate": "0.0000000033"}))
    (row,) = odd.tables["purchase_advice"].iter_rows(named=True)
    assert row["cost_at_30_pct_usd"] == Decimal("0.0000000010")  # 0.00000000099
    assert failing(odd) == []
    off = odd.with_values("purchase_advice", cost_at_30_pct_usd=pl.lit(Decimal("0.0000000011")))
    assert len(failing(off)) == 1


def test_every_machine_with_a_comparable_price_needs_its_row():
    without = _GOOD.tables["purchase_advice"].filter(pl.col("operating_system") != "windows")
    assert failing(_GOOD.with_table("purchase_advice", without), "complete") == [
        {
            "provider": "aws",
            "instance_type": "m5.large",
            "region_id": "us-east-1",
            "operating_system": "windows",
        }
    ]


def test_only_spot_is_worth_a_row_and_low_priority_or_reference_is_not():
    spot = release(prices({**_SPOT, "hourly_rate": "0.03"}))
    empty = spot.with_table("purchase_advice", spot.tables["purchase_advice"].clear())
    assert len(failing(empty, "complete")) == 1
    low = {**_SPOT, "purchase_option": "low_priority", "hourly_rate": "0.03"}
    euros = {"currency": "EUR", "price_quality": "reference"}
    nothing = release(prices({**low, "provider": "azure"}, euros))
    assert judge("purchase_advice.complete", nothing).measured.checked == 0


def test_a_list_in_yuan_needs_a_row_too():
    china = release(prices({"currency": "CNY", "region_id": "cn-north-1"}))
    assert judge("purchase_advice.complete", china).failed == 1


def test_the_zone_of_the_spot_price_lists_it_and_zones_are_counted():
    other = pl.when(pl.col("spot_zone_count") == 2).then(pl.lit("use1-az1"))
    (row,) = failing(
        _GOOD.with_values("purchase_advice", spot_availability_zone_id=other), "zones_true"
    )
    assert (row["spot_usd"], row["zone_price"]) == ("0.03", "0.04")
    for count in (None, 3):
        wrong = _GOOD.with_values("purchase_advice", spot_zone_count=pl.lit(count, pl.Int32))
        assert len(failing(wrong, "zones_true")) == 1


def test_retired_types_need_no_advice():
    retired = _GOOD.with_values("instance_types", lifecycle="retired")
    assert judge("purchase_advice.complete", retired).measured.checked == 0
