"""From landed documents to a part of a release: a region's price lists, or spot prices."""

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import polars as pl

from connectors.aws.savings_plan_wire import read_savings_plan_rates
from connectors.aws.spot_feed import read_spot_feed
from connectors.aws.wire import read_offer_rows
from connectors.azure.retail_prices import currency_of
from connectors.azure.wire import read_retail_page
from flows import reference
from flows.run import RegionDocuments, RegionPart, Run
from transforms.aws_prices import OfferFilePart, normalize_offer_file
from transforms.aws_savings_plans import normalize_savings_plan_rates
from transforms.aws_spot_prices import (
    normalize_offerings,
    normalize_spot_feed,
    normalize_spot_prices,
)
from transforms.azure_prices import normalize_retail_pages
from transforms.list_prices import settle
from transforms.normalized import Normalized, combine, final_counts
from warehouse.errors import DocumentDamagedError
from warehouse.landing import LandingStore, part_key
from warehouse.schemas.documents import Document

logger = logging.getLogger(__name__)

Documents = Mapping[str, Sequence[Document]]
"""Documents by source."""

Reader = Callable[[LandingStore, RegionDocuments, Documents], Iterator[Normalized]]

_OFFERS = "aws_price_list"
_SAVINGS_PLANS = "aws_savings_plans"
_SPOT_PRICES = "aws_spot_price_history"
_OFFERINGS = "aws_instance_type_offerings"
_SPOT_FEED = "aws_spot_feed"
_RETAIL_PRICES = "azure_retail_prices"


def normalize_region(run: Run, region: RegionDocuments) -> RegionPart:
    """Parse and normalise a region's documents, or take the part that was made of them before.

    A part is a pure function of the documents' bytes and of the code, so its address is a digest
    of both: an unchanged document is not parsed again.
    """
    started = time.perf_counter()
    known = known_part(run, region)
    if known is not None:
        return known
    landing = LandingStore(run.landing)
    incoming = landing.new_part_directory()
    try:
        write_part(make_part(landing, region), incoming)
    except DocumentDamagedError as error:
        # Left where it is, an unchanged document would be confirmed and fail night after night.
        if error.sha256 is not None:
            landing.discard_body(error.sha256)
        raise
    key = _key(run, region)
    path = landing.commit_part(key, incoming)
    return _part_at(path, key, region, seconds=time.perf_counter() - started, from_cache=False)


def known_part(run: Run, region: RegionDocuments) -> RegionPart | None:
    """Return the part that this code has made of these documents before, if it is whole."""
    started = time.perf_counter()
    landing = LandingStore(run.landing)
    key = _key(run, region)
    path = landing.part_directory(key)
    if path is None:
        return None
    if not _is_whole(path):
        logger.warning("part %s of %s is damaged and is made again", key, region.region_id)
        landing.discard_part(key)
        return None
    return _part_at(path, key, region, seconds=time.perf_counter() - started, from_cache=True)


def _key(run: Run, region: RegionDocuments) -> str:
    code_and_wanted = "/".join((run.fingerprint, *region.wanted))
    return part_key(region.documents, code_fingerprint=code_and_wanted)


def _part_at(
    path: Path, key: str, region: RegionDocuments, *, seconds: float, from_cache: bool
) -> RegionPart:
    counts = pl.read_parquet(path / "counts.parquet")
    return RegionPart(
        provider=region.provider,
        region_id=region.region_id,
        documents=region.documents,
        key=key,
        path=path,
        rows_read=int(counts["rows"].sum()),
        rows_kept=int(counts.filter(pl.col("outcome") == "kept")["rows"].sum()),
        seconds=seconds,
        from_cache=from_cache,
    )


def make_part(landing: LandingStore, region: RegionDocuments) -> Normalized:
    """Parse and normalise documents block by block, then settle keys over the whole region."""
    by_source: dict[str, list[Document]] = {}
    for document in region.documents:
        by_source.setdefault(document.source, []).append(document)
    whole = combine(
        part
        for source in by_source
        if source != _SAVINGS_PLANS  # Read with the offer file whose SKUs they name.
        for part in _READERS[source](landing, region, by_source)
    )
    settled = settle(whole.prices)
    return whole._replace(
        prices=settled.prices,
        rejected=pl.concat([whole.rejected, settled.rejected]),
        counts=final_counts([whole.counts, settled.counts]),
    )


