"""What the committed recording holds, asserted on its bytes."""

import csv
import json
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree as ET

import pytest
import requests

from connectors.recording import Recording, ReplayTransport, read_recording

BUNDLED = Path(__file__).resolve().parents[2] / "recording/bundled"
MAX_PACKED_BYTES = 8_000_000
MAX_UNPACKED_BYTES = 190_000_000

AWS = "https://pricing.us-east-1.amazonaws.com"
REGION_INDEX = f"{AWS}/offers/v1.0/aws/AmazonEC2/current/region_index.json"
ECB = "https://www.ecb.europa.eu/stats/eurofxref/eurofxref-daily.xml"

Item = dict[str, Any]
Row = dict[str, str]


class Bundle:
    """The recording, asked as a provider is."""

    def __init__(self) -> None:
        self.recording: Recording = read_recording(BUNDLED)
        self._session = requests.Session()
        self._session.mount("https://", ReplayTransport(BUNDLED))
        self._rows: dict[str, list[Row]] = {}

    def get(self, url: str) -> requests.Response:
        return self._session.get(url)

    def close(self) -> None:
        self._session.close()

    def aws_regions(self) -> dict[str, dict[str, str]]:
        regions: dict[str, dict[str, str]] = self.get(REGION_INDEX).json()["regions"]
        return regions

    def offer_file_url(self, region_id: str) -> str:
        path = self.aws_regions()[region_id]["currentVersionUrl"]
        return AWS + path.removesuffix("json") + "csv"

    def offer_lines(self, region_id: str) -> list[str]:
        return self.get(self.offer_file_url(region_id)).content.decode().splitlines()

    def offer_rows(self, region_id: str) -> list[Row]:
        if region_id not in self._rows:
            self._rows[region_id] = list(csv.DictReader(self.offer_lines(region_id)[5:]))
        return self._rows[region_id]

    def retail_pages(self, region_id: str, price_type: str) -> list[dict[str, Any]]:
        listing = f"armRegionName eq '{region_id}' and priceType eq '{price_type}'"
        urls = [
            item.url
            for item in self.recording.interactions
            if listing in _parameter(item.url, "$filter")
        ]
        urls.sort(key=lambda url: int(_parameter(url, "$skip") or 0))
        return [json.loads(self.get(url).content, parse_float=Decimal) for url in urls]

    def retail_items(self, region_id: str, price_type: str = "Consumption") -> list[Item]:
        return [item for page in self.retail_pages(region_id, price_type) for item in page["Items"]]


def _parameter(url: str, name: str) -> str:
    return parse_qs(urlsplit(url).query).get(name, [""])[0]


def linux_prices(bundle: Bundle, region_id: str, instance_type: str) -> list[str]:
    """Every price that is one for Linux on demand by the offer file's own columns."""
    wanted = {
        "Instance Type": instance_type,
        "TermType": "OnDemand",
        "Operating System": "Linux",
        "Pre Installed S/W": "NA",
        "Tenancy": "Shared",
        "CapacityStatus": "Used",
        "MarketOption": "OnDemand",
    }
    return [
        row["PricePerUnit"] for row in bundle.offer_rows(region_id) if wanted.items() <= row.items()
    ]


def payg_prices(bundle: Bundle, region_id: str, arm_sku_name: str) -> list[Decimal]:
    """Every price of a Linux meter that is neither spot nor low priority."""
    return [
        item["retailPrice"]
        for item in bundle.retail_items(region_id)
        if item["armSkuName"] == arm_sku_name
        and not item["productName"].endswith("Windows")
        and not item["skuName"].endswith(("Spot", "Low Priority"))
    ]


@pytest.fixture(scope="module")
def bundle() -> Iterator[Bundle]:
    bundle = Bundle()
    yield bundle
    bundle.close()


def test_the_recording_is_small():
    packed = sum(path.stat().st_size for path in BUNDLED.rglob("*") if path.is_file())

    assert packed <= MAX_PACKED_BYTES


def test_a_replay_has_a_moderate_amount_to_parse(bundle: Bundle):
    assert sum(item.bytes for item in bundle.recording.interactions) <= MAX_UNPACKED_BYTES


def test_its_clock_and_every_fetch_are_the_day_of_the_prices(bundle: Bundle):
    assert bundle.recording.as_of.isoformat() == "2026-08-22T06:00:00+00:00"
    assert {item.fetched_at for item in bundle.recording.interactions} == {bundle.recording.as_of}


