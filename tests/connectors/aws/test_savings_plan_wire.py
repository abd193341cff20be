"""Savings plan files are read by column name, bare or quoted, and never silently wrong."""

import io
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from connectors.aws.bulk_csv import read_offer_header
from connectors.aws.savings_plan_wire import (
    OPTIONAL_COLUMNS,
    REQUIRED_COLUMNS,
    read_savings_plan_rates,
)
from connectors.errors import WireFormatError
from support.encode_savings_plans import COLUMNS, encode_savings_plan_csv
from support.strategies import PROPERTY
from support.wire_aws import encode_offer_csv
from warehouse.schemas.raw import AWS_SAVINGS_PLAN_RATES

SAMPLES = Path(__file__).resolve().parents[3].parent / "shared/data/aws/savings_plan"
SAMPLE = SAMPLES / "AWSComputeSavingsPlan_20250911184447_ap-east-2_sample.csv"
needs_samples = pytest.mark.skipif(not SAMPLES.exists(), reason="shared sample data is absent")

ROW = {
    "SKU": "2JT7C3ZD2AXA73Q4",
    "RateCode": "2JT7C3ZD2AXA73Q4.23PWZ6X8AQE4NKNR",
    "Unit": "Hrs",
    "EffectiveDate": "2025-06-05T18:51:13Z",
    "DiscountedRate": "0.0425",
    "Currency": "USD",
    "DiscountedSKU": "23PWZ6X8AQE4NKNR",
    "DiscountedServiceCode": "AmazonEC2",
    "DiscountedUsageType": "APE2-DedicatedUsage:r7g.medium",
    "DiscountedOperation": "RunInstances:0010",
    "PurchaseOption": "Partial Upfront",
    "LeaseContractLength": "3",
    "LeaseContractLengthUnit": "year",
    "ServiceCode": "ComputeSavingsPlans",
    "UsageType": "APE2-EC2SP:r7g.3yrPartialUpfront",
    "Description": "3 year Partial Upfront r7g EC2 Instance Savings Plan in ap-east-2",
    "Instance Family": "r7g",
    "Location": "Asia Pacific (Taipei)",
    "Location Type": "AWS Region",
    "Granularity": "hourly",
    "Product Family": "EC2InstanceSavingsPlans",
    "DiscountedRegionCode": "ap-east-2",
    "DiscountedInstanceType": "r7g.medium",
}
RAW = {
    "sku": "2JT7C3ZD2AXA73Q4",
    "rate_code": "2JT7C3ZD2AXA73Q4.23PWZ6X8AQE4NKNR",
    "unit": "Hrs",
    "effective_date": "2025-06-05T18:51:13Z",
    "discounted_rate": "0.0425",
    "currency": "USD",
    "discounted_sku": "23PWZ6X8AQE4NKNR",
    "discounted_service_code": "AmazonEC2",
    "discounted_usage_type": "APE2-DedicatedUsage:r7g.medium",
    "discounted_operation": "RunInstances:0010",
    "purchase_option": "Partial Upfront",
    "lease_contract_length": "3",
    "lease_contract_length_unit": "year",
    "product_family": "EC2InstanceSavingsPlans",
    "discounted_region_code": "ap-east-2",
    "discounted_instance_type": "r7g.medium",
}


def encode(rows, **options) -> bytes:
    return encode_savings_plan_csv(
        rows, version="20250911184447", published_at="2025-09-11T18:44:47Z", **options
    )


def read(content: bytes, block_bytes: int = 8 << 20) -> pl.DataFrame:
    frames = read_savings_plan_rates(
        io.BytesIO(content), source_id="aws_savings_plans/ap-east-2", block_bytes=block_bytes
    )
    return pl.concat([AWS_SAVINGS_PLAN_RATES.empty(), *frames])


def test_every_raw_column_comes_from_one_named_column() -> None:
    assert not REQUIRED_COLUMNS.keys() & OPTIONAL_COLUMNS.keys()
    assert set(REQUIRED_COLUMNS) | set(OPTIONAL_COLUMNS) == set(AWS_SAVINGS_PLAN_RATES.columns)
    assert {*REQUIRED_COLUMNS.values(), *OPTIONAL_COLUMNS.values()} <= set(COLUMNS)


def test_the_header_says_another_offer_code_than_the_address() -> None:
    header = read_offer_header(io.BytesIO(encode([ROW])))

    assert (header.offer_code, header.version) == ("AmazonComputeSavingsPlan", "20250911184447")


def test_a_bare_line_is_read_as_text_with_its_rate_as_sent() -> None:
    rows = read(encode([ROW]))

    assert rows.schema == AWS_SAVINGS_PLAN_RATES.schema
    assert rows.row(0, named=True) == RAW


