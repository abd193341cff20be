"""The nightly deployment, run for real on a Prefect server of the test's own."""

from datetime import time
from zoneinfo import ZoneInfo

import pytest

from support.prefect_server import (
    ROOT,
    Deadline,
    PrefectServer,
    free_port,
    prefect_home,
    prefect_server,
)
from support.small_night import AWS_REGIONS, AZURE_REGIONS
from warehouse.releases import latest_release
from warehouse.storage import open_storage
from warehouse.verification import verify

pytestmark = [pytest.mark.e2e, pytest.mark.prefect]

DEPLOYMENT = "refresh-catalog/nightly"
BERLIN = ZoneInfo("Europe/Berlin")


@pytest.fixture
def settings(tmp_path):
    """A refresh from the bundled recording, of a few regions because two cores are few."""
    return {
        "PRICE_CATALOG_SOURCE": "recorded",
        "PRICE_CATALOG_ROOT": str(tmp_path / "catalog"),
        "PRICE_CATALOG_LANDING": str(tmp_path / "landing"),
        "PRICE_CATALOG_AWS_REGIONS": ",".join(AWS_REGIONS),
        "PRICE_CATALOG_AZURE_REGIONS": ",".join(AZURE_REGIONS),
    }


def test_the_nightly_deployment_publishes_a_release_and_leaves_its_artifacts(tmp_path, settings):
    deadline = Deadline(300)
    home = prefect_home(
        tmp_path,
        PREFECT_API_URL=f"http://127.0.0.1:{free_port()}/api",
        PRICE_CATALOG_HOME=str(ROOT),
        **settings,
    )
    with prefect_server(home, deadline) as server:
        home.run("prefect", "work-pool", "create", "price-catalog", "--type", "process")
        home.run("prefect", "--no-prompt", "deploy", "--all")
        deployment = server.read(f"/deployments/name/{DEPLOYMENT}")
        assert [entry["schedule"] for entry in deployment["schedules"]] == [
            {"cron": "0 3 * * *", "timezone": "Europe/Berlin", "day_or": True}
        ]
        assert deployment["global_concurrency_limit"]["limit"] == 1
        assert deployment["concurrency_options"]["collision_strategy"] == "CANCEL_NEW"

        start = (
            "prefect",
            "worker",
            "start",
            "--pool",
            "price-catalog",
            "--install-policy",
            "never",
        )
        with home.running(*start) as worker:
            run_id = server.start_run(DEPLOYMENT)
            run = deadline.wait_for(
                lambda: server.finished_run(run_id), "finished flow run", worker
            )
        assert run["state_type"] == "COMPLETED", server.log_of(run_id) + worker.said

        artifacts = server.artifacts(run_id)
        assert {key: found["type"] for key, found in artifacts.items()} == {
            "regions": "table",
            "gate": "markdown",
            "release": "markdown",
        }

    storage = open_storage(tmp_path / "catalog")
    release = latest_release(storage)
    assert release is not None
    assert verify(storage).is_sound
    assert release.id in artifacts["release"]["data"]
    assert release.id in artifacts["gate"]["data"]
    assert '"us-east-1"' in artifacts["regions"]["data"]


def test_serve_starts_a_server_that_schedules_and_runs_the_refresh(tmp_path, settings):
    deadline = Deadline(300)
    port = free_port()
    home = prefect_home(
        tmp_path,
        PREFECT_SERVER_API_PORT=str(port),
        **{**settings, "PRICE_CATALOG_PROVIDERS": "azure"},
    )
    server = PrefectServer(f"http://127.0.0.1:{port}/api")
    with home.running("price-catalog", "serve", "--cron", "30 2 * * *") as serving:
        deployment = deadline.wait_for(
            lambda: server.is_healthy() and server.find_deployment(DEPLOYMENT),
            "deployment",
            serving,
        )
        assert [entry["schedule"] for entry in deployment["schedules"]] == [
            {"cron": "30 2 * * *", "timezone": "Europe/Berlin", "day_or": True}
        ]

        planned = deadline.wait_for(
            lambda: server.planned_runs(deployment["id"]), "scheduled flow runs", serving
        )
        assert {start.astimezone(BERLIN).time() for start in planned} == {time(2, 30)}

        run_id = server.start_run(DEPLOYMENT)
        run = deadline.wait_for(lambda: server.finished_run(run_id), "finished flow run", serving)
        assert run["state_type"] == "COMPLETED", server.log_of(run_id) + serving.said
    assert not server.is_healthy()

    release = latest_release(open_storage(tmp_path / "catalog"))
    assert release is not None
    assert set(release.manifest.coverage) == {"azure"}
