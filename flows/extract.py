"""The providers' side of a refresh: which regions, fetch each, normalise each.

One region's failure is a fact that is handed on, never an end: the region is carried over from
the last release, or the gate refuses. A provider whose index cannot be read fails as a whole and
leaves the other alone.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from connectors.aws import price_list
from connectors.azure import retail_prices
from connectors.ecb import fetch_reference_rates
from connectors.errors import ConnectorError, UnstableListingError
from flows import reference
from flows.conductor import Conductor, Lane, Outcome, Retry
from flows.connections import client_of, finish_recording, landing_of
from flows.normalize import known_part, normalize_region
from flows.planning import now
from flows.run import Base, Extract, Rates, RegionDocuments, RegionFailure, RegionPart, Run
from warehouse.errors import DocumentDamagedError
from warehouse.landing import LandedRun, LandingStore
from warehouse.schemas.documents import Document

logger = logging.getLogger(__name__)

AZURE_PRICE_TYPES = ("Consumption", "DevTestConsumption", "Reservation")
"""All that the Retail Prices API lists of virtual machines; savings plans come with Consumption."""

_FAILURE_FACTS = ("provider", "region_id", "error", "message")


def extract_aws(run: Run, conduct: Conductor, known: Iterable[str] = ()) -> Extract:
    """Fetch and normalise the offer file of every AWS region that the run asks for.

    By default these are the regions of the index, and those that the last release `known` has: an
    index that has shrunk must not take regions out of the catalog without a word.
    """
    if run.from_landed is not None:
        return _extract_landed(run, "aws", conduct)
    try:
        index, offer_files = conduct.stage("AWS region index", partial(list_offer_files, run))
    except ConnectorError as error:
        asked = run.aws_regions or reference.region_ids("aws")
        return Extract("aws", asked, None, (), tuple(_failure("aws", r, error) for r in asked))
    by_region = {offer_file.region_id: offer_file for offer_file in offer_files}
    missed = () if run.accept_losses else known
    asked = run.aws_regions or tuple(sorted({*by_region, *missed}))
    outcomes = conduct.fan_out(
        "AWS regions",
        _lane(run, partial(fetch_aws_region, run)),
        [by_region[region] for region in asked if region in by_region],
    )
    unlisted = [
        RegionFailure("aws", region, "NotInIndex", f"AWS's region index names no {region}")
        for region in asked
        if region not in by_region
    ]
    return _gathered("aws", asked, index, outcomes, unlisted)


def extract_azure(run: Run, conduct: Conductor, known: Iterable[str] = ()) -> Extract:
    """Fetch and normalise the price lists of every Azure region that the run asks for.

    By default these are all that the reference table has, and those that the last release `known`
    has.
    """
    if run.from_landed is not None:
        return _extract_landed(run, "azure", conduct)
    missed = () if run.accept_losses else known
    asked = run.azure_regions or tuple(sorted({*reference.region_ids("azure"), *missed}))
    outcomes = conduct.fan_out("Azure regions", _lane(run, partial(fetch_azure_region, run)), asked)
    return _gathered("azure", asked, None, outcomes, ())


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


def list_offer_files(run: Run) -> tuple[Document, tuple[price_list.OfferFile, ...]]:
    """Fetch the index of AWS's offer files: with credentials from the API, else the public one.

    Credentials that do not work, or were given for something else, are no reason to go without
    prices that are public.
    """
    if run.may_use_credentials:
        from botocore.exceptions import BotoCoreError  # noqa: PLC0415 - only where it is used

        from connectors.aws import pricing_api  # noqa: PLC0415

        try:
            if pricing_api.has_credentials():
                pricing = pricing_api.create_pricing_client(max_attempts=run.limits.max_attempts)
                return pricing_api.fetch_price_list_index(
                    pricing, landing_of(run), as_of=run.as_of, fetched_at=now()
                )
        except (ConnectorError, BotoCoreError) as error:
            logger.warning("AWS's API gives no index, the public one is taken: %s", error)
    return price_list.fetch_region_index(
        client_of(run), run.endpoints.aws_price_list, landing_of(run), fetched_at=now()
    )


def fetch_aws_region(run: Run, offer_file: price_list.OfferFile) -> RegionDocuments:
    """Land one region's offer file."""
    document = price_list.fetch_offer_file(
        client_of(run), offer_file, landing_of(run), fetched_at=now()
    )
    return RegionDocuments("aws", offer_file.region_id, (document,))


