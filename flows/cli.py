"""The command `price-catalog`: refresh the catalog, and ask it.

Exit codes: 0 published, unchanged, answered or confirmed; 1 error, or `check-prices` found a
difference; 2 usage; 3 refused by the gate; 130 Ctrl-C.
"""

import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NoReturn

import polars as pl
import typer
from rich.console import Console
from rich.logging import RichHandler
from rich.markup import escape

from flows import answers, output, shown
from flows.check_prices import check_prices
from flows.errors import RefusedByGateError, SettingsError
from flows.output import Format
from flows.planning import now, read_settings
from flows.settings import prepare_prefect
from warehouse.landing import LandingStore
from warehouse.query import run_sql
from warehouse.releases import Release, list_releases, open_release
from warehouse.schemas.vocabulary import OPERATING_SYSTEMS, PURCHASE_OPTIONS, SCOPES
from warehouse.storage import Storage, open_storage
from warehouse.verification import verify as verify_releases

app = typer.Typer(
    help=__doc__, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False
)
show = typer.Typer(help="Answer a question from the latest release.", no_args_is_help=True)
app.add_typer(show, name="show")

Root = Annotated[
    str | None, typer.Option("--root", help="Catalog root [env: PRICE_CATALOG_ROOT; ./catalog]")
]
ReleaseId = Annotated[
    str | None, typer.Option("--release", help="Release to ask; default the latest")
]
OutputFormat = Annotated[Format, typer.Option("--format", help="How to write the answer")]
OutputFile = Annotated[
    Path | None, typer.Option("--output", help="Write to a file, not to standard output")
]

ERROR, USAGE, REFUSED, INTERRUPTED = 1, 2, 3, 130

_ALL = "all"


def main() -> None:
    """Run the command; an error becomes one clear line and an exit code."""
    try:
        app()
    except SettingsError as error:
        _complain(error)
        sys.exit(USAGE)
    except RefusedByGateError as error:
        _complain(error)
        sys.exit(REFUSED)
    except Exception as error:
        if "--debug" in sys.argv:
            raise
        _complain(error)
        sys.exit(ERROR)


@app.callback()
def common(
    *,
    debug: Annotated[bool, typer.Option("--debug", help="Full log and tracebacks")] = False,
) -> None:
    """Set up the log."""
    level = logging.DEBUG if debug else logging.WARNING
    # The handler has a level too, because some libraries set their own loggers to INFO.
    handler = RichHandler(level, console=Console(stderr=True), show_path=debug)
    logging.basicConfig(level=level, format="%(message)s", handlers=[handler])


