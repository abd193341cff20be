from decimal import Decimal

import polars as pl

from support.candidates import AS_OF, judge, prices, release
from warehouse.schemas.catalog import ANNOUNCED_PRICES

_REGIONS = ("us-east-1", "us-east-2", "us-west-2", "eu-central-1", "eu-west-1")


def test_a_price_of_the_as_of_moment_is_in_force_and_a_later_one_is_not():
    good = release(prices({"valid_from": AS_OF}))
    assert judge("prices.in_force", good).failed == 0
    early = AS_OF.replace(second=0, minute=0, hour=2)
    assert judge("prices.in_force", good, as_of=early).failed == 1


def test_a_price_that_has_ended_is_not_in_force():
    ends = release(prices({"valid_to": AS_OF}))
    assert judge("prices.in_force", ends).failed == 1
    assert judge("prices.in_force", ends, as_of=AS_OF.replace(hour=2)).failed == 0
    assert judge("prices.in_force", release(prices({"valid_to": None}))).failed == 0


def test_an_announced_price_lies_ahead():
    later = prices({"valid_from": AS_OF}, table=ANNOUNCED_PRICES)
    both = release(prices({}), announced=later)
    assert judge("announced_prices.ahead", both).failed == 1
    assert judge("announced_prices.ahead", both, as_of=AS_OF.replace(day=21)).failed == 0


def test_two_currencies_in_one_partition_are_named():
    mixed = release(prices({}, {"region_id": "eu-central-1", "currency": "CNY"}))
    (row,) = judge("prices.one_currency", mixed).rows
    assert (row["partition"], row["listed"]) == ("aws", "CNY, USD")


def test_china_may_have_its_own_currency():
    china = {"provider": "aws", "region_id": "cn-north-1", "partition": "aws-cn"}
    both = release(prices({}, {"region_id": "cn-north-1", "currency": "CNY"}), regions=[china])
    assert judge("prices.one_currency", both).failed == 0


def test_windows_below_linux_on_the_same_machine_is_shown():
    # Azure lists A8 to A11 like this in uaecentral and southafricawest.
    machine = {"provider": "azure", "region_id": "uaecentral", "instance_type": "Standard_A8"}
    windows = {**machine, "operating_system": "windows"}
    found = judge(
        "prices.windows_above_linux",
        release(prices({**machine, "hourly_rate": "0.8"}, {**windows, "hourly_rate": "0.498"})),
    )
    assert (found.measured.checked, found.failed) == (1, 1)
    assert (found.rows[0]["windows_price"], found.rows[0]["linux_price"]) == ("0.498", "0.8")


def test_byol_windows_and_dedicated_linux_are_other_machines():
    found = judge(
        "prices.windows_above_linux",
        release(
            prices(
                {"hourly_rate": "0.2", "tenancy": "dedicated"},
                {"operating_system": "windows", "license_model": "byol"},
            )
        ),
    )
    assert found.measured.checked == 0


def test_r7g_listed_ten_times_too_dear_is_out_of_line_on_its_first_day():
    # AWS, us-gov-west-1, 2025-03-24 to 03-31: new rows, so that no jump shows them.
    elsewhere = [
        {"region_id": region, "instance_type": f"r7g.{size}", "hourly_rate": price}
        for region in _REGIONS
        for size, price in (("large", "0.1071"), ("12xlarge", "2.5704"))
    ]
    government = [
        {"region_id": "us-gov-west-1", "instance_type": "r7g.large", "hourly_rate": "1.2836"},
        {"region_id": "us-gov-west-1", "instance_type": "r7g.12xlarge", "hourly_rate": "30.8064"},
    ]
    found = judge("prices.in_line", release(prices(*elsewhere, *government)))
    assert {(row["region_id"], row["instance_type"]) for row in found.rows} == {
        ("us-gov-west-1", "r7g.large"),
        ("us-gov-west-1", "r7g.12xlarge"),
    }


