"""A region's own EC2 API, which needs credentials: spot prices now, and what can be ordered where.

Every region has its own endpoint, and answers only accounts that have opted into it. The names of
zones belong to the account that asks (one account's us-east-1a is another's us-east-1d), so zones
go by their ids here, such as use1-az1.

Source: Amazon EC2 API, version 2016-11-15: DescribeSpotPriceHistory, DescribeAvailabilityZones,
DescribeInstanceTypeOfferings.
"""

import json
import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import boto3
import msgspec
import polars as pl
from botocore.config import Config

from connectors.aws.aws_errors import translated_errors
from connectors.errors import UnstableListingError, WireFormatError
from connectors.landing import Landing
from connectors.urls import canonical_url
from warehouse.schemas.documents import Document
from warehouse.schemas.raw import AWS_INSTANCE_TYPE_OFFERINGS, AWS_SPOT_PRICES
from warehouse.schemas.table import Table

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

logger = logging.getLogger(__name__)

SPOT_SOURCE = "aws_spot_price_history"
OFFERINGS_SOURCE = "aws_instance_type_offerings"

_API = "the EC2 API"
_PAGE_SIZE = 1000
# The largest region lists some 40 pages; a walk that goes on for a thousand has no end.
_MAX_PAGES = 1000

# boto3's own session makes one client at a time; the clients may then be used side by side.
_SESSION = threading.Lock()

_Entry = Mapping[str, Any]


def create_ec2_client(region_id: str, *, max_attempts: int) -> "EC2Client":
    """Make a client of one region's EC2 API; it repeats single calls. AWS_ENDPOINT_URL_* apply."""
    config = Config(retries={"mode": "standard", "total_max_attempts": max_attempts})
    with _SESSION:
        return boto3.client("ec2", region_name=region_id, config=config)


def fetch_spot_prices(
    ec2: "EC2Client",
    region_id: str,
    landing: Landing,
    *,
    as_of: datetime,
    fetched_at: datetime,
) -> Document:
    """Ask for the spot prices in force at `as_of`, and land them as one document.

    With one moment as start and end, the history holds for every zone, type and product the last
    change before it: the price then in force. A type that has no capacity for spot has no entry,
    and a history without entries is a document without entries.

    The document is JSON as the AWS CLI writes it, in an order of its own, so that the same prices
    give the same bytes. An entry that comes without a zone id gets that of its zone's name.

    Args:
        ec2: client of the region.
        region_id: region that the client is of.
        landing: where the document goes.
        as_of: moment that is asked for, with a time zone; AWS remembers 90 days.
        fetched_at: the time of this fetch.

    Raises:
        RegionNotUsableError: the account has not opted into the region, or lacks the right
            ec2:DescribeSpotPriceHistory or ec2:DescribeAvailabilityZones.
        UnstableListingError: the pages do not come to an end.
        WireFormatError: the answer is none of this API.
        ConnectorError: see `translated_errors`.
    """
    source_id = f"{SPOT_SOURCE}/{region_id}"
    with translated_errors(_API, source=source_id, region_id=region_id):
        entries = [
            entry | {"Timestamp": entry["Timestamp"].isoformat()} if "Timestamp" in entry else entry
            for entry in _walk(
                ec2.describe_spot_price_history,
                {"StartTime": as_of, "EndTime": as_of},
                "SpotPriceHistory",
                source_id=source_id,
                region_id=region_id,
            )
        ]
        if not all(entry.get("AvailabilityZoneId") for entry in entries):
            entries = _with_zone_ids(entries, _zone_ids(ec2))
    return _land(
        ec2,
        landing,
        "DescribeSpotPriceHistory",
        "SpotPriceHistory",
        entries,
        source_id=source_id,
        region_id=region_id,
        fetched_at=fetched_at,
    )


def fetch_instance_type_offerings(
    ec2: "EC2Client", region_id: str, landing: Landing, *, fetched_at: datetime
) -> Document:
    """Ask which instance types can be ordered in which zone, and land the answer as one document.

    It names the zones of the region, and Local and Wavelength Zones that belong to it, by id.

    Raises:
        RegionNotUsableError: the account has not opted into the region, or lacks the right
            ec2:DescribeInstanceTypeOfferings.
        UnstableListingError: the pages do not come to an end.
        WireFormatError: the answer is none of this API.
        ConnectorError: see `translated_errors`.
    """
    source_id = f"{OFFERINGS_SOURCE}/{region_id}"
    with translated_errors(_API, source=source_id, region_id=region_id):
        entries = list(
            _walk(
                ec2.describe_instance_type_offerings,
                {"LocationType": "availability-zone-id"},
                "InstanceTypeOfferings",
                source_id=source_id,
                region_id=region_id,
            )
        )
    return _land(
        ec2,
        landing,
        "DescribeInstanceTypeOfferings",
        "InstanceTypeOfferings",
        entries,
        source_id=source_id,
        region_id=region_id,
        fetched_at=fetched_at,
    )


class _SpotPrice(msgspec.Struct, rename="pascal"):
    availability_zone: str | None = None
    availability_zone_id: str | None = None
    instance_type: str | None = None
    product_description: str | None = None
    spot_price: str | None = None
    timestamp: str | None = None


class _SpotPrices(msgspec.Struct, rename="pascal"):
    spot_price_history: list[_SpotPrice]


class _Offering(msgspec.Struct, rename="pascal"):
    instance_type: str | None = None
    location: str | None = None
    location_type: str | None = None


