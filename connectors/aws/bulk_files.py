"""AWS's bulk price files: an index of regions, and a CSV file for each region.

EC2 offer files and savings plans differ in address and index; how they are fetched, confirmed and
landed is the same, and is here.

Source: AWS Price List, "Getting price list files manually"; format version 1.
"""

import io
import itertools
import logging
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit

from connectors.aws.bulk_csv import OfferHeader, read_offer_header
from connectors.errors import WireFormatError
from connectors.http_client import Head, HttpClient, Recorded
from connectors.landing import Landing
from connectors.urls import canonical_url, has_origin_of
from warehouse.schemas.documents import Document, StoredBody, Validators

logger = logging.getLogger(__name__)

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


class IndexEntry(NamedTuple):
    """Where an index says that a region's file is. `name` is what the entry is listed under."""

    name: str
    region_code: str
    url: str


class RegionIndex(NamedTuple):
    """An index of regions. `url_field` is its own name of what `IndexEntry.url` comes from."""

    published_at: datetime
    entries: tuple[IndexEntry, ...]
    url_field: str


def partition_of(base_url: str) -> str:
    """Give the partition that a Price List host serves: `cn` in China, else `aws`."""
    host = urlsplit(base_url).hostname or ""
    return "cn" if host.endswith(".amazonaws.com.cn") else "aws"


def index_source(source: str, partition: str) -> str:
    """Give the source_id of a partition's index, so that a run can read those of several."""
    return source if partition == "aws" else f"{source}/{partition}"


def version_time(version: str) -> datetime | None:
    """Give the time that a version's 14 digits are, in UTC; None for another kind of version."""
    try:
        return datetime.strptime(version, _VERSION_DIGITS).replace(tzinfo=UTC)
    except ValueError:
        return None


def fetch_index(
    client: HttpClient,
    url: str,
    landing: Landing,
    *,
    source_id: str,
    decode: Callable[[bytes], RegionIndex],
    fetched_at: datetime,
) -> tuple[Document, tuple[OfferFile, ...]]:
    """Fetch and land an index of regions.

    Args:
        client: repeats single requests.
        url: the index.
        landing: where the index goes.
        source_id: what its document is called.
        decode: reads the index; raises WireFormatError for what is none, which is asked for again.
        fetched_at: the time of this fetch.

    Returns:
        The index, and the CSV of every file that it names, sorted by region.

    Raises:
        WireFormatError: not the index, or it names a file on another host, or a region twice.
        ConnectorError: see `HttpClient.read`.
    """
    answer = client.get(url, check=decode)
    index = decode(answer.body)
    offer_files = tuple(
        _offer_file(url, entry, index.url_field, source_id) for entry in sorted(index.entries)
    )
    regions = Counter(file.region_id for file in offer_files)
    twice = [region_id for region_id, files in regions.items() if files > 1]
    if twice:
        raise WireFormatError(
            f"expected one file a region, got several for {twice}: which one holds cannot be told",
            source=source_id,
            field="regions",
        )
    document = _document(
        landing.put([answer.body]),
        source_id=source_id,
        url=url,
        recorded=answer.head.recorded,
        fetched_at=fetched_at,
        published_at=index.published_at,
        media_type="application/json",
    )
    logger.info("%s names %d regions", source_id, len(offer_files))
    return document, offer_files


def fetch_file(
    client: HttpClient,
    offer_file: OfferFile,
    landing: Landing,
    *,
    source: str,
    offer_codes: Collection[str],
    fetched_at: datetime,
) -> Document:
    """Stream one region's file into the landing store, unless it is there already.

    A file that was landed before is asked for with its ETag; the answer that it is unchanged (304)
    gives the document of back then, confirmed now. Where a source has no ETags the version in the
    first lines tells, and the rest is not fetched.

    Args:
        client: repeats single requests.
        offer_file: which one.
        landing: where the file goes.
        source: what such files are called; the document is `<source>/<region>`.
        offer_codes: what the file may say that it is.
        fetched_at: the time of this fetch.

    Raises:
        SourceUnavailableError: the file is missing (also during a publication), or cut off.
        WireFormatError: this is no offer file, or one of another service.
        ConnectorError: see `HttpClient.read`.
    """
    source_id = f"{source}/{offer_file.region_id}"
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
        _require_offer_code(header, offer_codes, source_id)
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


def _offer_file(index_url: str, entry: IndexEntry, url_field: str, source_id: str) -> OfferFile:
    url = urljoin(index_url, entry.url)
    path = urlsplit(url).path
    if (
        not has_origin_of(url, index_url)
        or not path.endswith(".json")
        or entry.name != entry.region_code
    ):
        raise WireFormatError(
            f"expected the path of {entry.name}'s offer file on the same host, got "
            f"{entry.url!r} for {entry.region_code!r}; it is not followed",
            source=source_id,
            region_id=entry.name,
            field=url_field,
        )
    digits = re.search(r"/(\d{14})/", path)
    version = digits.group(1) if digits else None
    return OfferFile(
        region_id=entry.name,
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


def _require_offer_code(header: OfferHeader, expected: Collection[str], source_id: str) -> None:
    if header.offer_code not in expected:
        raise WireFormatError(
            f"expected a file of {' or '.join(expected)}, got one of {header.offer_code!r}; check "
            "where the index leads",
            source=source_id,
            field="OfferCode",
        )


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
