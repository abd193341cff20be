from decimal import Decimal

import polars as pl
import pytest
from hypothesis import given
from polars.testing import assert_frame_equal

from support.rows import (
    PAGE,
    count_lines,
    day,
    listing_rows,
    offer_rows,
    price_rows,
    rejected_rows,
    source_rows,
    type_rows,
)
from support.strategies import AS_OF, PROPERTY, crowded_price_frames
from transforms.carry_over import LastRelease, carry_over
from transforms.errors import RowsNotConservedError
from transforms.list_prices import in_force, price_key, settle
from transforms.rejected_rows import number_rejected_rows
from warehouse.schemas.catalog import PRICE_KEY_NOW, SOURCES, TABLE
from warehouse.schemas.parts import REJECTED

PLAN = {
    "purchase_option": "savings_plan",
    "commitment_type": "azure_compute",
    "term_years": 1,
    "payment_option": "no_upfront",
    "hourly_rate": "0.06",
}


def _last(**tables: pl.DataFrame) -> LastRelease:
    return LastRelease(
        *(tables.get(name, TABLE[name].empty()).lazy() for name in LastRelease._fields)
    )


def _carry(last: LastRelease, *, as_of=AS_OF, provider="azure", region_ids=("eastus",), **only):
    return carry_over(last, provider=provider, region_ids=region_ids, as_of=as_of, **only)


def test_a_region_s_prices_are_flagged_and_keep_their_dates():
    prices = price_rows(
        {"valid_from": day("2024-05-01")},
        {"region_id": "westus"},
        {"provider": "aws"},
    )
    carried = _carry(_last(prices=prices))
    expected = price_rows({"valid_from": day("2024-05-01"), "price_quality": "carried_over"})
    assert_frame_equal(carried.part.prices, expected)


def test_flags_of_the_last_release_stay_beside_the_new_one():
    prices = price_rows(
        {"price_quality": "spot_above_on_demand"},
        {"price_quality": "carried_over", "operating_system": "windows"},
    )
    assert _carry(_last(prices=prices)).part.prices["price_quality"].to_list() == [
        "carried_over,spot_above_on_demand",
        "carried_over",
    ]


@pytest.mark.parametrize("provider", ["aws", "azure"])
def test_an_announced_price_that_came_into_force_replaces_the_one_before(provider):
    last = _last(
        prices=price_rows(
            {"provider": provider, "hourly_rate": "0.1"},
            {"provider": provider, "hourly_rate": "0.7", "operating_system": "windows"},
        ),
        announced_prices=price_rows(
            {"provider": provider, "hourly_rate": "0.2", "valid_from": day("2026-11-30")},
            {"provider": provider, "hourly_rate": "0.3", "valid_from": day("2026-12-01")},
        ),
    )

    part = _carry(last, provider=provider, as_of=day("2026-11-30")).part
    now = in_force(part.prices, rejected=part.rejected, as_of=day("2026-11-30"))

    assert sorted(now.prices["hourly_rate"]) == [Decimal("0.2"), Decimal("0.7")]
    assert now.announced["hourly_rate"].to_list() == [Decimal("0.3")]
    assert now.rejected.is_empty()
    assert set(part.prices["price_quality"]) == {"carried_over"}


def test_an_announced_price_stays_announced_until_its_day():
    last = _last(
        prices=price_rows({"hourly_rate": "0.1"}),
        announced_prices=price_rows({"hourly_rate": "0.2", "valid_from": day("2026-12-01")}),
    )
    part = _carry(last, as_of=day("2026-11-30")).part
    assert part.prices["hourly_rate"].to_list() == [Decimal("0.1"), Decimal("0.2")]


