"""One size of the Azure Retail Prices API, asked over HTTP."""

from decimal import Decimal

import pytest

from connectors.azure.retail_items import fetch_size_items
from connectors.errors import (
    RateLimitedError,
    SourceRejectedError,
    SourceUnavailableError,
    UnstableListingError,
    WireFormatError,
)
from support.encode_azure import Meter, encode_error, retail_item
from support.fake_http import FakeServer, cuts_off, rate_limited, refuses, sends
from support.fake_products import FakeSizes
from warehouse.schemas.raw import AZURE_RETAIL_ITEMS

D2S = "Standard_D2s_v5"


def item(number, size=D2S, region="eastus", **changes):
    meter = Meter(
        arm_region_name=region,
        location="US East",
        arm_sku_name=size,
        meter_id=f"meter-{number}",
        meter_name="D2s v5",
        product_id="DZH318Z08NRP",
        product_name="Virtual Machines Dsv5 Series",
        sku_name="D2s v5",
        effective_start_date="2026-08-01T00:00:00Z",
    )
    return retail_item(meter, Decimal("0.096"), sku_id="DZH318Z08NRP/0001", **changes)


@pytest.fixture
def azure():
    return FakeSizes(
        [
            item(1),
            item(2, price_type="Reservation", reservation_term="1 Year"),
            item(3, region="westeurope", price_type="DevTestConsumption"),
            item(4, size="Standard_D4s_v5"),
            item(5, size="standard_d2s_v5"),
            {**item(6), "serviceName": "Managed Instance for Apache Cassandra"},
        ]
    )


@pytest.fixture
def server(azure):
    with FakeServer(azure) as server:
        yield server


def meters(client, server, size=D2S, region_id=None):
    return fetch_size_items(client, server.azure_url, size, region_id=region_id)[
        "meter_id"
    ].to_list()


def test_every_price_type_of_a_size_is_asked_for_in_all_regions(client, server):
    items = fetch_size_items(client, server.azure_url, D2S, region_id=None)
    assert items.schema == AZURE_RETAIL_ITEMS.schema
    assert items.select("meter_id", "arm_region_name", "type").rows() == [
        ("meter-1", "eastus", "Consumption"),
        ("meter-2", "eastus", "Reservation"),
        ("meter-3", "westeurope", "DevTestConsumption"),
    ]
    assert items["retail_price"].to_list() == [Decimal("0.096")] * 3
    assert [request.query["$filter"] for request in server.requests] == [
        "serviceName eq 'Virtual Machines' and armSkuName eq 'Standard_D2s_v5'",
        "serviceName eq 'Virtual Machines' and armSkuName eq 'Standard_D2s_v5 '",
    ]


def test_one_region_is_asked_for_alone(client, server):
    assert meters(client, server, region_id="westeurope") == ["meter-3"]
    assert server.requests[0].query["$filter"].endswith("and armRegionName eq 'westeurope'")


def test_a_size_that_is_listed_with_a_blank_behind_it_is_found(client, server, azure):
    azure.items.append(item(7, size=f"{D2S} ", region="uksouth"))
    assert meters(client, server) == ["meter-1", "meter-2", "meter-3", "meter-7"]


def test_a_size_that_is_not_listed_has_no_items(client, server):
    items = fetch_size_items(client, server.azure_url, "Standard_D3s_v5", region_id=None)
    assert items.equals(AZURE_RETAIL_ITEMS.empty())


def test_a_quote_in_a_name_does_not_end_it(client, server):
    assert meters(client, server, size="x' or armSkuName ne 'y") == []
    assert server.requests[0].query["$filter"].endswith("armSkuName eq 'x'' or armSkuName ne ''y'")


@pytest.mark.parametrize("page_size", [1, 2, 3])
def test_pages_are_read_to_the_last(client, server, azure, page_size):
    azure.page_size = page_size
    assert meters(client, server) == ["meter-1", "meter-2", "meter-3"]


def test_passing_faults_change_nothing(client, server):
    server.misbehave(rate_limited("1"))
    server.misbehave(cuts_off())
    assert meters(client, server) == ["meter-1", "meter-2", "meter-3"]


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (refuses(503), SourceUnavailableError),
        (rate_limited("1"), RateLimitedError),
        (refuses(400, encode_error("Invalid OData parameters supplied")), SourceRejectedError),
        (sends(b"{}"), WireFormatError),
    ],
    ids=["down", "throttled", "refused", "no page"],
)
def test_a_lasting_fault_is_an_error(client, server, fault, error):
    server.misbehave(fault, times=None)
    with pytest.raises(error):
        meters(client, server)


def test_pages_that_do_not_fit_together_are_an_error(client, server, azure):
    azure.page_size = 1
    azure.items[1] = azure.items[0]
    with pytest.raises(UnstableListingError, match="on an earlier page"):
        meters(client, server)
