"""The whole gate, Great Expectations included."""

import json
import pickle
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest

from expectations import gate
from expectations.checkpoint import CheckpointOutcome, Judged
from expectations.errors import (
    ExpectationCrashedError,
    GateDisagreementError,
    GateInputError,
)
from expectations.gate_report import GateReport
from support.candidates import AS_OF, Release, check, prices, release
from warehouse.schemas.rules.gate import GATE

pytestmark = pytest.mark.slow

_REPOSITORY = Path(__file__).resolve().parents[2]


def night(p5: str = "98.32", types: int = 40) -> Release:
    """Make a release of ordinary types and one GPU type."""
    fleet = [{"instance_type": f"m{number}.large"} for number in range(types)]
    return release(
        prices(
            *fleet,
            {"region_id": "eu-central-1"},
            {"region_id": "us-east-1-bos-1"},
            {"operating_system": "windows", "hourly_rate": "0.188"},
            {"instance_type": "p5.48xlarge", "hourly_rate": p5},
        )
    )


@pytest.fixture(scope="module")
def first() -> GateReport:
    return check(night())


@pytest.fixture(scope="module")
def cut() -> GateReport:
    return check(night(p5="55.04"), night())


@pytest.fixture(scope="module")
def broken() -> GateReport:
    zeros = night().with_values("prices", effective_hourly_price=0)
    return check(zeros, night(types=80))


def test_a_good_first_release_is_published(first):
    assert first.verdict == "publish"
    assert [result.rule.id for result in first.rules] == [rule.id for rule in GATE]


def test_what_cannot_be_judged_is_shown_as_such_and_never_passed(first):
    silent = {result.rule.id for result in first.rules if result.status == "not_applicable"}
    assert "prices.few_jumps" in silent
    assert all(result.note for result in first.rules if result.status == "not_applicable")
    assert silent.isdisjoint(first.checkpoint.by_rule)


def test_every_applicable_rule_ran_in_great_expectations(first):
    applicable = {result.rule.id for result in first.rules if result.status != "not_applicable"}
    assert set(first.checkpoint.by_rule) == applicable
    assert first.checkpoint.success


def test_a_lawful_cut_is_published_with_a_warning_that_shows_it(cut):
    assert cut.verdict == "publish_with_warnings"
    assert [result.rule.id for result in cut.failed("warning")] == ["prices.no_jump"]
    (row,) = cut.result("prices.no_jump").sample
    assert (row["old_price"], row["new_price"], row["change_pct"]) == ("98.32", "55.04", -44.02)
    assert cut.checkpoint.worst_failure == "warning"


def test_a_critical_failure_refuses_and_names_the_rules(broken):
    assert broken.verdict == "refuse"
    assert {"prices.price_positive", "prices.most_rows_kept"} <= set(broken.refused_because)
    assert broken.checkpoint.worst_failure == "critical"


@pytest.mark.parametrize(
    ("days", "refused_because"), [(6, ()), (8, ("prices.carried_over_recent",))]
)
def test_what_was_fetched_long_ago_counts_from_when_it_was_last_confirmed(days, refused_because):
    is_carried = pl.col("region_id") == "us-test-0"
    carried_over = pl.when(is_carried).then(pl.lit("carried_over"))
    confirmed = pl.when(is_carried).then(AS_OF - timedelta(days=days))
    unchanged = (
        release(prices(*({"region_id": f"us-test-{number}"} for number in range(10))))
        .with_values("prices", price_quality=carried_over.otherwise("price_quality"))
        .with_values(
            "sources",
            fetched_at=AS_OF - timedelta(days=10),
            confirmed_at=confirmed.otherwise("confirmed_at"),
        )
    )
    report = check(unchanged)
    assert tuple(report.refused_because) == refused_because
    for rule_id in ("sources.fresh", "sources.not_outdated"):
        result = report.result(rule_id)
        assert (result.status, result.checked, result.failed) == ("passed", 9, 0)


def test_failures_are_all_counted_and_some_are_shown(broken):
    result = broken.result("prices.price_positive")
    assert (result.checked, result.failed, len(result.sample)) == (44, 44, 20)
    assert result.sample[0]["came"] == "effective_hourly_price=0.0000000000"