@pytest.mark.parametrize("provider", ["aws", "azure"])
def test_a_price_that_ended_since_is_left_and_counted_as_ended(provider):
    last = _last(
        prices=price_rows(
            {"provider": provider, "valid_to": day("2026-11-30")},
            {"provider": provider, "valid_to": day("2026-12-01"), "instance_type": "open"},
            {"provider": provider, "operating_system": "windows"},
        ),
        announced_prices=price_rows(
            {
                "provider": provider,
                "valid_from": day("2026-11-02"),
                "valid_to": day("2026-11-09"),
                "hourly_rate": "0.01",
                "operating_system": "windows",
            },
        ),
        sources=source_rows({"provider": provider, "rows": 10}, {"source_id": "d/2", "rows": 3}),
    )

    part = _carry(last, provider=provider, as_of=day("2026-11-30")).part

    expected = price_rows(
        {"provider": provider, "valid_to": day("2026-12-01"), "instance_type": "open"},
        {"provider": provider, "operating_system": "windows"},
    ).with_columns(price_quality=pl.lit("carried_over"))
    assert_frame_equal(part.prices, expected)
    documents = [(PAGE, "filtered", "ended", 2), (PAGE, "filtered", "left_in_last_release", 6)]
    documents += [(PAGE, "kept", None, 2)]
    others = [("d/2", "filtered", "left_in_last_release", 3)] if provider == "azure" else []
    assert_frame_equal(part.counts, count_lines(*documents, *others))
    again = in_force(part.prices, rejected=part.rejected, as_of=day("2026-11-30"))
    assert again.counts.is_empty()


def _refused(*rows) -> pl.DataFrame:
    """Settle rows that contradict each other, and number them as the last release does."""
    return number_rejected_rows(settle(price_rows(*rows)).rejected)


@pytest.mark.parametrize("provider", ["aws", "azure"])
@pytest.mark.parametrize(("as_of", "kept"), [(day("2026-12-14"), 2), (day("2026-12-15"), 1)])
def test_a_price_is_left_when_the_announced_ones_that_follow_it_were_refused(provider, as_of, kept):
    announced = {"provider": provider, "valid_from": day("2026-12-15")}
    last = _last(
        prices=price_rows(
            {"provider": provider}, {"provider": provider, "operating_system": "windows"}
        ),
        rejected_rows=_refused(announced, announced | {"hourly_rate": "0.2"}),
        sources=source_rows({"provider": provider, "rows": 5}),
    )

    part = _carry(last, provider=provider, as_of=as_of).part

    assert part.prices.height == kept
    assert part.prices["operating_system"][-1] == "windows"
    assert part.rejected.is_empty()
    left = (PAGE, "filtered", "left_in_last_release", 5 - kept)
    assert_frame_equal(part.counts, count_lines(left, (PAGE, "kept", None, kept)))
    again = in_force(part.prices, rejected=part.rejected, as_of=as_of)
    assert again.counts.is_empty()


def test_a_price_is_left_when_the_announced_item_that_follows_it_was_refused():
    item = (
        '{"arm_sku_name":"Standard_D2s_v5","currency_code":"USD","sku_id":"S","type":"Consumption",'
        '"effective_start_date":"2026-12-15T00:00:00Z"}'
    )
    last = _last(
        prices=price_rows({"sku_id": "S"}, {"sku_id": "T", "operating_system": "windows"}),
        rejected_rows=number_rejected_rows(rejected_rows({"row": item})),
    )
    assert _carry(last, as_of=day("2026-12-14")).part.prices.height == 2
    (left,) = _carry(last, as_of=day("2026-12-15")).part.prices["operating_system"]
    assert left == "windows"


@pytest.mark.parametrize("elsewhere", [{"region_id": "westus"}, {"provider": "aws"}])
def test_rows_that_were_refused_elsewhere_leave_a_price_alone(elsewhere):
    refused = _refused(elsewhere, elsewhere | {"hourly_rate": "0.2"})
    last = _last(prices=price_rows({}), rejected_rows=refused)
    assert _carry(last).part.prices.height == 1


