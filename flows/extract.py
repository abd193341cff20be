"""What both providers' sides of a refresh share: fan-out, failures, exchange rates, repeated runs.

One region's failure is a fact that is handed on, never an end: the region is carried over from
the last release, or the gate refuses. A provider whose index cannot be read fails as a whole and
leaves the other alone.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from connectors.ecb import fetch_reference_rates
from connectors.errors import ConnectorError, UnstableListingError
from flows.conductor import Conductor, Lane, Outcome, Retry
from flows.connections import client_of, finish_recording, landing_of
from flows.normalize import known_part, normalize_region
from flows.planning import now
from flows.run import Base, Extract, Gap, Rates, RegionDocuments, RegionFailure, RegionPart, Run
from warehouse.errors import DocumentDamagedError
from warehouse.landing import LandedRun, LandingStore
from warehouse.schemas.documents import Document
from warehouse.schemas.vocabulary import TONIGHT_ONLY_SOURCES

Further = Callable[
    [tuple[str, ...], Sequence[Document]],
    tuple[Sequence[Outcome[Any, RegionPart]], Sequence[Gap]],
]


def fetch_rates(run: Run) -> Rates:
    """Fetch the euro reference rates; without them prices in euro are null and the gate says so."""
    if run.from_landed is not None:
        landed = LandingStore(run.landing).load_run(run.from_landed)
        documents = [document for document in landed.documents if document.provider is None]
        return Rates(documents[0] if documents else None, landed.facts["rates_failure"])
    try:
        document = fetch_reference_rates(
            client_of(run),
            run.endpoints.ecb_rates,
            landing_of(run),
            fetched_at=now(),
        )
    except ConnectorError as error:
        return Rates(None, f"{type(error).__name__}: {error}")
    return Rates(document, None)


def save_landed_run(run: Run, base: Base, extracts: Iterable[Extract], rates: Rates) -> None:
    """Save what a run was made from, so that `--from-landed` repeats it; write its recording.

    A run that is repeated stays as it was landed, whatever becomes of it this time.
    """
    if run.from_landed is not None:
        return
    extracts = tuple(extracts)
    documents = [document for extract in extracts for document in extract.documents]
    failures = [failure for extract in extracts for failure in extract.failures]
    gaps = [gap for extract in extracts for gap in extract.gaps]
    problems = [problem for extract in extracts for problem in extract.problems]
    documents += [document for problem in problems for document in problem.documents]
    if rates.document is not None:
        documents.append(rates.document)
    facts = {
        "as_of": run.as_of.isoformat(),
        "compared": base.compared,
        "providers": list(run.providers),
        "asked": {extract.provider: list(extract.asked) for extract in extracts},
        "failures": _facts(failures, ("provider", "region_id", "error", "message")),
        "gaps": _facts(gaps, ("provider", "region_id", "source", "error", "message")),
        "rates_failure": rates.failure,
    }
    parts = [part.key for extract in extracts for part in extract.parts]
    LandingStore(run.landing).save_run(run.run_id, documents, facts, parts=parts)
    finish_recording(run)


def _facts(
    problems: Iterable[RegionFailure | Gap], names: tuple[str, ...]
) -> list[dict[str, str | None]]:
    # What was landed and could not be read is read again when the run is repeated.
    return [
        {name: getattr(problem, name) for name in names}
        for problem in problems
        if not problem.documents
    ]


def extract_landed(
    run: Run, provider: str, conduct: Conductor, *, further: Further | None = None
) -> Extract:
    """Take one provider's documents of an earlier run in place of fetching.

    Args:
        run: names the earlier run.
        provider: whose documents.
        conduct: runs the stages.
        further: makes parts of the documents that are of the moment, and says which it could not.
    """
    landed = LandingStore(run.landing).load_run(run.run_id)
    asked = tuple(landed.facts["asked"].get(provider, ()))
    ours = [document for document in landed.documents if document.provider == provider]
    lasting = [document for document in ours if document.source not in TONIGHT_ONLY_SOURCES]
    price_lists: dict[str, list[Document]] = {}
    for document in lasting:
        if document.region_id is not None:
            price_lists.setdefault(document.region_id, []).append(document)
    outcomes = conduct.fan_out(
        f"landed {provider} regions",
        lane_of(run, as_landed),
        [RegionDocuments(provider, region, tuple(price_lists[region])) for region in price_lists],
    )
    of_the_moment = [document for document in ours if document.source in TONIGHT_ONLY_SOURCES]
    others, gaps = ((), ()) if further is None else further(asked, of_the_moment)
    return gathered(
        provider,
        asked,
        outcomes,
        indexes=[document for document in lasting if document.region_id is None],
        failures=_landed_failures(landed, provider),
        further=others,
        gaps=[
            *(Gap(**gap) for gap in landed.facts["gaps"] if gap["provider"] == provider),
            *gaps,
        ],
    )


def as_landed(documents: RegionDocuments) -> RegionDocuments:
    """Give documents that are landed already to a lane that expects to fetch them."""
    return documents


def _landed_failures(landed: LandedRun, provider: str) -> list[RegionFailure]:
    failures = [RegionFailure(**failure) for failure in landed.facts["failures"]]
    return [failure for failure in failures if failure.provider == provider]


def lane_of(run: Run, fetch: Callable[[Any], RegionDocuments]) -> Lane[Any, Any, RegionPart]:
    """Return the way of one item: fetch its documents, then normalise them."""
    return Lane(
        fetch_name="fetch-region",
        fetch=fetch,
        # Single requests are tried again by the HTTP client; only a walk whose pages do not fit
        # together is worth another walk.
        retry=Retry(
            run.limits.walk_max_attempts, (UnstableListingError,), run.limits.backoff_seconds
        ),
        known=partial(known_part, run),
        then_name="normalize-region",
        then=partial(normalize_region, run),
    )


def gathered(
    provider: str,
    asked: tuple[str, ...],
    outcomes: Sequence[Outcome[Any, RegionPart]],
    *,
    indexes: Iterable[Document] = (),
    failures: Iterable[RegionFailure] = (),
    further: Sequence[Outcome[Any, RegionPart]] = (),
    gaps: Iterable[Gap] = (),
) -> Extract:
    """Put together what became of a provider's regions.

    Args:
        provider: provider of the regions.
        asked: regions that the run wanted.
        outcomes: what became of their price lists.
        indexes: documents that name the regions.
        failures: regions that are known to have failed already.
        further: what became of spot prices and offerings.
        gaps: what is missing of these, and of all that is published beside the price lists.
    """
    return Extract(
        provider=provider,
        asked=asked,
        indexes=tuple(indexes),
        parts=tuple(
            outcome.result for outcome in (*outcomes, *further) if outcome.result is not None
        ),
        failures=tuple(
            sorted([*_failed(provider, outcomes), *failures], key=lambda failure: failure.region_id)
        ),
        gaps=tuple(
            sorted(
                [*_gaps_beside(outcomes), *gaps], key=lambda gap: (gap.source, gap.region_id or "")
            )
        ),
    )


def gaps_of(provider: str, source: str, outcomes: Iterable[Outcome[Any, RegionPart]]) -> list[Gap]:
    """Return the items of a fan-out that failed, as gaps in one of the provider's publications."""
    return [
        Gap(provider, _region_of(outcome.item), source, *_said(outcome.error), _landed_of(outcome))
        for outcome in outcomes
        if outcome.error is not None
    ]


def _failed(provider: str, outcomes: Iterable[Outcome[Any, RegionPart]]) -> list[RegionFailure]:
    return [
        RegionFailure(
            provider, _region_of(outcome.item), *_said(outcome.error), _landed_of(outcome)
        )
        for outcome in outcomes
        if outcome.error is not None
    ]


def _said(error: BaseException) -> tuple[str, str]:
    return type(error).__name__, str(error)


def _gaps_beside(outcomes: Iterable[Outcome[Any, RegionPart]]) -> list[Gap]:
    # A region that failed is carried over as a whole, so it has no gaps.
    return [gap for outcome in outcomes if outcome.error is None for gap in outcome.fetched.gaps]


def _landed_of(outcome: Outcome[Any, RegionPart]) -> tuple[Document, ...]:
    # A damaged document has been deleted, so the run cannot name it.
    is_here = outcome.fetched is not None and not isinstance(outcome.error, DocumentDamagedError)
    return outcome.fetched.documents if is_here else ()


def _region_of(item: Any) -> Any:  # noqa: ANN401 - whatever a fan-out is over
    return item if isinstance(item, str) else item.region_id
