"""The transport that the bundled recording was fetched from answers as the providers do."""

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal

import requests

from recording.collected_prices import Body, CollectedPrices
from support.encode_azure import Item, Meter, retail_item

AZURE = "https://prices.azure.com/api/retail/prices"
EAST_US = "armRegionName eq 'eastus' and priceType eq 'Consumption'"
JULY = datetime(2026, 7, 5, tzinfo=UTC)


def item(number: int) -> Item:
    meter = Meter(
        arm_region_name="eastus",
        location="US East",
        arm_sku_name="Standard_D2s_v3",
        meter_id=str(number),
        meter_name="D2s v3",
        product_id="P",
        product_name="Virtual Machines DSv3 Series",
        sku_name="D2s v3",
        effective_start_date="2026-08-01T00:00:00Z",
    )
    return retail_item(meter, Decimal(1), sku_id=f"P/{number}")


def session(
    files: Mapping[str, Body] | None = None,
    retail_items: Mapping[tuple[str, str], list[Item]] | None = None,
) -> requests.Session:
    session = requests.Session()
    session.mount("https://", CollectedPrices(files or {}, retail_items or {}))
    return session


def test_a_listing_is_walked_by_its_links():
    items = [item(number) for number in range(2001)]
    client = session(retail_items={("eastus", "Consumption"): items})

    url: str | None = AZURE
    parameters: dict[str, str] | None = {"$filter": EAST_US}
    pages = []
    while url:
        page = client.get(url, params=parameters).json()
        pages.append(page)
        url, parameters = page["NextPageLink"], None

    assert [page["Count"] for page in pages] == [1000, 1000, 1]
    sku_ids = [entry["skuId"] for page in pages for entry in page["Items"]]
    assert sku_ids == [entry["skuId"] for entry in items]


def test_a_full_last_page_has_no_link():
    items = [item(number) for number in range(1000)]
    client = session(retail_items={("eastus", "Consumption"): items})

    page = client.get(AZURE, params={"$filter": EAST_US}).json()

    assert (page["Count"], page["NextPageLink"]) == (1000, None)


def test_a_region_without_prices_is_an_empty_page():
    page = session().get(AZURE, params={"$filter": EAST_US}).json()

    assert (page["Items"], page["Count"], page["NextPageLink"]) == ([], 0, None)


def test_a_filter_that_names_no_region_is_a_400():
    response = session().get(AZURE, params={"$filter": "serviceName eq 'Virtual Machines'"})

    assert response.status_code == 400
    assert response.json()["Error"]["Message"] == "Invalid OData parameters supplied"


def test_a_dated_file_has_validators_that_follow_its_content():
    files = {
        "/a.csv": Body(b"1", "text/csv", JULY),
        "/b.csv": Body(b"1", "text/csv", JULY),
        "/c.csv": Body(b"2", "text/csv", JULY),
        "/d.xml": Body(b"3", "text/xml"),
    }
    client = session(files)

    answers = [client.get(f"https://pricing.us-east-1.amazonaws.com{path}") for path in files]

    assert [answer.content for answer in answers] == [b"1", b"1", b"2", b"3"]
    assert answers[0].headers["Content-Type"] == "text/csv"
    assert answers[0].headers["Last-Modified"] == "Sun, 05 Jul 2026 00:00:00 GMT"
    first, equal, other, undated = (answer.headers.get("ETag") for answer in answers)
    assert first == equal != other
    assert undated is None


def test_an_unknown_file_is_a_404():
    assert session().get("https://pricing.us-east-1.amazonaws.com/x").status_code == 404
