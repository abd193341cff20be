"""The savings plan encoder writes what AWS writes, to the byte."""

import csv
import json
from decimal import Decimal
from pathlib import Path

import pytest

from support.encode_aws import Place
from support.encode_savings_plans import (
    COLUMNS,
    Plan,
    encode_savings_plan_csv,
    encode_savings_plan_index,
    rate_row,
    savings_plan_path,
)

SAMPLES = Path(__file__).resolve().parents[2].parent / "shared/data/aws/savings_plan"
SAMPLE = SAMPLES / "AWSComputeSavingsPlan_20250911184447_ap-east-2_sample.csv"
INDEX = SAMPLES / "AWSComputeSavingsPlan_region_index_20250911184447.json"
needs_samples = pytest.mark.skipif(
    not SAMPLES.is_dir(), reason="the collected wire samples are not beside this repository"
)

TAIPEI = Place("ap-east-2", "Asia Pacific (Taipei)", "AWS Region", "APE2")
HOST = {
    "SKU": "3NSMMW24NHX6V77F",
    "serviceCode": "AmazonEC2",
    "usageType": "APE2-HostUsage:r7g",
    "operation": "RunInstances",
    "Instance Type": "r7g",
}


def test_a_line_of_an_ec2_instance_plan_is_bare_and_its_rate_not_padded():
    plan = Plan("2JT7C3ZD2AXA73Q4", 3, "Partial Upfront", "r7g")
    row = rate_row(plan, TAIPEI, HOST, Decimal("5.1570"), effective_date="2025-06-05T18:51:13Z")

    body = encode_savings_plan_csv(
        [row], version="20250911184447", published_at="2025-09-11T18:44:47Z"
    )

    lines = body.decode().splitlines()
    assert lines[2:5] == [
        "Publication Date,2025-09-11T18:44:47Z",
        "Version,20250911184447",
        "OfferCode,AmazonComputeSavingsPlan",
    ]
    assert lines[6:] == [
        (
            "2JT7C3ZD2AXA73Q4,2JT7C3ZD2AXA73Q4.3NSMMW24NHX6V77F,Hrs,2025-06-05T18:51:13Z,5.157,USD,"
            "3NSMMW24NHX6V77F,AmazonEC2,APE2-HostUsage:r7g,RunInstances,Partial Upfront,3,year,"
            "ComputeSavingsPlans,APE2-EC2SP:r7g.3yrPartialUpfront,,3 year Partial Upfront r7g EC2 "
            "Instance Savings Plan in ap-east-2,r7g,Asia Pacific (Taipei),AWS Region,hourly,"
            "EC2InstanceSavingsPlans,ap-east-2,r7g"
        )
    ]


def test_a_compute_plan_is_of_no_family_and_no_place():
    plan = Plan("8GU23DFTKP2N43SD", 1, "All Upfront")

    row = rate_row(plan, TAIPEI, HOST, Decimal("1.285"), effective_date="2026-06-23T21:58:42Z")

    named = ("Product Family", "UsageType", "Description", "Instance Family", "Location")
    assert [row[name] for name in named] == [
        "ComputeSavingsPlans",
        "ComputeSP:1yrAllUpfront",
        "1 year All Upfront Compute Savings Plan",
        "",
        "Any",
    ]


def test_the_csv_lies_beside_the_json_that_the_index_names():
    index = json.loads(
        encode_savings_plan_index({"us-east-1": "20260705120000"}, published_at="2026-07-05")
    )

    path = savings_plan_path("us-east-1", "20260705120000")
    assert index["regions"] == [{"regionCode": "us-east-1", "versionUrl": path}]
    assert path.removesuffix("json") + "csv" == savings_plan_path(
        "us-east-1", "20260705120000", "csv"
    )


@needs_samples
def test_the_real_index_is_written_to_the_byte():
    real = json.loads(INDEX.read_bytes())
    versions = {entry["regionCode"]: entry["versionUrl"].split("/")[5] for entry in real["regions"]}
    assert len(versions) == 103

    written = encode_savings_plan_index(versions, published_at=real["publicationDate"])

    assert written == INDEX.read_bytes().rstrip(b"\n")


@needs_samples
def test_the_real_file_is_written_to_the_byte_from_its_facts():
    rows = list(csv.DictReader(SAMPLE.read_text().splitlines()[5:]))
    plan = Plan("2JT7C3ZD2AXA73Q4", 3, "Partial Upfront", "r7g")
    written = [
        rate_row(
            plan,
            TAIPEI,
            {
                "SKU": row["DiscountedSKU"],
                "serviceCode": "AmazonEC2",
                "usageType": row["DiscountedUsageType"],
                "operation": row["DiscountedOperation"],
                "Instance Type": row["DiscountedInstanceType"],
            },
            Decimal(row["DiscountedRate"]),
            effective_date="2025-06-05T18:51:13Z",
        )
        for row in rows
    ]

    body = encode_savings_plan_csv(
        written, version="20250911184447", published_at="2025-09-11T18:44:47Z"
    )

    assert len(rows) == 44
    assert body.decode().splitlines()[5] == ",".join(COLUMNS)
    assert body == SAMPLE.read_bytes()
