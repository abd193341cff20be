"""What the Retail Prices API really sent, from its bytes to prices in force, with exact values."""

import gzip
import json
import random
from collections import Counter
from datetime import UTC, datetime
from decimal import ROUND_HALF_EVEN, Context, Decimal
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from connectors.azure.retail_prices import fetch_price_list
from connectors.azure.wire import read_retail_page
from connectors.errors import WireFormatError
from support.clients import NOW, client_without_waits
from support.encode_azure import encode_json
from support.fake_azure import FakeAzure
from support.fake_http import DirectTransport
from support.memory_landing import MemoryLanding
from transforms.azure_prices import normalize_retail_pages
from transforms.list_prices import in_force, settle
from transforms.normalized import final_counts
from warehouse.schemas.catalog import PRICES, REGIONS

REAL = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "azure"
AZURE_URL = "https://prices.azure.com/api/retail/prices"
PRICE_TYPES = ("Consumption", "DevTestConsumption", "Reservation")
CENT = Decimal("0.0000000001")

pytestmark = pytest.mark.skipif(
    not REAL.is_dir(), reason="the recorded prices are not beside this repository"
)


def regions(*region_ids):
    rows = [
        {
            "provider": "azure",
            "region_id": region_id,
            "region_name": region_id,
            "region_kind": "region",
            "partition": "azure",
            "source": "test",
        }
        for region_id in region_ids
    ]
    return pl.DataFrame(rows, schema=REGIONS.schema)


def normalize(pages, region_id):
    return normalize_retail_pages(pages, region_id=region_id, regions=regions(region_id))


def read_page(name, region_id):
    """Normalise what a captured page has of a region."""
    page = read_retail_page((REAL / "wire" / name).read_bytes(), source_id=name).items
    return normalize([(name, page.filter(pl.col("arm_region_name") == region_id))], region_id)


def counted(*counts):
    """How many rows went where, over all documents."""
    summed = final_counts(counts).group_by("outcome", "rule").agg(pl.col("rows").sum())
    return {(outcome, rule): rows for outcome, rule, rows in summed.rows()}


def said(normalized):
    """What is kept, short: how it is paid, years, system, licence, what an hour costs, since when.

    Decimals as text, without the zeros at their end.
    """
    return sorted(
        (option, years or 0, system, license_model, f"{price.normalize():f}", str(date))
        for option, years, system, license_model, price, date in normalized.prices.select(
            "purchase_option",
            "term_years",
            "operating_system",
            "license_model",
            "effective_hourly_price",
            pl.col("valid_from").dt.date(),
        ).rows()
    )


def of_size(normalized, size):
    return normalized._replace(prices=normalized.prices.filter(pl.col("instance_type") == size))


@pytest.fixture(scope="module")
def items_of_2021():
    """The 4,436 items of francecentral by price type."""
    packed = (REAL / "retail_vm_francecentral_2021-12.json.gz").read_bytes()
    dump = json.loads(gzip.decompress(packed), parse_float=Decimal, parse_int=Decimal)
    return {
        price_type: [item for item in dump["items"] if item["type"] == price_type]
        for price_type in PRICE_TYPES
    }


def walked(listings, *, page_size=1000):
    """Fetch the listings through the connector, and read what it landed."""
    azure = FakeAzure(
        {("francecentral", price_type): items for price_type, items in listings.items()},
        page_size=page_size,
    )
    landing = MemoryLanding()
    with client_without_waits(transport=DirectTransport(azure)) as client:
        return [
            (
                document.source_id,
                read_retail_page(
                    landing.bodies[document.sha256], source_id=document.source_id
                ).items,
            )
            for price_type in PRICE_TYPES
            for document in fetch_price_list(
                client, AZURE_URL, "francecentral", price_type, landing, fetched_at=NOW
            )
        ]


@pytest.fixture(scope="module")
def france(items_of_2021):
    return normalize(walked(items_of_2021), "francecentral")


def test_every_item_of_a_region_of_2021_is_accounted_for(france):
    settled = settle(france.prices)

    assert counted(france.counts, settled.counts) == {
        ("kept", None): 4358,
        ("filtered", "azure_dedicated_host"): 74,
        ("filtered", "zero_price"): 4,
    }
    assert settled.prices.height == 4358
    assert france.counts["source_id"].unique().sort().to_list() == [
        "azure_retail_prices/francecentral/Consumption/001",
        "azure_retail_prices/francecentral/Consumption/002",
        "azure_retail_prices/francecentral/Consumption/003",
        "azure_retail_prices/francecentral/DevTestConsumption/001",
        "azure_retail_prices/francecentral/DevTestConsumption/002",
        "azure_retail_prices/francecentral/Reservation/001",
    ]


