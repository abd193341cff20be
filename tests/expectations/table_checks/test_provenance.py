from datetime import timedelta

import polars as pl
import pytest

from support.candidates import AS_OF, judge, prices, release

_GOOD = release(prices({}, {"region_id": "eu-central-1"}))


def aged(hours, **values):
    at = AS_OF - timedelta(hours=hours)
    return _GOOD.with_values("sources", fetched_at=at, confirmed_at=at, **values)


@pytest.mark.parametrize(
    ("hours", "stale", "outdated"), [(36, 0, 0), (37, 2, 0), (168, 2, 0), (169, 2, 2)]
)
def test_documents_age_from_fresh_to_stale_to_outdated(hours, stale, outdated):
    assert judge("sources.fresh", aged(hours)).failed == stale
    assert judge("sources.not_outdated", aged(hours)).failed == outdated


def test_a_recording_is_stale_but_never_outdated():
    old = aged(1000, is_recorded=True)
    assert judge("sources.fresh", old).failed == 2
    assert judge("sources.not_outdated", old).measured.checked == 0


def test_a_document_is_as_old_as_its_last_confirmation_whenever_it_was_fetched():
    unchanged = _GOOD.with_values("sources", version="1", fetched_at=AS_OF - timedelta(days=10))
    assert judge("sources.fresh", unchanged).failed == 0
    assert judge("sources.not_outdated", unchanged).failed == 0
    # What the provider says of one region's document makes no other one fresh.
    one = pl.when(pl.col("region_id") == "us-east-1")
    unconfirmed = unchanged.with_values(
        "sources", confirmed_at=one.then("fetched_at").otherwise("confirmed_at")
    )
    (row,) = judge("sources.fresh", unconfirmed).rows
    assert (row["source_id"], row["age_hours"]) == ("aws/us-east-1", 240.0)
    assert judge("sources.not_outdated", unconfirmed).failed == 1


def test_rates_may_be_four_days_old_and_must_be_there():
    assert judge("fx_rates.fresh", _GOOD, as_of=AS_OF + timedelta(days=3)).failed == 0
    assert judge("fx_rates.fresh", _GOOD, as_of=AS_OF + timedelta(days=4)).failed == 1
    none = _GOOD.with_table("fx_rates", _GOOD.tables["fx_rates"].clear())
    assert judge("fx_rates.usd_present", none).failed == 1
    assert judge("fx_rates.fresh", none).measured.not_applicable is not None


def test_a_row_that_nobody_accounts_for_is_found():
    lost = _GOOD.with_values("sources", rows=pl.col("rows") + 1)
    assert judge("sources.rows_conserved", _GOOD).failed == 0
    assert judge("sources.rows_conserved", lost).rows[0] == {
        "source_id": "aws/eu-central-1",
        "rows_read": 2,
        "counted": 1,
    }


def test_counts_of_a_document_that_is_no_source_are_found():
    more = _GOOD.with_counts(
        *_GOOD.row_counts.to_dicts(), {"source_id": "ghost", "outcome": "kept", "rows": 3}
    )
    assert judge("sources.rows_conserved", more).failed == 1


def test_prices_that_were_lost_after_counting_are_found():
    fewer = _GOOD.with_table("prices", _GOOD.tables["prices"].head(1))
    assert judge("prices.kept_counted", fewer).rows == [
        {"source_id": "aws/eu-central-1", "prices": 0, "counted": 1}
    ]


def test_all_documents_of_a_carried_over_region_are_carried_over():
    # A page of which no price is in force any more ages with its region, not for itself.
    at = AS_OF - timedelta(days=30)
    old = {"fetched_at": at, "confirmed_at": at, "is_recorded": False, "bytes": 1}
    (source,) = set(_GOOD.tables["sources"].filter(provider="aws")["source"])
    page = {"source": source, "provider": "aws", "region_id": "US-EAST-1"}
    page |= {"url": "x", "sha256": "x"}
    carried = _GOOD.with_values("prices", price_quality="carried_over")
    with_page = carried.with_rows("sources", {"source_id": "page", **page, **old})
    assert judge("sources.not_outdated", with_page).measured.checked == 0


def test_spot_documents_of_a_carried_over_region_are_this_nights():
    carried = _GOOD.with_values("prices", price_quality="carried_over")
    spot = {"source": "aws_spot_price_history", "provider": "aws", "region_id": "us-east-1"}
    facts = {"url": "x", "sha256": "x", "bytes": 1, "is_recorded": False}
    at = AS_OF - timedelta(days=8)
    with_spot = carried.with_rows(
        "sources", {"source_id": "spot", **spot, **facts, "fetched_at": at, "confirmed_at": at}
    )
    assert [row["source_id"] for row in judge("sources.not_outdated", with_spot).rows] == ["spot"]
    assert judge("prices.carried_over_recent", with_spot).measured.checked == 2


def test_documents_without_a_region_are_judged_by_themselves():
    # The spot feed, an index of savings plans, China's index.
    facts = {"provider": "aws", "url": "x", "sha256": "x", "bytes": 1, "is_recorded": False}
    at = AS_OF - timedelta(days=8)
    more = _GOOD.with_rows(
        "sources",
        *(
            {"source_id": name, "source": name, **facts, "fetched_at": at, "confirmed_at": at}
            for name in ("aws_spot_feed", "aws_savings_plans_index", "aws_cn_index")
        ),
    )
    assert judge("sources.not_outdated", more).failed == 3
    assert judge("sources.rows_conserved", more).failed == 0
    assert judge("prices.region_present", more).failed == 0


def rejected(rows, read=1000):
    counts = [
        {"source_id": "aws/us-east-1", "outcome": "kept", "rows": read - rows},
        {"source_id": "aws/us-east-1", "outcome": "rejected", "rule": "unknown_unit", "rows": rows},
    ]
    return _GOOD.with_counts(*counts)


@pytest.mark.parametrize(
    ("rows", "noticed", "refused"), [(1, 0, 0), (2, 1, 0), (50, 1, 0), (51, 1, 1)]
)
def test_rejected_rows_are_noticed_and_then_too_many(rows, noticed, refused):
    assert judge("rejected_rows.very_few", rejected(rows)).failed == noticed
    assert judge("rejected_rows.few", rejected(rows)).failed == refused


def test_rejected_rows_that_are_counted_must_be_shown():
    assert judge("rejected_rows.counted", rejected(1)).rows == [
        {"source_id": "aws/us-east-1", "rejected_rows": 0, "counted": 1}
    ]