@app.command()
def refresh(
    *,
    source: Annotated[
        str | None, typer.Option(help="recorded: replay a recording. live: fetch")
    ] = None,
    root: Root = None,
    landing: Annotated[Path | None, typer.Option(help="Folder for fetched bytes")] = None,
    recording: Annotated[Path | None, typer.Option(help="Recording to replay")] = None,
    record: Annotated[
        Path | None, typer.Option(help="Write a recording of this live run to a folder")
    ] = None,
    from_landed: Annotated[
        str | None, typer.Option(help="Repeat an earlier run from its landed documents")
    ] = None,
    providers: Annotated[str | None, typer.Option(help="Comma list: aws,azure")] = None,
    aws_regions: Annotated[str | None, typer.Option(help="Comma list; default all")] = None,
    azure_regions: Annotated[str | None, typer.Option(help="Comma list; default all")] = None,
    azure_currencies: Annotated[
        str | None, typer.Option(help="Comma list: also ask Azure for these currencies")
    ] = None,
    aws_china: Annotated[
        bool | None, typer.Option("--aws-china/--no-aws-china", help="Also AWS China, in CNY")
    ] = None,
    spot_lost_work_pct: Annotated[
        str | None, typer.Option(help="Share of spot work that advice assumes to be lost, percent")
    ] = None,
    as_of: Annotated[str | None, typer.Option(help="The run's clock, ISO 8601")] = None,
    aws_price_list_url: Annotated[str | None, typer.Option(help="AWS endpoint")] = None,
    aws_china_price_list_url: Annotated[str | None, typer.Option(help="AWS China endpoint")] = None,
    aws_spot_feed_url: Annotated[str | None, typer.Option(help="AWS's public spot feed")] = None,
    azure_retail_prices_url: Annotated[str | None, typer.Option(help="Azure endpoint")] = None,
    ecb_rates_url: Annotated[str | None, typer.Option(help="ECB endpoint")] = None,
    http_workers: Annotated[
        int | None, typer.Option(help="Regions of a provider fetched at once")
    ] = None,
    http_max_attempts: Annotated[int | None, typer.Option(help="Attempts a request")] = None,
    http_backoff_seconds: Annotated[
        float | None, typer.Option(help="Wait before the second attempt")
    ] = None,
    walk_max_attempts: Annotated[
        int | None, typer.Option(help="Walks over a listing whose pages do not fit together")
    ] = None,
    accept_jumps: Annotated[
        bool, typer.Option("--accept-jumps", help="Publish price jumps that you looked at")
    ] = False,
    accept_losses: Annotated[
        bool, typer.Option("--accept-losses", help="Publish losses that you looked at")
    ] = False,
    prefect: Annotated[
        bool, typer.Option("--prefect/--no-prefect", help="Conduct it with Prefect, or plainly")
    ] = True,
) -> None:
    """Fetch, normalise, check and publish. Settings are also PRICE_CATALOG_* variables."""
    overrides: dict[str, Any] = {
        "source": source,
        "root": root,
        "landing": _text(landing),
        "recording": _text(recording),
        "providers": providers,
        "aws_regions": aws_regions,
        "azure_regions": azure_regions,
        "azure_currencies": azure_currencies,
        "aws_china": aws_china,
        "spot_lost_work_pct": spot_lost_work_pct,
        "as_of": as_of,
        "aws_price_list_url": aws_price_list_url,
        "aws_china_price_list_url": aws_china_price_list_url,
        "aws_spot_feed_url": aws_spot_feed_url,
        "azure_retail_prices_url": azure_retail_prices_url,
        "ecb_rates_url": ecb_rates_url,
        "http_workers": http_workers,
        "http_max_attempts": http_max_attempts,
        "http_backoff_seconds": http_backoff_seconds,
        "walk_max_attempts": walk_max_attempts,
    }
    prepare_prefect(quiet=not logging.getLogger().isEnabledFor(logging.DEBUG), for_one_run=True)
    from flows.run_refresh import run_refresh  # noqa: PLC0415 - Prefect takes a second to import

    try:
        run_refresh(
            output.console(),
            {name: value for name, value in overrides.items() if value is not None},
            accept_jumps=accept_jumps,
            accept_losses=accept_losses,
            record_to=_text(record),
            from_landed=from_landed,
            with_prefect=prefect,
        )
    except KeyboardInterrupt:
        if prefect:  # which has a server to end
            raise
        _end_at_once()


@app.command()
def serve(
    cron: Annotated[str, typer.Option(help="When, in cron's notation")] = "0 3 * * *",
    timezone: Annotated[str, typer.Option(help="Time zone of the schedule")] = "Europe/Berlin",
) -> None:
    """Run the nightly refresh on this machine; a Prefect server is started with it if none is set.

    Stays until it is stopped. The server is at http://127.0.0.1:4200; see PREFECT_SERVER_API_PORT.
    """
    prepare_prefect(quiet=False, for_one_run=False)
    from prefect.schedules import Cron  # noqa: PLC0415 - Prefect takes a second to import

    from flows.refresh_catalog import refresh_catalog  # noqa: PLC0415
    from flows.scheduling_server import scheduling_server  # noqa: PLC0415

    with scheduling_server() as url:
        output.console().print(f"Prefect: {url.removesuffix('/api')}")
        refresh_catalog.serve(name="nightly", schedule=Cron(cron, timezone=timezone), limit=1)


@app.command()
def releases(root: Root = None, how: OutputFormat = Format.table) -> None:
    """List every release, the latest first."""
    output.write_frame(
        answers.release_list(list_releases(_storage(root))),
        how,
        console=output.console(),
        output=None,
    )