class _Offerings(msgspec.Struct, rename="pascal"):
    instance_type_offerings: list[_Offering]


_Body = TypeVar("_Body", _SpotPrices, _Offerings)


def read_spot_prices(body: bytes, *, source_id: str) -> pl.DataFrame:
    """Read a landed spot price history: AWS_SPOT_PRICES, in the document's order.

    Raises:
        WireFormatError: not such a document.
    """
    entries = _decode(body, _SpotPrices, source_id).spot_price_history
    return _frame(AWS_SPOT_PRICES, entries)


def read_offerings(body: bytes, *, source_id: str) -> pl.DataFrame:
    """Read landed offerings: AWS_INSTANCE_TYPE_OFFERINGS, in the document's order.

    Raises:
        WireFormatError: not such a document.
    """
    entries = _decode(body, _Offerings, source_id).instance_type_offerings
    return _frame(AWS_INSTANCE_TYPE_OFFERINGS, entries)


def _walk(
    call: Callable[..., Any],
    arguments: Mapping[str, Any],
    key: str,
    *,
    source_id: str,
    region_id: str,
) -> Iterator[dict[str, Any]]:
    """Give the entries of all pages, and make sure that the pages come to an end.

    boto3's own paginator only notices a token that comes twice in a row. AWS may send a page that
    is empty and not the last, but no entry twice: a page that says what an earlier one said is
    the same page again, whatever its token.
    """
    tokens: set[str] = set()
    pages: set[str] = set()
    token = ""
    for number in range(1, _MAX_PAGES + 1):
        more = {"NextToken": token} if token else {}
        page = _ask(call, {**arguments, **more}, key, source_id=source_id, region_id=region_id)
        entries = page[key]
        said = json.dumps(entries, default=str)
        if entries and said in pages:
            raise _endless(f"page {number} repeats an earlier one", source_id, region_id)
        pages.add(said)
        yield from entries
        token = page.get("NextToken", "")
        if not token:
            return
        if token in tokens:
            raise _endless(f"page {number} names an earlier page as the next", source_id, region_id)
        tokens.add(token)
    raise _endless(f"page {_MAX_PAGES} is not the last", source_id, region_id)


def _ask(
    call: Callable[..., Any],
    arguments: Mapping[str, Any],
    key: str,
    *,
    source_id: str,
    region_id: str,
) -> Mapping[str, Any]:
    """Ask for one page. A page without entries says so; one that does not speak of them is none."""
    try:
        page: Mapping[str, Any] = call(**arguments, MaxResults=_PAGE_SIZE)
    except ValueError as exc:  # boto3's, of a time or a number that is none
        came = str(exc)
    else:
        if key in page:
            return page
        # boto3 takes any XML, a gateway's page too, for an answer with nothing in it.
        came = f"an answer without them ({', '.join(sorted(page))})"
    raise WireFormatError(
        f"expected entries of {key}, got {came}; if it stays so, the API has changed, or something "
        "between here and AWS changes its answers",
        source=source_id,
        region_id=region_id,
        field=key,
    )


def _endless(came: str, source_id: str, region_id: str) -> UnstableListingError:
    return UnstableListingError(
        f"expected pages that come to an end, but {came}; ask again from the first page",
        source=source_id,
        region_id=region_id,
    )


def _zone_ids(ec2: "EC2Client") -> dict[str, str]:
    zones = ec2.describe_availability_zones(AllAvailabilityZones=True)["AvailabilityZones"]
    return {
        zone["ZoneName"]: zone["ZoneId"] for zone in zones if zone.keys() >= {"ZoneName", "ZoneId"}
    }


def _with_zone_ids(entries: Sequence[_Entry], ids: Mapping[str, str]) -> list[dict[str, Any]]:
    """Name the zone's id where the answer has none; a zone that is not known stays without."""
    named = []
    for entry in entries:
        zone_id = entry.get("AvailabilityZoneId") or ids.get(entry.get("AvailabilityZone", ""))
        named.append({**entry, **({"AvailabilityZoneId": zone_id} if zone_id else {})})
    return named


def _land(
    ec2: "EC2Client",
    landing: Landing,
    action: str,
    key: str,
    entries: Sequence[_Entry],
    *,
    source_id: str,
    region_id: str,
    fetched_at: datetime,
) -> Document:
    in_order = sorted(entries, key=partial(json.dumps, sort_keys=True))
    stored = landing.put([json.dumps({key: in_order}, indent=1, sort_keys=True).encode()])
    logger.info("%s lists %d entries", source_id, len(entries))
    return Document(
        source_id=source_id,
        source=source_id.partition("/")[0],
        provider="aws",
        region_id=region_id,
        url=canonical_url(f"{ec2.meta.endpoint_url}?Action={action}"),
        fetched_at=fetched_at,
        confirmed_at=fetched_at,
        published_at=None,
        version=None,
        media_type="application/json",
        sha256=stored.sha256,
        bytes=stored.bytes,
    )


def _decode(body: bytes, kind: type[_Body], source_id: str) -> _Body:
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.MsgspecError as exc:
        raise WireFormatError(
            f"expected a landed answer of the EC2 API, got {len(body)} bytes of something else: "
            f"{exc}. Fetch it again",
            source=source_id,
            sample=repr(body[:80]),
        ) from exc


def _frame(table: Table, entries: Sequence[msgspec.Struct]) -> pl.DataFrame:
    rows = [[getattr(entry, name) for name in table.columns] for entry in entries]
    return pl.DataFrame(rows, schema=table.schema, orient="row")
