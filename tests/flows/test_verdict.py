"""A refused candidate is not published; its report is kept, and the last release stays."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from flows.artifacts import gate_markdown, region_rows
from flows.base import compared_release, find_base
from flows.candidate import assemble
from flows.conductor import PlainConductor
from flows.errors import RefusedByGateError
from flows.planning import plan_run, read_settings
from flows.refresh_catalog import refresh
from flows.run import Extract, Rates, RegionFailure
from flows.verdict import check_candidate, publish_candidate
from support.nights import NoProgress


@pytest.fixture(scope="module")
def refused(published, tmp_path_factory):
    """A night on which AWS gave nothing, and a region more was asked for than ever there was."""
    landing = tmp_path_factory.mktemp("refused")
    settings = published.settings(as_of="2026-08-23T06:00:00Z", landing=str(landing))
    run = plan_run(read_settings(settings))
    asked = (*sorted(published.aws.offers), "xx-none-1")
    failures = tuple(RegionFailure("aws", region, "Error", "gone") for region in asked)
    candidate = assemble(
        run, find_base(run), (Extract("aws", asked, (), (), failures),), Rates(None, "no rates")
    )
    return publish_candidate(run, candidate, check_candidate(run, candidate))


def test_the_last_release_stays_the_latest(refused, published, refreshed):
    assert refused.outcome == "refused"
    assert published.release().id == refreshed.release_id != refused.release_id
    assert refused.headline == (
        f"Refused: {refused.release_id} is not published, the last release stays."
    )


def test_its_report_is_kept_where_the_bytes_are(refused):
    page = Path(refused.page)
    assert page.parts[-4:] == ("runs", "20260823T060000Z-live", "quality", "index.html")
    assert "<html" in page.read_text()
    record = json.loads((page.parent / "quality.json").read_text())
    assert record["verdict"] == "refuse"
    assert record["refused_because"] == list(refused.report.refused_because)


def test_the_candidate_is_cleared_away(refused):
    landing = Path(refused.page).parents[3]
    assert list(landing.rglob("prices.parquet")) == []


def test_the_error_names_the_rules_and_the_page(refused):
    error = RefusedByGateError(refused)
    message = str(error)
    assert refused.report.refused_because
    for rule in refused.report.refused_because:
        assert rule in message
    assert refused.page in message
    assert repr(error) == f"RefusedByGateError({message!r})"


def test_the_artifacts_say_what_failed_and_what_is_carried_over(refused):
    rows = {row["region"]: row for row in region_rows(refused)}
    assert rows["us-east-1"]["carried over"] is True
    assert rows["xx-none-1"]["carried over"] is False
    assert rows["xx-none-1"]["problem"] == "Error: gone"
    lines = gate_markdown(refused).splitlines()
    assert lines[:2] == [f"**{refused.headline}**", ""]
    shown = [line for line in lines if line.startswith("- critical: ")]
    assert [line.split("`")[1] for line in shown] == list(refused.report.refused_because)


def test_the_artifacts_of_a_good_night_are_a_row_a_region(refreshed, small_night):
    rows = region_rows(refreshed)
    assert [row["provider"] for row in rows] == ["aws"] * 14 + ["azure"] * 12
    first = rows[0]
    assert first["region"] == "ap-east-2"
    assert first["bytes"] == sum(
        map(len, (small_night.aws["ap-east-2"], *small_night.plans.values()))
    )
    assert rows[13]["region"] == "all (spot)"
    assert 0 < first["rows kept"] < first["rows read"]
    assert {row["problem"] for row in rows} == {None}
    passing = tuple(rule for rule in refreshed.report.rules if rule.status == "passed")
    report = replace(refreshed.report, rules=passing)
    assert gate_markdown(replace(refreshed, report=report)) == (
        f"**Release {refreshed.release_id} is published.**\n\nEvery rule passed."
    )


@pytest.mark.parametrize(
    ("outcome", "headline"),
    [
        ("published", "Release {id} is published."),
        ("unchanged", "Unchanged: release {id} holds this content already."),
    ],
)
def test_one_sentence_says_how_it_ended(refreshed, outcome, headline):
    ended = replace(refreshed, outcome=outcome)
    assert ended.headline == headline.format(id=refreshed.release_id)


def test_a_release_of_an_earlier_schema_can_be_followed(published, tmp_path, monkeypatch):
    def of_schema_1_0(run, base):
        release = compared_release(run, base)
        old = {"lifecycle", "purchase_advice"}
        tables = {name: f for name, f in release.manifest.tables.items() if name not in old}
        return replace(release, manifest=replace(release.manifest, tables=tables))

    monkeypatch.setattr("flows.verdict.compared_release", of_schema_1_0)
    settings = published.settings(landing=str(tmp_path / "landing"))
    run = plan_run(read_settings(settings))
    refreshed = refresh(run, PlainConductor(2, NoProgress()))
    assert (refreshed.outcome, refreshed.release_id) == ("unchanged", published.release().id)
