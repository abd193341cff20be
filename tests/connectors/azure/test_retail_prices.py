import hashlib
from decimal import Decimal
from pathlib import Path

import pytest

from connectors.azure.retail_prices import fetch_price_list
from connectors.errors import (
    SourceRejectedError,
    SourceUnavailableError,
    UnstableListingError,
    WireFormatError,
)
from support.clients import NOW, client_without_waits
from support.encode_azure import encode_page
from support.fake_azure import (
    FakeAzure,
    carries_top,
    forgets_query,
    leads_to,
    loses_next_page,
    loses_rows,
    miscounts,
    repeats_its_link,
    repeats_rows,
)
from support.fake_http import (
    DirectTransport,
    FakeServer,
    cuts_off,
    rate_limited,
    refuses,
    sends,
    sends_html,
)
from warehouse.schemas.documents import Document

WIRE = Path(__file__).resolve().parents[2] / "wire" / "azure"

FILTER = (
    "serviceName eq 'Virtual Machines' and armRegionName eq 'eastus' and priceType eq 'Consumption'"
)


def items(count: int, prefix: str = "m") -> list[dict[str, object]]:
    return [{"meterId": f"{prefix}{number}", "retailPrice": Decimal(1)} for number in range(count)]


@pytest.fixture
def azure():
    return FakeAzure({("eastus", "Consumption"): items(25)}, page_size=10)


@pytest.fixture
def server(azure):
    with FakeServer(azure) as server:
        yield server


@pytest.fixture
def walk(client, server, landing):
    def walk(region="eastus", price_type="Consumption", **options):
        return fetch_price_list(
            client, server.azure_url, region, price_type, landing, fetched_at=NOW, **options
        )

    return walk


def test_every_page_is_landed_in_order(walk, server, landing):
    documents = walk()

    bodies = [landing.bodies[document.sha256] for document in documents]
    assert [body.count(b"meterId") for body in bodies] == [10, 10, 5]
    assert documents[1] == Document(
        source_id="azure_retail_prices/eastus/Consumption/002",
        source="azure_retail_prices",
        provider="azure",
        region_id="eastus",
        url=f"{server.azure_url}?$filter={FILTER.replace(' ', '%20')}&$skip=10"
        "&api-version=2023-01-01-preview",
        fetched_at=NOW,
        confirmed_at=NOW,
        published_at=None,
        version=None,
        media_type="application/json",
        sha256=hashlib.sha256(bodies[1]).hexdigest(),
        bytes=len(bodies[1]),
    )


def test_query_is_a_version_and_a_filter_and_nothing_else(walk, server):
    walk()

    assert server.requests[0].query == {"api-version": "2023-01-01-preview", "$filter": FILTER}
    assert [request.query.get("$skip") for request in server.requests] == [None, "10", "20"]
    assert {request.query["$filter"] for request in server.requests} == {FILTER}


@pytest.mark.parametrize("page_size", [1, 7, 25, 1000])
def test_page_size_is_not_assumed(walk, azure, landing, page_size):
    azure.page_size = page_size

    documents = walk()

    found = sum(landing.bodies[document.sha256].count(b"meterId") for document in documents)
    assert found == 25


def test_empty_listing_is_one_page_without_items(walk, landing):
    (document,) = walk("westindia", "Reservation")

    assert document.source_id == "azure_retail_prices/westindia/Reservation/001"
    assert landing.bodies[document.sha256] == encode_page([], next_page_link=None)


def test_real_empty_page_is_an_empty_listing(walk, server, landing):
    page = (WIRE / "retail_empty_page.json").read_bytes()
    server.misbehave(sends(page))

    (document,) = walk()

    assert landing.bodies[document.sha256] == page


def test_empty_last_page_is_no_fault(walk, azure, server):
    azure.listings["eastus", "Consumption"] = items(10)
    link = f"{server.azure_url}?$filter=x&$skip=10"
    azure.disturb(leads_to(link), page=1)

    assert len(walk()) == 2