def test_sums_of_2021_in_rupiah_are_filtered_where_they_are_too_large_and_never_refused(
    france, items_of_2021
):
    rupiah = {
        price_type: [
            item
            | {
                "currencyCode": "IDR",
                "retailPrice": item["retailPrice"] * 16348,
                "unitPrice": item["unitPrice"] * 16348,
            }
            for item in items
        ]
        for price_type, items in items_of_2021.items()
    }
    pages = [
        (
            price_type,
            read_retail_page(
                encode_json({"Items": items, "Count": len(items), "NextPageLink": None}),
                source_id=price_type,
            ).items,
        )
        for price_type, items in rupiah.items()
    ]
    normalized = normalize_retail_pages(
        pages,
        region_id="francecentral",
        regions=regions("francecentral"),
        currencies=("USD", "IDR"),
    )

    dear = france.prices.filter(pl.col("upfront_fee") * 16348 >= 10**8).height
    assert counted(normalized.counts) == {
        ("kept", None): 4358 - dear,
        ("filtered", "azure_dedicated_host"): 74,
        ("filtered", "azure_sum_beyond_money"): dear,
        ("filtered", "zero_price"): 4,
    }
    assert dear == 491


def test_every_kind_of_price_of_2021_is_there(france):
    kinds = france.prices.select(
        "purchase_option", "term_years", "operating_system", "license_model", "pricing_category"
    )

    assert Counter(kinds.rows()) == {
        ("on_demand", None, "linux", "included", "Standard"): 407,
        ("on_demand", None, "windows", "included", "Standard"): 407,
        ("on_demand", None, "windows", "byol", "Standard"): 407,
        ("spot", None, "linux", "included", "Dynamic"): 397,
        ("spot", None, "windows", "included", "Dynamic"): 397,
        ("spot", None, "windows", "byol", "Dynamic"): 397,
        ("low_priority", None, "linux", "included", "Dynamic"): 395,
        ("low_priority", None, "windows", "included", "Dynamic"): 395,
        ("low_priority", None, "windows", "byol", "Dynamic"): 394,
        ("reserved", 1, "linux", "included", "Committed"): 381,
        ("reserved", 3, "linux", "included", "Committed"): 381,
    }


def test_every_reservation_of_2021_is_its_sum_divided_by_its_hours(france, items_of_2021):
    exactly = Context(prec=60, rounding=ROUND_HALF_EVEN)
    hours = {"1 Year": 8760, "3 Years": 26280}
    expected = {
        (item["armSkuName"], item["reservationTerm"]): (
            item["retailPrice"],
            exactly.divide(item["retailPrice"], hours[item["reservationTerm"]]).quantize(
                CENT, context=exactly
            ),
        )
        for item in items_of_2021["Reservation"]
        if "Host" not in item["productName"]
    }

    reserved = france.prices.filter(pl.col("purchase_option") == "reserved")
    found = {
        (size, sku_price_id.split("/")[-1]): (total, price)
        for size, sku_price_id, total, price in reserved.select(
            "instance_type", "sku_price_id", "upfront_fee", "effective_hourly_price"
        ).rows()
    }

    assert found == expected
    assert len(found) == 762
    assert set(reserved["hourly_rate"]) == {Decimal(0)}


def test_the_free_meter_of_2017_is_no_price_beside_the_real_one(france):
    assert said(of_size(france, "Standard_B1s")) == [
        ("on_demand", 0, "linux", "included", "0.0118", "2019-06-01"),
        ("on_demand", 0, "windows", "byol", "0.0118", "2019-06-01"),
        ("on_demand", 0, "windows", "included", "0.0158", "2021-11-01"),
        ("reserved", 1, "linux", "included", "0.0069634703", "2021-11-01"),
        ("reserved", 3, "linux", "included", "0.0044520548", "2021-11-01"),
    ]


def test_spot_prices_of_december_2021_are_announced_in_november(france):
    settled = settle(france.prices)

    november, december = (
        in_force(settled.prices, rejected=settled.rejected, as_of=datetime(2021, *day, tzinfo=UTC))
        for day in ((11, 30), (12, 1))
    )

    assert (november.prices.height, november.announced.height) == (3707, 651)
    assert november.announced["purchase_option"].unique().to_list() == ["spot"]
    assert (december.prices.height, december.announced.height) == (4358, 0)
    assert november.counts.is_empty()
    assert december.counts.is_empty()


def test_order_of_rows_and_keys_and_size_of_pages_make_no_difference(france, items_of_2021):
    chance = random.Random(7)
    disordered = {
        price_type: [
            dict(chance.sample(list(item.items()), len(item)))
            for item in chance.sample(items, len(items))
        ]
        for price_type, items in items_of_2021.items()
    }

    again = normalize(walked(disordered, page_size=300), "francecentral")

    # Which page a row was on is all that may differ.
    columns = [column for column in PRICES.columns if column != "source_id"]
    assert_frame_equal(
        again.prices.select(columns).sort(columns), france.prices.select(columns).sort(columns)
    )
    assert counted(again.counts) == counted(france.counts)