def test_every_document_says_of_when_it_is_and_that_it_is_not_todays(bundle: Bundle):
    notes = {
        (urlsplit(item.url).netloc, str(bundle.recording.note_for(item))[:48])
        for item in bundle.recording.interactions
    }

    assert notes == {
        ("pricing.us-east-1.amazonaws.com", "Recorded list prices of 2026-07-05, not today's:"),
        ("pricing.us-east-1.amazonaws.com", "Recorded rates of 2025-09-11, not today's: AWS's"),
        ("pricing.cn-north-1.amazonaws.com.cn", "Recorded list prices of 2024-11-06, not today's,"),
        ("website.spot.ec2.aws.a2z.com", "Recorded spot prices of 2026-07-05, not today's,"),
        ("prices.azure.com", "Recorded list prices of 2026-08-22, not today's:"),
        ("www.ecb.europa.eu", "Recorded rates of 2026-08-22, not today's, and n"),
    }


def test_notes_name_the_documents_that_hold_facts_of_another_day(bundle: Bundle):
    virginia = bundle.get(bundle.offer_file_url("us-east-1")).headers["x-recorded-note"]
    atlanta = bundle.get(bundle.offer_file_url("us-east-1-atl-1")).headers["x-recorded-note"]
    paris = bundle.get(bundle.offer_file_url("eu-west-3")).headers["x-recorded-note"]

    assert "2026-07-20" in virginia
    assert "2026-07-20" not in atlanta
    assert "2020-10-19" in paris


def test_all_aws_regions_and_zones_are_there(bundle: Bundle):
    regions = bundle.aws_regions()

    wavelength = {region_id for region_id in regions if "-wl" in region_id}
    local = {region_id for region_id in regions if region_id.count("-") > 3} - wavelength
    assert (len(regions), len(wavelength), len(local)) == (104, 33, 35)
    assert {"us-gov-east-1", "us-gov-west-1", "us-west-2-lax-1"} <= regions.keys()
    recorded = {item.url for item in bundle.recording.interactions}
    assert {bundle.offer_file_url(region_id) for region_id in regions} <= recorded


def test_one_sku_has_all_twelve_reserved_terms(bundle: Bundle):
    rows = [
        row
        for row in bundle.offer_rows("ap-northeast-1")
        if row["SKU"] == "2223B6PCG6QAUYY6" and row["TermType"] == "Reserved"
    ]

    assert len({row["OfferTermCode"] for row in rows}) == 12
    assert Counter(row["Unit"] for row in rows) == {"Hrs": 12, "Quantity": 8}


def test_a_host_is_priced_by_its_family_on_demand_and_reserved(bundle: Bundle):
    hosts = Counter(
        (row["TermType"], row["Tenancy"])
        for row in bundle.offer_rows("eu-central-1")
        if row["Product Family"] == "Dedicated Host" and row["Instance Type"] == "m5"
    )

    assert hosts == {("OnDemand", "Host"): 1, ("Reserved", "Reserved"): 4}


def test_a_plans_rates_are_of_skus_that_the_offer_file_has(bundle: Bundle):
    root = f"{AWS}/savingsPlan/v1.0/aws/AWSComputeSavingsPlan"
    index = bundle.get(f"{root}/current/region_index.json").json()
    (region,) = index["regions"]
    assert region["regionCode"] == "ap-east-2"
    url = AWS + region["versionUrl"].removesuffix("json") + "csv"
    rows = list(csv.DictReader(bundle.get(url).content.decode().splitlines()[5:]))

    usage = Counter(row["DiscountedUsageType"].partition(":")[0] for row in rows)
    assert usage == {"APE2-BoxUsage": 10, "APE2-HostUsage": 1, "APE2-UnusedBox": 11}
    skus = {row["SKU"] for row in bundle.offer_rows("ap-east-2")}
    used = {row["DiscountedSKU"] for row in rows if "Unused" not in row["DiscountedUsageType"]}
    assert used <= skus


def test_the_spot_feed_has_both_systems_in_34_regions(bundle: Bundle):
    feed = bundle.get("https://website.spot.ec2.aws.a2z.com/spot.json").json()["config"]

    assert len(feed["regions"]) == 34
    (virginia,) = [one for one in feed["regions"] if one["region"] == "us-east-1"]
    sizes = {size["size"]: size for group in virginia["instanceTypes"] for size in group["sizes"]}
    assert sizes["p5.48xlarge"]["valueColumns"] == [
        {"name": "linux", "prices": {"USD": "23.414183"}},
        {"name": "mswin", "prices": {"USD": "N/A*"}},
    ]


