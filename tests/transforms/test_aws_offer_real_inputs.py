"""Real offer files and GetProducts answers give their prices, and every row is accounted for."""

import io
import json
from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from connectors.aws.wire import read_offer_rows
from support.wire_aws import OFFER_COLUMNS, encode_offer_csv, rows_of_offer, rows_of_product
from transforms.aws_prices import OfferFilePart, normalize_offer_file
from transforms.regions import parse_regions
from warehouse.schemas.catalog import PRICE_KEY_NOW

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared/data/aws"
REGIONS = parse_regions((ROOT / "transforms/reference/regions.csv").read_bytes())

pytestmark = pytest.mark.skipif(not SHARED.exists(), reason="shared sample data is absent")


def normalize(content: bytes, region_id: str) -> OfferFilePart:
    blocks = read_offer_rows(io.BytesIO(content), source_id="doc")
    return normalize_offer_file(blocks, source_id="doc", region_id=region_id, regions=REGIONS)


def counted(part: OfferFilePart) -> dict[str, int]:
    counts = part.normalized.counts
    return dict(zip(counts["rule"].fill_null("kept"), counts["rows"], strict=True))


def read_json(name: str) -> Any:
    return json.loads((SHARED / name).read_text())


def reserved(part: OfferFilePart) -> dict[tuple[Any, ...], tuple[str | None, ...]]:
    """Return hourly rate, fee and effective price, in the shortest writing, of each term."""
    found = part.normalized.prices.filter(purchase_option="reserved")
    terms = found.select("commitment_type", "term_years", "payment_option").rows()
    amounts = found.select("hourly_rate", "upfront_fee", "effective_hourly_price").rows()
    return {
        term: tuple(None if amount is None else plain(amount) for amount in of_term)
        for term, of_term in zip(terms, amounts, strict=True)
    }


def plain(amount: Decimal) -> str:
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".")


TOKYO_TERMS = {
    ("standard", 1, "no_upfront"): ("0.23722", None, "0.23722"),
    ("standard", 1, "partial_upfront"): ("0.11676", "1023", "0.2335408219"),
    ("standard", 1, "all_upfront"): ("0", "2033", "0.2320776256"),
    ("standard", 3, "no_upfront"): ("0.21324", None, "0.21324"),
    ("standard", 3, "partial_upfront"): ("0.10463", "2750", "0.2092723135"),
    ("standard", 3, "all_upfront"): ("0", "5421", "0.2062785388"),
    ("convertible", 1, "no_upfront"): ("0.24895", None, "0.24895"),
    ("convertible", 1, "partial_upfront"): ("0.12235", "1072", "0.2447244292"),
    ("convertible", 1, "all_upfront"): ("0", "2129", "0.2430365297"),
    ("convertible", 3, "no_upfront"): ("0.22087", None, "0.22087"),
    ("convertible", 3, "partial_upfront"): ("0.10817", "2843", "0.2163511263"),
    ("convertible", 3, "all_upfront"): ("0", "5655", "0.2151826484"),
}

HEAD_OF_2025 = "bulk/AmazonEC2_global_index_sample_20250912225308.csv"


def test_the_verbatim_head_of_2025_gives_the_twelve_terms_of_one_sku_in_tokyo() -> None:
    part = normalize((SHARED / HEAD_OF_2025).read_bytes(), "ap-northeast-1")

    assert reserved(part) == TOKYO_TERMS
    assert counted(part) == {
        "kept": 13,
        "aws_capacity_reservation": 8,
        "aws_host_tenancy": 2,
        "aws_upfront_fee": 8,
        "foreign_region": 13,
    }
    assert part.normalized.prices.select(
        "instance_type", "operating_system", "pre_installed_software", "license_model", "tenancy"
    ).unique().rows() == [("c6i.large", "windows", "sql_web", "included", "dedicated")]
    assert part.skus.filter(sku="2223B6PCG6QAUYY6").select("rule", "usage_type").rows() == [
        (None, "APN1-DedicatedUsage:c6i.large")
    ]


def test_the_term_that_the_head_of_2025_cuts_in_half_gives_no_price() -> None:
    part = normalize((SHARED / HEAD_OF_2025).read_bytes(), "ca-central-1")

    assert reserved(part) == {
        ("standard", 1, "no_upfront"): ("1.6614", None, "1.6614"),
        ("standard", 1, "all_upfront"): ("0", "14359", "1.6391552511"),
        ("standard", 3, "no_upfront"): ("1.55661", None, "1.55661"),
        ("standard", 3, "partial_upfront"): ("0.76984", "20231", "1.5396649619"),
        ("convertible", 1, "no_upfront"): ("1.71777", None, "1.71777"),
        ("convertible", 1, "partial_upfront"): ("0.8496", "7443", "1.6992575342"),
    }
    assert counted(part)["aws_incomplete_term"] == 1


