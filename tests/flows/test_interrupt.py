"""Ctrl-C while regions are under way."""

import signal
import threading

import pytest

from flows.conductor import PlainConductor
from support.conducting import Told, lane_of


def test_ctrl_c_waits_for_no_provider_and_begins_no_further_region():
    main_thread = threading.main_thread().ident
    assert main_thread is not None
    provider_answers, first_has_begun = threading.Event(), threading.Barrier(2)
    begun, ended = [], threading.Semaphore(0)

    def fetch(item):
        begun.append(item)
        first_has_begun.wait(20)
        if item == "b":
            signal.pthread_kill(main_thread, signal.SIGINT)
        provider_answers.wait(20)
        ended.release()
        return item

    with pytest.raises(KeyboardInterrupt):
        PlainConductor(2, Told()).fan_out("items", lane_of(fetch), ["a", "b", "c"])
    assert not ended.acquire(blocking=False)
    provider_answers.set()
    assert ended.acquire(timeout=20)
    assert ended.acquire(timeout=20)
    assert sorted(begun) == ["a", "b"]