def test_china_is_on_its_own_host_in_its_own_currency_and_codes(bundle: Bundle):
    host = "https://pricing.cn-north-1.amazonaws.com.cn"
    index = bundle.get(f"{host}/offers/v1.0/cn/AmazonEC2/current/region_index.json").json()
    assert list(index["regions"]) == ["cn-north-1"]
    path = index["regions"]["cn-north-1"]["currentVersionUrl"].removesuffix("json") + "csv"
    rows = list(csv.DictReader(bundle.get(host + path).content.decode().splitlines()[5:]))

    assert {row["Currency"] for row in rows} == {"CNY"}
    assert {row["RateCode"].partition(".")[2] for row in rows} == {"5Y9WH78GDR.Q7UJUT2CE6"}
    (row,) = [row for row in rows if row["Instance Type"] == "m5.large"]
    assert row["PricePerUnit"] == "1.0130000000"


@pytest.mark.parametrize(
    ("region_id", "price"),
    [
        ("us-east-1", "55.0400000000"),
        ("us-east-2", "55.0400000000"),
        ("us-west-2", "55.0400000000"),
        ("sa-east-1", "92.4672000000"),
    ],
)
def test_p5_48xlarge_linux_on_demand(bundle: Bundle, region_id: str, price: str):
    assert linux_prices(bundle, region_id, "p5.48xlarge") == [price]


def test_an_offer_row_reads_as_aws_writes_it(bundle: Bundle):
    lines = bundle.offer_lines("sa-east-1")

    assert lines[2] == '"Publication Date","2026-07-05T00:00:00Z"'
    assert lines[3] == '"Version","20260705000000"'
    (line,) = (line for line in lines if '"$92.4672 per On Demand Linux p5.48xlarge' in line)
    assert line == (
        '"SYN0560872LX0NSU","JRTCKXETXF","SYN0560872LX0NSU.JRTCKXETXF.6YS6EN2CT7","OnDemand",'
        '"$92.4672 per On Demand Linux p5.48xlarge Instance Hour","2026-07-01","0","Inf","Hrs",'
        '"92.4672000000","USD",,,,,"Compute Instance","AmazonEC2","South America (Sao Paulo)",'
        '"AWS Region","p5.48xlarge","Yes","GPU instance","192","AMD EPYC 7R13 Processor",'
        '"2.95 GHz","2048 GiB",,"3200 Gigabit","64-bit",,,,,,,,"Shared",,"Linux",'
        '"No License required",,,,,,,,"SAE1-BoxUsage:p5.48xlarge","RunInstances","NA","Used",'
        '"false",,"NA",,,,"8","640 GB",,,,,,,,,,,,,,,,,,,,"OnDemand",,,"NA",,,"sa-east-1",,'
        '"Amazon Elastic Compute Cloud",,,,"true"'
    )


@pytest.mark.parametrize(
    ("region_id", "wanted", "at_least"),
    [
        (
            "us-east-1",
            {"CapacityStatus": "AllocatedCapacityReservation", "PricePerUnit": "0.0000000000"},
            400,
        ),
        ("us-east-1", {"CapacityStatus": "UnusedCapacityReservation", "Tenancy": "Shared"}, 400),
        ("us-east-1", {"License Model": "Bring your own license"}, 200),
        ("us-east-1", {"License Model": "License Included - Infrastructure"}, 1),
        ("us-east-1", {"Tenancy": "Dedicated", "Instance Type": "c7i.metal-24xl"}, 1),
        ("us-east-1", {"Tenancy": "Host", "PricePerUnit": "0.0000000000"}, 200),
        ("us-east-1", {"Product Family": "Dedicated Host", "Instance Type": "m5"}, 1),
        ("us-east-1", {"Operating System": "RHEL", "Pre Installed S/W": "SQL Std"}, 100),
        ("us-east-1", {"Operating System": "SUSE"}, 100),
        ("us-east-1", {"TermType": "Reserved", "Unit": "Quantity"}, 200),
        ("us-east-1", {"usageType": "Global-BoxUsage:freetrial", "Region Code": ""}, 1),
        ("us-east-1", {"operation": "RunInstances:CB", "Instance Type": "p5.48xlarge"}, 1),
        (
            "us-east-2",
            {"operation": "RunInstances:0g00:CB", "PricePerUnit": "0.3360000000"},
            1,
        ),
        ("us-gov-west-1", {"Tenancy": "Dedicated"}, 10),
        ("eu-west-1", {"usageType": "EU-EBSOptimized:m5.large"}, 1),
        ("eu-west-3", {"Product Family": "Storage", "EffectiveDate": "2020-10-01"}, 3),
        ("us-west-2-lax-1", {"Product Family": "Data Transfer", "Unit": "GB"}, 1),
        ("us-west-2-lax-1", {"Location Type": "AWS Local Zone", "Operating System": "Windows"}, 20),
    ],
)
def test_an_aws_price_is_surrounded_by_every_kind_of_row(
    bundle: Bundle, region_id: str, wanted: Row, at_least: int
):
    found = sum(wanted.items() <= row.items() for row in bundle.offer_rows(region_id))

    assert found >= at_least


