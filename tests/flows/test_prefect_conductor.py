"""What Prefect shows of a refresh: its parts, a task a step and region, and artifacts."""

import contextvars
import json

import pytest
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import (
    ArtifactFilter,
    ArtifactFilterFlowRunId,
    FlowFilter,
    FlowFilterName,
    FlowRunFilter,
    FlowRunFilterParentFlowRunId,
    TaskRunFilter,
    TaskRunFilterFlowRunId,
)
from prefect.context import get_run_context

from flows.artifacts import create_artifacts
from flows.errors import RefusedByGateError
from flows.prefect_conductor import PrefectConductor
from flows.progress import listen
from flows.refresh_catalog import refresh_catalog
from support.conducting import Flaky, Lasting, Passing, Told, lane_of

pytestmark = [pytest.mark.prefect, pytest.mark.usefixtures("prefect_api")]


@pytest.fixture
def client():
    with get_client(sync_client=True) as client:
        yield client


def run_in_flow(function):
    """Run a function inside of a flow run, and give the id of that."""
    found = []

    @flow(name="shown")
    def shown():
        found.append(get_run_context().flow_run.id)
        function()

    shown()
    return found[0]


def parts_of(client, flow_run_id):
    parent = FlowRunFilterParentFlowRunId(any_=[flow_run_id])
    runs = client.read_flow_runs(flow_run_filter=FlowRunFilter(parent_flow_run_id=parent))
    return {client.read_flow(run.flow_id).name: run for run in runs}


def tasks_of(client, flow_run_id):
    of_flow = TaskRunFilterFlowRunId(any_=[flow_run_id])
    runs = client.read_task_runs(task_run_filter=TaskRunFilter(flow_run_id=of_flow))
    return sorted((run.name.rpartition("-")[0], run.state.name, run.run_count) for run in runs)


def artifacts_of(client, flow_run_id):
    only = ArtifactFilter(flow_run_id=ArtifactFilterFlowRunId(any_=[flow_run_id]))
    found = client.read_artifacts(artifact_filter=only)
    # Without a key are those that Prefect makes of results.
    return {artifact.key: artifact for artifact in found if artifact.key}


def test_an_item_is_two_tasks_of_its_subflow_and_only_the_first_is_retried(client):
    conductor = PrefectConductor(2, Told())
    fetch = Flaky(a=[Passing()], b=[Lasting()])
    lane = lane_of(fetch, attempts=3)

    def refresh():
        conductor.stage("last release", lambda: None)
        conductor.subflow("extract-aws", lambda: conductor.fan_out("items", lane, ["a", "b"]))

    flow_run_id = run_in_flow(refresh)
    extract = parts_of(client, flow_run_id)["extract-aws"]
    assert tasks_of(client, extract.id) == [
        ("fetch-item", "Completed", 2),
        ("fetch-item", "Failed", 1),
        ("then-item", "Completed", 1),
    ]
    assert ("last release", "Completed", 1) in tasks_of(client, flow_run_id)


def test_a_failed_item_does_not_fail_its_subflow(client):
    conductor = PrefectConductor(2, Told())
    lane = lane_of(Flaky(a=[Lasting()]))
    flow_run_id = run_in_flow(
        lambda: conductor.subflow("extract-aws", lambda: conductor.fan_out("items", lane, ["a"]))
    )
    assert parts_of(client, flow_run_id)["extract-aws"].state.name == "Completed"


def test_artifacts_show_the_regions_the_gates_word_and_the_release(client, refreshed):
    flow_run_id = run_in_flow(lambda: create_artifacts(refreshed))
    found = artifacts_of(client, flow_run_id)
    assert set(found) == {"regions", "gate", "release"}
    regions = json.loads(found["regions"].data)
    assert len(regions) == 26
    assert set(regions[0]) == {
        "provider",
        "region",
        "rows read",
        "rows kept",
        "seconds",
        "bytes",
        "unchanged",
        "carried over",
        "problem",
    }
    assert found["gate"].data.startswith(f"**Release {refreshed.release_id} is published.**")
    assert refreshed.page in found["release"].data


def test_a_refused_night_fails_its_flow_run_with_the_reason_and_leaves_artifacts(client, night):
    told = Told()
    night.azure.listings = dict.fromkeys(night.azure.listings, ())
    settings = night.settings(providers="azure", azure_regions="eastus")

    def refresh():
        listen(told)
        with pytest.raises(RefusedByGateError) as refused:
            refresh_catalog(settings)
        return refused.value

    error = contextvars.copy_context().run(refresh)
    assert error.refreshed.outcome == "refused"
    assert ("begin", "Azure regions", 1) in told.stages
    assert told.stages[-1] == ("done", "publication", 0)

    only = FlowFilter(name=FlowFilterName(any_=["refresh-catalog"]))
    (run,) = client.read_flow_runs(flow_filter=only)
    assert run.state.name == "Failed"
    assert error.refreshed.headline in run.state.message
    shown = artifacts_of(client, run.id)
    assert set(shown) == {"regions", "gate", "release"}
    assert shown["gate"].data.startswith(f"**{error.refreshed.headline}**")
