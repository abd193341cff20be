"""AWS Price List bulk API: the index of regions, and one offer file for each of them.

Public, without credentials. The index names Regions, Local Zones, Wavelength Zones and GovCloud;
China has an index of its own, on its own host and below its own partition.

Source: AWS Price List, "Getting price list files manually"; format version 1.
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

INDEX_SOURCE = "aws_price_list_index"
OFFER_SOURCE = "aws_price_list"
SERVICE_CODE = "AmazonEC2"


class _IndexedRegion(msgspec.Struct, rename="camel"):
    region_code: str
    current_version_url: str


class _RegionIndex(msgspec.Struct, rename="camel"):
    publication_date: datetime
    regions: dict[str, _IndexedRegion]


def fetch_region_index(
    client: HttpClient,
    base_url: str,
    landing: Landing,
    *,
    fetched_at: datetime,
    partition: str | None = None,
) -> tuple[Document, tuple[OfferFile, ...]]:
    """Fetch and land the index of EC2 offer files.

    Args:
        client: repeats single requests.
        base_url: the Price List host, such as https://pricing.us-east-1.amazonaws.com.
        landing: where the index goes.
        fetched_at: the time of this fetch.
        partition: aws or cn; default is what the host serves.

    Returns:
        The index, called `aws_price_list_index`, with `/cn` for China's; and every offer file that
        it names, sorted by region.

    Raises:
        WireFormatError: not the index, or it names a file on another host.
        ConnectorError: see `HttpClient.read`.
    """
    partition = partition or partition_of(base_url)
    source_id = index_source(INDEX_SOURCE, partition)
    url = f"{base_url.rstrip('/')}/offers/v1.0/{partition}/{SERVICE_CODE}/current/region_index.json"
    return fetch_index(
        client,
        url,
        landing,
        source_id=source_id,
        decode=partial(_decode_index, source_id=source_id),
        fetched_at=fetched_at,
    )


def fetch_offer_file(
    client: HttpClient, offer_file: OfferFile, landing: Landing, *, fetched_at: datetime
) -> Document:
    """Stream one region's offer file into the landing store, unless it is there already.

    Returns:
        The document `aws_price_list/<region>`; see `connectors.aws.bulk_files.fetch_file`.

    Raises:
        SourceUnavailableError: the file is missing (also during a publication), or cut off.
        WireFormatError: this is no offer file of EC2.
        ConnectorError: see `HttpClient.read`.
    """
    return fetch_file(
        client,
        offer_file,
        landing,
        source=OFFER_SOURCE,
        offer_codes=(SERVICE_CODE,),
        fetched_at=fetched_at,
    )


def _decode_index(body: bytes, *, source_id: str) -> RegionIndex:
    try:
        index = msgspec.json.decode(body, type=_RegionIndex)
    except msgspec.MsgspecError as exc:
        raise WireFormatError(
            f"expected the region index of {SERVICE_CODE} ({exc}), got {body[:80]!r}; "
            "check the url of the price list",
            source=source_id,
        ) from exc
    if not index.regions:
        raise WireFormatError(
            "expected regions in the region index, got none", source=source_id, field="regions"
        )
    entries = tuple(
        IndexEntry(name, region.region_code, region.current_version_url)
        for name, region in index.regions.items()
    )
    return RegionIndex(index.publication_date, entries, "currentVersionUrl")