def test_link_with_the_default_port_is_the_same_host(azure, landing):
    transport = DirectTransport(azure)

    with client_without_waits(transport=transport) as client:
        documents = fetch_price_list(
            client,
            "https://prices.azure.com/api/retail/prices",
            "eastus",
            "Consumption",
            landing,
            fetched_at=NOW,
        )

    first_page = landing.bodies[documents[0].sha256]
    assert b'"NextPageLink":"https://prices.azure.com:443/api/retail/prices?' in first_page
    assert documents[1].url.startswith("https://prices.azure.com/api/retail/prices?")


@pytest.mark.parametrize("disturbance", [carries_top(), forgets_query()])
def test_link_is_followed_with_the_walks_own_query(walk, azure, server, disturbance):
    azure.disturb(disturbance, page=1)
    azure.disturb(disturbance, page=2)

    assert len(walk()) == 3
    assert {tuple(sorted(request.query)) for request in server.requests[1:]} == {
        ("$filter", "$skip", "api-version")
    }


@pytest.mark.parametrize(
    ("page", "disturbance", "message"),
    [
        (1, repeats_its_link(), "skip the 10 items read so far, but it skips 0"),
        (2, repeats_its_link(), "expected a link to a further page"),
        (2, lambda page: page.links_to(0), "skip the 20 items read so far, but it skips 0"),
        (1, loses_next_page(), "skip the 10 items read so far, but it skips 20"),
        (2, loses_rows(3), "skip the 17 items read so far, but it skips 20"),
        (1, loses_rows(10), "skip the 0 items read so far, but it skips 10"),
        (2, repeats_rows(1), "got 1 that were on an earlier page"),
        (2, repeats_rows(10), "got 10 that were on an earlier page"),
        (1, miscounts(), "expected 11 items as the page says, got 10"),
        (3, miscounts(), "expected 6 items as the page says, got 5"),
    ],
)
def test_pages_that_do_not_fit_together_are_no_listing(
    walk, azure, waits, page, disturbance, message
):
    azure.disturb(disturbance, page=page)

    with pytest.raises(UnstableListingError, match=message) as caught:
        walk()

    assert caught.value.source == f"azure_retail_prices/eastus/Consumption/{page:03d}"
    assert waits == []


def test_walk_is_whole_when_it_is_repeated_after_the_listing_settled(walk, azure):
    azure.disturb(repeats_rows(4), page=3, times=1)

    with pytest.raises(UnstableListingError):
        walk()

    assert len(walk()) == 3


@pytest.mark.parametrize(
    "link",
    [
        "https://evil.example/api/retail/prices?$skip=10",
        "http://127.0.0.1@evil.example/api/retail/prices?$skip=10",
        "http://127.0.0.1:1/api/retail/prices?$skip=10",
        "http://127.0.0.1:port/api/retail/prices?$skip=10",
        "/api/retail/prices?$skip=10",
    ],
)
def test_link_to_another_place_is_not_followed(walk, azure, server, link):
    azure.disturb(leads_to(link), page=1)

    with pytest.raises(WireFormatError, match="not followed") as caught:
        walk()

    assert caught.value.sample == link
    assert len(server.requests) == 1


def test_listing_that_does_not_end_is_noticed(walk):
    with pytest.raises(WireFormatError, match="at most 2 pages"):
        walk(max_pages=2)

    assert len(walk(max_pages=3)) == 3


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (sends(b"{}"), WireFormatError),
        (sends(b"null"), WireFormatError),
        (sends(b""), WireFormatError),
        (sends(b'{"BillingCurrency":"USD","Items":null,"Count":0}'), WireFormatError),
        (sends(b'{"Error":{"Code":"500","Message":"oops"}}'), WireFormatError),
        (sends_html(), WireFormatError),
        (cuts_off(), SourceUnavailableError),
        (refuses(500), SourceUnavailableError),
        (refuses(404), SourceRejectedError),
    ],
    ids=["{}", "null", "nothing", "Items null", "Error", "HTML", "cut off", "500", "404"],
)
def test_what_is_no_page_never_means_no_prices(walk, server, fault, error):
    server.misbehave(fault, on="$skip=10", times=None)

    with pytest.raises(error):
        walk()


