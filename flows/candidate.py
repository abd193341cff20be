"""From the regions' parts to a whole release that is not published yet."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from connectors.aws.savings_plans import PLAN_SOURCE as SAVINGS_PLANS
from connectors.aws.spot_feed import SOURCE as SPOT_FEED
from connectors.ecb import SOURCE as RATES_SOURCE
from connectors.ecb import parse_reference_rates
from expectations.rows import split_rows
from flows import reference
from flows.base import compared_release
from flows.normalize import read_parts
from flows.run import Base, CandidateAddress, Extract, Rates, RegionPart, Run
from transforms.aws_instance_types import facts_of_names, merge_instance_facts
from transforms.azure_instance_types import azure_instance_types
from transforms.carry_over import CarriedOver, LastRelease, carry_over
from transforms.cheapest_region import make_cheapest_region
from transforms.comparable import comparable_prices
from transforms.fx_rates import make_fx_rates
from transforms.lifecycle import make_lifecycle
from transforms.list_prices import in_force
from transforms.normalized import Normalized, final_counts, moved_rows
from transforms.offers import make_offers
from transforms.price_flags import flag_prices
from transforms.purchase_advice import make_purchase_advice
from transforms.rejected_rows import number_rejected_rows
from warehouse.landing import LandingStore
from warehouse.parquet_io import write_table
from warehouse.releases import Release
from warehouse.schemas.catalog import ANNOUNCED_PRICES, FX_RATES, PRICES, SOURCES, TABLE
from warehouse.schemas.documents import Document
from warehouse.schemas.parts import INSTANCE_FACTS, LISTINGS, OFFERINGS, REJECTED, ROW_COUNTS

ROW_COUNTS_FILE = "row_counts.parquet"

_ROWS_AT_A_TIME = 100_000


def assemble(run: Run, base: Base, extracts: tuple[Extract, ...], rates: Rates) -> CandidateAddress:
    """Put the regions together into a folder with a parquet file for each table of a release."""
    last = compared_release(run, base)
    carried = _carried_over(run, last, extracts)
    return CandidateAddress(
        folder=_write(run, *_make_tables(run, last, extracts, rates, carried)),
        base=base,
        extracts=extracts,
        rates=rates,
        carried_over=_known_before(carried, extracts),
    )


def _make_tables(
    run: Run,
    last: Release | None,
    extracts: tuple[Extract, ...],
    rates: Rates,
    carried: Sequence[CarriedOver],
) -> tuple[dict[str, pl.DataFrame], pl.DataFrame]:
    """Return every table of a release by name, and the row counts."""
    fetched = _put_together(
        run, _read_parts([part for extract in extracts for part in extract.parts])
    )
    before = _put_together(run, (region.part for region in carried))
    prices = flag_prices(pl.concat([fetched.prices, before.prices]))
    # As large as all else together, and flagged by now: one of them in memory is enough.
    fetched, before = (some._replace(prices=PRICES.empty()) for some in (fetched, before))
    announced = pl.concat([fetched.announced, before.announced])
    counts = final_counts([fetched.counts, before.counts])
    listed = pl.concat(frame.select("provider", "instance_type") for frame in (prices, announced))
    instance_types = _instance_types(run, fetched, before, listed)
    fx_rates = _fx_rates(run, rates, last)
    regions = reference.regions()
    compared = comparable_prices(prices, instance_types=instance_types)
    tables = {
        "regions": regions,
        "instance_types": instance_types,
        "offers": make_offers(
            prices,
            instance_types=instance_types,
            regions=regions,
            listings=pl.concat([fetched.listings, before.listings]),
            offerings=fetched.offerings,
        ),
        "prices": prices,
        "announced_prices": announced,
        "fx_rates": fx_rates,
        "lifecycle": make_lifecycle(reference.lifecycle(), as_of=run.as_of),
        "cheapest_region": make_cheapest_region(compared, regions=regions, fx_rates=fx_rates),
        "purchase_advice": make_purchase_advice(
            compared, fx_rates=fx_rates, lost_work_pct=run.spot_lost_work_pct
        ),
        "sources": _sources(extracts, rates, carried, last, counts),
        "rejected_rows": number_rejected_rows(pl.concat([fetched.rejected, before.rejected])),
    }
    return tables, counts


class _Together(NamedTuple):
    """Parts as they stand at the run's as-of time: what goes into tables, and the evidence."""

    prices: pl.DataFrame
    announced: pl.DataFrame
    rejected: pl.DataFrame
    counts: pl.DataFrame
    instance_facts: pl.DataFrame
    listings: pl.DataFrame
    offerings: pl.DataFrame


_NOTHING = _Together(
    PRICES.empty(),
    ANNOUNCED_PRICES.empty(),
    REJECTED.empty(),
    ROW_COUNTS.empty(),
    INSTANCE_FACTS.empty(),
    LISTINGS.empty(),
    OFFERINGS.empty(),
)


