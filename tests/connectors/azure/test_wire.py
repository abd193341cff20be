import json
import logging
import pickle
from decimal import Decimal
from pathlib import Path

import pytest

from connectors.azure.wire import PageEnvelope, read_page_envelope, read_retail_page
from connectors.errors import WireFormatError
from warehouse.schemas.raw import AZURE_RETAIL_ITEMS
from warehouse.schemas.rules.azure import LARGEST_AMOUNT

REPOSITORY = Path(__file__).resolve().parents[3]
WIRE = REPOSITORY / "tests" / "wire" / "azure"
REAL = REPOSITORY.parent / "shared" / "data" / "azure" / "wire"
SOURCE = "azure_retail_prices/eastus/Consumption/001"

needs_real_pages = pytest.mark.skipif(
    not REAL.is_dir(), reason="the recorded pages are not beside this repository"
)

NO_PAGES = {
    "null": b"null",
    "an empty object": b"{}",
    "nothing": b"",
    "HTML": b"<html><body>Service Unavailable</body></html>",
    "items null": b'{"BillingCurrency":"USD","Items":null,"NextPageLink":null,"Count":0}',
    "items absent": b'{"BillingCurrency":"USD","NextPageLink":null,"Count":0}',
    "no word of a next page": b'{"BillingCurrency":"USD","Items":[],"Count":0}',
    "no count": b'{"BillingCurrency":"USD","Items":[],"NextPageLink":null}',
    "count as text": b'{"BillingCurrency":"USD","Items":[],"NextPageLink":null,"Count":"0"}',
    "cut short": b'{"BillingCurrency":"USD","Items":[{"currencyCode":"USD"',
    "not UTF-8": b'{"BillingCurrency":"USD","Items":[],"NextPageLink":"\xff","Count":0}',
    "an error": b'{"Error":{"Code":"BadRequest","Message":"Unsupported API version"}}',
}


def page(*items, **envelope):
    """A page of one ordinary item, with what the test changes; a value ... leaves its key out."""
    ordinary = json.loads((WIRE / "retail_page_every_kind_of_one_size.json").read_bytes())
    whole = ordinary | envelope
    whole["Items"] = [
        {key: value for key, value in (ordinary["Items"][0] | item).items() if value is not ...}
        for item in items
    ]
    return json.dumps(whole).encode()


def with_price(token):
    """A page of one item whose retailPrice is written like this."""
    return page({"retailPrice": "<price>"}).replace(b'"<price>"', token.encode())


def retail_price(token):
    items = read_retail_page(with_price(token), source_id=SOURCE).items
    return items["retail_price"].item()


def sample(name):
    return read_retail_page((WIRE / name).read_bytes(), source_id=SOURCE)


def test_the_envelope_says_what_paging_needs():
    body = (WIRE / "retail_page_closed_and_announced.json").read_bytes()

    assert read_page_envelope(body, SOURCE) == PageEnvelope(
        count=4,
        items_count=4,
        next_page_link="https://prices.azure.com:443/api/retail/prices"
        "?$filter=priceType%20eq%20%27Consumption%27&$skip=1000",
        billing_currency="USD",
    )


def test_the_envelope_tells_a_count_that_is_not_the_number_of_items():
    envelope = read_page_envelope(page({}, {}, Count=1000), SOURCE)

    assert (envelope.count, envelope.items_count) == (1000, 2)


@pytest.mark.parametrize("body", NO_PAGES.values(), ids=NO_PAGES.keys())
def test_what_is_no_page_is_never_taken_for_no_prices(body):
    with pytest.raises(WireFormatError) as of_envelope:
        read_page_envelope(body, SOURCE)
    assert of_envelope.value.source == SOURCE

    with pytest.raises(WireFormatError) as of_page:
        read_retail_page(body, source_id=SOURCE)
    assert of_page.value.source == SOURCE


def test_the_error_shows_the_start_of_what_came_and_survives_pickling():
    with pytest.raises(WireFormatError) as caught:
        read_page_envelope(NO_PAGES["HTML"], SOURCE)

    again = pickle.loads(pickle.dumps(caught.value))
    assert "<html><body>Service Unavailable" in str(again)
    assert again.source == SOURCE


def test_an_empty_page_is_a_page_without_items():
    body = (WIRE / "retail_empty_page.json").read_bytes()

    assert read_page_envelope(body, SOURCE).items_count == 0
    empty = read_retail_page(body, source_id=SOURCE)
    assert empty.items.equals(AZURE_RETAIL_ITEMS.empty())
    assert empty.items.schema == AZURE_RETAIL_ITEMS.schema
    assert (empty.count, empty.next_page_link) == (0, None)


