"""AWS Price List bulk API: the index of regions, and one offer file for each of them.

Public, without credentials. The index names Regions, Local Zones, Wavelength Zones and GovCloud;
China has an index of its own, on its own host and below its own partition.

Source: AWS Price List, "Getting price list files manually"; format version 1.
"""

import io
import itertools
import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from urllib.parse import urljoin, urlsplit

import msgspec

from connectors.aws.wire import OfferHeader, read_offer_header
from connectors.errors import WireFormatError
from connectors.http_client import Head, HttpClient, Recorded
from connectors.landing import Landing
from connectors.urls import canonical_url, has_origin_of
from warehouse.schemas.documents import Document, StoredBody, Validators

logger = logging.getLogger(__name__)

INDEX_SOURCE = "aws_price_list_index"
OFFER_SOURCE = "aws_price_list"
SERVICE_CODE = "AmazonEC2"

# While a publication is under way a file can be missing for some minutes.
_MISSING_FOR_A_WHILE = frozenset({404})
# Five lines of metadata and the header line of 91 columns are 3 KB.
_PREAMBLE_BYTES = 64 << 10
_VERSION_DIGITS = "%Y%m%d%H%M%S"


@dataclass(frozen=True, slots=True)
class OfferFile:
    """One region's offer file as CSV. `version` is the digits of `published_at`, if known."""

    region_id: str
    url: str
    version: str | None
    published_at: datetime | None


class _IndexedRegion(msgspec.Struct, rename="camel"):
    region_code: str
    current_version_url: str


class _RegionIndex(msgspec.Struct, rename="camel"):
    publication_date: datetime
    regions: dict[str, _IndexedRegion]


def partition_of(base_url: str) -> str:
    """Give the partition that a Price List host serves: `cn` in China, else `aws`."""
    host = urlsplit(base_url).hostname or ""
    return "cn" if host.endswith(".amazonaws.com.cn") else "aws"


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
        The index, and every offer file that it names, sorted by region.

    Raises:
        WireFormatError: not the index, or it names a file on another host.
        ConnectorError: see `HttpClient.read`.
    """
    partition = partition or partition_of(base_url)
    url = f"{base_url.rstrip('/')}/offers/v1.0/{partition}/{SERVICE_CODE}/current/region_index.json"
    answer = client.get(url, check=_read_index)
    index = _read_index(answer.body)
    offer_files = tuple(
        _offer_file(url, name, region) for name, region in sorted(index.regions.items())
    )
    document = _document(
        landing.put([answer.body]),
        source_id=INDEX_SOURCE,
        url=url,
        recorded=answer.head.recorded,
        fetched_at=fetched_at,
        published_at=index.publication_date,
        media_type="application/json",
    )
    logger.info("%s names %d regions", INDEX_SOURCE, len(offer_files))
    return document, offer_files


def fetch_offer_file(
    client: HttpClient, offer_file: OfferFile, landing: Landing, *, fetched_at: datetime
) -> Document:
    """Stream one region's offer file into the landing store, unless it is there already.

    A file that was landed before is asked for with its ETag; the answer that it is unchanged (304)
    gives the document of back then, confirmed now. Where a source has no ETags the version in the
    first lines tells, and the rest is not fetched.

    Raises:
        SourceUnavailableError: the file is missing (also during a publication), or cut off.
        WireFormatError: this is no offer file.
        ConnectorError: see `HttpClient.read`.
    """
    source_id = f"{OFFER_SOURCE}/{offer_file.region_id}"
    url = canonical_url(offer_file.url)
    known = landing.validators(url)

    def confirm(known: Validators, head: Head) -> Document:
        document = _confirmed(known.document, head, fetched_at)
        if head.recorded is None:
            # A replay says nothing of the file's live history, so it changes none of it.
            landing.remember(url, replace(known, document=document))
        return document

    def land(head: Head, chunks: Iterator[bytes]) -> Document:
        if head.is_not_modified:
            if known is None:
                raise WireFormatError(
                    "expected a document, got 304 to an unconditional request", source=source_id
                )
            return confirm(known, head)
        preamble, rest = _split_preamble(chunks)
        header = read_offer_header(io.BytesIO(preamble), source_id=source_id)
        if known is not None and _is_known_version(known, head, header):
            return confirm(known, head)
        _note_other_version(offer_file, header, source_id)
        document = _document(
            landing.put(itertools.chain((preamble,), rest)),
            source_id=source_id,
            url=url,
            recorded=head.recorded,
            fetched_at=fetched_at,
            published_at=header.published_at,
            media_type="text/csv",
            region_id=offer_file.region_id,
            version=header.version,
        )
        etag, last_modified = head.headers.get("ETag"), head.headers.get("Last-Modified")
        landing.remember(url, Validators(etag, last_modified, document))
        return document

    return client.read(
        offer_file.url, land, headers=_conditions(known), also_retry=_MISSING_FOR_A_WHILE
    )


def version_time(version: str) -> datetime | None:
    """Give the time that a version's 14 digits are, in UTC; None for another kind of version."""
    try:
        return datetime.strptime(version, _VERSION_DIGITS).replace(tzinfo=UTC)
    except ValueError:
        return None


