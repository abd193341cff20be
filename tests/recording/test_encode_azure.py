"""The Azure encoder writes what the Retail Prices API writes."""

import json
from decimal import Decimal
from pathlib import Path

import pytest

from support.encode_azure import (
    Meter,
    encode_error,
    encode_json,
    encode_page,
    next_page_link,
    number,
    retail_item,
)

SAMPLES = Path(__file__).resolve().parents[2].parent / "shared/data/azure/wire"
needs_samples = pytest.mark.skipif(
    not SAMPLES.is_dir(), reason="the collected wire samples are not beside this repository"
)

D2ALS = Meter(
    arm_region_name="eastus",
    location="US East",
    arm_sku_name="Standard_D2als_v7",
    meter_id="01538ee0-66a2-5297-ab94-2a3dbce453c8",
    meter_name="D2als v7",
    product_id="DZH318Z0TBH5",
    product_name="Virtual Machines Dalsv7 Series",
    sku_name="D2als v7",
    effective_start_date="2025-11-01T00:00:00Z",
)


def test_an_item_has_the_keys_of_the_api_in_its_order():
    item = retail_item(
        D2ALS,
        Decimal("0.0804"),
        sku_id="DZH318Z0TBH5/003D",
        savings_plan=[("3 Years", Decimal("0.035376")), ("1 Year", Decimal("0.053868"))],
    )

    assert encode_json(item) == (
        b'{"currencyCode":"USD","tierMinimumUnits":0.0,"retailPrice":0.0804,"unitPrice":0.0804,'
        b'"armRegionName":"eastus","location":"US East",'
        b'"effectiveStartDate":"2025-11-01T00:00:00Z",'
        b'"meterId":"01538ee0-66a2-5297-ab94-2a3dbce453c8","meterName":"D2als v7",'
        b'"productId":"DZH318Z0TBH5","skuId":"DZH318Z0TBH5/003D",'
        b'"productName":"Virtual Machines Dalsv7 Series","skuName":"D2als v7",'
        b'"serviceName":"Virtual Machines","serviceId":"DZH313Z7MMC8","serviceFamily":"Compute",'
        b'"unitOfMeasure":"1 Hour","type":"Consumption","isPrimaryMeterRegion":true,'
        b'"armSkuName":"Standard_D2als_v7","savingsPlan":['
        b'{"unitPrice":0.035376,"retailPrice":0.035376,"term":"3 Years"},'
        b'{"unitPrice":0.053868,"retailPrice":0.053868,"term":"1 Year"}]}'
    )


def test_a_reservation_is_a_whole_sum_and_says_its_term_before_its_price():
    item = retail_item(
        D2ALS,
        Decimal(416),
        sku_id="DZH318Z0TBH5/02V2",
        price_type="Reservation",
        reservation_term="1 Year",
    )

    assert list(item)[:4] == ["currencyCode", "tierMinimumUnits", "reservationTerm", "retailPrice"]
    assert encode_json(item["retailPrice"]) == b"416.0"


def test_what_there_is_not_is_left_out_and_not_null():
    item = retail_item(D2ALS, Decimal("0.0804"), sku_id="DZH318Z0TBH5/003D")

    assert item.keys().isdisjoint({"savingsPlan", "reservationTerm", "effectiveEndDate"})


def test_an_end_date_follows_the_start_date():
    item = retail_item(D2ALS, Decimal(1), sku_id="X", effective_end_date="2026-07-31T23:59:00Z")

    keys = list(item)
    assert keys.index("effectiveEndDate") == keys.index("effectiveStartDate") + 1


def test_the_count_of_a_page_is_that_of_its_items():
    items = [retail_item(D2ALS, Decimal(1), sku_id=str(sku)) for sku in range(3)]

    page = json.loads(encode_page(items, next_page_link=None))

    assert list(page) == [
        "BillingCurrency",
        "CustomerEntityId",
        "CustomerEntityType",
        "Items",
        "NextPageLink",
        "Count",
    ]
    assert (page["Count"], page["NextPageLink"], len(page["Items"])) == (3, None, 3)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("0", "0.0"),
        ("416", "416.0"),
        ("416.00", "416.0"),
        ("0.035376", "0.035376"),
        ("0.10", "0.1"),
        ("1E-7", "0.0000001"),
        ("1.2E+6", "1200000.0"),
    ],
)
def test_numbers_are_exact_and_always_have_a_point(value: str, text: str):
    assert number(Decimal(value)) == text


def test_the_next_page_link_is_the_api_s_own_form():
    link = next_page_link(
        "https://prices.azure.com/api/retail/prices",
        {"$filter": "priceType eq 'Reservation'"},
        1000,
    )

    assert link == (
        "https://prices.azure.com:443/api/retail/prices"
        "?$filter=priceType%20eq%20%27Reservation%27&$skip=1000"
    )


def test_the_next_page_link_carries_parameters_over_and_replaces_the_offset():
    link = next_page_link(
        "https://prices.azure.com:443/api/retail/prices",
        {"api-version": "2023-01-01-preview", "$filter": "x eq 'y'", "$skip": "1000"},
        2000,
    )

    assert link == (
        "https://prices.azure.com:443/api/retail/prices"
        "?api-version=2023-01-01-preview&$filter=x%20eq%20%27y%27&$skip=2000"
    )


def test_an_error_body():
    assert encode_error("Unsupported API version") == (
        b'{"Error":{"Code":"BadRequest","Message":"Unsupported API version"}}'
    )


@needs_samples
@pytest.mark.parametrize(
    "name",
    [
        "retail_eastus_aks_closed_meter_excerpt.json",
        "retail_eastus_d2als_v7_preview_savingsplan.json",
        "retail_eastus_d2s_v3_preview_nofilter.json",
        "retail_reservation_page1_excerpt.json",
        "retail_empty_page.json",
    ],
)
def test_captured_pages_are_reproduced_byte_for_byte(name: str):
    captured = (SAMPLES / name).read_bytes().strip()
    page = json.loads(captured, parse_float=Decimal)

    encoded = encode_page(page["Items"], next_page_link=page["NextPageLink"], count=page["Count"])

    assert encoded == captured


@needs_samples
def test_items_made_from_facts_equal_captured_items():
    captured = json.loads(
        (SAMPLES / "retail_eastus_d2als_v7_preview_savingsplan.json").read_bytes(),
        parse_float=Decimal,
    )["Items"][0]

    item = retail_item(
        D2ALS,
        Decimal("0.0804"),
        sku_id="DZH318Z0TBH5/003D",
        savings_plan=[("3 Years", Decimal("0.035376")), ("1 Year", Decimal("0.053868"))],
    )

    assert encode_json(item) == encode_json(captured)