def test_a_tenth_of_the_usual_price_is_out_of_line_as_well():
    # Azure, newzealandnorth, August 2026: Standard_F4ams_v6 0.0449 against 0.433 elsewhere.
    rows = [{"region_id": region, "hourly_rate": "0.433"} for region in _REGIONS]
    found = judge(
        "prices.in_line",
        release(prices(*rows, {"region_id": "newzealandnorth", "hourly_rate": "0.0449"})),
    )
    assert [row["times_median"] for row in found.rows] == [0.104]


def test_few_regions_say_nothing_of_what_is_usual():
    rows = [{"region_id": region, "hourly_rate": "0.4"} for region in _REGIONS[:3]]
    odd = release(prices(*rows, {"region_id": "us-gov-west-1", "hourly_rate": "4"}))
    assert judge("prices.in_line", odd).measured.checked == 0


def test_an_offer_says_priced_exactly_where_there_is_a_price():
    good = release(prices({}, {"instance_type": "c5.large"}))
    wrong = good.with_values("offers", price_status="not_published").with_rows(
        "offers",
        {
            "provider": "aws",
            "region_id": "us-east-1",
            "instance_type": "ghost",
            "price_status": "priced",
        },
    )
    assert judge("offers.status_true", good).failed == 0
    assert judge("offers.status_true", wrong).failed == 3


_TIED = release(
    prices(
        {"instance_type": "p5.48xlarge", "hourly_rate": "55.04", "region_id": "us-east-1"},
        {"instance_type": "p5.48xlarge", "hourly_rate": "55.04", "region_id": "us-west-2"},
        {"instance_type": "p5.48xlarge", "hourly_rate": "92.4672", "region_id": "sa-east-1"},
        {"instance_type": "p5.48xlarge", "hourly_rate": "50", "region_id": "us-east-1-bos-1"},
    )
)


def test_a_true_winner_is_never_beaten_and_every_scope_is_there():
    assert judge("cheapest_region.never_beaten", _TIED).failed == 0
    assert judge("cheapest_region.complete", _TIED).failed == 0
    assert set(_TIED.tables["cheapest_region"]["scope"]) == {"world", "north_america", "zones"}


def test_a_winner_that_another_region_beats_is_found():
    wrong = _TIED.with_values(
        "cheapest_region", region_id="sa-east-1", price_usd=pl.lit(Decimal("92.4672"))
    )
    rows = judge("cheapest_region.never_beaten", wrong).rows
    world = next(row for row in rows if row["scope"] == "world")
    assert (world["lowest_price"], world["lowest_region_id"]) == ("55.04", "us-east-1")


def test_a_winner_at_a_price_that_its_region_does_not_list_is_found():
    wrong = _TIED.with_values("cheapest_region", price_usd=pl.lit(Decimal(54)))
    assert judge("cheapest_region.never_beaten", wrong).failed == 3


def test_a_winner_whose_region_lists_another_price_is_found():
    wrong = _TIED.with_values("cheapest_region", region_id="sa-east-1")
    rows = judge("cheapest_region.never_beaten", wrong).rows
    world = next(row for row in rows if row["scope"] == "world")
    assert (world["lowest_price"], world["listed_price"]) == ("55.04", "92.4672")


def test_a_scope_without_its_row_is_found():
    without = _TIED.tables["cheapest_region"].filter(pl.col("scope") != "zones")
    rows = judge("cheapest_region.complete", _TIED.with_table("cheapest_region", without)).rows
    assert [(row["scope"], row["lowest_region_id"]) for row in rows] == [
        ("zones", "us-east-1-bos-1")
    ]


def test_retired_types_and_other_tenancies_need_no_winner():
    dedicated = release(prices({"tenancy": "dedicated"}))
    assert judge("cheapest_region.complete", dedicated).measured.checked == 0
    retired = _TIED.with_values("instance_types", lifecycle="retired").with_table(
        "cheapest_region", _TIED.tables["cheapest_region"].clear()
    )
    assert judge("cheapest_region.complete", retired).failed == 0
