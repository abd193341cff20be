"""Azure's side of a refresh: every price list of every region."""

from collections.abc import Iterable
from functools import partial

from connectors.azure import retail_prices
from flows import reference
from flows.conductor import Conductor
from flows.connections import client_of, landing_of
from flows.extract import extract_landed, gathered, lane_of
from flows.planning import now
from flows.run import Extract, RegionDocuments, Run

PRICE_TYPES = ("Consumption", "DevTestConsumption", "Reservation")
"""All that the Retail Prices API lists of virtual machines; savings plans come with Consumption."""

_DOLLAR = "USD"


def extract_azure(run: Run, conduct: Conductor, known: Iterable[str] = ()) -> Extract:
    """Fetch and normalise the price lists of every Azure region that the run asks for.

    By default these are all that the reference table has, and those that the last release `known`
    has.
    """
    if run.from_landed is not None:
        return extract_landed(run, "azure", conduct)
    missed = () if run.accept_losses else known
    asked = run.azure_regions or tuple(sorted({*reference.region_ids("azure"), *missed}))
    outcomes = conduct.fan_out("Azure regions", lane_of(run, partial(fetch_region, run)), asked)
    return gathered("azure", asked, outcomes)


def fetch_region(run: Run, region_id: str) -> RegionDocuments:
    """Land every page of one region's price lists, one walk a price type and currency."""
    landing = landing_of(run)
    documents = tuple(
        document
        for currency in (_DOLLAR, *run.azure_currencies)
        for price_type in PRICE_TYPES
        for document in retail_prices.fetch_price_list(
            client_of(run),
            run.endpoints.azure_retail_prices,
            region_id,
            price_type,
            landing,
            fetched_at=now(),
            currency=currency,
        )
    )
    return RegionDocuments("azure", region_id, documents)
