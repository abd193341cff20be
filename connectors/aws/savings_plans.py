"""AWS savings plans in bulk: the index of regions, and one file of rates for each of them.

Public, without credentials, on the host of the EC2 offer files and published apart from them. A
region's file holds what each SKU costs under Compute and under EC2 Instance Savings Plans.

Source: AWS Price List, "Getting price list files manually" (savings plans); format version 1.
"""

from datetime import datetime
from functools import partial

import msgspec

from connectors.aws.bulk_files import (
    IndexEntry,
    OfferFile,
    RegionIndex,
    fetch_file,
    fetch_index,
    index_source,
    partition_of,
)
from connectors.errors import WireFormatError
from connectors.http_client import HttpClient
from connectors.landing import Landing
from warehouse.schemas.documents import Document

INDEX_SOURCE = "aws_savings_plans_index"
PLAN_SOURCE = "aws_savings_plans"
PLAN_CODE = "AWSComputeSavingsPlan"

# In its addresses AWS says PLAN_CODE; the files call themselves by the first of these.
_OFFER_CODES = ("AmazonComputeSavingsPlan", PLAN_CODE)


class _IndexedRegion(msgspec.Struct, rename="camel"):
    region_code: str
    version_url: str


class _RegionIndex(msgspec.Struct, rename="camel"):
    publication_date: datetime
    regions: list[_IndexedRegion]


def fetch_savings_plan_index(
    client: HttpClient,
    base_url: str,
    landing: Landing,
    *,
    fetched_at: datetime,
    partition: str | None = None,
) -> tuple[Document, tuple[OfferFile, ...]]:
    """Fetch and land the index of savings plan files.

    Args:
        client: repeats single requests.
        base_url: the Price List host, such as https://pricing.us-east-1.amazonaws.com.
        landing: where the index goes.
        fetched_at: the time of this fetch.
        partition: aws or cn; default is what the host serves.

    Returns:
        The index, called `aws_savings_plans_index`, with `/cn` for China's; and every file that it
        names, sorted by region.

    Raises:
        WireFormatError: not the index, or it names a file on another host, or a region twice.
        ConnectorError: see `HttpClient.read`.
    """
    partition = partition or partition_of(base_url)
    source_id = index_source(INDEX_SOURCE, partition)
    root = f"{base_url.rstrip('/')}/savingsPlan/v1.0/{partition}/{PLAN_CODE}"
    return fetch_index(
        client,
        f"{root}/current/region_index.json",
        landing,
        source_id=source_id,
        decode=partial(_decode_index, source_id=source_id),
        fetched_at=fetched_at,
    )


def fetch_savings_plan_file(
    client: HttpClient, offer_file: OfferFile, landing: Landing, *, fetched_at: datetime
) -> Document:
    """Stream one region's savings plan file into the landing store, unless it is there already.

    Returns:
        The document `aws_savings_plans/<region>`; see `connectors.aws.bulk_files.fetch_file`.

    Raises:
        SourceUnavailableError: the file is missing (also during a publication), or cut off.
        WireFormatError: this is no file of compute savings plans.
        ConnectorError: see `HttpClient.read`.
    """
    return fetch_file(
        client,
        offer_file,
        landing,
        source=PLAN_SOURCE,
        offer_codes=_OFFER_CODES,
        fetched_at=fetched_at,
    )


def _decode_index(body: bytes, *, source_id: str) -> RegionIndex:
    try:
        index = msgspec.json.decode(body, type=_RegionIndex)
    except msgspec.MsgspecError as exc:
        raise WireFormatError(
            f"expected the region index of {PLAN_CODE} ({exc}), got {body[:80]!r}; "
            "check the url of the price list",
            source=source_id,
        ) from exc
    if not index.regions:
        raise WireFormatError(
            "expected regions in the region index, got none", source=source_id, field="regions"
        )
    entries = tuple(
        IndexEntry(region.region_code, region.region_code, region.version_url)
        for region in index.regions
    )
    return RegionIndex(index.publication_date, entries, "versionUrl")
