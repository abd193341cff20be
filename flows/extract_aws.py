"""AWS's side of a refresh: offer files and savings plans of every region; the rest is beside it."""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from connectors.aws import price_list, savings_plans
from connectors.aws.bulk_files import OfferFile
from connectors.errors import ConnectorError
from flows import reference
from flows.aws_credentials import has_credentials
from flows.conductor import Conductor
from flows.connections import client_of, landing_of
from flows.extract import extract_landed, gathered, lane_of
from flows.extract_aws_moments import extract_landed_moments, extract_moments
from flows.planning import now
from flows.run import Extract, Gap, RegionDocuments, RegionFailure, Run
from warehouse.schemas.documents import Document

logger = logging.getLogger(__name__)

_SAVINGS_PLANS = "aws_savings_plans"


@dataclass(frozen=True, slots=True)
class RegionFiles:
    """What the indexes name of one region."""

    region_id: str
    offer_file: OfferFile
    savings_plan_file: OfferFile | None


@dataclass(frozen=True, slots=True)
class Listing:
    """What AWS's indexes name."""

    documents: tuple[Document, ...] = ()
    regions: tuple[RegionFiles, ...] = ()
    gaps: tuple[Gap, ...] = ()


def extract_aws(run: Run, conduct: Conductor, known: Iterable[str] = ()) -> Extract:
    """Fetch and normalise what AWS lists for every region that the run asks for.

    By default these are the regions of the index, and those that the last release `known` has: an
    index that has shrunk must not take regions out of the catalog without a word.
    """
    if run.from_landed is not None:
        return extract_landed(
            run, "aws", conduct, further=partial(extract_landed_moments, run, conduct)
        )
    listing, failed = _list_files(run, conduct)
    by_region = {files.region_id: files for files in listing.regions}
    asked = run.aws_regions or _asked(run, {*by_region, *failed}, known)
    outcomes = conduct.fan_out(
        "AWS regions",
        lane_of(run, partial(fetch_region, run)),
        [by_region[region] for region in asked if region in by_region],
    )
    unlisted = [
        failed.get(region)
        or RegionFailure("aws", region, "NotInIndex", f"AWS's region index names no {region}")
        for region in asked
        if region not in by_region
    ]
    moments, gaps = extract_moments(run, conduct, asked)
    return gathered(
        "aws",
        asked,
        outcomes,
        indexes=listing.documents,
        failures=unlisted,
        further=moments,
        gaps=[*listing.gaps, *gaps],
    )


def _asked(run: Run, listed: set[str], known: Iterable[str]) -> tuple[str, ...]:
    missed = {} if run.accept_losses else dict.fromkeys(known)
    if not run.has_aws_china:
        # The last release may have asked China too: that it is not asked is no loss.
        missed = dict.fromkeys(missed.keys() - set(reference.region_ids("aws", "aws-cn")))
    return tuple(sorted({*listed, *missed}))


def _list_files(run: Run, conduct: Conductor) -> tuple[Listing, dict[str, RegionFailure]]:
    """Return what the indexes name, and the regions of every index that cannot be read."""
    listed: list[Listing] = []
    failed: dict[str, RegionFailure] = {}
    indexes: list[tuple[str, tuple[str, ...], Callable[[Run], Listing]]] = [
        ("AWS indexes", run.aws_regions or reference.region_ids("aws"), list_files)
    ]
    if run.has_aws_china:
        china = reference.region_ids("aws", "aws-cn")
        indexes.append(("AWS China index", china, list_china_files))
    for name, regions, list_them in indexes:
        try:
            listed.append(conduct.stage(name, partial(list_them, run)))
        except ConnectorError as error:
            reason = (type(error).__name__, str(error))
            failed |= {region: RegionFailure("aws", region, *reason) for region in regions}
    return (
        Listing(
            tuple(document for some in listed for document in some.documents),
            tuple(files for some in listed for files in some.regions),
            tuple(gap for some in listed for gap in some.gaps),
        ),
        failed,
    )


def list_files(run: Run) -> Listing:
    """Fetch the indexes of AWS's offer files and savings plan files.

    The two are published apart, so plans that cannot be had are a gap and take no prices with them.
    """
    index, offer_files = list_offer_files(run)
    try:
        plan_index, plan_files = savings_plans.fetch_savings_plan_index(
            client_of(run), run.endpoints.aws_price_list, landing_of(run), fetched_at=now()
        )
    except ConnectorError as error:
        gap = Gap("aws", None, _SAVINGS_PLANS, type(error).__name__, str(error))
        files = tuple(RegionFiles(file.region_id, file, None) for file in offer_files)
        return Listing((index,), files, (gap,))
    plans = {plan_file.region_id: plan_file for plan_file in plan_files}
    return Listing(
        (index, plan_index),
        tuple(RegionFiles(file.region_id, file, plans.get(file.region_id)) for file in offer_files),
    )


def list_china_files(run: Run) -> Listing:
    """Fetch the index of AWS China's offer files."""
    index, offer_files = price_list.fetch_region_index(
        client_of(run),
        run.endpoints.aws_china_price_list,
        landing_of(run),
        fetched_at=now(),
        partition="cn",
    )
    return Listing((index,), tuple(RegionFiles(file.region_id, file, None) for file in offer_files))


def list_offer_files(run: Run) -> tuple[Document, tuple[OfferFile, ...]]:
    """Fetch the index of AWS's offer files: with credentials from the API, else the public one.

    Credentials that do not work, or were given for something else, are no reason to go without
    prices that are public.
    """
    if has_credentials(run):
        from connectors.aws import pricing_api  # noqa: PLC0415 - only with credentials

        pricing = pricing_api.create_pricing_client(max_attempts=run.limits.max_attempts)
        try:
            return pricing_api.fetch_price_list_index(
                pricing, landing_of(run), as_of=run.as_of, fetched_at=now()
            )
        except ConnectorError as error:
            logger.warning("AWS's API gives no index, the public one is taken: %s", error)
    return price_list.fetch_region_index(
        client_of(run), run.endpoints.aws_price_list, landing_of(run), fetched_at=now()
    )


def fetch_region(run: Run, files: RegionFiles) -> RegionDocuments:
    """Land one region's offer file, and its savings plan file where it has one."""
    client, landing = client_of(run), landing_of(run)
    offers = price_list.fetch_offer_file(client, files.offer_file, landing, fetched_at=now())
    if files.savings_plan_file is None:
        return RegionDocuments("aws", files.region_id, (offers,))
    try:
        plans = savings_plans.fetch_savings_plan_file(
            client, files.savings_plan_file, landing, fetched_at=now()
        )
    except ConnectorError as error:
        gap = Gap("aws", files.region_id, _SAVINGS_PLANS, type(error).__name__, str(error))
        return RegionDocuments("aws", files.region_id, (offers,), gaps=(gap,))
    return RegionDocuments("aws", files.region_id, (offers, plans))
