"""Two refreshes of one catalog at the same time: one wins, and the other says so."""

import threading
from contextlib import ExitStack

import polars as pl
import pytest

from support import numbered_nights
from support.fake_ecb import FakeEcb
from support.nights import night_in
from support.refresh_processes import refresh_process
from warehouse.errors import PublishConflictError
from warehouse.releases import list_releases
from warehouse.verification import verify

pytestmark = pytest.mark.e2e

_PATIENCE_SECONDS = 120


class EcbThat:
    """A central bank that does something before it answers: then a run knows its last release."""

    def __init__(self, body, do):
        self._ecb = FakeEcb(body)
        self._do = do

    def answer(self, request):
        reply = self._ecb.answer(request)
        if reply is not None:
            self._do()
        return reply


def test_of_two_processes_one_publishes_and_the_other_exits_with_a_clear_line(
    tmp_path, small_night
):
    """They share the root and the landing store, and have both read the last release."""
    both_have_begun = threading.Barrier(2, timeout=_PATIENCE_SECONDS)
    ecb = EcbThat(small_night.ecb, both_have_begun.wait)
    with ExitStack() as stack:
        processes, logs = [], []
        for number in (1, 2):
            served = numbered_nights.night(small_night, number)
            night = stack.enter_context(night_in(tmp_path, served, ecb=ecb))
            logs.append(tmp_path / f"{number}.log")
            command = night.command(as_of=numbered_nights.as_of(number).isoformat())
            processes.append(
                stack.enter_context(
                    refresh_process([*command, "--no-prefect"], prefect_home=tmp_path, log=logs[-1])
                )
            )
        exit_codes = [process.wait(_PATIENCE_SECONDS) for process in processes]

    said = [log.read_text() for log in logs]
    assert sorted(exit_codes) == [0, 1], said
    last_words = " ".join(said[exit_codes.index(1)].split("PublishConflictError: ")[1].split())
    assert "was not published" in last_words
    assert "is held" in last_words or "run the refresh again" in last_words
    assert "Traceback" not in said[exit_codes.index(1)]
    (release,) = list_releases(night.storage)
    assert release.id in said[exit_codes.index(0)]
    report = verify(night.storage)
    assert report.is_sound, report.problems


def test_a_refresh_whose_last_release_is_not_the_latest_any_more_does_not_publish(
    tmp_path, small_night
):
    with night_in(tmp_path, small_night) as faster:
        faster.refresh()
        first = pl.read_parquet(faster.release().table("prices"))
        faster.serve(numbered_nights.night(small_night, 1))

        def overtake():
            faster.refresh(as_of=numbered_nights.as_of(1).isoformat())

        slower_night = numbered_nights.night(small_night, 2)
        ecb = EcbThat(small_night.ecb, overtake)
        with night_in(tmp_path, slower_night, ecb=ecb) as slower:
            with pytest.raises(PublishConflictError, match=r"meanwhile .* run the refresh again"):
                slower.refresh(as_of=numbered_nights.as_of(2).isoformat())
            assert numbered_nights.number_of(faster.release(), first) == 1
        with night_in(tmp_path, slower_night) as again:
            again.refresh(as_of=numbered_nights.as_of(2).isoformat())
            assert numbered_nights.number_of(again.release(), first) == 2
            assert list(again.landing.glob("incoming/*")) == []


def test_a_refresh_that_finds_a_publisher_at_work_names_it_and_leaves_it_alone(night, small_night):
    first = night.refresh()
    night.serve(numbered_nights.night(small_night, 1))
    later = {"as_of": numbered_nights.as_of(1).isoformat()}
    with night.storage.exclusive("publish", "process 7 on elsewhere"):
        night.storage.put_new("releases/at-work/prices.parquet", b"being written")
        with pytest.raises(
            PublishConflictError, match=r"was not published: .* is held .*process 7 on elsewhere"
        ):
            night.refresh(**later)
        assert night.storage.read("releases/at-work/prices.parquet") == b"being written"
        assert night.release().id == first.release_id

    assert night.refresh(**later).outcome == "published"
    assert verify(night.storage).leftovers == ()
