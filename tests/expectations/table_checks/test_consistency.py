from decimal import Decimal

import polars as pl

from support.candidates import AS_OF, judge, prices, release
from warehouse.schemas.catalog import ANNOUNCED_PRICES


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


def test_a_list_for_reference_is_no_second_currency_of_a_partition():
    euros = {"currency": "EUR", "price_quality": "reference", "hourly_rate": "0.09"}
    listed = release(prices({}, euros))
    assert judge("prices.one_currency", listed).failed == 0
    assert judge("prices.one_currency", listed).measured.judged.rows() == [("aws", 1.0)]
    carried = release(prices({}, {**euros, "price_quality": "carried_over,reference"}))
    assert judge("prices.one_currency", carried).failed == 0


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


def test_windows_spot_below_linux_spot_is_another_pool():
    spot = {"purchase_option": "spot", "pricing_category": "Dynamic"}
    windows = {**spot, "operating_system": "windows", "hourly_rate": "0.02"}
    both = release(prices({**spot, "hourly_rate": "0.03"}, windows))
    assert judge("prices.windows_above_linux", both).measured.checked == 0


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


def offer(instance_type, status, offered):
    return {
        "provider": "aws",
        "region_id": "us-east-1",
        "instance_type": instance_type,
        "price_status": status,
        "offered": offered,
    }


def test_prices_of_what_cannot_be_ordered_are_counted_and_what_is_not_known_is_not():
    # AWS, July 2026: g3 is gone from the EC2 API and still priced in 13 regions.
    offers = [
        offer("g3.4xlarge", "priced", False),
        offer("m6i.large", "priced", True),
        offer("c6i.large", "priced", None),
        offer("p2.xlarge", "not_published", False),
    ]
    found = judge("offers.price_without_offering", release(prices({})).with_rows("offers", *offers))
    assert [row["instance_type"] for row in found.rows] == ["g3.4xlarge"]
    assert (found.measured.checked, found.failed) == (2, 1)


def test_what_can_be_ordered_without_any_price_is_counted_and_capacity_blocks_are_not():
    offers = [
        offer("hpc6a.48xlarge", "not_published", True),
        offer("p5e.48xlarge", "capacity_block_only", True),
        offer("m6i.large", "priced", True),
        offer("c6i.large", "not_published", None),
    ]
    found = judge("offers.offering_without_price", release(prices({})).with_rows("offers", *offers))
    assert [row["instance_type"] for row in found.rows] == ["hpc6a.48xlarge"]
    assert (found.measured.checked, found.failed) == (3, 1)


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


_SPOT = {"purchase_option": "spot", "pricing_category": "Dynamic"}
_ZONES = release(
    prices(
        {**_SPOT, "availability_zone_id": "use1-az1", "hourly_rate": "0.05"},
        {**_SPOT, "availability_zone_id": "use1-az2", "hourly_rate": "0.04"},
        {**_SPOT, "region_id": "us-east-2", "hourly_rate": "0.041"},
        {},
    )
)


def world(candidate, option="spot"):
    frame = candidate.tables["cheapest_region"]
    return frame.filter(pl.col("scope") == "world", pl.col("purchase_option") == option).row(
        0, named=True
    )


def test_a_region_takes_part_with_its_cheapest_zone():
    winner = world(_ZONES)
    assert (winner["region_id"], winner["availability_zone_id"]) == ("us-east-1", "use1-az2")
    assert (winner["zone_count"], str(winner["price_usd"])) == (2, "0.0400000000")
    for check in ("never_beaten", "complete", "zones_true"):
        assert judge(f"cheapest_region.{check}", _ZONES).failed == 0
    assert world(_ZONES, "on_demand")["zone_count"] is None


def test_a_winner_at_the_price_of_a_dearer_zone_is_beaten():
    wrong = _ZONES.with_values(
        "cheapest_region", price_usd=pl.lit(Decimal("0.05")), availability_zone_id="use1-az1"
    )
    rows = judge("cheapest_region.never_beaten", wrong).rows
    spot = next(row for row in rows if row["purchase_option"] == "spot")
    assert (spot["listed_price"], spot["lowest_price"]) == ("0.04", "0.04")


def test_a_zone_that_lists_another_price_or_a_wrong_number_of_zones_is_found():
    is_spot = pl.col("purchase_option") == "spot"
    other = pl.when(is_spot).then(pl.lit("use1-az1"))
    rows = judge(
        "cheapest_region.zones_true",
        _ZONES.with_values("cheapest_region", availability_zone_id=other),
    ).rows
    assert {(row["price_usd"], row["zone_price"]) for row in rows} == {("0.04", "0.05")}
    for count in (None, 1, 3):
        counted = pl.when(is_spot).then(pl.lit(count, dtype=pl.Int32))
        wrong = _ZONES.with_values("cheapest_region", zone_count=counted)
        assert judge("cheapest_region.zones_true", wrong).failed == 2  # world, north_america


def test_a_zone_where_one_price_holds_for_all_is_found():
    assert judge("cheapest_region.zones_true", _TIED).failed == 0
    wrong = _TIED.with_values("cheapest_region", availability_zone_id="use1-az1", zone_count=1)
    assert judge("cheapest_region.zones_true", wrong).failed == 3
