"""What AWS says of the moment: spot prices, and what can be ordered."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import polars as pl

from connectors.aws import spot_feed
from connectors.errors import ConnectorError
from flows import reference
from flows.aws_credentials import has_credentials
from flows.conductor import Conductor, Outcome
from flows.connections import client_of, landing_of
from flows.extract import as_landed, gaps_of, lane_of
from flows.planning import now
from flows.run import Gap, RegionDocuments, RegionPart, Run
from warehouse.schemas.documents import Document

Moments = tuple[Sequence[Outcome[Any, RegionPart]], Sequence[Gap]]

_SPOT_PRICES = "aws_spot_price_history"
_OFFERINGS = "aws_instance_type_offerings"
_SPOT_FEED = "aws_spot_feed"


def extract_moments(run: Run, conduct: Conductor, asked: tuple[str, ...]) -> Moments:
    """Fetch and normalise spot prices and what can be ordered.

    With credentials the EC2 API of each region is asked. Whatever regions that leaves without spot
    prices get those of the public feed: all without credentials, those of another partition, and
    those that the account may not use. These are of the moment, so a region without them is a gap,
    not a failure: nothing of an earlier night can stand in for them.
    """
    apis = _with_own_ec2_api(asked) if has_credentials(run) else []
    spot: list[Outcome[str, RegionPart]] = []
    offerings: list[Outcome[str, RegionPart]] = []
    if apis:
        fetch = partial(fetch_spot_prices, run, asked)
        spot = conduct.fan_out("AWS spot prices", lane_of(run, fetch), apis)
        fetch = partial(fetch_offerings, run, asked)
        offerings = conduct.fan_out("AWS offerings", lane_of(run, fetch), apis)
    gaps = [*gaps_of("aws", _SPOT_PRICES, spot), *gaps_of("aws", _OFFERINGS, offerings)]
    left = _without_spot_prices(asked, spot)
    if not left:
        return [*spot, *offerings], gaps
    try:
        feed = conduct.stage("AWS spot feed", partial(fetch_spot_feed, run, left))
    except ConnectorError as error:
        gap = Gap("aws", None, _SPOT_FEED, type(error).__name__, str(error))
        return [*spot, *offerings], [*gaps, gap]
    indicative = conduct.fan_out("AWS indicative prices", lane_of(run, as_landed), [feed])
    gaps += gaps_of("aws", _SPOT_FEED, indicative)
    return [*spot, *offerings, *indicative], gaps


def extract_landed_moments(
    run: Run, conduct: Conductor, asked: tuple[str, ...], documents: Sequence[Document]
) -> Moments:
    """Make the same of an earlier run's documents."""

    def parts_of(source: str, wanted: tuple[str, ...]) -> list[Outcome[Any, RegionPart]]:
        landed = [
            RegionDocuments("aws", document.region_id, (document,), wanted)
            for document in documents
            if document.source == source
        ]
        return (
            conduct.fan_out(f"landed {source}", lane_of(run, as_landed), landed) if landed else []
        )

    spot = parts_of(_SPOT_PRICES, asked)
    offerings = parts_of(_OFFERINGS, asked)
    indicative = parts_of(_SPOT_FEED, _without_spot_prices(asked, spot))
    gaps = [
        *gaps_of("aws", _SPOT_PRICES, spot),
        *gaps_of("aws", _OFFERINGS, offerings),
        *gaps_of("aws", _SPOT_FEED, indicative),
    ]
    return [*spot, *offerings, *indicative], gaps


def _without_spot_prices(
    asked: tuple[str, ...], spot: Sequence[Outcome[Any, RegionPart]]
) -> tuple[str, ...]:
    """Leave the regions whose EC2 API gave no spot prices; a zone's are in its parent's answer."""
    parents = dict(reference.regions().select("region_id", "parent_region_id").iter_rows())
    answered = {outcome.result.region_id for outcome in spot if outcome.result is not None}
    return tuple(region for region in asked if answered.isdisjoint({region, parents.get(region)}))


def _with_own_ec2_api(asked: Iterable[str]) -> list[str]:
    """Leave the regions that these credentials may ask: no zones, nor other partitions."""
    regions = reference.regions().filter(
        pl.col("provider") == "aws",
        pl.col("partition") == "aws",
        pl.col("region_kind") == "region",
    )
    own = set(regions["region_id"])
    return [region for region in asked if region in own]


def fetch_spot_prices(run: Run, asked: tuple[str, ...], region_id: str) -> RegionDocuments:
    """Land one region's spot prices, from its EC2 API."""
    from connectors.aws import ec2_api  # noqa: PLC0415 - only with credentials

    document = ec2_api.fetch_spot_prices(
        ec2_api.create_ec2_client(region_id, max_attempts=run.limits.max_attempts),
        region_id,
        landing_of(run),
        as_of=run.as_of,
        fetched_at=now(),
    )
    return RegionDocuments("aws", region_id, (document,), asked)


def fetch_offerings(run: Run, asked: tuple[str, ...], region_id: str) -> RegionDocuments:
    """Land which instance types one region offers in which zones, from its EC2 API."""
    from connectors.aws import ec2_api  # noqa: PLC0415 - only with credentials

    document = ec2_api.fetch_instance_type_offerings(
        ec2_api.create_ec2_client(region_id, max_attempts=run.limits.max_attempts),
        region_id,
        landing_of(run),
        fetched_at=now(),
    )
    return RegionDocuments("aws", region_id, (document,), asked)


def fetch_spot_feed(run: Run, wanted: tuple[str, ...]) -> RegionDocuments:
    """Land AWS's public spot feed, which covers all regions."""
    document = spot_feed.fetch_spot_feed(
        client_of(run), run.endpoints.aws_spot_feed, landing_of(run), fetched_at=now()
    )
    return RegionDocuments("aws", None, (document,), wanted)