def _put_together(run: Run, parts: Iterable[Normalized]) -> _Together:
    # Part after part, so that of all that is listed only what is in force is in memory at once.
    pieces = [_NOTHING, *(_at_the_moment(run, part) for part in parts)]
    return _Together(*map(pl.concat, zip(*pieces, strict=True)))


def _at_the_moment(run: Run, part: Normalized) -> _Together:
    listed = part.prices.with_columns(valid_from=_since_when(run))
    force = in_force(listed, rejected=part.rejected, as_of=run.as_of)
    split = split_rows(PRICES.name, force.prices)
    refused = moved_rows(split.rejected.select("source_id", "rule"))
    return _Together(
        prices=split.kept,
        announced=force.announced,
        rejected=pl.concat([part.rejected, force.rejected, split.rejected]),
        # Rows are conserved over all parts, for a document may be in several.
        counts=pl.concat([part.counts, force.counts, refused]),
        instance_facts=part.instance_facts,
        listings=part.listings,
        offerings=part.offerings,
    )


def _since_when(run: Run) -> pl.Expr:
    # The spot feed says what is charged at present, and names no date but that of its file, which
    # is fetched a while after the run's clock was read: its prices are of now, not announced.
    as_of = pl.lit(run.as_of, dtype=PRICES.field("valid_from").dtype)
    is_of_feed = pl.col("source_id") == SPOT_FEED
    return (
        pl.when(is_of_feed)
        .then(pl.min_horizontal("valid_from", as_of))
        .otherwise(pl.col("valid_from"))
    )


def read_candidate(candidate: CandidateAddress) -> tuple[dict[str, pl.LazyFrame], pl.LazyFrame]:
    """Open a candidate's tables, and its row counts."""
    tables = {name: pl.scan_parquet(candidate.folder / f"{name}.parquet") for name in TABLE}
    return tables, pl.scan_parquet(candidate.folder / ROW_COUNTS_FILE)


def _read_parts(parts: Sequence[RegionPart]) -> Iterator[Normalized]:
    """Read parts, small ones together: most of the time of a small part is spent on starting."""
    together: list[Path] = []
    rows = 0
    for part in parts:
        together.append(part.path)
        rows += part.rows_kept
        if rows >= _ROWS_AT_A_TIME:
            yield read_parts(together)
            together, rows = [], 0
    if together:
        yield read_parts(together)


def _write(run: Run, tables: dict[str, pl.DataFrame], counts: pl.DataFrame) -> Path:
    folder = LandingStore(run.landing).new_work_directory()
    # Sorting takes a second copy, so the largest comes when all others have been let go of.
    for name in sorted(tables, key=lambda name: tables[name].height):
        write_table(TABLE[name], tables.pop(name), folder / f"{name}.parquet")
    counts.sort(ROW_COUNTS.key).write_parquet(folder / ROW_COUNTS_FILE)
    return folder


def _carried_over(run: Run, last: Release | None, extracts: Sequence[Extract]) -> list[CarriedOver]:
    if last is None or not any(extract.problems for extract in extracts):
        return []
    tables = LastRelease(*(pl.scan_parquet(last.table(name)) for name in LastRelease._fields))
    carried = []
    for extract in extracts:
        failed = [failure.region_id for failure in extract.failures]
        without_plans = _without_savings_plans(extract)
        if failed:
            carried.append(
                carry_over(tables, provider=extract.provider, region_ids=failed, as_of=run.as_of)
            )
        if without_plans:
            carried.append(
                carry_over(
                    tables,
                    provider=extract.provider,
                    region_ids=without_plans,
                    as_of=run.as_of,
                    only_sources={SAVINGS_PLANS},
                )
            )
    return carried


def _without_savings_plans(extract: Extract) -> list[str]:
    """Return the regions that were fetched, but for their savings plans."""
    failed = {failure.region_id for failure in extract.failures}
    missing = {gap.region_id for gap in extract.gaps if gap.source == SAVINGS_PLANS}
    return [
        region
        for region in extract.asked
        if region not in failed and (region in missing or None in missing)
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
    run: Run, fetched: _Together, before: _Together, listed: pl.DataFrame
) -> pl.DataFrame:
    # What the last release says counts only for types that no document of tonight describes.
    known_before = before.instance_facts.join(
        fetched.instance_facts, on=INSTANCE_FACTS.key, how="anti"
    )
    described = pl.concat([fetched.instance_facts, known_before])
    facts = described.filter(pl.col("provider") == "aws")
    aws = merge_instance_facts(pl.concat([facts, facts_of_names(listed, described=facts)]))
    azure = azure_instance_types(reference.azure_vm_sizes(), listed, as_of=run.as_of)
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
