"""Spot, on demand and commitments of one machine, held against each other."""

import pytest

from support.candidates import judge, prices, release

_SPOT = {"purchase_option": "spot", "pricing_category": "Dynamic"}
_AZURE = {"provider": "azure", "region_id": "eastus", "instance_type": "Standard_D2s_v5"}


def plan(rate, years=1, option="reserved", kind="standard", payment="no_upfront", **values):
    return {
        "purchase_option": option,
        "commitment_type": kind,
        "term_years": years,
        "payment_option": payment,
        "pricing_category": "Committed",
        "hourly_rate": rate,
        **values,
    }


def dear_spot(on_demand, spot, **values):
    listed = {**values, "hourly_rate": on_demand}
    return judge(
        "prices.spot_not_above_on_demand",
        release(prices(listed, {**values, **_SPOT, "hourly_rate": spot})),
    )


@pytest.mark.parametrize(
    ("on_demand", "spot", "failed"),
    [
        ("10.33786", "10.3379", 0),  # AWS, g5.24xlarge in eu-west-2
        ("8.01555", "8.0156", 0),  # AWS, g6.24xlarge in ap-south-1: the most that rounding gives
        ("8.01555", "8.0157", 1),
        ("0.096", "0.096", 0),
    ],
)
def test_aws_rounds_spot_to_four_decimals(on_demand, spot, failed):
    found = dear_spot(on_demand, spot)
    assert (found.failed, found.measured.checked) == (failed, 1)


def test_azure_rounds_nothing():
    assert dear_spot("0.096", "0.096", **_AZURE).failed == 0
    (row,) = dear_spot("0.096", "0.09601", **_AZURE).rows
    assert (row["effective_hourly_price"], row["other_price"]) == ("0.09601", "0.096")


def test_every_zone_is_held_against_the_region():
    zones = [
        {**_SPOT, "availability_zone_id": zone, "hourly_rate": rate}
        for zone, rate in (("use1-az1", "0.05"), ("use1-az2", "0.2"))
    ]
    found = judge("prices.spot_not_above_on_demand", release(prices({}, *zones)))
    assert [row["availability_zone_id"] for row in found.rows] == ["use1-az2"]
    assert found.measured.checked == 2


def test_spot_without_an_on_demand_price_is_not_compared():
    windows = {**_SPOT, "operating_system": "windows", "hourly_rate": "9"}
    found = judge("prices.spot_not_above_on_demand", release(prices({}, windows)))
    assert found.measured.checked == 0


def test_longer_commitments_cost_less_and_all_cost_less_than_on_demand():
    good = release(prices({}, plan("0.06"), plan("0.04", years=3)))
    found = judge("prices.commitments_ordered", good)
    assert (found.failed, found.measured.checked) == (0, 3)


def test_a_plan_dearer_than_on_demand_is_shown():
    dear = plan("0.097", option="savings_plan", kind="compute")
    (row,) = judge("prices.commitments_ordered", release(prices({}, dear))).rows
    assert (row["dearer_than"], row["other_price"]) == ("on demand", "0.096")
    assert (row["purchase_option"], row["effective_hourly_price"]) == ("savings_plan", "0.097")


def test_a_longer_term_that_costs_more_is_shown_with_the_shorter_one():
    # Azure lists five years for some sizes as well.
    five = release(prices(plan("0.05", years=5), plan("0.06"), plan("0.04", years=3)))
    assert [
        (row["term_years"], row["dearer_than"], row["other_price"])
        for row in judge("prices.commitments_ordered", five).rows
    ] == [(5, "3 year(s)", "0.04")]


@pytest.mark.parametrize(
    "other",
    [
        {"kind": "convertible"},
        {"payment": "all_upfront"},
        {"option": "savings_plan", "kind": "ec2_instance"},
        {"region_id": "eu-central-1"},
        {"currency": "CNY"},
    ],
)
def test_only_one_kind_and_way_of_paying_is_compared_over_terms(other):
    rows = release(prices(plan("0.05"), plan("0.06", years=3, **other)))
    assert judge("prices.commitments_ordered", rows).measured.checked == 0


def test_the_effective_price_counts_not_the_hourly_rate():
    upfront = plan("0", upfront_fee="876", effective_hourly_price="0.1", payment="all_upfront")
    assert judge("prices.commitments_ordered", release(prices({}, upfront))).failed == 1
