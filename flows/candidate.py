"""From the regions' parts to a whole release that is not published yet."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import polars as pl

from connectors.ecb import SOURCE as RATES_SOURCE
from connectors.ecb import parse_reference_rates
from expectations.rows import split_rows
from flows import reference
from flows.base import compared_release
from flows.normalize import read_part
from flows.run import Base, CandidateAddress, Extract, Rates, Run
from transforms.aws_instance_types import merge_instance_facts
from transforms.azure_instance_types import azure_instance_types
from transforms.carry_over import CarriedOver, LastRelease, carry_over
from transforms.cheapest_region import make_cheapest_region
from transforms.fx_rates import make_fx_rates
from transforms.list_prices import in_force
from transforms.normalized import Normalized, final_counts, moved_rows
from transforms.offers import make_offers
from transforms.rejected_rows import number_rejected_rows
from warehouse.landing import LandingStore
from warehouse.parquet_io import write_table
from warehouse.releases import Release
from warehouse.schemas.catalog import ANNOUNCED_PRICES, FX_RATES, PRICES, SOURCES, TABLE
from warehouse.schemas.documents import Document
from warehouse.schemas.parts import INSTANCE_FACTS, LISTINGS, REJECTED, ROW_COUNTS

ROW_COUNTS_FILE = "row_counts.parquet"

_REGIONS_AT_A_TIME = 16


def assemble(run: Run, base: Base, extracts: tuple[Extract, ...], rates: Rates) -> CandidateAddress:
    """Put the regions together into a folder with a parquet file for each table of a release."""
    last = compared_release(run, base)
    carried = _carried_over(run, last, extracts)
    fetched = [read_part(part.path) for extract in extracts for part in extract.parts]
    parts = [*fetched, *(region.part for region in carried)]

    forces = [
        in_force(
            pl.concat([part.prices for part in some]),
            rejected=pl.concat([part.rejected for part in some]),
            as_of=run.as_of,
        )
        for some in _regions_at_a_time(parts)
    ]
    split = split_rows(PRICES.name, pl.concat([PRICES.empty(), *(f.prices for f in forces)]))
    counts = final_counts(
        [
            *(part.counts for part in parts),
            *(force.counts for force in forces),
            moved_rows(split.rejected.select("source_id", "rule")),
        ]
    )
    prices = split.kept
    instance_types = _instance_types(run, fetched, carried, prices)
    listings = pl.concat([LISTINGS.empty(), *(part.listings for part in parts)])
    fx_rates = _fx_rates(run, rates, last)
    sources = _sources(extracts, rates, carried, last, counts)
    regions = reference.regions()
    tables = {
        "regions": regions,
        "instance_types": instance_types,
        "offers": make_offers(
            prices, instance_types=instance_types, regions=regions, listings=listings
        ),
        "prices": prices,
        "announced_prices": pl.concat([ANNOUNCED_PRICES.empty(), *(f.announced for f in forces)]),
        "fx_rates": fx_rates,
        "cheapest_region": make_cheapest_region(
            prices, regions=regions, instance_types=instance_types, fx_rates=fx_rates
        ),
        "sources": sources,
        "rejected_rows": number_rejected_rows(
            pl.concat(
                [
                    REJECTED.empty(),
                    *(part.rejected for part in parts),
                    *(force.rejected for force in forces),
                    split.rejected,
                ]
            )
        ),
    }
    return CandidateAddress(
        folder=_write(run, tables, counts),
        base=base,
        extracts=extracts,
        rates=rates,
        carried_over=_known_before(carried, extracts),
    )


def read_candidate(candidate: CandidateAddress) -> tuple[dict[str, pl.LazyFrame], pl.LazyFrame]:
    """Open a candidate's tables, and its row counts."""
    tables = {name: pl.scan_parquet(candidate.folder / f"{name}.parquet") for name in TABLE}
    return tables, pl.scan_parquet(candidate.folder / ROW_COUNTS_FILE)


