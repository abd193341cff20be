"""One size's items of the Azure Retail Prices API, in all regions or one.

A refresh walks listings by region and price type; this asks for one size, of every price type
at once, for whoever wants to see a number again at its source.
"""

import logging

import polars as pl

from connectors.azure.retail_prices import API_VERSION, SOURCE, walk_pages
from connectors.azure.wire import read_retail_page
from connectors.http_client import HttpClient
from warehouse.schemas.raw import AZURE_RETAIL_ITEMS

logger = logging.getLogger(__name__)


def fetch_size_items(
    client: HttpClient, base_url: str, instance_type: str, *, region_id: str | None
) -> pl.DataFrame:
    """Ask for every item of a size: on demand, spot, low priority, Dev/Test and reservations.

    Args:
        client: repeats single requests.
        base_url: the API, such as https://prices.azure.com/api/retail/prices.
        instance_type: armSkuName as Azure spells it, without blanks around it (the filter is
            case-sensitive).
        region_id: armRegionName, in lower case; None asks for all regions.

    Returns:
        AZURE_RETAIL_ITEMS in US dollars, as the pages have them; no rows where Azure lists nothing
        under that name.

    Raises:
        UnstableListingError: the pages do not fit together; ask again.
        WireFormatError: a page, or a link, is not as the API documents it.
        ConnectorError: see `HttpClient.read`.
    """
    items = [AZURE_RETAIL_ITEMS.empty()]
    # Some items name their size with a blank behind it, which the filter takes for another size.
    for name in (instance_type, f"{instance_type} "):
        listing = f"{SOURCE}/{region_id or 'all regions'}/{name}"
        for answer, _ in walk_pages(client, base_url, _query(name, region_id), listing):
            items.append(read_retail_page(answer.body, source_id=listing).items)
    found = pl.concat(items)
    logger.debug("%s: %d items in %s", instance_type, found.height, region_id or "all regions")
    return found


def _query(arm_sku_name: str, region_id: str | None) -> dict[str, str]:
    terms = {
        "serviceName": "Virtual Machines",
        "armSkuName": arm_sku_name,
        "armRegionName": region_id,
    }
    quoted = {name: value.replace("'", "''") for name, value in terms.items() if value is not None}
    condition = " and ".join(f"{name} eq '{value}'" for name, value in quoted.items())
    return {"api-version": API_VERSION, "$filter": condition}
