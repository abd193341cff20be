"""The command `price-catalog`: what it prints, where, and with which exit code."""

import csv
import io
import json
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest

from flows import cli
from flows.errors import UnknownNameError
from support.small_night import AZURE_REGIONS
from warehouse.landing import LandingStore
from warehouse.releases import open_release
from warehouse.schemas.documents import Document
from warehouse.storage import open_storage

H100 = "Standard_NC40ads_H100_v5"


class Answer:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err


@pytest.fixture
def command(monkeypatch, capsys, tmp_path):
    """Run `price-catalog` in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def command(*arguments):
        monkeypatch.setattr(sys, "argv", ["price-catalog", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main()
        said = capsys.readouterr()
        return Answer(ended.value.code or 0, said.out, said.err)

    return command


@pytest.fixture
def asked(command, published, monkeypatch):
    """The same, with the published catalog as the root."""
    monkeypatch.setenv("PRICE_CATALOG_ROOT", str(published.folder / "catalog"))
    return command


def test_releases_are_listed(asked, refreshed):
    answer = asked("releases")
    assert answer.code == 0
    assert refreshed.release_id in answer.out
    (row,) = json.loads(asked("releases", "--format", "json").out)
    assert (row["release"], row["prices"]) == (refreshed.release_id, refreshed.rows["prices"])


def test_the_root_that_is_asked_for_goes_before_the_environments(command, published, monkeypatch):
    monkeypatch.setenv("PRICE_CATALOG_ROOT", "nowhere")
    assert command("releases", "--root", published.folder / "catalog").code == 0


def test_the_cheapest_region_is_shown_with_the_days_of_the_prices(asked, refreshed):
    answer = asked("show", "cheapest", "p5.48xlarge", "--scope", "eu")
    assert answer.code == 0
    (row,) = [line.split() for line in answer.out.splitlines() if "eu-north-1" in line]
    assert row[:3] == ["eu", "eu-north-1", "58.8928"]
    assert answer.out.splitlines()[-5:-1] == [
        f"Release {refreshed.release_id}.",
        "AWS: list prices of 2026-07-05.",
        "AWS: savings plan rates of 2025-09-11.",
        "AWS: indicative spot prices of 2026-08-22.",
    ]


def test_the_cheapest_region_is_shown_in_euro_for_windows(asked, release):
    eu = ("--scope", "eu", "--os", "windows")
    answer = asked("show", "cheapest", H100, *eu, "--currency", "EUR")
    assert answer.code == 0
    (row,) = json.loads(asked("show", "cheapest", H100, *eu, "--format", "json").out)
    assert row["operating_system"] == "windows"
    shown = f"{Decimal(row['price_eur']):.4f}"
    (line,) = [line.split() for line in answer.out.splitlines() if row["region_id"] in line]
    assert line[:3] == ["eu", row["region_id"], shown]
    assert "eur_per_hour" in answer.out
    newest = pl.read_parquet(release.table("fx_rates"))["rate_date"].max()
    assert f"Exchange rate of {newest}." in answer.out


def test_what_is_priced_nowhere_is_said_in_words(asked):
    answer = asked("show", "cheapest", "p5.48xlarge", "--scope", "de")
    assert (answer.code, answer.out.splitlines()[0]) == (0, "There is no price for that.")
    assert asked("show", "cheapest", "p5.48xlarge", "--scope", "de", "--format", "json").out == (
        "[]\n"
    )


def test_prices_of_a_type_are_shown_the_cheapest_first(asked):
    on_demand = ("--purchase-option", "on_demand", "--os", "linux")
    answer = asked("show", "prices", "P5.48xlarge", *on_demand)
    assert answer.code == 0
    assert answer.out.splitlines()[0].strip() == "p5.48xlarge: linux, on_demand, USD"
    prices = [line.split()[3] for line in answer.out.splitlines() if "included" in line]
    assert prices[0] == "55.04"
    assert prices[-1] == "92.4672"


def test_prices_are_written_as_csv_for_programs(asked):
    answer = asked("show", "prices", H100, "--region", "germanynorth", "--format", "csv")
    assert (answer.code, answer.err) == (0, "")
    header = answer.out.splitlines()[0].split(",")
    assert header[:3] == ["provider", "region_id", "availability_zone_id"]
    for row in csv.DictReader(io.StringIO(answer.out)):
        assert row["region_id"] == "germanynorth"


def test_answers_are_written_to_a_file(asked, tmp_path):
    path = tmp_path / "prices.parquet"
    answer = asked("show", "prices", H100, "--format", "parquet", "--output", path)
    assert (answer.code, answer.out) == (0, "")
    frame = pl.read_parquet(path)
    assert frame.schema["hourly_rate"] == pl.Decimal(18, 10)
    assert set(frame["instance_type"]) == {H100}


def test_sql_asks_every_table_exactly(asked, release):
    query = (
        "SELECT region_id, hourly_rate FROM prices WHERE instance_type = 'p5.48xlarge' "
        "AND region_id = 'sa-east-1' AND purchase_option = 'on_demand' "
        "AND operating_system = 'linux'"
    )
    answer = asked("sql", query, "--format", "json", "--release", release.id)
    assert json.loads(answer.out) == [{"region_id": "sa-east-1", "hourly_rate": "92.4672000000"}]
    assert "92.4672" in asked("sql", query).out


def test_the_data_dictionary_is_shown(asked):
    every = asked("tables")
    assert every.code == 0
    assert {"regions", "prices", "cheapest_region"} <= {
        line.split()[0] for line in every.out.splitlines() if line.split()
    }
    one = asked("tables", "prices")
    assert "hourly_rate" in one.out
    assert "DECIMAL(18,10)" in one.out
    rows = json.loads(asked("tables", "prices", "--format", "json").out)
    assert rows[0]["name"] == "provider"
    assert rows[0]["focus_column"] == "ProviderName"


def test_a_sound_catalog_verifies(asked, release):
    assert asked("verify").code == 0
    assert asked("verify", release.id).code == 0


def test_a_damaged_file_is_named_and_is_an_error(command, published, release, tmp_path):
    root = tmp_path / "catalog"
    shutil.copytree(published.folder / "catalog", root)
    table = Path(open_release(open_storage(root)).table("prices"))
    table.write_bytes(table.read_bytes()[:-1] + b"?")
    answer = command("verify", "--root", root)
    assert answer.code == 1
    assert f"releases/{release.id}/{table.name} is not what was published" in answer.out


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("show", "cheapest", "p5.48xlarg"), "UnknownNameError", "Did you mean p5.48xlarge"),
        (("show", "prices", "NC40ads_H100"), "UnknownNameError", H100),
        (("tables", "price"), "UnknownNameError", "it has regions"),
        (("sql", "DROP TABLE prices"), "QueryError", "expected one SELECT statement"),
        (("sql", "SELECT '[/]' FROM nowhere"), "QueryError", "nowhere"),
        (("releases", "--root", "ftp://x"), "StorageError", "ftp://x"),
        (("verify", "none"), "UnknownReleaseError", "none"),
        (("sql", "SELECT 1", "--release", "none"), "UnknownReleaseError", "none"),
    ],
)
def test_an_error_is_one_line_on_standard_error_and_exit_code_1(asked, arguments, error, message):
    answer = asked(*arguments)
    assert (answer.code, answer.out) == (1, "")
    assert answer.err.startswith(f"{error}: ")
    assert message in answer.err
    assert "Traceback" not in answer.err


def test_an_empty_catalog_says_what_to_do(command):
    answer = command("show", "cheapest", "p5.48xlarge")
    assert answer.code == 1
    root = Path.cwd() / "catalog"
    assert answer.err == f"UnknownReleaseError: {root} holds no release; run a refresh first\n"


def test_debug_gives_the_traceback(published, monkeypatch):
    root = str(published.folder / "catalog")
    arguments = ["--debug", "show", "prices", "p9.none", "--root", root]
    monkeypatch.setattr(sys, "argv", ["price-catalog", *arguments])
    with pytest.raises(UnknownNameError):
        cli.main()


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("show",),
        ("ask",),
        ("show", "cheapest"),
        ("show", "cheapest", "p5.48xlarge", "--scope", "mars"),
        ("show", "cheapest", "p5.48xlarge", "--currency", "GBP"),
        ("show", "cheapest", "p5.48xlarge", "--os", "plan9"),
        ("releases", "--format", "xml"),
        ("refresh", "--http-workers", "many"),
    ],
    ids=" ".join,
)
def test_a_command_that_cannot_be_understood_is_exit_code_2(asked, arguments):
    assert asked(*arguments).code == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("refresh", "--source", "yesterday"),
        ("refresh", "--source", "yesterday", "--no-prefect"),
        ("refresh", "--source", "recorded", "--record", "night"),
        ("refresh", "--http-workers", "0"),
        ("refresh", "--as-of", "tuesday"),
    ],
    ids=" ".join,
)
def test_settings_that_cannot_be_used_are_exit_code_2(command, arguments):
    answer = command(*arguments)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("SettingsError: ")


def test_a_bad_variable_is_a_bad_setting_for_every_command(command, monkeypatch):
    monkeypatch.setenv("PRICE_CATALOG_HTTP_WORKERS", "many")
    answer = command("releases")
    assert answer.code == 2
    assert "http_workers" in answer.err


def test_refresh_publishes_then_finds_nothing_new_then_is_refused(command, night):
    root = night.folder / "catalog"
    refresh = (*night.command(), "--no-prefect")
    first = command(*refresh)
    assert first.code == 0, first.err
    release = night.release()
    lines = [line.strip() for line in first.out.splitlines()]
    assert f"Release {release.id} is published." in lines
    assert (
        "Cheapest p5.48xlarge (H100, Linux, on demand): 55.04 USD an hour in us-east-1, "
        "us-east-2, us-west-2."
    ) in lines
    assert (
        "Frankfurt: eu-central-1 lists no p5.48xlarge; germanywestcentral asks 9.074 USD for "
        "Standard_NC40ads_H100_v5, +30.0 %."
    ) in lines
    assert f"Files: {root}/releases/{release.id}" in lines
    assert any(line.startswith("Gate: publish") for line in lines)
    prices = release.manifest.tables["prices"].rows
    assert ["prices", f"{prices:,}"] in [line.split() for line in lines]

    again = command(*refresh)
    assert again.code == 0
    assert f"Unchanged: release {release.id} holds this content already." in again.out

    night.azure.listings = dict.fromkeys(night.azure.listings, ())
    refused = command(*night.command(as_of="2026-08-23T06:00:00Z"), "--no-prefect")
    assert refused.code == 3
    assert "Gate: refuse." in refused.out
    assert refused.err.startswith("RefusedByGateError: Refused: ")
    assert f"{night.landing}/runs/20260823T060000Z-live/quality/index.html" in refused.err
    assert night.release().id == release.id


def test_the_installed_command_answers_without_a_traceback(published):
    price_catalog = Path(sys.executable).parent / "price-catalog"
    answer = subprocess.run(
        [price_catalog, "show", "cheapest", "p5.48xlarg", "--root", published.folder / "catalog"],
        cwd=published.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (answer.returncode, answer.stdout) == (1, "")
    (line,) = answer.stderr.splitlines()
    assert line.startswith("UnknownNameError: release ")


def test_the_regions_of_the_small_night_are_enough_for_these_answers():
    assert {"germanywestcentral", "eastus", "northeurope"} <= set(AZURE_REGIONS)


def test_pruning_says_what_it_deleted_and_keeps_what_the_newest_runs_need(command, tmp_path):
    store = LandingStore(tmp_path / "landing")
    body = store.put([b"what only the older run needs"])
    document = Document(
        source_id="aws_price_list_index",
        source="aws_price_list_index",
        provider="aws",
        region_id=None,
        url="https://pricing.example/index.json",
        fetched_at=datetime(2026, 8, 21, tzinfo=UTC),
        confirmed_at=datetime(2026, 8, 21, tzinfo=UTC),
        published_at=None,
        version=None,
        media_type="application/json",
        sha256=body.sha256,
        bytes=body.bytes,
    )
    store.save_run("20260821T030000Z-live", [document], {})
    store.save_run("20260822T030000Z-live", [], {})
    answer = command("prune", "--keep-runs", "1", "--landing", tmp_path / "landing")
    assert (answer.code, answer.out.strip()) == (0, "Deleted 1 runs, 1 documents and 0 parts.")
    assert store.runs() == ("20260822T030000Z-live",)
