"""The AWS encoder writes what AWS writes."""

import csv
import json
from decimal import Decimal
from pathlib import Path

import pytest

from support.encode_aws import (
    ALLOCATED_RESERVATION,
    COLUMNS,
    LINUX,
    ON_DEMAND,
    ON_HOST,
    UNUSED_RESERVATION,
    WINDOWS_BYOL,
    Billing,
    Place,
    Software,
    all_upfront_rows,
    capacity_block_product,
    compute_product,
    describe,
    encode_offer_csv,
    encode_region_index,
    free_trial_row,
    on_demand_row,
    price_text,
)

SAMPLES = Path(__file__).resolve().parents[2].parent / "shared/data/aws"
needs_samples = pytest.mark.skipif(
    not SAMPLES.is_dir(), reason="the collected wire samples are not beside this repository"
)

IRELAND = Place("eu-west-1", "EU (Ireland)", "AWS Region", "EU")
VIRGINIA = Place("us-east-1", "US East (N. Virginia)", "AWS Region", "")
M5_LARGE = {"Instance Type": "m5.large", "vCPU": "2", "Memory": "8 GiB"}


def offer_line(row: dict[str, str]) -> str:
    body = encode_offer_csv([row], version="20260705000000", published_at="2026-07-05T00:00:00Z")
    return body.decode().splitlines()[6]


def test_metadata_and_header_precede_the_rows():
    body = encode_offer_csv([], version="20260705000000", published_at="2026-07-05T00:00:00Z")

    lines = body.decode().splitlines()
    assert lines[0] == '"FormatVersion","v1.0"'
    assert lines[1].startswith('"Disclaimer","This pricing list is for informational purposes')
    assert lines[2:5] == [
        '"Publication Date","2026-07-05T00:00:00Z"',
        '"Version","20260705000000"',
        '"OfferCode","AmazonEC2"',
    ]
    assert lines[5].startswith('"SKU","OfferTermCode","RateCode","TermType","PriceDescription"')
    assert len(lines[5].split(",")) == 91
    assert len(lines) == 6


def test_a_row_is_quoted_where_it_says_something_and_bare_where_it_does_not():
    product = compute_product(IRELAND, M5_LARGE, LINUX, ON_DEMAND, sku="A1A1A1A1A1A1A1A1")
    row = on_demand_row(
        product,
        Decimal("0.107"),
        describe(Decimal("0.107"), LINUX, ON_DEMAND, "m5.large"),
        effective_date="2026-07-01",
    )

    line = offer_line(row)

    assert line == (
        '"A1A1A1A1A1A1A1A1","JRTCKXETXF","A1A1A1A1A1A1A1A1.JRTCKXETXF.6YS6EN2CT7","OnDemand",'
        '"$0.107 per On Demand Linux m5.large Instance Hour","2026-07-01","0","Inf","Hrs",'
        '"0.1070000000","USD",,,,,"Compute Instance","AmazonEC2","EU (Ireland)","AWS Region",'
        '"m5.large",,,"2",,,"8 GiB",,,"64-bit",,,,,,,,"Shared",,"Linux","No License required",'
        ',,,,,,,"EU-BoxUsage:m5.large","RunInstances","NA","Used","false",,,,,,,,,,,,,,,,,,,,,,,,'
        ',,,"OnDemand",,,"NA",,,"eu-west-1",,"Amazon Elastic Compute Cloud",,,,"true"'
    )


def test_a_quote_inside_a_field_is_doubled():
    assert '"8"" disk"' in offer_line({"SKU": "A1", "Storage": '8" disk'})


def test_a_column_that_the_file_does_not_have_is_an_error():
    with pytest.raises(KeyError, match="Storage Size"):
        offer_line({"SKU": "A1", "Storage Size": "8"})


def test_northern_virginia_has_no_usage_prefix():
    product = compute_product(VIRGINIA, M5_LARGE, LINUX, ON_DEMAND, sku="A1")

    assert product["usageType"] == "BoxUsage:m5.large"


def test_bare_metal_is_a_product_family_of_its_own():
    machine = {"Instance Type": "c7i.metal-24xl"}

    product = compute_product(VIRGINIA, machine, LINUX, ON_DEMAND, sku="A1")

    assert product["Product Family"] == "Compute Instance (bare metal)"


def test_a_capacity_block_says_so_twice():
    ubuntu = Software("Ubuntu Pro", "RunInstances:0g00")

    product = capacity_block_product(VIRGINIA, M5_LARGE, ubuntu, sku="A1")

    assert product["operation"] == "RunInstances:0g00:CB"
    assert product["MarketOption"] == "CapacityBlock"


@pytest.mark.parametrize(
    ("price", "software", "billing", "sentence"),
    [
        (
            "0.192",
            LINUX,
            ON_DEMAND,
            "$0.192 per On Demand Linux m5.large Instance Hour",
        ),
        (
            "0",
            LINUX,
            ALLOCATED_RESERVATION,
            "$0.00 per Reservation Linux m5.large Instance Hour",
        ),
        (
            "0.57",
            WINDOWS_BYOL,
            UNUSED_RESERVATION,
            "$0.57 per Unused Reservation Windows BYOL m5.large Instance Hour",
        ),
        ("0", LINUX, ON_HOST, "$0.00 per Linux m5.large Dedicated Host Instance hour"),
        (
            "3",
            Software("RHEL", "RunInstances:0210", "SQL Web"),
            ON_DEMAND,
            "$3 per On Demand RHEL with SQL Web m5.large Instance Hour",
        ),
    ],
)
def test_descriptions_read_as_in_the_published_file(
    price: str, software: Software, billing: Billing, sentence: str
):
    assert describe(Decimal(price), software, billing, "m5.large") == sentence