def test_a_type_that_only_capacity_blocks_offer_has_no_on_demand_row(bundle: Bundle):
    rows = [row for row in bundle.offer_rows("us-east-2") if row["Instance Type"] == "p5e.48xlarge"]

    assert {row["MarketOption"] for row in rows} == {"CapacityBlock"}


@pytest.mark.parametrize("region_id", ["us-east-1", "eu-west-1", "us-west-2-lax-1"])
def test_rate_codes_are_unique_and_sorted(bundle: Bundle, region_id: str):
    codes = [(row["SKU"], row["RateCode"]) for row in bundle.offer_rows(region_id)]

    assert codes == sorted(set(codes))


@pytest.mark.parametrize(
    ("arm_sku_name", "region_ids", "price"),
    [
        ("Standard_NC40ads_H100_v5", ["eastus", "eastus2", "westus2", "westus3"], "6.98"),
        ("Standard_NC40ads_H100_v5", ["germanywestcentral"], "9.074"),
        ("Standard_ND96amsr_A100_v4", ["germanynorth"], "55.381"),
    ],
)
def test_azure_linux_pay_as_you_go(
    bundle: Bundle, arm_sku_name: str, region_ids: list[str], price: str
):
    prices = {region_id: payg_prices(bundle, region_id, arm_sku_name) for region_id in region_ids}

    assert prices == {region_id: [Decimal(price)] for region_id in region_ids}


def test_nd96amsr_a100_v4_is_32_77_in_four_us_regions(bundle: Bundle):
    us_regions = [
        "centralus",
        "eastus",
        "eastus2",
        "northcentralus",
        "southcentralus",
        "westcentralus",
        "westus",
        "westus2",
        "westus3",
    ]

    prices = [payg_prices(bundle, region, "Standard_ND96amsr_A100_v4") for region in us_regions]

    assert sum(price == [Decimal("32.77")] for price in prices) == 4
    assert min(price[0] for price in prices if price) == Decimal("32.77")


def test_a_retail_item_reads_as_microsoft_writes_it(bundle: Bundle):
    pages = [
        bundle.get(item.url).content
        for item in bundle.recording.interactions
        if "'germanywestcentral'" in item.url
    ]

    item = (
        b'{"currencyCode":"USD","tierMinimumUnits":0.0,"retailPrice":9.074,"unitPrice":9.074,'
        b'"armRegionName":"germanywestcentral","location":"DE West Central",'
        b'"effectiveStartDate":"2026-08-01T00:00:00Z",'
        b'"meterId":"00000000-0000-5000-8000-241762000010","meterName":"NC40adsH100v5",'
        b'"productId":"DZH318Z0F8W2","skuId":"DZH318Z0F8W2/SYN-24-1762-LP",'
        b'"productName":"Virtual Machines NCadsH100v5 Series","skuName":"NC40adsH100v5",'
        b'"serviceName":"Virtual Machines","serviceId":"DZH313Z7MMC8","serviceFamily":"Compute",'
        b'"unitOfMeasure":"1 Hour","type":"Consumption","isPrimaryMeterRegion":true,'
        b'"armSkuName":"Standard_NC40ads_H100_v5","savingsPlan":['
    )
    assert sum(item in page for page in pages) == 1


def test_all_azure_regions_have_all_three_price_types(bundle: Bundle):
    listings = {
        _parameter(item.url, "$filter")
        for item in bundle.recording.interactions
        if item.url.startswith("https://prices.azure.com/")
    }

    types = Counter(listing.rpartition(" eq ")[2] for listing in listings)
    assert types == {"'Consumption'": 69, "'DevTestConsumption'": 69, "'Reservation'": 69}