@pytest.mark.parametrize(
    ("region_id", "price"),
    [
        ("us-east-1", ("c5d.2xlarge", "rhel", "sql_web", "included", "shared", "0.634")),
        (
            "us-east-1-nyc-1",
            ("c7i.metal-24xl", "rhel", "none", "included", "dedicated", "6.92717"),
        ),
        ("eu-central-1", ("r7i.2xlarge", "windows", "none", "byol", "dedicated", "0.70224")),
    ],
)
def test_the_head_of_2025_gives_one_price_to_a_region_or_zone(
    region_id: str, price: tuple[str, ...]
) -> None:
    part = normalize((SHARED / HEAD_OF_2025).read_bytes(), region_id)

    *product, amount = part.normalized.prices.select(
        "instance_type",
        "operating_system",
        "pre_installed_software",
        "license_model",
        "tenancy",
        "hourly_rate",
    ).row(0)
    assert (*product, plain(amount)) == price
    assert counted(part)["kept"] == 1


def on_demand(part: OfferFilePart) -> dict[tuple[str, ...], Decimal]:
    found = part.normalized.prices.filter(purchase_option="on_demand")
    key = ["instance_type", "operating_system", "license_model", "pre_installed_software"]
    return {
        (*product, tenancy): price
        for *product, tenancy, price in found.select(*key, "tenancy", "hourly_rate").rows()
    }


LINUX = ("linux", "included", "none", "shared")

SLICES = [
    (
        "us-east-1",
        {
            "kept": 13,
            "aws_capacity_block": 1,
            "aws_capacity_reservation": 1,
            "aws_free_tier": 1,
            "aws_infrastructure_part": 1,
        },
        "21.957642",
    ),
    ("us-west-2", {"kept": 9, "aws_free_tier": 1}, "21.95764"),
    ("eu-west-1", {"kept": 6, "aws_free_tier": 1}, "23.71569"),
]


@pytest.mark.parametrize(("region_id", "counts", "p4d"), SLICES)
def test_the_json_slices_of_2026_give_their_prices(
    region_id: str, counts: dict[str, int], p4d: str
) -> None:
    offer = read_json(f"bulk/AmazonEC2_{region_id}_slice_20260910195514.json")

    part = normalize(encode_offer_csv(rows_of_offer(offer)), region_id)

    assert counted(part) == counts
    assert on_demand(part)["p4d.24xlarge", *LINUX] == Decimal(p4d)
    assert part.skus.height == len(offer["products"])


def listed(page: str) -> Iterable[Mapping[str, Any]]:
    answer = read_json(f"getproducts/{page}.json")
    items = answer.get("PriceList", [answer])
    return (json.loads(item) if isinstance(item, str) else item for item in items)


@pytest.mark.parametrize("region_id", [region_id for region_id, _, _ in SLICES])
def test_get_products_says_the_same_as_the_offer_files(region_id: str) -> None:
    offer = read_json(f"bulk/AmazonEC2_{region_id}_slice_20260910195514.json")
    rows = [
        row
        for number in (1, 2)
        for item in listed(f"GetProducts_page{number}_20260910195514")
        for row in rows_of_product(item["product"], item["terms"])
    ]

    found = normalize(encode_offer_csv(rows), region_id)

    assert on_demand(found) == on_demand(
        normalize(encode_offer_csv(rows_of_offer(offer)), region_id)
    )


def test_one_product_of_get_products_has_all_twelve_terms() -> None:
    [item] = listed("instance-selector_m5.large_us-east-1")
    rows = rows_of_product(item["product"], item["terms"])

    part = normalize(encode_offer_csv(rows), "us-east-1")

    assert on_demand(part) == {("m5.large", *LINUX): Decimal("0.096")}
    assert reserved(part) == {
        ("standard", 1, "no_upfront"): ("0.06", None, "0.06"),
        ("standard", 1, "partial_upfront"): ("0.029", "252", "0.0577671233"),
        ("standard", 1, "all_upfront"): ("0", "494", "0.0563926941"),
        ("standard", 3, "no_upfront"): ("0.041", None, "0.041"),
        ("standard", 3, "partial_upfront"): ("0.019", "505", "0.0382161339"),
        ("standard", 3, "all_upfront"): ("0", "949", "0.0361111111"),
        ("convertible", 1, "no_upfront"): ("0.071", None, "0.071"),
        ("convertible", 1, "partial_upfront"): ("0.034", "294", "0.0675616438"),
        ("convertible", 1, "all_upfront"): ("0", "577", "0.0658675799"),
        ("convertible", 3, "no_upfront"): ("0.049", None, "0.049"),
        ("convertible", 3, "partial_upfront"): ("0.023", "592", "0.0455266362"),
        ("convertible", 3, "all_upfront"): ("0", "1161", "0.0441780822"),
    }