def test_items_are_the_raw_table_in_the_order_sent():
    listed = sample("retail_page_every_kind_of_one_size.json")

    assert listed.items.schema == AZURE_RETAIL_ITEMS.schema
    assert listed.count == 8
    assert listed.items["sku_id"].str.tail(4).to_list() == [
        "0001", "0002", "0003", "0004", "0005", "0005", "0006", "0006"
    ]  # fmt: skip
    assert listed.items.row(6, named=True) == {
        "currency_code": "USD",
        "reservation_term": None,
        "arm_region_name": "eastus",
        "location": "US East",
        "effective_start_date": "2025-11-01T00:00:00Z",
        "effective_end_date": None,
        "meter_id": "00000000-0000-5000-8000-000000000006",
        "meter_name": "D2als v7",
        "product_id": "DZH318Z0TEST",
        "product_name": "Virtual Machines Dalsv7 Series Windows",
        "sku_id": "DZH318Z0TEST/0006",
        "sku_name": "D2als v7",
        "service_name": "Virtual Machines",
        "unit_of_measure": "1 Hour",
        "type": "Consumption",
        "arm_sku_name": "Standard_D2als_v7",
        "tier_minimum_units": Decimal(0),
        "retail_price": Decimal("0.172"),
        "unit_price": Decimal("0.172"),
        "is_primary_meter_region": True,
        "savings_plan": None,
    }


def test_keys_that_only_some_items_have_are_null_where_they_are_absent():
    kinds = sample("retail_page_every_kind_of_one_size.json").items
    closed = sample("retail_page_closed_and_announced.json").items

    assert kinds["reservation_term"].to_list() == [None, "1 Year", "3 Years"] + [None] * 5
    assert closed["effective_end_date"].to_list() == ["2026-09-30T23:59:00Z", None, None, None]


def test_savings_plans_stay_in_the_order_sent_with_exact_prices():
    plans = sample("retail_page_every_kind_of_one_size.json").items["savings_plan"].to_list()

    assert (
        plans
        == [
            [
                {
                    "term": "3 Years",
                    "retail_price": Decimal("0.035376"),
                    "unit_price": Decimal("0.035376"),
                },
                {
                    "term": "1 Year",
                    "retail_price": Decimal("0.053868"),
                    "unit_price": Decimal("0.053868"),
                },
            ]
        ]
        + [None] * 7
    )


def test_savings_plans_go_to_the_items_that_have_them():
    def plan(price):
        return {"term": "1 Year", "retailPrice": price, "unitPrice": price}

    body = page(
        {"savingsPlan": ...},
        {"savingsPlan": [plan(0.1)]},
        {"savingsPlan": []},
        {"savingsPlan": None},
        {"savingsPlan": [plan(0.2), plan(0.3)]},
    )

    plans = read_retail_page(body, source_id=SOURCE).items["savings_plan"].to_list()

    prices = [None if listed is None else [p["retail_price"] for p in listed] for listed in plans]
    assert prices == [
        None,
        [Decimal("0.1")],
        None,
        None,
        [Decimal("0.2"), Decimal("0.3")],
    ]


@pytest.mark.parametrize(
    ("token", "price"),
    [
        ("0.0804", "0.0804"),
        ("1134310.37", "1134310.37"),
        ("12345678.1234567891", "12345678.1234567891"),
        ("99999999.9999999999", "99999999.9999999999"),
        ("0.0000000001", "0.0000000001"),
        ("1e-05", "0.00001"),
        ("1.5E+3", "1500"),
        ("0.10000000000000", "0.1"),
        ("551221.0", "551221"),
        ("98", "98"),
        ("0", "0"),
        ("-0.5", "-0.5"),
    ],
)
def test_prices_are_the_very_decimals_that_were_sent(token, price):
    assert retail_price(token) == Decimal(price)


@pytest.mark.parametrize(
    "token", ["0.12345678901", "0.30000000000000004", "5e-11", "99999999.99999999999"]
)
def test_a_number_with_more_decimals_than_money_has_is_left_null_and_logged_never_rounded(
    token, caplog
):
    body = page({"retailPrice": 0.5}, {"retailPrice": "<price>"}, {"retailPrice": 0.25})

    with caplog.at_level(logging.WARNING):
        items = read_retail_page(body.replace(b'"<price>"', token.encode()), source_id=SOURCE).items

    assert items["retail_price"].to_list() == [Decimal("0.5"), None, Decimal("0.25")]
    assert items["arm_sku_name"].to_list() == ["Standard_D2als_v7"] * 3
    said = (
        f"retail_price left null where Decimal(18, 10) cannot hold it: 1 of 3, the first is {token}"
    )
    assert caplog.messages == [f"{SOURCE}: {said}"]


