"""The gate's limits on whole price lists, and real events replayed on them.

Needs ../shared/data; small versions of the same events are in tests/expectations/table_checks.
"""

import polars as pl
import pytest

from support.candidates import check, judge
from support.full_price_lists import (
    AZURE_CHANGES,
    AZURE_HUB,
    AZURE_METERS,
    KARPENTER,
    VANTAGE,
    WAYS,
    aws_list,
    aws_types,
    azure_list,
    karpenter_on,
    price_rows,
    release_of,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not VANTAGE.exists(), reason="the price lists are not there"),
]

_needs_karpenter = pytest.mark.skipif(not KARPENTER.exists(), reason="Karpenter's is not there")


@pytest.mark.parametrize(
    ("rule", "checked", "failed"),
    [
        # Fees of p5e and trn2 that pass for on-demand prices in that list, and no rounding.
        ("spot_not_above_on_demand", 75_328, 4),
        # 188 of hosts, which that list names once a type, and 26 of RHEL and SUSE.
        ("commitments_ordered", 481_222, 214),
        ("region_spread", 1_304, 0),
        ("family_in_line", 7_267, 0),
        ("vcpu_price_constant", 2_343, 0),
        ("in_line", 387_298, 106),
        ("windows_above_linux", 142_258, 287),
    ],
)
def test_aws_of_july_2026_is_no_noise(rule, checked, failed):
    found = judge(f"prices.{rule}", aws_list())
    assert (found.measured.checked, found.failed) == (checked, failed)


@pytest.mark.skipif(not AZURE_HUB.exists(), reason="Azure's list is not there")
@pytest.mark.parametrize(
    ("rule", "checked", "failed"),
    [
        ("spot_not_above_on_demand", 213_166, 0),
        ("commitments_ordered", 360_266, 0),
        ("region_spread", 1_790, 26),
        ("family_in_line", 44_072, 0),
        ("in_line", 444_905, 72),
        ("windows_above_linux", 68_835, 10),
    ],
)
def test_azure_of_august_2026_is_no_noise(rule, checked, failed):
    found = judge(f"prices.{rule}", azure_list())
    assert (found.measured.checked, found.failed) == (checked, failed)


@_needs_karpenter
def test_r7g_of_march_2025_is_refused_among_the_prices_of_all_regions():
    wrong = karpenter_on("2025-03-25").filter(
        pl.col("region_id") == "us-gov-west-1", pl.col("instance_type").str.starts_with("r7g.")
    )
    assert wrong.height == 8
    assert str(wrong.filter(pl.col("instance_type") == "r7g.12xlarge")["hourly_rate"][0]) == (
        "30.8064000000"
    )
    whole = aws_list()
    others = whole.tables["prices"].filter(
        (pl.col("region_id") != "us-gov-west-1") | ~pl.col("instance_type").str.starts_with("r7g.")
    )
    night = whole.with_table("prices", pl.concat([others, wrong]))
    (row,) = judge("prices.family_in_line", night).rows
    assert (row["region_id"], row["family"], row["types"]) == ("us-gov-west-1", "r7g", 8)
    assert 9 < row["times_off"] < 11
    assert judge("prices.vcpu_price_constant", night).failed == 0


@_needs_karpenter
def test_the_cuts_of_june_2025_are_flagged_and_can_be_published():
    before, after = (release_of_karpenter(day) for day in ("2025-06-22", "2025-06-24"))
    jumps = judge("prices.no_jump", after, before).rows
    assert [
        (row["region_id"], row["instance_type"], row["old_price"], row["new_price"])
        for row in jumps
    ] == [
        ("us-east-1", "p4d.24xlarge", "32.7726", "21.957642"),
        ("us-east-1", "p4de.24xlarge", "40.96575", "27.44705"),
        ("us-east-1", "p5.48xlarge", "98.32", "55.04"),
        ("us-gov-west-1", "p4d.24xlarge", "39.33", "26.3511"),
        ("us-gov-west-1", "p5.48xlarge", "117.984", "66.048"),
    ]
    # p5en went from 84.8 to 63.296, by a quarter: below what is shown.
    (p5en,) = after.tables["prices"].filter(
        pl.col("region_id") == "us-east-1", pl.col("instance_type") == "p5en.48xlarge"
    )["hourly_rate"]
    assert str(p5en) == "63.2960000000"
    for rule in ("few_jumps", "regions_kept", "most_rows_kept", "most_types_kept"):
        assert judge(f"prices.{rule}", after, before).failed == 0
    assert judge("prices.few_jumps", after, before).measured.judged["measured"].max() < 0.5