def test_an_all_upfront_reservation_is_an_hour_at_0_and_a_fee_without_range():
    product = compute_product(IRELAND, M5_LARGE, LINUX, ON_DEMAND, sku="A1")

    hour, fee = all_upfront_rows(product, Decimal(551), years=1, effective_date="2026-07-01")

    assert (hour["RateCode"], hour["PricePerUnit"], hour["Unit"]) == (
        "A1.6QCMYABX3D.6YS6EN2CT7",
        "0.0000000000",
        "Hrs",
    )
    assert hour["PriceDescription"] == (
        "USD 0.0 per Linux/UNIX (Amazon VPC), m5.large reserved instance applied"
    )
    assert (fee["RateCode"], fee["PricePerUnit"], fee["Unit"]) == (
        "A1.6QCMYABX3D.2TG2D8R56U",
        "551",
        "Quantity",
    )
    assert "StartingRange" not in fee
    assert (fee["LeaseContractLength"], fee["PurchaseOption"], fee["OfferingClass"]) == (
        "1yr",
        "All Upfront",
        "standard",
    )


def test_the_free_tier_has_no_instance_type_and_no_region():
    row = free_trial_row("2026-07-01")

    assert row["EndingRange"] == "750"
    assert "Instance Type" not in row
    assert "Region Code" not in row


def test_a_price_with_more_than_ten_decimals_is_refused_not_rounded():
    assert price_text(Decimal("21.957642")) == "21.9576420000"
    with pytest.raises(ValueError, match="has more"):
        price_text(Decimal("0.00000000001"))


def test_the_region_index_has_a_space_on_both_sides_of_each_colon():
    path = "/offers/v1.0/aws/AmazonEC2/20260705000000/eu-west-1/index.json"

    body = encode_region_index({"eu-west-1": "20260705000000"}, published_at="2026-07-05T00:00:00Z")

    assert body.decode().splitlines()[3:] == [
        '  "publicationDate" : "2026-07-05T00:00:00Z",',
        '  "regions" : {',
        '    "eu-west-1" : {',
        '      "regionCode" : "eu-west-1",',
        f'      "currentVersionUrl" : "{path}"',
        "    }",
        "  }",
        "}",
    ]


@needs_samples
def test_the_published_offer_file_is_reproduced_byte_for_byte():
    published = (SAMPLES / "bulk/AmazonEC2_global_index_sample_20250912225308.csv").read_bytes()
    lines = list(csv.reader(published.decode().splitlines()))

    encoded = encode_offer_csv(
        (dict(zip(lines[5], line, strict=True)) for line in lines[6:]),
        version="20250912225308",
        published_at="2025-09-12T22:53:08Z",
    )

    assert tuple(lines[5]) == COLUMNS
    assert len(lines) == 50
    assert encoded == published


@needs_samples
def test_the_published_region_index_is_reproduced_byte_for_byte():
    published = (SAMPLES / "index/AmazonEC2_region_index_20250523232744.json").read_bytes()
    versions = dict.fromkeys(json.loads(published)["regions"], "20250523232744")

    assert encode_region_index(versions, published_at="2025-05-23T23:27:44Z") == published


@needs_samples
def test_products_have_the_columns_that_published_ones_have():
    path = SAMPLES / "bulk/AmazonEC2_global_index_sample_20250912225308.csv"
    lines = list(csv.reader(path.read_text(encoding="utf-8").splitlines()))
    rows = [dict(zip(lines[5], line, strict=True)) for line in lines[6:]]
    published = next(row for row in rows if row["RateCode"].startswith("2227U2PX8M4F95R6"))
    machine_columns = (
        "Instance Type",
        "Current Generation",
        "Instance Family",
        "vCPU",
        "Physical Processor",
        "Clock Speed",
        "Memory",
        "Network Performance",
        "ECU",
        "GPU Memory",
    )

    row = on_demand_row(
        compute_product(
            Place("us-west-2", "US West (Oregon)", "AWS Region", "USW2"),
            {name: published[name] for name in machine_columns},
            LINUX,
            ON_HOST,
            sku="2227U2PX8M4F95R6",
        ),
        Decimal(0),
        describe(Decimal(0), LINUX, ON_HOST, "c6g.4xlarge"),
        effective_date="2025-09-01",
    )

    not_known = {
        "Storage",
        "Dedicated EBS Throughput",
        "Enhanced Networking Supported",
        "Intel AVX Available",
        "Intel AVX2 Available",
        "Intel Turbo Available",
        "Normalization Size Factor",
    }
    said = {name: value for name, value in published.items() if value and name not in not_known}
    assert {name: value for name, value in row.items() if value} == said
