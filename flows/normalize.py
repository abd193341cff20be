"""From one region's landed documents to its part of a release."""

import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from connectors.aws.wire import read_offer_rows
from connectors.azure.wire import read_retail_page
from flows import reference
from flows.run import RegionDocuments, RegionPart, Run
from transforms.aws_prices import normalize_offer_rows
from transforms.azure_prices import normalize_retail_items
from transforms.list_prices import settle
from transforms.normalized import Normalized, combine, final_counts
from warehouse.landing import LandingStore, part_key
from warehouse.schemas.documents import Document


def normalize_region(run: Run, region: RegionDocuments) -> RegionPart:
    """Parse and normalise a region's documents, or take the part that was made of them before.

    A part is a pure function of the documents' bytes and of the code, so its address is a digest
    of both: an unchanged document is not parsed again.
    """
    started = time.perf_counter()
    landing = LandingStore(run.landing)
    key = part_key(region.documents, code_fingerprint=run.fingerprint)
    path = landing.part_directory(key)
    from_cache = path is not None
    if path is None:
        incoming = landing.new_part_directory()
        write_part(make_part(landing, region), incoming)
        path = landing.commit_part(key, incoming)
    counts = pl.read_parquet(path / "counts.parquet")
    return RegionPart(
        provider=region.provider,
        region_id=region.region_id,
        documents=region.documents,
        key=key,
        path=path,
        rows_read=int(counts["rows"].sum()),
        rows_kept=int(counts.filter(pl.col("outcome") == "kept")["rows"].sum()),
        seconds=time.perf_counter() - started,
        from_cache=from_cache,
    )


def make_part(landing: LandingStore, region: RegionDocuments) -> Normalized:
    """Parse and normalise documents block by block, then settle keys over the whole region."""
    whole = combine(
        block for document in region.documents for block in _blocks(landing, region, document)
    )
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


def read_part(folder: Path) -> Normalized:
    """Read a part."""
    return Normalized(*(pl.read_parquet(folder / f"{name}.parquet") for name in Normalized._fields))


def _blocks(
    landing: LandingStore, region: RegionDocuments, document: Document
) -> Iterator[Normalized]:
    regions = reference.regions()
    with landing.open(document.sha256) as body:
        if region.provider == "aws":
            for rows in read_offer_rows(body, source_id=document.source_id):
                yield normalize_offer_rows(
                    rows,
                    source_id=document.source_id,
                    region_id=region.region_id,
                    regions=regions,
                )
        else:
            page = read_retail_page(body.read(), source_id=document.source_id)
            yield normalize_retail_items(
                page.items,
                source_id=document.source_id,
                region_id=region.region_id,
                regions=regions,
            )