@_needs_karpenter
def test_c8i_4xlarge_of_september_2025_is_named_until_it_was_corrected():
    wrong, right = (release_of_karpenter(day) for day in ("2025-09-02", "2025-10-17"))
    rows = judge("prices.vcpu_price_constant", wrong).rows
    assert [(row["family"], row["odd_instance_type"]) for row in rows] == [("c8i", "c8i.4xlarge")]
    assert judge("prices.vcpu_price_constant", right).failed == 0
    # The correction, by a quarter, is below what counts as a jump.
    rows = judge("prices.no_jump", right, wrong).rows
    assert [row for row in rows if row["instance_type"].startswith("c8i.")] == []


@_needs_karpenter
def test_g7_of_summer_2026_came_early_went_and_came_back():
    listed, gone, back = (
        release_of_karpenter(day) for day in ("2026-06-16", "2026-07-04", "2026-07-21")
    )
    g7 = ["12xlarge", "24xlarge", "2xlarge", "48xlarge", "4xlarge", "8xlarge"]
    rows = judge("prices.types_kept", gone, listed).rows
    assert [row["instance_type"] for row in rows if row["region_id"] == "us-east-1"] == [
        f"g7.{size}" for size in g7
    ]
    assert judge("prices.most_types_kept", gone, listed).failed == 0
    assert judge("prices.types_kept", back, gone).failed == 0


def release_of_karpenter(day):
    """Make a release of what Karpenter's file said at the end of a day, with Vantage's vCPUs."""
    sizes = pl.read_parquet(VANTAGE).select("instance_type", "vcpu_count").unique("instance_type")
    return release_of(karpenter_on(day).filter(pl.col("currency") == "USD"), aws_types(sizes))


@pytest.mark.skipif(not AZURE_CHANGES.exists(), reason="Azure's changes are not there")
def test_northeurope_losing_295_meters_for_a_night_is_refused():
    meters = pl.read_parquet(AZURE_METERS).select(
        "armRegionName",
        # No size is named there; a meter is as good, for it comes and goes like one.
        meter=pl.format("{}|{}|{}|", "skuId", "meterId", "type"),
        price="retailPrice",
    )
    lost = pl.read_parquet(AZURE_CHANGES).filter(
        pl.col("event") == "removed",
        pl.col("scope") == "vm-northeurope",
        pl.col("at").str.starts_with("2026-08-19"),
    )
    gone = meters.filter(pl.col("armRegionName") == "northeurope").join(
        lost.select(meter="key"), on="meter", how="semi"
    )
    assert (lost.height, gone.height) == (295, 295)

    def night(rows):
        frame = price_rows(rows, "azure", "armRegionName", "meter", "price", WAYS["on_demand"])
        return release_of(
            frame, aws_types(pl.DataFrame({"instance_type": ["x"], "vcpu_count": [1]}))
        )

    before, after = (
        night(meters),
        night(meters.join(gone, on=["armRegionName", "meter"], how="anti")),
    )
    (row,) = judge("prices.most_rows_kept", after, before).rows
    assert (row["region_id"], row["rows_lost"]) == ("northeurope", 295)
    assert row["lost_pct"] == 3.64
    assert "prices.most_rows_kept" in check(after, before).refused_because
    for rule in ("most_rows_kept", "rows_kept", "growth"):
        assert judge(f"prices.{rule}", before, before).failed == 0