def fetch_azure_region(run: Run, region_id: str) -> RegionDocuments:
    """Land every page of one region's price lists, one walk a price type."""
    landing = landing_of(run)
    documents = tuple(
        document
        for price_type in AZURE_PRICE_TYPES
        for document in retail_prices.fetch_price_list(
            client_of(run),
            run.endpoints.azure_retail_prices,
            region_id,
            price_type,
            landing,
            fetched_at=now(),
        )
    )
    return RegionDocuments("azure", region_id, documents)


def save_landed_run(run: Run, base: Base, extracts: Iterable[Extract], rates: Rates) -> None:
    """Save what a run was made from, so that `--from-landed` repeats it; write its recording.

    A run that is repeated stays as it was landed, whatever becomes of it this time.
    """
    if run.from_landed is not None:
        return
    extracts = tuple(extracts)
    documents = [document for extract in extracts for document in extract.documents]
    failures = [failure for extract in extracts for failure in extract.failures]
    documents += [document for failure in failures for document in failure.documents]
    if rates.document is not None:
        documents.append(rates.document)
    facts = {
        "as_of": run.as_of.isoformat(),
        "compared": base.compared,
        "providers": list(run.providers),
        "asked": {extract.provider: list(extract.asked) for extract in extracts},
        # What was landed and could not be read is read again when the run is repeated.
        "failures": [
            {name: getattr(failure, name) for name in _FAILURE_FACTS}
            for failure in failures
            if not failure.documents
        ],
        "rates_failure": rates.failure,
    }
    parts = [part.key for extract in extracts for part in extract.parts]
    LandingStore(run.landing).save_run(run.run_id, documents, facts, parts=parts)
    finish_recording(run)


def _extract_landed(run: Run, provider: str, conduct: Conductor) -> Extract:
    landed = LandingStore(run.landing).load_run(run.run_id)
    by_region: dict[str, list[Document]] = {}
    index = None
    for document in landed.documents:
        if document.provider == provider and document.region_id is None:
            index = document
        elif document.provider == provider and document.region_id is not None:
            by_region.setdefault(document.region_id, []).append(document)
    outcomes = conduct.fan_out(
        f"landed {provider} regions",
        _lane(run, _as_landed),
        [RegionDocuments(provider, region, tuple(by_region[region])) for region in by_region],
    )
    return _gathered(
        provider,
        tuple(landed.facts["asked"].get(provider, ())),
        index,
        outcomes,
        _landed_failures(landed, provider),
    )


def _as_landed(region: RegionDocuments) -> RegionDocuments:
    return region


def _landed_failures(landed: LandedRun, provider: str) -> list[RegionFailure]:
    failures = [RegionFailure(**failure) for failure in landed.facts["failures"]]
    return [failure for failure in failures if failure.provider == provider]


def _lane(run: Run, fetch: Callable[[Any], RegionDocuments]) -> Lane[Any, Any, RegionPart]:
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


def _gathered(
    provider: str,
    asked: tuple[str, ...],
    index: Document | None,
    outcomes: Sequence[Outcome[Any, RegionPart]],
    known_failures: Iterable[RegionFailure],
) -> Extract:
    parts = tuple(outcome.result for outcome in outcomes if outcome.result is not None)
    failed = [
        _failure(
            provider,
            _region_of(outcome.item),
            outcome.error,
            _landed_of(outcome),
        )
        for outcome in outcomes
        if outcome.error is not None
    ]
    failures = sorted([*failed, *known_failures], key=lambda failure: failure.region_id)
    return Extract(provider, asked, index, parts, tuple(failures))


def _landed_of(outcome: Outcome[Any, RegionPart]) -> tuple[Document, ...]:
    # A damaged document has been deleted, so the run cannot name it.
    is_here = outcome.fetched is not None and not isinstance(outcome.error, DocumentDamagedError)
    return outcome.fetched.documents if is_here else ()


def _region_of(item: price_list.OfferFile | RegionDocuments | str) -> str:
    return item if isinstance(item, str) else item.region_id


def _failure(
    provider: str,
    region_id: str,
    error: BaseException,
    documents: tuple[Document, ...] = (),
) -> RegionFailure:
    return RegionFailure(provider, region_id, type(error).__name__, str(error), documents)