@pytest.mark.parametrize(
    "fault", [sends(b"{}"), sends(b"null"), sends_html(), cuts_off(), refuses(500)]
)
def test_what_is_no_page_for_a_while_is_asked_for_again(walk, server, waits, fault):
    server.misbehave(fault, on="$skip=10", times=2)

    assert len(walk()) == 3
    assert waits == [1.0, 2.0]


@pytest.mark.parametrize(
    ("retry_after", "wait"), [("5", 5.0), ("Mon, 30 Nov 2026 03:00:30 GMT", 30.0)]
)
def test_throttled_walk_waits_as_long_as_it_is_told(walk, server, waits, retry_after, wait):
    server.misbehave(rate_limited(retry_after), on="$skip=20")

    assert len(walk()) == 3
    assert waits == [wait]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("retail_error_400_api_version.json", "Unsupported API version"),
        ("retail_error_400_invalid_odata.json", "Invalid OData parameters supplied"),
        ("retail_error_400_invalid_parameters.json", "Invalid parameters supplied"),
    ],
)
def test_real_refusals_are_told_in_the_apis_words(walk, server, waits, name, message):
    server.misbehave(refuses(400, (WIRE / name).read_bytes()))

    with pytest.raises(SourceRejectedError, match=message) as caught:
        walk()

    assert caught.value.status == 400
    assert waits == []


@pytest.mark.parametrize(
    ("asked", "got"),
    [({}, "EUR"), ({"currency": "EUR"}, "USD"), ({"currency": "EUR"}, "GBP")],
    ids=["dollars", "euro", "euro, not pounds"],
)
def test_prices_in_another_currency_than_asked_for_are_refused(walk, server, asked, got):
    server.misbehave(sends(encode_page(items(1), next_page_link=None, currency=got)))

    with pytest.raises(
        WireFormatError, match=f"expected prices in {asked.get('currency', 'USD')}, got {got}"
    ):
        walk(**asked)


def test_another_currency_is_asked_for_beside_the_filter_on_every_page(
    walk, azure, server, landing
):
    azure.converted["EUR"] = {("eastus", "Consumption"): items(15, "e")}

    documents = walk(currency="EUR")

    assert [document.source_id for document in documents] == [
        "azure_retail_prices/eastus/Consumption/EUR/001",
        "azure_retail_prices/eastus/Consumption/EUR/002",
    ]
    assert [landing.bodies[document.sha256].count(b'"e') for document in documents] == [10, 5]
    assert [request.query["currencyCode"] for request in server.requests] == ["EUR", "EUR"]
    assert {request.query["$filter"] for request in server.requests} == {FILTER}
    assert documents[0].url.endswith("&currencyCode=EUR")


@pytest.mark.parametrize("disturbance", [carries_top(), forgets_query()])
def test_a_link_that_lost_the_currency_is_followed_with_it(walk, azure, server, disturbance):
    azure.converted["EUR"] = {("eastus", "Consumption"): items(15)}
    azure.disturb(disturbance, page=1)

    assert len(walk(currency="EUR")) == 2
    assert server.requests[1].query["currencyCode"] == "EUR"


def test_a_currency_that_the_api_has_no_rate_of_is_refused_in_its_words(walk):
    with pytest.raises(SourceRejectedError, match="ExchangeRate XXX_202608 not found"):
        walk(currency="XXX")


def test_quotes_in_a_region_cannot_change_the_filter(walk, server):
    with pytest.raises(SourceRejectedError, match="Invalid OData"):
        walk("x' or 'a' eq 'a")

    assert "armRegionName eq 'x'' or ''a'' eq ''a'" in server.requests[0].query["$filter"]