def test_an_announced_item_without_a_savings_plan_ends_the_plan_of_the_one_before():
    last = _last(
        prices=price_rows({}, PLAN, PLAN | {"operating_system": "windows"}),
        announced_prices=price_rows({"valid_from": day("2026-12-15"), "hourly_rate": "0.1"}),
        sources=source_rows({"rows": 4}),
    )
    before = _carry(last, as_of=day("2026-12-14")).part
    after = _carry(last, as_of=day("2026-12-15")).part

    assert before.prices.height == 4
    assert sorted(after.prices.select("operating_system", "purchase_option").rows()) == [
        ("linux", "on_demand"),
        ("windows", "savings_plan"),
    ]
    assert_frame_equal(
        after.counts,
        count_lines((PAGE, "filtered", "left_in_last_release", 2), (PAGE, "kept", None, 2)),
    )


def test_of_a_region_only_the_sources_that_are_asked_for_come_along():
    offers, plans = "aws_price_list/eastus", "aws_savings_plans/eastus"
    aws = {"provider": "aws"}
    plan = aws | PLAN | {"commitment_type": "compute", "source_id": plans}
    last = _last(
        prices=price_rows(aws | {"source_id": offers}, plan),
        announced_prices=price_rows(
            plan | {"valid_from": day("2027-01-01")},
            aws | {"source_id": offers, "valid_from": day("2027-01-01"), "instance_type": "new"},
        ),
        offers=offer_rows(
            aws | {"price_status": "capacity_block_only", "instance_type": "p6"},
        ),
        instance_types=type_rows(aws, *(aws | {"instance_type": name} for name in ("new", "p6"))),
        sources=source_rows(
            aws | {"source_id": offers, "rows": 2},
            aws | {"source_id": plans, "rows": 3},
            aws | {"source_id": "aws_savings_plans_index/eastus", "rows": None},
        ),
    )

    carried = _carry(last, provider="aws", only_sources={"aws_savings_plans"})

    assert carried.part.prices["source_id"].to_list() == [plans, plans]
    assert carried.sources["source_id"].to_list() == [plans]
    assert carried.part.instance_facts["instance_type"].to_list() == ["Standard_D2s_v5"]
    assert carried.part.listings.is_empty()
    assert_frame_equal(
        carried.part.counts,
        count_lines((plans, "filtered", "left_in_last_release", 1), (plans, "kept", None, 2)),
    )


def test_a_source_of_which_nothing_lasts_is_not_carried_though_it_is_asked_for():
    spot = {"source_id": "aws_spot_price_history/eastus", "purchase_option": "spot"}
    last = _last(
        prices=price_rows({"provider": "aws"} | spot),
        sources=source_rows({"provider": "aws", "source_id": spot["source_id"]}),
    )
    carried = _carry(last, provider="aws", only_sources={"aws_spot_price_history"})
    assert carried.part.prices.is_empty()
    assert carried.sources.is_empty()


def test_regions_are_found_in_any_spelling():
    carried = _carry(_last(prices=price_rows({"region_id": "EastUS"})), region_ids=["eastUS"])
    assert carried.part.prices["region_id"].to_list() == ["EastUS"]


def test_the_documents_of_the_region_come_along_unchanged():
    sources = source_rows(
        {
            "source_id": PAGE,
            "fetched_at": day("2026-11-01"),
            "confirmed_at": day("2026-11-28"),
        },
        {"source_id": "azure_retail_prices/westus/Consumption/001", "region_id": "westus"},
        {"source_id": "ecb_reference_rates", "provider": None, "region_id": None},
        {"source_id": "aws_price_list/eastus", "provider": "aws"},
    )
    assert_frame_equal(_carry(_last(sources=sources)).sources, sources[[0]])