# The captured pages


def test_page_with_h100_and_its_neighbours():
    normalized = read_page("retail_eastus_nd_2026-07-27.json", "eastus")

    assert counted(normalized.counts) == {("kept", None): 10}
    assert said(of_size(normalized, "Standard_ND96isr_H100_v5")) == [
        ("on_demand", 0, "linux", "included", "98.32", "2023-12-01"),
        ("reserved", 1, "linux", "included", "62.9247716895", "2023-12-01"),
        ("reserved", 3, "linux", "included", "43.1624809741", "2023-12-01"),
    ]
    assert sorted(normalized.prices["upfront_fee"].drop_nulls()) == [551221, 1134310]
    assert Decimal("62.9247716895").quantize(Decimal("0.000001")) == Decimal("62.924772")
    assert said(of_size(normalized, "Standard_ND40rs_v2")) == [
        ("spot", 0, "windows", "byol", "4.071514", "2025-09-01"),
        ("spot", 0, "windows", "included", "4.411546", "2026-02-01"),
    ]
    assert said(of_size(normalized, "Standard_ND96asr_v4")) == [
        ("low_priority", 0, "windows", "byol", "5.439", "2021-03-01"),
        ("low_priority", 0, "windows", "included", "12.645", "2021-03-01"),
        ("spot", 0, "linux", "included", "5.98334", "2025-03-01"),
    ]


def test_page_with_savings_plans():
    normalized = read_page("retail_eastus_d2als_v7_preview_savingsplan.json", "eastus")

    assert counted(normalized.counts) == {("kept", None): 10}
    assert said(normalized) == [
        ("on_demand", 0, "linux", "included", "0.0804", "2025-11-01"),
        ("on_demand", 0, "windows", "byol", "0.0804", "2025-11-01"),
        ("on_demand", 0, "windows", "included", "0.172", "2025-11-01"),
        ("reserved", 1, "linux", "included", "0.0474885845", "2025-11-01"),
        ("reserved", 3, "linux", "included", "0.0305555556", "2025-11-01"),
        ("savings_plan", 1, "linux", "included", "0.053868", "2025-11-01"),
        ("savings_plan", 3, "linux", "included", "0.035376", "2025-11-01"),
        ("spot", 0, "linux", "included", "0.015598", "2026-08-01"),
        ("spot", 0, "windows", "byol", "0.015598", "2026-08-01"),
        ("spot", 0, "windows", "included", "0.033368", "2026-08-01"),
    ]
    assert normalized.prices.select("purchase_option", "term_years", "sku_price_id").rows()[1] == (
        "reserved", 1, "01538ee0-66a2-5297-ab94-2a3dbce453c8/Reservation/1 Year"
    )  # fmt: skip
    assert "01538ee0-66a2-5297-ab94-2a3dbce453c8/SavingsPlan/3 Years" in set(
        normalized.prices["sku_price_id"]
    )


def test_page_with_a_linux_meter_that_is_not_primary():
    normalized = read_page("retail_eastus_d2s_v3_preview_nofilter.json", "eastus")

    assert counted(normalized.counts) == {("kept", None): 11}
    assert said(normalized) == [
        ("low_priority", 0, "linux", "included", "0.019", "2018-06-01"),
        ("low_priority", 0, "windows", "byol", "0.019", "2018-06-01"),
        ("low_priority", 0, "windows", "included", "0.075", "2018-06-01"),
        ("on_demand", 0, "linux", "included", "0.096", "2017-12-15"),
        ("on_demand", 0, "windows", "byol", "0.096", "2017-12-15"),
        ("on_demand", 0, "windows", "included", "0.188", "2017-12-15"),
        ("savings_plan", 1, "linux", "included", "0.06624", "2017-12-15"),
        ("savings_plan", 3, "linux", "included", "0.04512", "2017-12-15"),
        ("spot", 0, "linux", "included", "0.018816", "2026-06-01"),
        ("spot", 0, "windows", "byol", "0.018816", "2026-06-01"),
        ("spot", 0, "windows", "included", "0.036848", "2026-06-01"),
    ]


@pytest.mark.parametrize(
    ("region_id", "counts", "prices"),
    [
        ("uksouth", {("filtered", "azure_other_service"): 1}, []),
        ("koreasouth", {("filtered", "azure_dedicated_host"): 1}, []),
        (
            "chilecentral",
            {("kept", None): 1},
            [("reserved", 1, "linux", "included", "3.7932648402", "2025-04-01")],
        ),
        (
            "malaysiawest",
            {("kept", None): 1},
            [("reserved", 1, "linux", "included", "2.4075342466", "2026-10-01")],
        ),
        (
            "westus2",
            {("kept", None): 2},
            [
                ("reserved", 1, "linux", "included", "2.1334474886", "2025-04-01"),
                ("reserved", 3, "linux", "included", "1.374086758", "2021-11-01"),
            ],
        ),
    ],
)
def test_page_of_reservations_of_several_regions(region_id, counts, prices):
    normalized = read_page("retail_reservation_page1_excerpt.json", region_id)

    assert counted(normalized.counts) == counts
    assert said(normalized) == prices


