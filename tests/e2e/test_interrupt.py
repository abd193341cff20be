"""Ctrl-C at a refresh."""

import signal
import threading

import pytest

from support.nights import night_in
from support.refresh_processes import refresh_process

pytestmark = pytest.mark.e2e

_PATIENCE_SECONDS = 120


class SilentAzure:
    """Never answers as long as the test lasts."""

    def __init__(self):
        self.is_asked = threading.Event()
        self.test_is_over = threading.Event()

    def answer(self, request):
        if "retail" not in request.path:
            return
        self.is_asked.set()
        self.test_is_over.wait(_PATIENCE_SECONDS)
        return


def test_ctrl_c_ends_a_refresh_at_once_though_its_providers_are_silent(tmp_path, small_night):
    silent = SilentAzure()
    with night_in(tmp_path, small_night) as night:
        night.azure.answer = silent.answer
        with refresh_process(
            [*night.command(), "--no-prefect"], prefect_home=tmp_path, log=tmp_path / "log"
        ) as process:
            assert silent.is_asked.wait(_PATIENCE_SECONDS)
            process.send_signal(signal.SIGINT)
            exit_code = process.wait(_PATIENCE_SECONDS / 4)
        silent.test_is_over.set()
    assert exit_code == 130, (tmp_path / "log").read_text()
    assert "Traceback" not in (tmp_path / "log").read_text()
