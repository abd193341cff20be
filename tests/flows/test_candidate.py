"""What the last release gives for what this night did not."""

from dataclasses import replace
from datetime import UTC, datetime

import polars as pl
import pytest

from flows.base import find_base
from flows.candidate import assemble, read_candidate
from flows.planning import plan_run, read_settings
from flows.run import Extract, Rates, RegionFailure
from support.fake_http import refuses
from warehouse.schemas.catalog import TABLE

LATER = "2026-08-23T06:00:00Z"


@pytest.fixture
def run(published, tmp_path):
    """A run a day later than the published release, with a landing store of its own."""
    return plan_run(
        read_settings(published.settings(as_of=LATER, landing=str(tmp_path / "landing")))
    )


def nothing_from(*regions):
    failures = tuple(RegionFailure("aws", region, "Error", "gone") for region in regions)
    return Extract("aws", regions, (), (), failures)


def assembled(run, *extracts, base=None):
    base = find_base(run) if base is None else base
    candidate = assemble(run, base, extracts, Rates(None, "no rates tonight"))
    tables, counts = read_candidate(candidate)
    return candidate, {name: table.collect() for name, table in tables.items()}, counts.collect()


def test_failed_regions_are_carried_over_and_those_never_known_are_not(run, release):
    extract = nothing_from("eu-north-1", "US-EAST-1", "xx-none-1")
    candidate, tables, _ = assembled(run, extract)
    assert candidate.carried_over == (("aws", "eu-north-1"), ("aws", "US-EAST-1"))
    before = pl.read_parquet(release.table("prices")).filter(
        pl.col("region_id").is_in(["eu-north-1", "us-east-1"]), pl.col("purchase_option") != "spot"
    )
    assert set(tables["prices"]["price_quality"]) == {"carried_over"}
    assert tables["prices"].drop("price_quality").equals(before.drop("price_quality"))
    assert set(tables["sources"]["source_id"]) == {
        "aws_price_list/eu-north-1",
        "aws_price_list/us-east-1",
        "ecb_reference_rates",
    }


def test_savings_plans_of_the_last_release_stand_in_beside_tonights_prices(night):
    night.refresh()
    first = night.release()
    night.server.misbehave(refuses(503), on="SavingsPlan/20260705130000/", times=None)
    refreshed = night.refresh(as_of=LATER)
    assert (refreshed.outcome, refreshed.carried_over) == ("published", ())
    is_plan = (pl.col("purchase_option") == "savings_plan") & (pl.col("provider") == "aws")
    prices = pl.read_parquet(night.release().table("prices"))
    plans = prices.filter(is_plan)
    before = pl.read_parquet(first.table("prices")).filter(is_plan)
    assert plans.drop("price_quality").equals(before.drop("price_quality"))
    assert set(plans["price_quality"]) == {"carried_over"}
    assert prices.filter(~is_plan, pl.col("price_quality") == "carried_over").is_empty()
    sources = pl.read_parquet(night.release().table("sources"))
    assert "aws_savings_plans/ap-east-2" in set(sources["source_id"])


def test_a_spot_feed_that_changes_while_a_night_is_fetched_is_of_this_night(night):
    night.aws.spot_feed_date = "Sat, 22 Aug 2026 09:00:00 GMT"
    night.refresh()
    spot = pl.read_parquet(night.release().table("prices")).filter(
        pl.col("purchase_option") == "spot", pl.col("provider") == "aws"
    )
    assert spot.height > 0
    assert set(spot["valid_from"]) == {datetime(2026, 8, 22, 6, tzinfo=UTC)}
    assert pl.read_parquet(night.release().table("announced_prices")).is_empty()


def test_without_rates_tonight_the_last_ones_stay_with_their_date(run, release):
    _, tables, _ = assembled(run, nothing_from("eu-north-1"))
    assert tables["fx_rates"].equals(pl.read_parquet(release.table("fx_rates")))


def test_what_a_carried_over_type_is_stays_known(run, release):
    _, tables, _ = assembled(run, nothing_from("us-east-1"))
    is_ours = pl.col("instance_type") == "p5.48xlarge"
    before = pl.read_parquet(release.table("instance_types")).filter(is_ours)
    assert before["vcpu_count"].to_list() == [192]
    assert tables["instance_types"].filter(is_ours).equals(before)


def test_rows_of_carried_documents_add_up(run, release):
    _, _, counts = assembled(run, nothing_from("eu-north-1"))
    source_id = "aws_price_list/eu-north-1"
    rows = pl.read_parquet(release.table("sources")).filter(pl.col("source_id") == source_id)
    assert counts.filter(pl.col("source_id") == source_id)["rows"].sum() == rows["rows"].item()


def test_a_first_night_has_nothing_to_carry_over(run, tmp_path):
    first = replace(run, root=str(tmp_path / "empty"))
    candidate, tables, counts = assembled(first, nothing_from("eu-north-1"))
    assert candidate.base.compared is None
    assert candidate.carried_over == ()
    assert set(tables) == set(TABLE)
    for name in ("prices", "fx_rates", "sources", "cheapest_region", "rejected_rows"):
        assert tables[name].schema == TABLE[name].schema
        assert tables[name].is_empty()
    assert counts.is_empty()