@pytest.mark.parametrize(
    ("token", "amount"),
    [
        ("99999999", 99_999_999),
        ("100000000", LARGEST_AMOUNT),
        ("100000000.0", LARGEST_AMOUNT),
        ("19282270000.000004", LARGEST_AMOUNT),
        ("1.928227E+10", LARGEST_AMOUNT),
        ("1e400", LARGEST_AMOUNT),
        ("1e999999999", LARGEST_AMOUNT),
        ("-100000000", -LARGEST_AMOUNT),
    ],
)
def test_a_number_too_large_for_money_is_the_largest_amount(token, amount, caplog):
    assert retail_price(token) == amount
    assert caplog.messages == []


def test_a_savings_plan_rate_too_large_for_money_is_the_largest_amount():
    plan = [{"term": "1 Year", "retailPrice": 2e8, "unitPrice": 2e8}]
    items = read_retail_page(page({"savingsPlan": plan}), source_id=SOURCE).items

    assert items["savings_plan"].explode().struct.field("retail_price").item() == LARGEST_AMOUNT


@pytest.mark.parametrize("token", ['"0.5"', "null", "true", "[0.5]", '{"value":\n0.5}'])
def test_a_price_that_is_no_number_is_an_error(token):
    with pytest.raises(WireFormatError) as caught:
        read_retail_page(with_price(token), source_id=SOURCE)

    assert caught.value.field == "retail_price"
    assert caught.value.sample == token


@pytest.mark.parametrize(
    "key",
    [
        "currencyCode", "tierMinimumUnits", "retailPrice", "unitPrice", "armRegionName",
        "location", "effectiveStartDate", "meterId", "meterName", "productId", "skuId",
        "productName", "skuName", "serviceName", "unitOfMeasure", "type",
        "isPrimaryMeterRegion", "armSkuName",
    ],
)  # fmt: skip
def test_a_missing_key_is_an_error_that_names_it_and_its_item(key):
    with pytest.raises(WireFormatError, match=rf"`{key}` - at `\$\.Items\[1\]`"):
        read_retail_page(page({}, {key: ...}), source_id=SOURCE)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("armSkuName", 5),
        ("armSkuName", None),
        ("productName", ["x"]),
        ("isPrimaryMeterRegion", "true"),
        ("reservationTerm", 1),
        ("savingsPlan", {}),
    ],
)
def test_a_value_of_another_json_type_is_an_error_that_names_it(key, value):
    with pytest.raises(WireFormatError, match=rf"\$\.Items\[0\]\.{key}"):
        read_retail_page(page({key: value}), source_id=SOURCE)


def test_keys_that_are_not_known_are_ignored():
    body = page({"availabilityId": None, "newKey": {"retailPrice": 7}}, NewKey=1)

    items = read_retail_page(body, source_id=SOURCE).items

    assert items["retail_price"].to_list() == [Decimal("0.0804")]


def test_tier_minimum_units_is_a_number_with_a_point():
    items = read_retail_page(page({"tierMinimumUnits": 0.0}), source_id=SOURCE).items

    assert items["tier_minimum_units"].to_list() == [Decimal(0)]


def test_layout_and_escapes_make_no_difference():
    body = page({"productName": 'Ünïcode "quoted" \\ "retailPrice": 5\n', "location": ""})
    indented = json.dumps(json.loads(body), indent=1, ensure_ascii=False).encode()

    compact = read_retail_page(body, source_id=SOURCE).items

    assert compact.equals(read_retail_page(indented, source_id=SOURCE).items)
    assert compact["product_name"].item() == 'Ünïcode "quoted" \\ "retailPrice": 5\n'


@needs_real_pages
@pytest.mark.parametrize(
    ("name", "items", "count"),
    [
        ("retail_eastus_nd_2026-07-27.json", 10, 10),
        ("retail_eastus_d2als_v7_preview_savingsplan.json", 8, 8),
        ("retail_eastus_d2s_v3_preview_nofilter.json", 9, 9),
        ("retail_eastus_aks_closed_meter_excerpt.json", 3, 3),
        ("retail_reservation_page1_excerpt.json", 6, 1000),
        ("retail_empty_page.json", 0, 0),
    ],
)
def test_recorded_pages_are_read_whole(name, items, count):
    body = (REAL / name).read_bytes()

    listed = read_retail_page(body, source_id=SOURCE)

    assert (listed.items.height, listed.count) == (items, count)
    assert (
        listed.items.drop("reservation_term", "effective_end_date", "savings_plan")
        .null_count()
        .sum_horizontal()
        .item()
        == 0
    )
    assert [str(price) for price in listed.items["retail_price"]] == [
        f"{Decimal(str(item['retailPrice'])):.10f}" for item in json.loads(body)["Items"]
    ]
    assert read_page_envelope(body, SOURCE).next_page_link == listed.next_page_link


@needs_real_pages
@pytest.mark.parametrize("problem", ["api_version", "invalid_odata", "invalid_parameters"])
def test_recorded_errors_are_no_pages(problem):
    with pytest.raises(WireFormatError):
        read_page_envelope((REAL / f"retail_error_400_{problem}.json").read_bytes(), SOURCE)