@pytest.mark.parametrize("name", ["basic_ec2_offer_data", "basic_ec2_offer_modified_format"])
def test_the_terms_of_2016_are_read_whatever_the_order_of_keys(name: str) -> None:
    [item] = read_json(f"bulk/lyft_{name}.json").values()
    rows = rows_of_product(item["product"], item["terms"])

    part = normalize(encode_offer_csv(rows), "us-east-1")

    assert on_demand(part) == {("c4.large", *LINUX): Decimal("0.1")}
    assert reserved(part) == {
        ("standard", 1, "no_upfront"): ("0.063", None, "0.063"),
        ("standard", 1, "partial_upfront"): ("0.03", "263", "0.0600228311"),
        ("standard", 3, "partial_upfront"): ("0.021", "539", "0.0415098935"),
        ("convertible", 3, "partial_upfront"): ("0.027", "710", "0.0540167428"),
    }
    assert counted(part) == {"kept": 5, "aws_upfront_fee": 3}


def test_capacity_that_is_reserved_has_no_price_of_its_own() -> None:
    rows = [
        row
        for item in listed("lyft_full_ec2_sample_page_20190329")
        for row in rows_of_product(item["product"], item["terms"])
    ]

    assert counted(normalize(encode_offer_csv(rows), "ca-central-1")) == {
        "aws_capacity_reservation": 2
    }


@pytest.mark.parametrize(
    ("name", "region_id", "counts", "prices"),
    [
        (
            "case0_us-east-2_20230322145651",
            "us-east-2",
            # Its authors put the fee of a reserved term among the on-demand terms.
            {"kept": 1, "aws_not_compute": 1, "aws_unknown_term": 1},
            {("p3.8xlarge", "windows", "byol", "none", "shared"): Decimal("12.24")},
        ),
        (
            "case1_us-east-1_20240528203522",
            "us-east-1",
            {"kept": 1, "aws_capacity_block": 1},
            {("p4d.24xlarge", *LINUX): Decimal("32.7726")},
        ),
        ("case2_cn-northwest-1_20230314154740", "cn-northwest-1", {"aws_not_compute": 1}, {}),
    ],
)
def test_single_products_of_2023_and_2024_are_accounted_for(
    name: str,
    region_id: str,
    counts: dict[str, int],
    prices: dict[tuple[str, ...], Decimal],
) -> None:
    offer = read_json(f"bulk/AmazonEC2_opencost-{name}.json")

    part = normalize(encode_offer_csv(rows_of_offer(offer)), region_id)

    assert counted(part) == counts
    assert on_demand(part) == prices


def test_a_price_of_china_is_in_yuan_though_its_file_is_built_like_any_other() -> None:
    """China's sample has storage only; its terms and codes are put on an instance of the region."""
    offer = read_json("bulk/AmazonEC2_opencost-case2_cn-northwest-1_20230314154740.json")
    [row] = rows_of_offer(offer)
    instance = {
        "Product Family": "Compute Instance",
        "Instance Type": "m5.xlarge",
        "Tenancy": "Shared",
        "Operating System": "Linux",
        "License Model": "No License required",
        "Pre Installed S/W": "NA",
        "usageType": "CNW1-BoxUsage:m5.xlarge",
        "operation": "RunInstances",
        "CapacityStatus": "Used",
        "Unit": "Hrs",
    }

    [price] = normalize(
        encode_offer_csv([row | instance]), "cn-northwest-1"
    ).normalized.prices.to_dicts()

    assert (price["currency"], price["hourly_rate"]) == ("CNY", Decimal("0.5312"))
    assert price["sku_price_id"] == "R83VXG9NAPDASEGN.5Y9WH78GDR.Q7UJUT2CE6"