def test_kept_and_left_rows_add_up_to_the_rows_of_the_document():
    last = _last(
        prices=price_rows(
            {"source_id": "d/1"}, {"source_id": "d/1", "operating_system": "windows"}
        ),
        announced_prices=price_rows({"source_id": "d/1", "valid_from": day("2027-01-01")}),
        sources=source_rows(
            {"source_id": "d/2", "rows": 7},
            {"source_id": "d/1", "rows": 1000},
            {"source_id": "d/index", "rows": None},
        ),
    )
    assert_frame_equal(
        _carry(last).part.counts,
        count_lines(
            ("d/1", "filtered", "left_in_last_release", 997),
            ("d/1", "kept", None, 3),
            ("d/2", "filtered", "left_in_last_release", 7),
        ),
    )


def test_a_release_with_more_prices_than_its_document_had_rows_is_not_carried_on():
    last = _last(
        prices=price_rows({}, {"operating_system": "windows"}), sources=source_rows({"rows": 1})
    )
    with pytest.raises(RowsNotConservedError, match="-1 rows filtered"):
        _carry(last)


def test_listings_without_a_price_come_along():
    offers = offer_rows(
        {"price_status": "capacity_block_only", "instance_type": "p6"},
        {"price_status": "priced"},
        {"price_status": "not_published", "instance_type": "q"},
        {"price_status": "capacity_block_only", "region_id": "westus"},
    )
    assert_frame_equal(
        _carry(_last(offers=offers)).part.listings,
        listing_rows({"price_status": "capacity_block_only", "instance_type": "p6"}),
    )


def test_facts_come_along_for_the_types_that_do():
    last = _last(
        prices=price_rows({"instance_type": "standard_d2s_v5"}),
        offers=offer_rows({"instance_type": "p6", "price_status": "capacity_block_only"}),
        instance_types=type_rows(
            {"vcpu_count": 2},
            {"instance_type": "p6"},
            {"instance_type": "elsewhere"},
            {"provider": "aws"},
        ),
    )
    assert_frame_equal(
        _carry(last).part.instance_facts,
        type_rows({"vcpu_count": 2}, {"instance_type": "p6"}),
    )


def test_a_region_that_the_last_release_does_not_know_gives_nothing():
    carried = _carry(_last(prices=price_rows({})), region_ids=["atlantis"])
    assert carried.part.prices.is_empty()
    assert carried.part.counts.is_empty()
    assert_frame_equal(carried.part.rejected, REJECTED.empty())
    assert_frame_equal(carried.sources, SOURCES.empty())


@PROPERTY
@given(crowded_price_frames())
def test_what_is_carried_over_gives_one_price_a_key_and_refuses_none(frame):
    settled = settle(frame)
    now = in_force(settled.prices, rejected=settled.rejected, as_of=AS_OF)
    last = _last(prices=now.prices, announced_prices=now.announced)
    later = day("2027-11-30")

    for provider in ("aws", "azure"):
        part = _carry(last, provider=provider, as_of=later).part
        again = in_force(part.prices, rejected=part.rejected, as_of=later)

        assert again.counts.is_empty()
        open_before = pl.concat([now.prices, now.announced]).filter(
            pl.col("provider") == provider, pl.col("valid_to").is_null()
        )
        assert again.prices.height == open_before.select(price_key(PRICE_KEY_NOW)).n_unique()


@PROPERTY
@given(crowded_price_frames())
def test_no_azure_price_is_carried_over_that_the_documents_would_not_give_later(frame):
    settled = settle(frame)
    now = in_force(settled.prices, rejected=settled.rejected, as_of=AS_OF)
    later = day("2027-11-30")
    last = _last(
        prices=now.prices,
        announced_prices=now.announced,
        rejected_rows=number_rejected_rows(pl.concat([settled.rejected, now.rejected])),
    )

    carried = _carry(last, as_of=later).part.prices.with_columns(price_quality=pl.lit("ok"))

    fetched = in_force(settled.prices, rejected=settled.rejected, as_of=later).prices
    assert carried.join(fetched, on=carried.columns, how="anti", nulls_equal=True).is_empty()
