"""`price-catalog refresh` at a terminal: progress while it works, then what came of it."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from expectations.checkpoint import load_great_expectations
from flows import answers
from flows.conductor import PlainConductor
from flows.errors import RefusedByGateError
from flows.planning import plan_run, read_settings
from flows.progress import BarProgress, listen
from flows.refresh_catalog import refresh, refresh_catalog
from flows.verdict import Refreshed
from warehouse.releases import Release, open_release
from warehouse.storage import open_storage

_H100 = {"p5.48xlarge": "eu-central-1", "Standard_NC40ads_H100_v5": "germanywestcentral"}
"""An H100 machine of each cloud, and that cloud's region in Frankfurt."""

_SHOWN_RULES = 8


def run_refresh(
    console: Console,
    settings: dict[str, Any],
    *,
    with_prefect: bool,
    record_to: str | None,
    **asked: Any,  # noqa: ANN401 - handed on as it came
) -> None:
    """Run a refresh and print what came of it.

    Args:
        console: where progress and result are shown.
        settings: settings that stand in place of the environment's.
        with_prefect: conduct it as a Prefect flow, else with plain threads.
        record_to: folder for a recording.
        asked: accept_jumps, accept_losses, from_landed, as `refresh_catalog` has them.

    Raises:
        RefusedByGateError: after the gate's word is printed.
    """
    folder = None if record_to is None else Path(record_to)
    # Before anything starts, because Prefect takes its time to: a mistake is told at once.
    run = plan_run(read_settings(settings), record_to=folder, **asked)
    # Its import takes seconds, in which the run mostly waits: for Prefect, for the providers.
    threading.Thread(target=load_great_expectations, daemon=True).start()
    refusal = None
    with BarProgress(console) as bars:
        try:
            if with_prefect:
                listen(bars)
                refreshed = refresh_catalog(settings, record_to=record_to, **asked)
            else:
                refreshed = refresh(run, PlainConductor(run.limits.workers, bars))
        except RefusedByGateError as error:
            refreshed, refusal = error.refreshed, error
    _print_failures(console, refreshed)
    _print_gate(console, refreshed)
    if refreshed.outcome == "refused":
        raise refusal or RefusedByGateError(refreshed)
    _print_release(console, refreshed, open_release(open_storage(run.root), refreshed.release_id))


def _print_failures(console: Console, refreshed: Refreshed) -> None:
    for extract in refreshed.extracts:
        for failure in extract.failures:
            is_shown = (failure.provider, failure.region_id) in refreshed.carried_over
            fate = "shown as the last release knew it" if is_shown else "missing"
            console.print(
                f"[yellow]![/] {failure.provider} {failure.region_id} is {fate}: "
                f"{escape(failure.message)}"
            )
        for gap in extract.gaps:
            place = gap.region_id or "all regions"
            console.print(
                f"[yellow]![/] {gap.provider} {place}: no {gap.source} tonight: "
                f"{escape(gap.message)}"
            )
    if refreshed.rates_failure:
        console.print(f"[yellow]![/] no exchange rates: {escape(refreshed.rates_failure)}")


def _print_gate(console: Console, refreshed: Refreshed) -> None:
    report = refreshed.report
    failed = [*report.failed("critical"), *report.failed("warning"), *report.failed("info")]
    passed = sum(rule.status == "passed" for rule in report.rules)
    skipped = len(report.rules) - passed - len(failed)
    console.print(
        f"\n[bold]Gate[/]: {report.verdict.replace('_', ' ')}. {passed} rules passed, "
        f"{len(failed)} failed, {skipped} had nothing to compare with."
    )
    for result in failed[:_SHOWN_RULES]:
        colour = "red" if result.severity == "critical" else "yellow"
        console.print(
            f"  [{colour}]{result.severity}[/] {result.rule.id}: "
            f"{result.failed:,} of {result.checked:,} {result.counted}. "
            f"[dim]{escape(result.rule.reason)}[/]"
        )
    if len(failed) > _SHOWN_RULES:
        console.print(f"  and {len(failed) - _SHOWN_RULES} more, in the report")


def _print_release(console: Console, refreshed: Refreshed, release: Release) -> None:
    colour = "green" if refreshed.outcome == "published" else "cyan"
    console.print(f"[bold {colour}]{refreshed.headline}[/]\n")
    shown = Table(header_style="bold", box=None, pad_edge=False)
    shown.add_column("table")
    shown.add_column("rows", justify="right")
    for name, rows in sorted(refreshed.rows.items()):
        shown.add_row(name, f"{rows:,}")
    console.print(shown)
    console.print()
    for line in (*_three_answers(release), *answers.provenance(release)):
        console.print(line, highlight=False)
    console.print(
        f"\n[bold]Files[/]: {release.directory}\n"
        f"[bold]Report[/]: {refreshed.page}\n"
        "[bold]Next[/]:\n"
        "  price-catalog show cheapest p5.48xlarge --scope eu\n"
        "  price-catalog show prices Standard_ND96amsr_A100_v4\n"
        '  price-catalog sql "SELECT * FROM cheapest_region LIMIT 5"\n'
        "  price-catalog tables prices",
        highlight=False,
        soft_wrap=True,
    )


def _three_answers(release: Release) -> Iterator[str]:
    gaps = [answers.home_gap(release, name, home) for name, home in _H100.items()]
    for gap in gaps:
        if gap is not None:
            yield (
                f"Cheapest {gap.instance_type} (H100, Linux, on demand): "
                f"{gap.price_usd.normalize():f} USD an hour in {', '.join(gap.cheapest)}."
            )
    homes = [
        f"{gap.home_region_id} lists no {gap.instance_type}"
        if gap.gap_pct is None or gap.home_price_usd is None
        else f"{gap.home_region_id} asks {gap.home_price_usd.normalize():f} USD for "
        f"{gap.instance_type}, {gap.gap_pct:+.1f} %"
        for gap in gaps
        if gap is not None
    ]
    if homes:
        yield f"Frankfurt: {'; '.join(homes)}."
