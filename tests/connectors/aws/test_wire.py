"""EC2 offer files are read by column name, in bounded blocks, and never silently wrong."""

import io
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from connectors.aws.bulk_csv import OfferHeader, read_offer_header
from connectors.aws.wire import OPTIONAL_COLUMNS, REQUIRED_COLUMNS, read_offer_rows
from connectors.errors import WireFormatError
from support.wire_aws import OFFER_COLUMNS, encode_offer_csv, line, preamble
from warehouse.schemas.raw import AWS_OFFER_ROWS

ROOT = Path(__file__).resolve().parents[3]
WIRE = ROOT / "tests/wire/aws"
SHARED = ROOT.parent / "shared/data/aws/bulk"
VERBATIM = SHARED / "AmazonEC2_global_index_sample_20250912225308.csv"
NARROW = SHARED / "AmazonEC2_eu-west-3_ebs_slice_20201019204802.csv"

needs_shared_data = pytest.mark.skipif(not SHARED.exists(), reason="shared sample data is absent")

ROW = {
    "SKU": "A",
    "RateCode": "A.B.C",
    "TermType": "OnDemand",
    "Product Family": "Compute Instance",
    "Instance Type": "x1.32xlarge",
    "Memory": "1,952 GiB",
    "PricePerUnit": "13.3380000000",
}


def read(content: bytes, block_bytes: int = 8 << 20) -> pl.DataFrame:
    frames = list(read_offer_rows(io.BytesIO(content), source_id="s", block_bytes=block_bytes))
    return pl.concat([AWS_OFFER_ROWS.empty(), *frames])


def only(frame: pl.DataFrame, *columns: str) -> tuple[str | None, ...]:
    return frame.select(columns).row(0)


def test_every_raw_column_comes_from_one_named_column() -> None:
    assert not REQUIRED_COLUMNS.keys() & OPTIONAL_COLUMNS.keys()
    assert set(REQUIRED_COLUMNS) | set(OPTIONAL_COLUMNS) == set(AWS_OFFER_ROWS.columns)
    assert {*REQUIRED_COLUMNS.values(), *OPTIONAL_COLUMNS.values()} <= set(OFFER_COLUMNS)


def test_metadata_lines_are_the_header_not_rows() -> None:
    content = encode_offer_csv([ROW], published="2026-07-05T01:02:03Z")

    assert read_offer_header(io.BytesIO(content)) == OfferHeader(
        version="20260705010203",
        published_at=datetime(2026, 7, 5, 1, 2, 3, tzinfo=UTC),
        offer_code="AmazonEC2",
        format_version="v1.0",
    )
    assert read(content).height == 1


def test_a_row_has_the_raw_tables_schema_and_empty_fields_are_null() -> None:
    row = read(encode_offer_csv([ROW]))

    assert row.schema == AWS_OFFER_ROWS.schema
    assert row.row(0, named=True) == dict.fromkeys(AWS_OFFER_ROWS.columns) | {
        "sku": "A",
        "rate_code": "A.B.C",
        "term_type": "OnDemand",
        "product_family": "Compute Instance",
        "instance_type": "x1.32xlarge",
        "memory": "1,952 GiB",
        "price_per_unit": "13.3380000000",
    }


def test_a_price_stays_text_even_if_every_price_above_it_is_an_integer() -> None:
    rows = [ROW | {"PricePerUnit": "2750"}] * 500 + [ROW | {"PricePerUnit": "0.1920000000"}]

    assert read(encode_offer_csv(rows))["price_per_unit"].to_list()[-1] == "0.1920000000"


def test_a_quoted_empty_field_is_null_too() -> None:
    quoted = ",".join(f'"{ROW.get(column, "")}"' for column in OFFER_COLUMNS) + "\n"

    row = read((preamble() + line(OFFER_COLUMNS) + quoted).encode())

    assert_frame_equal(row, read(encode_offer_csv([ROW])))


def test_commas_quotes_and_line_breaks_inside_quotes_belong_to_the_field() -> None:
    text = 'a, "b",\n"",",\r\nc'

    rows = read(encode_offer_csv([ROW | {"Location": text, "Memory": '"'}, ROW]))

    assert only(rows, "location", "memory", "sku") == (text, '"', "A")
    assert rows["sku"].to_list() == ["A", "A"]


def test_windows_line_ends_are_no_part_of_the_last_field() -> None:
    columns = OFFER_COLUMNS[::-1]
    content = encode_offer_csv([ROW], columns=columns).replace(b"\n", b"\r\n")

    assert_frame_equal(read(content), read(encode_offer_csv([ROW])))