def test_pages_hold_a_thousand_items_and_link_to_each_other(bundle: Bundle):
    pages = bundle.retail_pages("westeurope", "Consumption")

    assert len(pages) >= 3
    assert {page["Count"] for page in pages[:-1]} == {1000}
    assert 0 < pages[-1]["Count"] <= 1000
    assert pages[0]["NextPageLink"].startswith("https://prices.azure.com:443/api/retail/prices?")
    assert pages[0]["NextPageLink"].endswith("&$skip=1000")
    assert pages[-1]["NextPageLink"] is None


@pytest.mark.parametrize(
    ("region_id", "price_type", "wanted"),
    [
        ("eastus", "Consumption", {"skuName": "D2s v3 Spot", "armSkuName": "Standard_D2s_v3"}),
        ("eastus", "Consumption", {"skuName": "D2s v3", "isPrimaryMeterRegion": False}),
        ("eastus", "Consumption", {"skuName": "D2s v3 Low Priority"}),
        ("eastus", "Consumption", {"productName": "Virtual Machines DSv3 Series Windows"}),
        ("eastus", "DevTestConsumption", {"armSkuName": "Standard_D2s_v3"}),
        ("eastus", "Reservation", {"retailPrice": Decimal(551221), "reservationTerm": "1 Year"}),
        ("eastus", "Reservation", {"retailPrice": Decimal(1134310), "reservationTerm": "3 Years"}),
        ("eastus2", "Consumption", {"productName": "Virtual Machines NCCadsv5 Srs Win"}),
        ("westeurope", "Consumption", {"productName": "Easv5 Series CloudServices"}),
        ("westeurope", "Consumption", {"productName": "Dasv5 Series Dedicated Host"}),
        ("westeurope", "Consumption", {"productName": "Esv6 Series DedicatedHost"}),
        ("westeurope", "Consumption", {"effectiveEndDate": "2026-07-31T23:59:00Z"}),
        ("francecentral", "Consumption", {"retailPrice": Decimal(0), "skuName": "B1s"}),
        (
            "malaysiawest",
            "Reservation",
            {"effectiveStartDate": "2026-10-01T00:00:00Z", "armSkuName": "Standard_L32ps_v5"},
        ),
        ("westeurope", "Consumption", {"armSkuName": "Standard_E32-16s_v5"}),
        ("westus3", "Consumption", {"armSkuName": "Standard_D4as_v5_Promo"}),
        ("usgovvirginia", "Consumption", {"armSkuName": "Standard_D4s_v5"}),
        ("attatlanta1", "Consumption", {"serviceName": "Virtual Machines"}),
    ],
)
def test_an_azure_price_is_surrounded_by_every_kind_of_item(
    bundle: Bundle, region_id: str, price_type: str, wanted: Item
):
    items = bundle.retail_items(region_id, price_type)

    assert any(wanted.items() <= item.items() for item in items)


def test_savings_plans_come_with_the_linux_meter_three_years_first(bundle: Bundle):
    (item,) = (
        item
        for item in bundle.retail_items("eastus2")
        if item["armSkuName"] == "Standard_NC40ads_H100_v5"
        and item["retailPrice"] == Decimal("6.98")
    )

    assert [(plan["term"], plan["retailPrice"]) for plan in item["savingsPlan"]] == [
        ("3 Years", Decimal("4.305962")),
        ("1 Year", Decimal("5.806662")),
    ]


def test_real_meters_keep_their_real_identifiers(bundle: Bundle):
    (item,) = (
        item
        for item in bundle.retail_items("eastus")
        if item["armSkuName"] == "Standard_ND96isr_H100_v5"
        and item["retailPrice"] == Decimal("98.32")
    )

    assert (item["meterId"], item["skuId"], item["effectiveStartDate"]) == (
        "03f48dbf-423c-5af8-9e6f-36e42dda07ec",
        "DZH318Z0KN53/0046",
        "2023-12-01T00:00:00Z",
    )


def test_exchange_rates_are_of_the_last_working_day(bundle: Bundle):
    root = ET.fromstring(bundle.get(ECB).content)

    cubes = [element.attrib for element in root.iter() if element.tag.endswith("}Cube")]
    assert cubes[1] == {"time": "2026-08-21"}
    assert {"currency": "USD", "rate": "1.1382"} in cubes
    assert {"currency": "JPY", "rate": "186.53"} in cubes
    assert len(cubes) == 2 + 29