def write_part(part: Normalized, folder: Path) -> None:
    """Write a part, a parquet file a table."""
    for name, frame in part._asdict().items():
        frame.write_parquet(folder / f"{name}.parquet")


def _is_whole(folder: Path) -> bool:
    try:
        read_part(folder)
    except (OSError, pl.exceptions.PolarsError):
        return False
    return True


def read_part(folder: Path) -> Normalized:
    """Read a part."""
    return read_parts([folder])


def read_parts(folders: Sequence[Path]) -> Normalized:
    """Read parts as one, as `combine` would put them together but for rows that repeat."""
    return Normalized(
        *(
            pl.read_parquet([folder / f"{name}.parquet" for folder in folders])
            for name in Normalized._fields
        )
    )


def _offer_files(
    landing: LandingStore, region: RegionDocuments, by_source: Documents
) -> Iterator[Normalized]:
    """Read a region's offer file, and its savings plans, which name the SKUs of that file."""
    region_id, regions = str(region.region_id), reference.regions()
    for document in by_source[_OFFERS]:
        offers = _offer_file(landing, document, region_id)
        yield offers.normalized
        for plans in by_source.get(_SAVINGS_PLANS, ()):
            with landing.open(plans.sha256) as body:
                yield normalize_savings_plan_rates(
                    read_savings_plan_rates(body, source_id=plans.source_id),
                    skus=offers.skus,
                    source_id=plans.source_id,
                    region_id=region_id,
                    regions=regions,
                )


def _offer_file(landing: LandingStore, document: Document, region_id: str) -> OfferFilePart:
    with landing.open(document.sha256) as body:
        return normalize_offer_file(
            read_offer_rows(body, source_id=document.source_id),
            source_id=document.source_id,
            region_id=region_id,
            regions=reference.regions(),
        )


def _spot_prices(
    landing: LandingStore, region: RegionDocuments, by_source: Documents
) -> Iterator[Normalized]:
    # Imports boto3, which takes half a second that only runs with credentials need.
    from connectors.aws.ec2_api import read_spot_prices  # noqa: PLC0415

    for document in by_source[_SPOT_PRICES]:
        with landing.open(document.sha256) as body:
            yield normalize_spot_prices(
                read_spot_prices(body.read(), source_id=document.source_id),
                source_id=document.source_id,
                region_id=str(region.region_id),
                regions=reference.regions(),
                region_ids=region.wanted,
            )


def _offerings(
    landing: LandingStore, region: RegionDocuments, by_source: Documents
) -> Iterator[Normalized]:
    from connectors.aws.ec2_api import read_offerings  # noqa: PLC0415 - as above

    for document in by_source[_OFFERINGS]:
        with landing.open(document.sha256) as body:
            yield normalize_offerings(
                read_offerings(body.read(), source_id=document.source_id),
                source_id=document.source_id,
                region_id=str(region.region_id),
            )


def _spot_feed(
    landing: LandingStore, region: RegionDocuments, by_source: Documents
) -> Iterator[Normalized]:
    for document in by_source[_SPOT_FEED]:
        with landing.open(document.sha256) as body:
            yield normalize_spot_feed(
                read_spot_feed(body.read(), source_id=document.source_id),
                source_id=document.source_id,
                valid_from=document.published_at or document.fetched_at,
                regions=reference.regions(),
                region_ids=region.wanted,
            )


def _retail_pages(
    landing: LandingStore, region: RegionDocuments, by_source: Documents
) -> Iterator[Normalized]:
    documents = by_source[_RETAIL_PRICES]

    def pages() -> Iterator[tuple[str, pl.DataFrame]]:
        for document in documents:
            with landing.open(document.sha256) as body:
                page = read_retail_page(body.read(), source_id=document.source_id)
            yield document.source_id, page.items

    yield normalize_retail_pages(
        pages(),
        region_id=str(region.region_id),
        regions=reference.regions(),
        currencies={currency_of(document.source_id) for document in documents},
    )


_READERS: Mapping[str, Reader] = {
    _OFFERS: _offer_files,
    _SPOT_PRICES: _spot_prices,
    _OFFERINGS: _offerings,
    _SPOT_FEED: _spot_feed,
    _RETAIL_PRICES: _retail_pages,
}