def _regions_at_a_time(parts: Sequence[Normalized]) -> Iterator[Sequence[Normalized]]:
    # One region is so small that most of its time is spent on starting, and all of them together
    # would be in memory twice.
    for start in range(0, len(parts), _REGIONS_AT_A_TIME):
        yield parts[start : start + _REGIONS_AT_A_TIME]


def _write(run: Run, tables: dict[str, pl.DataFrame], counts: pl.DataFrame) -> Path:
    folder = LandingStore(run.landing).new_work_directory()
    for name, frame in tables.items():
        write_table(TABLE[name], frame, folder / f"{name}.parquet")
    counts.sort(ROW_COUNTS.key).write_parquet(folder / ROW_COUNTS_FILE)
    return folder


def _carried_over(run: Run, last: Release | None, extracts: Sequence[Extract]) -> list[CarriedOver]:
    failed = [extract for extract in extracts if extract.failures]
    if last is None or not failed:
        return []
    tables = LastRelease(*(pl.read_parquet(last.table(name)) for name in LastRelease._fields))
    return [
        carry_over(
            tables,
            provider=extract.provider,
            region_ids=[failure.region_id for failure in extract.failures],
            as_of=run.as_of,
        )
        for extract in failed
    ]


def _known_before(
    carried: Iterable[CarriedOver], extracts: Iterable[Extract]
) -> tuple[tuple[str, str], ...]:
    """Return the regions that failed and that the last release really has something of."""
    known = {
        (provider, region_id.lower())
        for region in carried
        for provider, region_id in region.sources.select("provider", "region_id").iter_rows()
    }
    return tuple(
        (failure.provider, failure.region_id)
        for extract in extracts
        for failure in extract.failures
        if (failure.provider, failure.region_id.lower()) in known
    )


def _instance_types(
    run: Run, fetched: Sequence[Normalized], carried: Sequence[CarriedOver], prices: pl.DataFrame
) -> pl.DataFrame:
    described = pl.concat([INSTANCE_FACTS.empty(), *(part.instance_facts for part in fetched)])
    # What the last release says counts only for types that no document of tonight describes.
    known_before = pl.concat(
        [INSTANCE_FACTS.empty(), *(region.part.instance_facts for region in carried)]
    ).join(described, on=INSTANCE_FACTS.key, how="anti")
    aws = merge_instance_facts(
        pl.concat([described, known_before]).filter(pl.col("provider") == "aws")
    )
    azure = azure_instance_types(reference.azure_vm_sizes(), prices, as_of=run.as_of)
    return pl.concat([aws, azure])


def _fx_rates(run: Run, rates: Rates, last: Release | None) -> pl.DataFrame:
    if rates.document is None:
        # The last release's rates, with their own date: the gate says how old they may be.
        return FX_RATES.empty() if last is None else pl.read_parquet(last.table(FX_RATES.name))
    with LandingStore(run.landing).open(rates.document.sha256) as body:
        return make_fx_rates(parse_reference_rates(body.read()))


def _sources(
    extracts: Iterable[Extract],
    rates: Rates,
    carried: Iterable[CarriedOver],
    last: Release | None,
    counts: pl.DataFrame,
) -> pl.DataFrame:
    documents = [document for extract in extracts for document in extract.documents]
    if rates.document is not None:
        documents.append(rates.document)
    rows_of = dict(counts.group_by("source_id").agg(pl.col("rows").sum()).iter_rows())
    tonight = pl.DataFrame(
        [_source_row(document, rows_of.get(document.source_id)) for document in documents],
        schema=SOURCES.schema,
        orient="row",
    )
    earlier = [region.sources for region in carried]
    if rates.document is None and last is not None:
        sources = pl.read_parquet(last.table(SOURCES.name))
        earlier.append(sources.filter(pl.col("source") == RATES_SOURCE))
    return pl.concat([tonight, *earlier])


def _source_row(document: Document, rows: int | None) -> tuple[object, ...]:
    return (
        document.source_id,
        document.source,
        document.provider,
        document.region_id,
        document.url,
        document.fetched_at,
        document.confirmed_at,
        document.published_at,
        document.version,
        document.sha256,
        document.bytes,
        rows,
        document.is_recorded,
        document.note,
    )
