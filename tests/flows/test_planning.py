"""A run is fixed before it begins: its clock, its id, where its documents come from."""

import json
import pickle
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from flows.errors import SettingsError
from flows.planning import now, plan_run, read_settings
from flows.settings import BUNDLED_RECORDING
from warehouse.errors import DocumentMissingError
from warehouse.landing import LandingStore

AS_OF = datetime(2026, 8, 22, 6, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _nothing_around(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def planned(asked=None, **settings):
    return plan_run(read_settings(settings), **(asked or {}))


def land_run(run_id="earlier", **facts):
    known = {"as_of": AS_OF.isoformat(), "providers": ["aws", "azure"], **facts}
    LandingStore(Path("landing")).save_run(run_id, (), known)


def test_a_live_run_is_of_now():
    before = now()
    run = planned()
    assert before <= run.as_of <= now()
    assert run.as_of.microsecond == 0
    assert run.as_of.utcoffset() == timedelta(0)
    assert run.recording is None


def test_a_replay_is_of_the_time_that_its_recording_is_of():
    run = planned(source="recorded")
    index = json.loads((BUNDLED_RECORDING / "recording.json").read_text())
    assert run.recording == BUNDLED_RECORDING
    assert run.as_of == datetime.fromisoformat(index["as_of"])
    assert run.run_id == f"{run.as_of:%Y%m%dT%H%M%SZ}-recorded"
    assert not run.may_use_credentials


def test_the_clock_that_is_asked_for_goes_before_the_recordings():
    run = planned(source="recorded", as_of="2026-09-01T02:03:04Z")
    assert run.as_of == datetime(2026, 9, 1, 2, 3, 4, tzinfo=UTC)
    assert run.run_id == "20260901T020304Z-recorded"


def test_a_run_takes_over_what_is_asked_for():
    run = planned(
        {"accept_jumps": True, "record_to": Path("night")},
        root="here",
        landing="there",
        providers="azure",
        azure_regions="eastus",
        ecb_rates_url="http://rates",
        http_workers=2,
        walk_max_attempts=1,
        as_of="2026-08-22T06:00:00Z",
    )
    assert (run.root, run.landing, run.record_to) == ("here", Path("there"), Path("night"))
    assert (run.providers, run.aws_regions, run.azure_regions) == (("azure",), None, ("eastus",))
    assert (run.endpoints.ecb_rates, run.limits.workers) == ("http://rates", 2)
    assert run.limits.walk_max_attempts == 1
    assert (run.accept_jumps, run.accept_losses) == (True, False)
    assert run.run_id == "20260822T060000Z-live"


@pytest.mark.parametrize(
    ("settings", "asked", "may"),
    [
        ({}, {}, True),
        ({"aws_price_list_url": "http://127.0.0.1:1"}, {}, False),
        ({"source": "recorded"}, {}, False),
        ({}, {"record_to": Path("night")}, False),
    ],
    ids=["live", "another endpoint", "replay", "a recording that anybody can renew"],
)
def test_credentials_are_only_for_a_live_run_against_aws_itself(settings, asked, may):
    assert planned(asked, **settings).may_use_credentials is may


@pytest.mark.parametrize(
    ("settings", "asked"),
    [({"source": "recorded"}, {}), ({}, {"from_landed": "earlier"})],
    ids=["replay", "landed run"],
)
def test_only_a_live_run_can_be_recorded(settings, asked):
    land_run()
    with pytest.raises(SettingsError, match="--record needs --source live"):
        planned({"record_to": Path("night"), **asked}, **settings)


@pytest.mark.parametrize("source", ["live", "recorded"])
def test_a_landed_run_is_repeated_with_its_own_clock_id_and_providers(source):
    land_run("20260822T060000Z-live", providers=["azure"])
    run = planned({"from_landed": "20260822T060000Z-live"}, source=source)
    assert run.as_of == AS_OF
    assert run.run_id == run.from_landed == "20260822T060000Z-live"
    assert run.providers == ("azure",)
    assert run.recording is None


def test_a_landed_run_can_be_looked_at_from_another_day():
    land_run()
    run = planned({"from_landed": "earlier"}, as_of="2026-08-30")
    assert run.as_of == datetime(2026, 8, 30, tzinfo=UTC)


def test_a_run_that_was_never_landed_is_told_with_those_that_were():
    land_run("20260101T000000Z-live")
    with pytest.raises(DocumentMissingError, match=r"no run other; .*20260101T000000Z-live"):
        planned({"from_landed": "other"})


def test_a_run_pickles_because_tasks_may_run_elsewhere():
    run = planned()
    assert pickle.loads(pickle.dumps(run)) == run