def _read_index(body: bytes) -> _RegionIndex:
    try:
        index = msgspec.json.decode(body, type=_RegionIndex)
    except msgspec.MsgspecError as exc:
        raise WireFormatError(
            f"expected the region index of {SERVICE_CODE} ({exc}), got {body[:80]!r}; "
            "check the url of the price list",
            source=INDEX_SOURCE,
        ) from exc
    if not index.regions:
        raise WireFormatError(
            "expected regions in the region index, got none", source=INDEX_SOURCE, field="regions"
        )
    return index


def _offer_file(index_url: str, name: str, region: _IndexedRegion) -> OfferFile:
    url = urljoin(index_url, region.current_version_url)
    path = urlsplit(url).path
    if (
        not has_origin_of(url, index_url)
        or not path.endswith(".json")
        or name != region.region_code
    ):
        raise WireFormatError(
            f"expected the path of {name}'s offer file on the same host, got "
            f"{region.current_version_url!r} for {region.region_code!r}; it is not followed",
            source=INDEX_SOURCE,
            region_id=name,
            field="currentVersionUrl",
        )
    digits = re.search(r"/(\d{14})/", path)
    version = digits.group(1) if digits else None
    return OfferFile(
        region_id=name,
        url=url.removesuffix(".json") + ".csv",
        version=version,
        published_at=version_time(version) if version else None,
    )


def _conditions(known: Validators | None) -> dict[str, str]:
    if known is None:
        return {}
    conditions = {"If-None-Match": known.etag, "If-Modified-Since": known.last_modified}
    return {name: value for name, value in conditions.items() if value is not None}


def _split_preamble(chunks: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """Take chunks until the metadata and the header line are surely among them."""
    preamble = b""
    for chunk in chunks:
        preamble += chunk
        if len(preamble) >= _PREAMBLE_BYTES:
            break
    return preamble, chunks


def _is_known_version(known: Validators, head: Head, header: OfferHeader) -> bool:
    # With an ETag or a date the source itself says whether the file is another one.
    has_validators = "ETag" in head.headers or "Last-Modified" in head.headers
    return not has_validators and known.document.version == header.version


def _confirmed(document: Document, head: Head, fetched_at: datetime) -> Document:
    """Give a known document as of the answer that it is unchanged.

    Only what was fetched live and is confirmed live keeps the time of its fetch. A recording holds
    the file as fetched when it was recorded, whatever was landed before. A replayed file that the
    live source confirms counts as fetched by that.
    """
    recorded = head.recorded
    at = recorded.at if recorded else fetched_at
    is_live = recorded is None and not document.is_recorded
    return replace(
        document,
        fetched_at=document.fetched_at if is_live else at,
        confirmed_at=at,
        is_recorded=recorded is not None,
        note=recorded.note if recorded else None,
    )


def _note_other_version(offer_file: OfferFile, header: OfferHeader, source_id: str) -> None:
    if offer_file.version is not None and offer_file.version != header.version:
        logger.warning(
            "%s: the index says version %s, the file %s; the file is believed",
            source_id,
            offer_file.version,
            header.version,
        )


def _document(
    stored: StoredBody,
    *,
    source_id: str,
    url: str,
    recorded: Recorded | None,
    fetched_at: datetime,
    published_at: datetime,
    media_type: str,
    region_id: str | None = None,
    version: str | None = None,
) -> Document:
    at = recorded.at if recorded else fetched_at
    return Document(
        source_id=source_id,
        source=source_id.partition("/")[0],
        provider="aws",
        region_id=region_id,
        url=canonical_url(url),
        fetched_at=at,
        confirmed_at=at,
        published_at=published_at,
        version=version,
        media_type=media_type,
        sha256=stored.sha256,
        bytes=stored.bytes,
        is_recorded=recorded is not None,
        note=recorded.note if recorded else None,
    )