@app.command()
def verify(
    release: Annotated[str | None, typer.Argument(help="Release id; default all")] = None,
    root: Root = None,
) -> None:
    """Recompute every digest of one release, or of all."""
    console = output.console()
    report = verify_releases(_storage(root), release)
    for problem in report.problems:
        console.print(f"[red]✗[/] {escape(problem.message)}", highlight=False, soft_wrap=True)
    if not report.is_sound:
        raise typer.Exit(ERROR)
    console.print(f"[green]✓[/] {len(report.releases)} releases are whole and unchanged.")


@app.command()
def prune(
    keep_runs: Annotated[int, typer.Option(help="Newest runs to keep, with what they need")] = 14,
    landing: Annotated[Path | None, typer.Option(help="Folder of fetched bytes")] = None,
) -> None:
    """Delete landed documents that only older runs need. Releases are never deleted."""
    store = LandingStore(landing or read_settings({}).landing)
    deleted = store.prune(keep_runs=keep_runs)
    output.console().print(
        f"Deleted {deleted.runs} runs, {deleted.objects} documents and {deleted.parts} parts."
    )


@app.command()
def sql(
    query: Annotated[str, typer.Argument(help="One SELECT over the tables of a release")],
    root: Root = None,
    release: ReleaseId = None,
    how: OutputFormat = Format.table,
    to: OutputFile = None,
) -> None:
    """Ask with SQL (DuckDB): every table of a release is a view."""
    opened = _release(root, release)
    frame = run_sql(opened, query)
    output.write_frame(frame, how, console=output.console(), output=to)
    if how is Format.table and to is None:
        for line in answers.provenance(opened):
            output.console().print(f"[dim]{line}[/]")


@app.command()
def tables(
    name: Annotated[str | None, typer.Argument(help="A table; default all")] = None,
    root: Root = None,
    release: ReleaseId = None,
    how: OutputFormat = Format.table,
) -> None:
    """Show the data dictionary: tables, columns, types, units, keys."""
    rows = answers.dictionary(_release(root, release), name)
    if how is Format.table:
        rows = shown.tables(rows) if name is None else shown.columns(rows)
    output.write_frame(rows, how, console=output.console(), output=None, title=name or "")


@app.command("check-prices")
def check_prices_of(
    types: Annotated[list[str], typer.Argument(help="Such as m5.large Standard_D2s_v5")],
    *,
    region: Annotated[
        list[str] | None, typer.Option(help="Only this region; may be given several times")
    ] = None,
    root: Root = None,
    release: ReleaseId = None,
    how: OutputFormat = Format.table,
    to: OutputFile = None,
) -> None:
    """Compare every price of single types with what the provider lists now.

    AWS is asked with GetProducts, for which it wants credentials. Ends with 0 only if every row
    that was compared agrees; what cannot be compared is said with its count.
    """
    opened, asked_at = _release(root, release), now()
    checked = check_prices(
        opened, types, region_ids=region or (), settings=read_settings({}), as_of=asked_at
    )
    rows = pl.concat([one.differences for one in checked])
    is_for_people = how is Format.table and to is None
    # A program reads the rows alone.
    console = output.console() if is_for_people else Console(stderr=True)
    for one in checked:
        console.print(escape(one.headline), highlight=False, soft_wrap=True)
    if not is_for_people:
        output.write_frame(rows, how, console=console, output=to)
    elif not rows.is_empty():
        seen, said = shown.said_once(shown.differences(rows), shown.DIFFERENCE)
        output.write_frame(seen, how, console=console, output=None, title=said)
    for line in (*answers.provenance(opened), f"Asked at {asked_at:%Y-%m-%d %H:%M} UTC."):
        console.print(f"[dim]{line}[/]", highlight=False)
    if not all(one.agrees for one in checked):
        raise typer.Exit(ERROR)