CODES = {
    ("Linux", "NA"): "",
    ("Linux", "SQL Std"): ":0004",
    ("Linux", "SQL Web"): ":0200",
    ("Linux", "SQL Ent"): ":0100",
    ("Windows", "NA"): ":0002",
    ("Windows", "SQL Std"): ":0006",
    ("Windows", "SQL Web"): ":0202",
    ("Windows", "SQL Ent"): ":0102",
    ("RHEL", "NA"): ":0010",
    ("RHEL", "SQL Std"): ":0014",
    ("RHEL", "SQL Web"): ":0210",
    ("RHEL", "SQL Ent"): ":0110",
    ("Red Hat Enterprise Linux with HA", "NA"): ":1010",
    ("Red Hat Enterprise Linux with HA", "SQL Std"): ":1014",
    ("Red Hat Enterprise Linux with HA", "SQL Ent"): ":1110",
    ("SUSE", "NA"): ":000g",
}
"""AWS's usage operations; the dump of 2023 has all other words of the file but this one."""


@pytest.fixture(scope="module")
def ireland() -> OfferFilePart:
    path = SHARED / "prices/AmazonEC2_eu-west-1_ondemand_all-skus_2023-02-23.csv.gz"
    renamed = {
        "sku": "SKU",
        "productFamily": "Product Family",
        "instanceType": "Instance Type",
        "operatingSystem": "Operating System",
        "preInstalledSw": "Pre Installed S/W",
        "licenseModel": "License Model",
        "tenancy": "Tenancy",
        "capacitystatus": "CapacityStatus",
        "usagetype": "usageType",
        "termType": "TermType",
        "startingRange": "StartingRange",
        "unit": "Unit",
        "currency": "Currency",
        "price": "PricePerUnit",
        "region": "Region Code",
    }
    rows = pl.read_csv(path, infer_schema=False).rename(renamed).to_dicts()
    for row in rows:
        is_byol = row["License Model"] == "Bring your own license"
        code = CODES.get((row["Operating System"], row["Pre Installed S/W"]), "")
        row["operation"] = f"RunInstances{':0800' if is_byol else code}"
        row["OfferTermCode"] = row["TermType"]
        row["RateCode"] = f"{row['SKU']}.{row['TermType']}.{row['Unit']}"
        row["EffectiveDate"] = "2023-02-01"
    columns = tuple(name for name in OFFER_COLUMNS if name != "MarketOption")
    content = encode_offer_csv(rows, columns=columns, published="2023-02-23T00:00:00Z")
    return normalize(content, "eu-west-1")


@pytest.mark.slow
def test_all_of_ireland_2023_is_accounted_for(ireland: OfferFilePart) -> None:
    """The dump does not say how long its reserved terms are or how they are paid: no price."""
    assert counted(ireland) == {
        # Linux and Windows, licensed and own, shared and dedicated; SQL Server; RHEL and SUSE.
        "kept": (614 + 480 + 351) + (577 + 456 + 332) + 4863 + 7422,
        "aws_capacity_reservation": 29480,
        "aws_ebs_optimized_fee": 102,
        "aws_host_tenancy": 6292,
        "aws_unknown_lease": 22008,
    }
    assert ireland.normalized.counts["rows"].sum() == 72977
    assert ireland.normalized.rejected.height == 22008


@pytest.mark.slow
def test_each_sku_of_ireland_2023_is_known(ireland: OfferFilePart) -> None:
    assert ireland.skus.height == 50969
    assert ireland.skus["rule"].null_count() == ireland.normalized.prices.height


@pytest.mark.slow
def test_each_key_of_ireland_2023_has_one_price_and_none_is_zero(ireland: OfferFilePart) -> None:
    prices = ireland.normalized.prices
    linux = prices.filter(operating_system="linux", tenancy="shared", pre_installed_software="none")

    assert not prices.select(PRICE_KEY_NOW).is_duplicated().any()
    assert prices["hourly_rate"].min() == Decimal("0.0046")  # t4g.nano
    assert linux.height == linux["instance_type"].n_unique() == 614


@pytest.mark.slow
def test_known_prices_of_ireland_2023_are_right(ireland: OfferFilePart) -> None:
    found = on_demand(ireland)

    assert found["m1.small", *LINUX] == Decimal("0.047")
    assert found["m5.xlarge", *LINUX] == Decimal("0.2140000000")
    assert found["m5.xlarge", "windows", "included", "none", "shared"] == Decimal("0.398")
    assert found["m5.xlarge", "windows", "byol", "none", "shared"] == Decimal("0.214")
    assert found["c6i.xlarge", "rhel", "included", "sql_standard", "shared"] == Decimal("0.7224")
