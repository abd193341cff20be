"""Refreshes that are killed. tests/e2e/kill_refreshes.py does the same with more of them."""

import pytest

from e2e.kill_refreshes import kill_refreshes

pytestmark = pytest.mark.e2e


def test_a_killed_refresh_leaves_a_whole_catalog_and_the_next_one_publishes(tmp_path, small_night):
    played = list(kill_refreshes(tmp_path, small_night, rounds=3, seed=3, prefect_every=None))
    assert [end.number for end in played] == [1, 2, 3]
    assert played[0].reached in {"publishing", "published"}
    assert (played[1].was_killed, played[1].reached) == (True, "assembled")