def test_a_failure_that_can_be_accepted_says_how(broken):
    note = broken.result("prices.most_rows_kept").note
    assert note == "if a person has looked and it is true, --accept-losses lets it through"


def test_accepted_losses_and_jumps_are_published_with_a_warning():
    before = night(types=80)
    after = night().with_values("prices", price_quality="ok")
    dearer = release(
        prices(*({"instance_type": f"m{n}.large", "hourly_rate": "9"} for n in range(20)))
    )
    refused = check(dearer, before, accept_jumps=True)
    assert "prices.few_jumps" not in refused.refused_because
    assert "prices.regions_kept" in refused.refused_because
    accepted = check(after, before, accept_losses=True)
    assert accepted.verdict == "publish_with_warnings"
    result = accepted.result("prices.most_rows_kept")
    assert (result.severity, result.status) == ("warning", "failed")
    assert result.note == "accepted for this run with --accept-losses"


def test_wrong_columns_refuse_and_nothing_else_is_claimed():
    frame = night().tables["prices"].drop("price_quality")
    report = check(night().with_table("prices", frame))
    assert report.refused_because == ("tables.columns",)
    assert {result.status for result in report.rules[1:]} == {"not_applicable"}


def test_the_same_rows_in_another_order_give_the_same_report(cut):
    shuffled = Release(
        {
            name: frame.sample(fraction=1, shuffle=True, seed=7)
            for name, frame in night(p5="55.04").tables.items()
        },
        night(p5="55.04").row_counts.reverse(),
    )
    assert check(shuffled, night()).to_json() == cut.to_json()


def test_quality_json_holds_what_machines_need(cut):
    quality = json.loads(cut.to_json())
    assert quality["verdict"] == "publish_with_warnings"
    assert quality["as_of"] == "2026-08-22T03:00:00+00:00"
    assert quality["summary"]["warnings_failed"] == 1
    assert len(quality["rules"]) == len(GATE)
    assert quality["rows"] == [
        {"provider": "aws", "rows_read": 44, "kept": 44, "filtered": 0, "rejected": 0}
    ]
    assert quality["row_counts"][0] == {
        "source_id": "aws/eu-central-1",
        "outcome": "kept",
        "rule": None,
        "rows": 1,
    }


def test_large_tables_are_judged_apart_and_alike(monkeypatch, cut):
    monkeypatch.setattr(gate, "_LARGE", 10)
    assert check(night(p5="55.04"), night()).to_json() == cut.to_json()


def test_where_polars_and_great_expectations_disagree_there_is_no_verdict(monkeypatch, first):
    doubted = {
        **first.checkpoint.by_rule,
        "prices.price_positive": Judged(success=False, unexpected=1),
    }
    outcome = CheckpointOutcome(doubted, success=False, worst_failure="critical")
    monkeypatch.setattr(gate, "run_checkpoint", lambda *_: outcome)
    with pytest.raises(GateDisagreementError, match=r"prices\.price_positive: polars counts 0"):
        check(night())


def test_a_last_release_without_prices_as_we_know_them_is_no_comparison():
    old = night().with_table("prices", night().tables["prices"].drop("tenancy"))
    with pytest.raises(GateInputError, match="missing are tenancy"):
        check(night(), old)


def test_a_last_release_of_an_earlier_minor_version_is_compared(cut):
    older = night().with_table("prices", night().tables["prices"].drop("valid_to"))
    assert check(night(p5="55.04"), older).to_json() == cut.to_json()


@pytest.mark.parametrize(
    "error", [GateDisagreementError("a.rule", 1, 2), ExpectationCrashedError("a.rule", "cause")]
)
def test_errors_cross_processes_whole(error):
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.rule) == (type(error), str(error), "a.rule")


def test_great_expectations_is_not_imported_before_a_gate_runs():
    code = (
        "import sys, expectations.gate, expectations.rows, expectations.report;"
        "sys.exit(any(name in sys.modules for name in ('great_expectations', 'pandas')))"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], cwd=_REPOSITORY, check=False).returncode == 0
    )
