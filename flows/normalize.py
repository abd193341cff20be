"""From one region's landed documents to its part of a release."""

import logging
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from connectors.aws.wire import read_offer_rows
from connectors.azure.wire import read_retail_page
from flows import reference
from flows.run import RegionDocuments, RegionPart, Run
from transforms.aws_prices import normalize_offer_rows
from transforms.azure_prices import normalize_retail_pages
from transforms.list_prices import settle
from transforms.normalized import Normalized, combine, final_counts
from warehouse.errors import DocumentDamagedError
from warehouse.landing import LandingStore, part_key

logger = logging.getLogger(__name__)


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
    key = part_key(region.documents, code_fingerprint=run.fingerprint)
    path = landing.commit_part(key, incoming)
    return _part_at(path, key, region, seconds=time.perf_counter() - started, from_cache=False)


def known_part(run: Run, region: RegionDocuments) -> RegionPart | None:
    """Return the part that this code has made of these documents before, if it is whole."""
    started = time.perf_counter()
    landing = LandingStore(run.landing)
    key = part_key(region.documents, code_fingerprint=run.fingerprint)
    path = landing.part_directory(key)
    if path is None:
        return None
    if not _is_whole(path):
        logger.warning("part %s of %s is damaged and is made again", key, region.region_id)
        landing.discard_part(key)
        return None
    return _part_at(path, key, region, seconds=time.perf_counter() - started, from_cache=True)


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
    whole = _NORMALIZE[region.provider](landing, region)
    settled = settle(whole.prices)
    return whole._replace(
        prices=settled.prices,
        rejected=pl.concat([whole.rejected, settled.rejected]),
        counts=final_counts([whole.counts, settled.counts]),
    )


def write_part(part: Normalized, folder: Path) -> None:
    """Write a part as five parquet files."""
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
    return Normalized(*(pl.read_parquet(folder / f"{name}.parquet") for name in Normalized._fields))


def _normalize_aws(landing: LandingStore, region: RegionDocuments) -> Normalized:
    regions = reference.regions()

    def blocks() -> Iterator[Normalized]:
        for document in region.documents:
            with landing.open(document.sha256) as body:
                for rows in read_offer_rows(body, source_id=document.source_id):
                    yield normalize_offer_rows(
                        rows,
                        source_id=document.source_id,
                        region_id=region.region_id,
                        regions=regions,
                    )

    return combine(blocks())


def _normalize_azure(landing: LandingStore, region: RegionDocuments) -> Normalized:
    def pages() -> Iterator[tuple[str, pl.DataFrame]]:
        for document in region.documents:
            with landing.open(document.sha256) as body:
                page = read_retail_page(body.read(), source_id=document.source_id)
            yield document.source_id, page.items

    return normalize_retail_pages(pages(), region_id=region.region_id, regions=reference.regions())


_NORMALIZE = {"aws": _normalize_aws, "azure": _normalize_azure}
