from datetime import timedelta

import polars as pl

from expectations.canaries import CANARIES, Canary
from support.candidates import AS_OF, judge, prices, release

_HOME = Canary("aws", "m5.large", ("eu-central-1", "us-east-1"), "test")
_EVERYWHERE = Canary("aws", "m5.large", None, "test")
_REGIONS = tuple(f"us-test-{number}" for number in range(10))
_TEN = release(prices(*({"region_id": region} for region in _REGIONS)))


def carry_over(candidate, region, hours):
    """Flag a region's prices as an earlier release's, last confirmed hours before the run."""
    here = pl.col("region_id") == region
    flagged = candidate.with_values(
        "prices",
        price_quality=pl.when(here).then(pl.lit("carried_over")).otherwise("price_quality"),
    )
    confirmed = pl.lit(AS_OF - timedelta(hours=hours))
    return flagged.with_values(
        "sources",
        fetched_at=AS_OF - timedelta(days=30),
        confirmed_at=pl.when(here).then(confirmed).otherwise("confirmed_at"),
    )


def test_a_canary_is_missed_where_the_run_was_asked_for_it():
    only_us = release(prices({}))
    missing = judge("prices.canaries", only_us, canaries=(_HOME,))
    assert [row["region_id"] for row in missing.rows] == ["eu-central-1"]
    asked = {"aws": ("US-EAST-1",)}
    assert judge("prices.canaries", only_us, canaries=(_HOME,), regions=asked).failed == 0


def test_a_windows_or_dedicated_price_is_no_canary():
    odd = release(prices({"operating_system": "windows"}, {"tenancy": "dedicated"}))
    assert judge("prices.canaries", odd, canaries=(_HOME,)).failed == 2


def test_canaries_of_providers_that_were_not_asked_for_are_silent():
    found = judge("prices.canaries", release(prices({})), canaries=CANARIES, regions={})
    assert found.measured.not_applicable is not None


def test_canaries_cover_the_home_regions_of_both_clouds():
    homes = {region for canary in CANARIES for region in canary.region_ids or ()}
    assert homes >= {"eu-central-1", "germanywestcentral", "germanynorth"}
    assert all(len(canary.reason) > 10 for canary in CANARIES)


def test_breadth_is_the_share_of_asked_regions_and_zones_do_not_count():
    regions = (*_REGIONS, "us-test-10", "us-test-11", "us-east-1-bos-1")
    known = [{"provider": "aws", "region_id": region} for region in regions]
    candidate = release(_TEN.tables["prices"], regions=known)
    found = judge(
        "prices.canary_breadth", candidate, canaries=(_EVERYWHERE,), regions={"aws": regions}
    )
    assert found.measured.judged.rows() == [("aws m5.large", 16.67)]
    assert found.rows[0]["missing"] == "us-test-10, us-test-11"


def test_an_asked_region_without_a_price_is_named():
    found = judge("prices.region_present", _TEN, regions={"aws": (*_REGIONS, "eu-lost-1")})
    assert found.rows == [{"provider": "aws", "region_id": "eu-lost-1"}]


def test_one_region_in_ten_may_be_carried_over_and_two_may_not():
    one = carry_over(_TEN, "us-test-0", hours=30)
    assert judge("prices.carried_over", one).failed == 1
    assert judge("prices.regions_fetched", one).failed == 0
    two = carry_over(one, "us-test-1", hours=30)
    (row,) = judge("prices.regions_fetched", two).rows
    assert (row["carried_over"], row["missing"]) == (2, 0)
    assert row["missing_or_carried_over_pct"] == 20.0


def test_a_provider_of_which_nothing_came_is_missing_as_a_whole():
    found = judge("prices.regions_fetched", _TEN, regions={"aws": None, "azure": None})
    assert [(row["provider"], row["missing_or_carried_over_pct"]) for row in found.rows] == [
        ("azure", 100.0)
    ]


def test_prices_are_carried_over_for_a_week_and_no_longer():
    week = carry_over(_TEN, "us-test-0", hours=7 * 24)
    assert judge("prices.carried_over_recent", week).failed == 0
    longer = carry_over(_TEN, "us-test-0", hours=7 * 24 + 1)
    assert judge("prices.carried_over_recent", longer).rows[0]["age_days"] == 7.04


def test_a_recording_is_carried_over_at_any_age():
    recorded = carry_over(_TEN, "us-test-0", hours=1000).with_values("sources", is_recorded=True)
    assert judge("prices.carried_over_recent", recorded).measured.checked == 0


def test_linux_with_sql_server_or_with_a_licence_of_ones_own_is_no_canary():
    odd = release(
        prices(
            {"pre_installed_software": "sql_web"},
            {"region_id": "eu-central-1", "license_model": "byol"},
        )
    )
    assert judge("prices.canaries", odd, canaries=(_HOME,)).failed == 2


def test_regions_whose_savings_plans_alone_are_carried_over_are_fetched():
    plan = {
        "purchase_option": "savings_plan",
        "commitment_type": "compute",
        "term_years": 1,
        "payment_option": "no_upfront",
        "pricing_category": "Committed",
        "hourly_rate": "0.07",
        "price_quality": "carried_over",
        "source_id": "aws_savings_plans/us-east-1",
    }
    mixed = release(prices({}, plan))
    assert judge("prices.carried_over", mixed).failed == 1
    assert judge("prices.regions_fetched", mixed).failed == 0