def test_page_of_another_service_with_a_row_that_ends_before_it_starts():
    normalized = read_page("retail_eastus_aks_closed_meter_excerpt.json", "eastus")

    assert counted(normalized.counts) == {("filtered", "azure_other_service"): 3}


def test_page_of_another_region_than_asked_is_refused_whole():
    name = "retail_reservation_page1_excerpt.json"
    page = read_retail_page((REAL / "wire" / name).read_bytes(), source_id=name).items

    normalized = normalize([(name, page)], "westus2")

    assert counted(normalized.counts) == {
        ("filtered", "azure_dedicated_host"): 1,
        ("filtered", "azure_other_service"): 1,
        ("kept", None): 2,
        ("rejected", "foreign_region"): 2,
    }


def test_empty_page_is_no_row():
    assert counted(read_page("retail_empty_page.json", "eastus").counts) == {}


@pytest.mark.parametrize("problem", ["api_version", "invalid_odata", "invalid_parameters"])
def test_error_bodies_are_never_no_prices(problem):
    with pytest.raises(WireFormatError):
        read_page(f"retail_error_400_{problem}.json", "eastus")


def test_keys_of_a_page_in_another_order_give_the_same_prices():
    name = "retail_eastus_d2als_v7_preview_savingsplan.json"
    body = json.loads((REAL / "wire" / name).read_bytes(), parse_float=Decimal)
    turned = dict(reversed(body.items())) | {
        "Items": [dict(reversed(item.items())) for item in reversed(body["Items"])]
    }

    page = read_retail_page(encode_json(turned), source_id=name).items
    again = normalize([(name, page)], "eastus")

    assert_frame_equal(again.prices, read_page(name, "eastus").prices, check_row_order=False)


def meter_as_item(row):
    """The collection has no armSkuName and no dates: a name made of skuName stands for the size."""
    size = row["skuName"].removesuffix(" Spot").removesuffix(" Low Priority")
    if "promo" in row["productName"].lower() and not size.endswith("_Promo"):
        size += "_Promo"
    same = (
        "armRegionName", "meterId", "meterName", "productId", "productName", "skuId", "skuName",
        "type", "unitOfMeasure",
    )  # fmt: skip
    price, plan = row["retailPrice"], row["savingsPlan1YPrice"]
    item = {key: row[key] for key in same} | {
        "currencyCode": "USD",
        "tierMinimumUnits": Decimal(0),
        "retailPrice": Decimal(repr(price)),
        "unitPrice": Decimal(repr(price)),
        "location": row["armRegionName"],
        "effectiveStartDate": "2026-08-01T00:00:00Z",
        "serviceName": "Virtual Machines",
        "isPrimaryMeterRegion": True,
        "armSkuName": size,
    }
    if plan is not None:
        rate = Decimal(repr(plan))
        item["savingsPlan"] = [{"unitPrice": rate, "retailPrice": rate, "term": "1 Year"}]
    return item


def test_every_meter_of_five_regions_is_understood_or_filtered_by_name():
    meters = pl.read_parquet(REAL / "retail_vm_consumption_5eu_2026-08-20.parquet")

    parts = []
    for (region_id,), rows in meters.group_by("armRegionName"):
        items = [meter_as_item(row) for row in rows.to_dicts()]
        body = encode_json({"Items": items, "Count": len(items), "NextPageLink": None})
        page = read_retail_page(body, source_id=region_id).items
        parts.append(normalize([(region_id, page)], region_id))

    # 33,803 items and 6,580 rates of savings plans, 216 of these of hosts.
    assert counted(*(part.counts for part in parts)) == {
        ("kept", None): 39044,
        ("filtered", "azure_cloud_services"): 808,
        ("filtered", "azure_dedicated_host"): 467,
        ("filtered", "azure_expired_meter"): 64,
    }
    prices = pl.concat(part.prices for part in parts)
    kinds = prices.select("purchase_option", "operating_system").rows()
    assert Counter(kinds) == {
        ("on_demand", "linux"): 6662,
        ("on_demand", "windows"): 6308,
        ("spot", "linux"): 6586,
        ("spot", "windows"): 6232,
        ("low_priority", "linux"): 3533,
        ("low_priority", "windows"): 3359,
        ("savings_plan", "linux"): 6316,
        ("savings_plan", "windows"): 48,
    }