def test_columns_are_found_by_name_wherever_they_stand() -> None:
    shuffled = [*reversed(OFFER_COLUMNS), "A New Column"]

    reordered = encode_offer_csv([ROW | {"A New Column": "x"}], columns=shuffled)

    assert_frame_equal(read(reordered), read(encode_offer_csv([ROW])))


def test_a_missing_optional_column_is_null() -> None:
    row = ROW | {"Region Code": "us-east-1", "MarketOption": "OnDemand", "vCPU": "128"}
    columns = [name for name in OFFER_COLUMNS if name not in OPTIONAL_COLUMNS.values()]

    raw = read(encode_offer_csv([row], columns=columns))

    assert only(raw, "sku", "region_code", "market_option", "vcpu") == ("A", None, None, None)


@pytest.mark.parametrize("name", sorted(set(REQUIRED_COLUMNS.values()) - {"SKU"}))
def test_a_missing_required_column_is_an_error_that_names_it(name: str) -> None:
    columns = [column for column in OFFER_COLUMNS if column != name]

    with pytest.raises(WireFormatError, match=rf"\['{name}'\] are missing"):
        read(encode_offer_csv([ROW], columns=columns))


def test_a_column_that_comes_twice_is_an_error() -> None:
    with pytest.raises(WireFormatError, match=r"\['Tenancy'\] more than once"):
        read(encode_offer_csv([ROW], columns=[*OFFER_COLUMNS, "Tenancy"]))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<html><body>Service Unavailable</body></html>",
        b'{"formatVersion" : "v1.0"}',
        preamble().encode(),
        b"\x1f\x8b\x08\x00still compressed",
    ],
)
def test_what_is_no_offer_file_is_an_error(content: bytes) -> None:
    with pytest.raises(WireFormatError, match="expected an AWS offer file"):
        read_offer_header(io.BytesIO(content))
    with pytest.raises(WireFormatError, match="expected an AWS offer file"):
        read(content)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"v1.0"', '"v2.0"', "expected offer file format v1, got 'v2.0'"),
        ('"Version",', '"Edition",', "names 'Version'"),
        ("2026-07-05T00:00:00Z", "5 July", "ISO 8601 Publication Date, got '5 July'"),
    ],
)
def test_strange_metadata_is_an_error(old: str, new: str, message: str) -> None:
    content = encode_offer_csv([ROW]).replace(old.encode(), new.encode())

    with pytest.raises(WireFormatError, match=message) as caught:
        read_offer_header(io.BytesIO(content), source_id="aws_price_list/us-east-1")
    assert caught.value.source == "aws_price_list/us-east-1"


def test_a_file_without_rows_has_no_rows() -> None:
    assert read(encode_offer_csv([])).height == 0


def test_the_last_line_may_lack_its_line_end() -> None:
    content = encode_offer_csv([ROW, ROW])

    assert_frame_equal(read(content[:-1]), read(content))


@pytest.mark.parametrize("cut", [3, 40, 80])
def test_a_truncated_file_is_an_error_not_a_shorter_list(cut: int) -> None:
    content = encode_offer_csv([ROW, ROW | {"VPCNetworkingSupport": "true"}])

    with pytest.raises(WireFormatError):
        read(content[:-cut])


@pytest.mark.parametrize(
    ("damaged", "fields"),
    [(line(["A"] * 90), 90), (line(["A"] * 92), 92), ("\n", 0)],
)
def test_a_line_of_another_width_is_an_error_that_says_where(damaged: str, fields: int) -> None:
    whole = encode_offer_csv([ROW, ROW]).decode()

    with pytest.raises(WireFormatError, match=f"91 fields .*, got {fields} on line 3 after"):
        read((whole + damaged + line(ROW.get(name) for name in OFFER_COLUMNS)).encode())


def test_lines_that_are_too_short_and_too_long_do_not_even_out() -> None:
    content = encode_offer_csv([ROW]) + (line(["A"] * 90) + line(["A"] * 92)).encode()

    with pytest.raises(WireFormatError, match="got 90 on line 2"):
        read(content)


@pytest.mark.parametrize("block_bytes", [64, 8 << 20])
def test_a_quote_that_is_not_closed_is_an_error(block_bytes: int) -> None:
    content = encode_offer_csv([ROW] * 20).replace(b'"A",', b'"A,', 1)

    with pytest.raises(WireFormatError):
        read(content, block_bytes)


def test_an_open_quote_does_not_make_memory_grow_with_the_file() -> None:
    content = encode_offer_csv([ROW]).replace(b'"A",', b'"A,') + b"x" * (3 << 20)
    stream = io.BytesIO(content)

    with pytest.raises(WireFormatError, match="a quote is not closed"):
        list(read_offer_rows(stream, source_id="s", block_bytes=1 << 16))
    assert stream.tell() < 2 << 20