@show.command("cheapest")
def show_cheapest(
    instance_type: Annotated[str, typer.Argument(help="Such as p5.48xlarge")],
    *,
    scope: Annotated[
        str | None, typer.Option(help="world, eu, eea, de, a continent, us_gov, zones")
    ] = None,
    operating_system: Annotated[str, typer.Option("--os", help="linux, windows, ...")] = "linux",
    purchase_option: Annotated[
        str, typer.Option(help="on_demand, spot, reserved, savings_plan, low_priority, or all")
    ] = "on_demand",
    currency: Annotated[str, typer.Option(help="USD or EUR")] = "USD",
    root: Root = None,
    release: ReleaseId = None,
    how: OutputFormat = Format.table,
    to: OutputFile = None,
) -> None:
    """Show where a type is cheapest, in each scope."""
    opened = _release(root, release)
    _require("scope", scope, (None, *SCOPES))
    _require("os", operating_system, OPERATING_SYSTEMS)
    _require("purchase option", purchase_option, (_ALL, *PURCHASE_OPTIONS))
    _require("currency", currency, answers.CURRENCIES)
    rows = answers.cheapest(
        opened,
        instance_type,
        scope=scope,
        operating_system=operating_system,
        purchase_option=None if purchase_option == _ALL else purchase_option,
    )
    rates = answers.table(opened, "fx_rates").collect()
    seen = shown.cheapest(rows, currency=currency, fx_rates=rates)
    _answer(opened, rows, seen, how, to)
    if currency == "EUR" and how is Format.table:
        output.console().print(f"[dim]{answers.rate_provenance(opened)}[/]")


@show.command("prices")
def show_prices(
    instance_type: Annotated[str, typer.Argument(help="Such as Standard_NC40ads_H100_v5")],
    *,
    region: Annotated[str | None, typer.Option(help="Only this region")] = None,
    operating_system: Annotated[
        str | None, typer.Option("--os", help="Only this operating system")
    ] = None,
    purchase_option: Annotated[str | None, typer.Option(help="Only this way to pay")] = None,
    root: Root = None,
    release: ReleaseId = None,
    how: OutputFormat = Format.table,
    to: OutputFile = None,
) -> None:
    """Show every price of a type, the cheapest first."""
    opened = _release(root, release)
    _require("os", operating_system, (None, *OPERATING_SYSTEMS))
    _require("purchase option", purchase_option, (None, *PURCHASE_OPTIONS))
    rows = answers.prices(
        opened,
        instance_type,
        region_id=region,
        operating_system=operating_system,
        purchase_option=purchase_option,
    )
    _answer(opened, rows, shown.prices(rows), how, to)


def _answer(
    release: Release, rows: pl.DataFrame, seen: pl.DataFrame, how: Format, to: Path | None
) -> None:
    console = output.console()
    if how is not Format.table:
        output.write_frame(rows, how, console=console, output=to)
        return
    if rows.is_empty():
        console.print("There is no price for that.")
    else:
        seen, said = shown.said_once(seen, (*shown.OFFER, "currency", "price_quality"))
        name = ", ".join(sorted(set(rows["instance_type"])))
        output.write_frame(seen, how, console=console, output=to, title=f"{name}: {said}")
    for line in answers.provenance(release):
        console.print(f"[dim]{line}[/]")


def _storage(root: str | None) -> Storage:
    return open_storage(root or read_settings({}).root)


def _release(root: str | None, release_id: str | None) -> Release:
    return open_release(_storage(root), release_id)


def _require(what: str, value: str | None, known: Sequence[str | None]) -> None:
    if value not in known:
        names = ", ".join(name for name in known if name)
        raise typer.BadParameter(f"{what} {value!r} is none of {names}")


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _end_at_once() -> NoReturn:
    """End without waiting for threads: a provider may keep one for minutes; all can be killed."""
    Console(stderr=True).print("[bold red]Interrupted[/]")
    sys.stdout.flush()
    os._exit(INTERRUPTED)


def _complain(error: Exception) -> None:
    line = f"[bold red]{type(error).__name__}[/]: {escape(str(error))}"
    Console(stderr=True).print(line, highlight=False, soft_wrap=True)
