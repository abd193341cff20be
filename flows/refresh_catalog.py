"""The nightly refresh, as a table of contents: `refresh` says what happens, in which order.

`refresh_catalog` is the same refresh as a Prefect flow: what deployments, `price-catalog serve`
and `price-catalog refresh` run.
"""

from functools import partial
from pathlib import Path
from typing import Any

from prefect import flow

from flows.artifacts import create_artifacts
from flows.base import find_base
from flows.candidate import assemble
from flows.conductor import Conductor
from flows.connections import connected
from flows.errors import RefusedByGateError
from flows.extract import fetch_rates, save_landed_run
from flows.extract_aws import extract_aws
from flows.extract_azure import extract_azure
from flows.planning import plan_run, read_settings
from flows.prefect_conductor import PrefectConductor
from flows.progress import listener
from flows.run import Run
from flows.verdict import Refreshed, check_candidate, publish_candidate
from warehouse.landing import LandingStore

_EXTRACT = {"aws": extract_aws, "azure": extract_azure}


def refresh(run: Run, conduct: Conductor) -> Refreshed:
    """Fetch, normalise, assemble, judge and publish one catalog; the outcome may be a refusal."""
    with LandingStore(run.landing).in_use(), connected(run):
        base = conduct.stage("last release", partial(find_base, run))
        extracts = conduct.subflows(
            {
                f"extract-{provider}": partial(
                    _EXTRACT[provider], run, conduct, base.regions_of(provider)
                )
                for provider in run.providers
            },
        )
        rates = conduct.stage("exchange rates", partial(fetch_rates, run))
        conduct.stage("landed run", partial(save_landed_run, run, base, extracts, rates))
        candidate = conduct.stage("assembly", partial(assemble, run, base, extracts, rates))
        report = conduct.stage("gate", partial(check_candidate, run, candidate))
        return conduct.stage("publication", partial(publish_candidate, run, candidate, report))


@flow(name="refresh-catalog")
def refresh_catalog(
    settings: dict[str, Any] | None = None,
    *,
    accept_jumps: bool = False,
    accept_losses: bool = False,
    record_to: str | None = None,
    from_landed: str | None = None,
) -> Refreshed:
    """Run a refresh as a Prefect flow.

    Args:
        settings: settings by name that stand in place of the environment's for this run.
        accept_jumps: publish price jumps that a person has looked at.
        accept_losses: publish losses against the last release that a person has looked at.
        record_to: folder to write a recording of a live run to.
        from_landed: earlier run to repeat from its landed documents.

    Raises:
        RefusedByGateError: the release is not published; the flow run fails with the reason.
    """
    run = plan_run(
        read_settings(settings or {}),
        accept_jumps=accept_jumps,
        accept_losses=accept_losses,
        record_to=None if record_to is None else Path(record_to),
        from_landed=from_landed,
    )
    refreshed = refresh(run, PrefectConductor(run.limits.workers, listener()))
    create_artifacts(refreshed)
    if refreshed.outcome == "refused":
        raise RefusedByGateError(refreshed)
    return refreshed