def test_bytes_that_are_no_utf8_are_an_error() -> None:
    with pytest.raises(WireFormatError, match="UTF-8"):
        read(encode_offer_csv([ROW]).replace(b"x1.32xlarge", b"x1.\xff\xfe"))


def test_text_outside_of_its_quotes_is_an_error() -> None:
    with pytest.raises(WireFormatError):
        read(encode_offer_csv([ROW]).replace(b'"x1.32xlarge"', b'"x1."32xlarge'))


def test_a_quote_inside_an_unquoted_field_is_an_error() -> None:
    content = encode_offer_csv([ROW]).replace(b'"A"', b'A"\nB"')

    with pytest.raises(WireFormatError, match="cannot be read"):
        read(content)


FIELDS = st.text(alphabet='a"\n,\ré ', max_size=6).filter(lambda text: text.strip("\r") == text)


@given(fields=st.lists(st.tuples(FIELDS, FIELDS), max_size=8), block_bytes=st.integers(1, 400))
def test_where_blocks_are_cut_changes_nothing(
    fields: list[tuple[str, str]], block_bytes: int
) -> None:
    columns = [*REQUIRED_COLUMNS.values(), "Location", "Memory"]
    rows = [{"SKU": str(at), "Location": a, "Memory": b} for at, (a, b) in enumerate(fields)]

    raw = read(encode_offer_csv(rows, columns=columns), block_bytes)

    assert raw["sku"].to_list() == [row["SKU"] for row in rows]
    assert raw["location"].to_list() == [row["Location"] or None for row in rows]
    assert raw["memory"].to_list() == [row["Memory"] or None for row in rows]


def test_blocks_are_no_larger_than_asked_for() -> None:
    content = encode_offer_csv([ROW | {"SKU": str(number)} for number in range(1000)])
    stream = io.BytesIO(content)

    heights = [frame.height for frame in read_offer_rows(stream, source_id="s", block_bytes=20_000)]

    assert sum(heights) == 1000
    assert max(heights) < 200


@needs_shared_data
def test_the_verbatim_head_of_2025_is_read_whole() -> None:
    raw = read(VERBATIM.read_bytes())

    assert raw.height == 44
    assert raw["term_type"].value_counts(sort=True).rows() == [("Reserved", 30), ("OnDemand", 14)]
    assert raw.row(1, named=True) == {
        "sku": "2223B6PCG6QAUYY6",
        "offer_term_code": "38NPMPTW36",
        "rate_code": "2223B6PCG6QAUYY6.38NPMPTW36.2TG2D8R56U",
        "term_type": "Reserved",
        "effective_date": "2025-09-12",
        "starting_range": None,
        "ending_range": None,
        "unit": "Quantity",
        "price_per_unit": "2750",
        "currency": "USD",
        "lease_contract_length": "3yr",
        "purchase_option": "Partial Upfront",
        "offering_class": "standard",
        "product_family": "Compute Instance",
        "region_code": "ap-northeast-1",
        "location": "Asia Pacific (Tokyo)",
        "location_type": "AWS Region",
        "instance_type": "c6i.large",
        "current_generation": "Yes",
        "instance_family": "Compute optimized",
        "vcpu": "2",
        "physical_processor": "Intel Xeon 8375C (Ice Lake)",
        "memory": "4 GiB",
        "storage": "EBS only",
        "network_performance": "Up to 12500 Megabit",
        "processor_architecture": "64-bit",
        "gpu": None,
        "gpu_memory": "NA",
        "tenancy": "Dedicated",
        "operating_system": "Windows",
        "license_model": "No License required",
        "pre_installed_sw": "SQL Web",
        "usage_type": "APN1-DedicatedUsage:c6i.large",
        "operation": "RunInstances:0202",
        "capacity_status": "Used",
        "market_option": "OnDemand",
    }


@needs_shared_data
def test_the_verbatim_head_of_2025_has_the_columns_that_our_samples_are_written_with() -> None:
    header = VERBATIM.read_text().splitlines()[5]

    assert line(OFFER_COLUMNS).strip() == header


@needs_shared_data
def test_the_narrower_file_of_2020_is_read_with_nulls_for_what_it_lacks() -> None:
    raw = read(NARROW.read_bytes())

    assert raw.height == 5
    assert only(raw, "product_family", "unit", "price_per_unit", "region_code") == (
        "Storage",
        "GB-Mo",
        "0.0530000000",
        None,
    )


def test_the_samples_in_the_repository_are_read_whole() -> None:
    heights = {path.name: read(path.read_bytes()).height for path in sorted(WIRE.glob("*.csv"))}

    assert heights == {
        "offer_2020_eu-west-1.csv": 2,
        "offer_2023_cn-northwest-1.csv": 1,
        "offer_2026_us-east-1.csv": 22,
    }