def test_empty_and_absent_fields_are_null() -> None:
    columns = [name for name in COLUMNS if name not in OPTIONAL_COLUMNS.values()]

    row = read(encode([ROW | {"DiscountedOperation": ""}], columns=columns)).row(0, named=True)

    assert row == RAW | {
        "discounted_operation": None,
        "discounted_region_code": None,
        "discounted_instance_type": None,
    }


def test_a_rate_stays_text_even_if_every_rate_above_it_is_an_integer() -> None:
    rows = [ROW | {"DiscountedRate": "2"}] * 500 + [ROW]

    assert read(encode(rows))["discounted_rate"].to_list()[-1] == "0.0425"


@pytest.mark.parametrize(
    "location", ["EU (Ireland), Dublin", 'The "Loop" (Chicago)', "two\nlines", "São Paulo"]
)
def test_a_field_is_quoted_only_where_it_must_be_and_all_may_be(location: str) -> None:
    rows = [ROW | {"Location": location}, ROW]

    for quotes_all in (False, True):
        assert read(encode(rows, quotes_all=quotes_all)).rows(named=True) == [RAW, RAW]


def test_columns_are_found_by_name_wherever_they_stand() -> None:
    shuffled = ["A New Column", *reversed(COLUMNS)]

    reordered = encode([ROW | {"A New Column": "x"}], columns=shuffled)

    assert_frame_equal(read(reordered), read(encode([ROW])))


def test_windows_line_ends_are_no_part_of_the_last_field() -> None:
    assert read(encode([ROW]).replace(b"\n", b"\r\n")).rows(named=True) == [RAW]


@pytest.mark.parametrize("name", sorted(set(REQUIRED_COLUMNS.values()) - {"SKU"}))
def test_a_missing_required_column_is_an_error_that_names_it(name: str) -> None:
    columns = [column for column in COLUMNS if column != name]

    with pytest.raises(
        WireFormatError,
        match=rf"\['{name}'\] are missing.*adapt connectors/aws/savings_plan_wire.py",
    ) as caught:
        read(encode([ROW], columns=columns))
    assert caught.value.source == "aws_savings_plans/ap-east-2"


def test_a_column_that_comes_twice_is_an_error() -> None:
    with pytest.raises(WireFormatError, match=r"\['DiscountedRate'\] more than once"):
        read(encode([ROW], columns=[*COLUMNS, "DiscountedRate"]))


def test_an_ec2_offer_file_is_none_of_savings_plans() -> None:
    with pytest.raises(WireFormatError, match=r"DiscountedRate.*are missing"):
        read(encode_offer_csv([{"SKU": "A"}]))


def test_a_comma_in_a_bare_field_is_an_error_and_shifts_nothing() -> None:
    shifted = encode([ROW, ROW]).replace(b"Taipei)", b"Taipei), Taiwan")

    with pytest.raises(WireFormatError, match="24 fields on every line, got 25 on line 1 after"):
        read(shifted)


@pytest.mark.parametrize("cut", [30, 60, 300])
def test_a_truncated_file_is_an_error_not_a_shorter_list(cut: int) -> None:
    with pytest.raises(WireFormatError, match="on line 2 after the header"):
        read(encode([ROW, ROW])[:-cut])


FIELDS = st.text(alphabet='a"\n,\ré ', max_size=6).filter(lambda text: text.strip("\r") == text)


@PROPERTY
@given(
    fields=st.lists(st.tuples(FIELDS, FIELDS), max_size=8),
    block_bytes=st.integers(1, 400),
    quotes_all=st.booleans(),
)
def test_neither_quotes_nor_where_blocks_are_cut_change_anything(
    fields: list[tuple[str, str]], block_bytes: int, quotes_all: bool
) -> None:
    rows = [
        ROW | {"DiscountedSKU": str(at), "Location": place, "DiscountedUsageType": usage}
        for at, (place, usage) in enumerate(fields)
    ]

    raw = read(encode(rows, quotes_all=quotes_all), block_bytes)

    assert raw["discounted_sku"].to_list() == [row["DiscountedSKU"] for row in rows]
    assert raw["discounted_usage_type"].to_list() == [
        row["DiscountedUsageType"] or None for row in rows
    ]


@needs_samples
def test_the_real_head_of_2025_is_read_whole() -> None:
    raw = read(SAMPLE.read_bytes())

    assert raw.height == 44
    assert raw.row(0, named=True) == RAW
    assert raw["discounted_rate"].to_list()[:4] == ["0.0425", "0.2399", "1.6358", "0.0562"]
    assert raw.null_count().sum_horizontal().item() == 0
