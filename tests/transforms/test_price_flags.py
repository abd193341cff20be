"""What costs more than on demand is flagged, to the last decimal that means anything."""

import pytest
from polars.testing import assert_frame_equal

from support.rows import price_rows
from transforms import price_flags
from transforms.price_flags import flag_prices

_AWS = {"provider": "aws", "region_id": "eu-west-2", "instance_type": "g5.24xlarge"}
_SPOT = {"purchase_option": "spot", "pricing_category": "Dynamic"}
_RESERVED = {
    "purchase_option": "reserved",
    "commitment_type": "azure",
    "term_years": 1,
    "payment_option": "all_upfront",
    "pricing_category": "Committed",
}
_PLAN = {
    **_RESERVED,
    "purchase_option": "savings_plan",
    "commitment_type": "compute",
    "payment_option": "no_upfront",
}


def flags(*rows) -> list[str]:
    return flag_prices(price_rows(*rows))["price_quality"].to_list()


@pytest.mark.parametrize(
    ("on_demand", "spot", "flag"),
    [
        ("10.33786", "10.3379", "ok"),
        ("8.01555", "8.0156", "ok"),  # half a unit of the fourth decimal, to the digit
        ("8.01555", "8.0156000001", "spot_above_on_demand"),
        ("8.01555", "8.0157", "spot_above_on_demand"),
        ("0.0042", "0.0013", "ok"),
        ("0.0042", "0.0042", "ok"),
    ],
)
def test_aws_spot_may_be_rounded_up_to_four_decimals_and_no_further(on_demand, spot, flag):
    listed = {**_AWS, "hourly_rate": on_demand}
    assert flags(listed, {**_AWS, **_SPOT, "hourly_rate": spot}) == ["ok", flag]


@pytest.mark.parametrize("option", ["spot", "low_priority"])
def test_azure_lists_spot_as_finely_as_on_demand_and_is_allowed_nothing(option):
    spot = {**_SPOT, "purchase_option": option}
    assert flags({}, {**spot, "hourly_rate": "0.096"}) == ["ok", "ok"]
    assert flags({}, {**spot, "hourly_rate": "0.0960000001"}) == ["ok", "spot_above_on_demand"]


def test_each_zone_is_held_against_its_region():
    zones = [
        {**_AWS, **_SPOT, "availability_zone_id": zone, "hourly_rate": rate}
        for zone, rate in (("euw2-az1", "9"), ("euw2-az2", "11"))
    ]
    assert flags(*zones, {**_AWS, "hourly_rate": "10"}) == ["ok", "spot_above_on_demand", "ok"]


def test_a_commitment_is_judged_by_its_effective_price_to_the_last_decimal():
    upfront = {**_RESERVED, "hourly_rate": "0", "upfront_fee": "841"}
    above = {**upfront, "effective_hourly_price": "0.0960000001"}
    equal = {**upfront, "effective_hourly_price": "0.0960000000", "term_years": 3}
    assert flags({}, above, equal) == ["ok", "commitment_above_on_demand", "ok"]


def test_a_savings_plan_dearer_than_on_demand_is_kept_and_flagged():
    listed = {**_AWS, "hourly_rate": "1.2"}
    plan = {**_AWS, **_PLAN, "hourly_rate": "1.21"}
    assert flags(listed, plan) == ["ok", "commitment_above_on_demand"]


def test_a_reservation_covers_the_machine_so_it_is_held_against_linux():
    windows = {"operating_system": "windows", "hourly_rate": "0.188"}
    reserved = {**_RESERVED, "hourly_rate": "0", "effective_hourly_price": "0.1"}
    assert flags(windows, {}, reserved) == ["ok", "ok", "commitment_above_on_demand"]


@pytest.mark.parametrize(
    "other",
    [
        {"region_id": "westus"},
        {"instance_type": "Standard_D4s_v5"},
        {"operating_system": "windows"},
        {"license_model": "byol"},
        {"pre_installed_software": "sql_web"},
        {"tenancy": "dedicated"},
        {"currency": "EUR"},
        {"provider": "aws"},
    ],
)
def test_another_machine_or_currency_is_no_comparison(other):
    assert flags({**other, "hourly_rate": "0.01"}, {**_SPOT, "hourly_rate": "0.09"}) == ["ok", "ok"]


def test_regions_and_types_are_compared_without_case():
    listed = {"region_id": "WestUS3", "instance_type": "standard_d2s_v5"}
    assert flags(listed, {**_SPOT, "region_id": "westus3", "hourly_rate": "1"}) == [
        "ok",
        "spot_above_on_demand",
    ]


def test_flags_of_other_kinds_stay_and_our_own_are_judged_anew():
    stale = "carried_over,spot_above_on_demand"
    cheap = {**_SPOT, "hourly_rate": "0.02"}
    assert flags(
        {},
        {**cheap, "price_quality": stale},
        {**cheap, "availability_zone_id": "1", "price_quality": "spot_above_on_demand"},
        {**cheap, "availability_zone_id": "2", "price_quality": "indicative", "hourly_rate": "1"},
        {**cheap, "availability_zone_id": "3", "price_quality": stale, "hourly_rate": "1"},
    ) == ["ok", "carried_over", "ok", "indicative,spot_above_on_demand", stale]


def test_nothing_but_the_flags_changes_and_flagging_twice_changes_nothing():
    rows = price_rows({**_SPOT, "hourly_rate": "1"}, {}, {**_PLAN, "hourly_rate": "0.05"})
    once = flag_prices(rows)
    assert_frame_equal(once.drop("price_quality"), rows.drop("price_quality"))
    assert_frame_equal(flag_prices(once), once)


def test_rows_in_another_slice_than_their_on_demand_price_are_compared(monkeypatch):
    monkeypatch.setattr(price_flags, "_ROWS_AT_A_TIME", 1)
    dear = {**_SPOT, "hourly_rate": "1"}
    assert flags(dear, {}, {**dear, "availability_zone_id": "1"}) == [
        "spot_above_on_demand",
        "ok",
        "spot_above_on_demand",
    ]


def test_no_prices_give_no_prices():
    empty = price_rows({}).clear()
    assert_frame_equal(flag_prices(empty), empty)
