"""How far a refresh is, told to the log or drawn for a person."""

import contextvars
import io
import logging

from rich.console import Console

from flows.progress import BarProgress, LogProgress, listen, listener


def test_each_stage_is_a_line_that_says_how_many_are_done():
    text = io.StringIO()
    with BarProgress(Console(file=text, width=100)) as bars:
        bars.begin("AWS regions", 3)
        bars.advance("AWS regions")
        bars.advance("AWS regions")
        bars.begin("gate", 1)
        bars.done("gate")
        bars.begin("Azure regions", 0)
        bars.done("Azure regions")
    aws, gate, azure = (line for line in text.getvalue().splitlines() if line.strip())
    assert "AWS regions" in aws
    assert "2/3" in aws
    assert "✓" not in aws
    assert "✓ gate" in gate
    assert "1/1" in gate
    assert "✓ Azure regions" in azure
    assert "0/0" in azure


def test_the_log_has_one_line_as_a_stage_begins(caplog):
    caplog.set_level(logging.INFO, "flows")
    progress = LogProgress()
    progress.begin("AWS regions", 36)
    progress.advance("AWS regions")
    progress.done("AWS regions")
    assert caplog.messages == ["AWS regions: 36"]


def test_where_nobody_listens_the_log_does():
    bars = BarProgress(Console(file=io.StringIO()))

    def listening():
        listen(bars)
        return listener()

    assert contextvars.copy_context().run(listening) is bars
    assert isinstance(listener(), LogProgress)
