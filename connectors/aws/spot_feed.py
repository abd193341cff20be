"""AWS's public spot feed: a price for every region, type and system, without credentials.

It is what AWS's web page of spot prices shows: one price a region, whereas every zone has its own,
so it is an indication. It has come as JSON and, on its older address, as a script that calls
`callback` with the same JSON.

Source: https://aws.amazon.com/ec2/spot/pricing, which loads it; its format is not documented.
"""

import email.utils
import logging
import re
from collections.abc import Mapping
from datetime import UTC, datetime

import msgspec
import polars as pl

from connectors.errors import WireFormatError
from connectors.http_client import HttpClient
from connectors.landing import Landing
from connectors.urls import canonical_url
from warehouse.schemas.documents import Document
from warehouse.schemas.raw import AWS_SPOT_FEED_PRICES

logger = logging.getLogger(__name__)

SOURCE = "aws_spot_feed"

_RATE = "perhr"
_SCRIPT = re.compile(rb"\s*callback\s*\((.*)\)\s*;?\s*", re.DOTALL)


class _Column(msgspec.Struct, rename="camel"):
    name: str
    prices: dict[str, str]


class _Size(msgspec.Struct, rename="camel"):
    size: str
    value_columns: list[_Column]


class _Family(msgspec.Struct, rename="camel"):
    sizes: list[_Size]


class _Region(msgspec.Struct, rename="camel"):
    region: str
    instance_types: list[_Family]


class _Config(msgspec.Struct, rename="camel"):
    rate: str
    regions: list[_Region]


class _Feed(msgspec.Struct, rename="camel"):
    config: _Config


def fetch_spot_feed(
    client: HttpClient, url: str, landing: Landing, *, fetched_at: datetime
) -> Document:
    """Fetch and land the feed. Its `published_at` is the answer's Last-Modified, if it has one.

    Raises:
        ConnectorError: it could not be fetched, or is not in its format.
    """
    answer = client.get(url, check=_read_feed)
    stored = landing.put([answer.body])
    recorded = answer.head.recorded
    at = recorded.at if recorded else fetched_at
    logger.info("%s has %d bytes", SOURCE, stored.bytes)
    return Document(
        source_id=SOURCE,
        source=SOURCE,
        provider="aws",
        region_id=None,
        url=canonical_url(url),
        fetched_at=at,
        confirmed_at=at,
        published_at=_last_modified(answer.head.headers),
        version=None,
        media_type=answer.head.media_type or "application/json",
        sha256=stored.sha256,
        bytes=stored.bytes,
        is_recorded=recorded is not None,
        note=recorded.note if recorded else None,
    )


def read_spot_feed(body: bytes, *, source_id: str) -> pl.DataFrame:
    """Read the feed, as JSON or as a script: AWS_SPOT_FEED_PRICES, in the feed's order.

    Raises:
        WireFormatError: not the feed, or its prices are not by the hour.
    """
    rows = [
        (region.region, size.size, column.name, currency, price)
        for region in _read_feed(body, source_id).config.regions
        for family in region.instance_types
        for size in family.sizes
        for column in size.value_columns
        for currency, price in column.prices.items()
    ]
    return pl.DataFrame(rows, schema=AWS_SPOT_FEED_PRICES.schema, orient="row")


def _read_feed(body: bytes, source_id: str = SOURCE) -> _Feed:
    script = _SCRIPT.fullmatch(body)
    try:
        feed = msgspec.json.decode(script.group(1) if script else body, type=_Feed)
    except msgspec.MsgspecError as exc:
        raise WireFormatError(
            f"expected AWS's spot feed ({exc}), got {len(body)} bytes of something else; check its "
            "url, or give credentials to ask the EC2 API instead",
            source=source_id,
            sample=repr(body[:80]),
        ) from exc
    if feed.config.rate != _RATE:
        raise WireFormatError(
            f"expected prices by the hour ({_RATE!r}), got {feed.config.rate!r}; what an hour "
            "costs cannot be told from them",
            source=source_id,
            field="rate",
        )
    if not feed.config.regions:
        raise WireFormatError(
            "expected regions in AWS's spot feed, got none", source=source_id, field="regions"
        )
    return feed


def _last_modified(headers: Mapping[str, str]) -> datetime | None:
    try:
        at = email.utils.parsedate_to_datetime(headers.get("Last-Modified", ""))
    except ValueError:
        return None
    return at.astimezone(UTC) if at.tzinfo else None
