"""The rates of a reserved term become one price, wherever in the file they are, or none."""

import io
import json
import random
from collections.abc import Iterable, Mapping
from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.aws.wire import read_offer_rows
from support.encode_aws import (
    CHINA,
    LINUX,
    ON_DEMAND,
    RESERVED_TERMS,
    Place,
    ReservedTerm,
    Row,
    compute_product,
    dedicated_host_product,
    on_demand_row,
    reserved_host_product,
    reserved_rows,
)
from support.wire_aws import encode_offer_csv
from transforms.aws_prices import OfferFilePart, normalize_offer_file
from transforms.regions import parse_regions
from warehouse.schemas.rules.aws import AWS_INCOMPLETE_TERM

ROOT = Path(__file__).resolve().parents[2]
REGIONS = parse_regions((ROOT / "transforms/reference/regions.csv").read_bytes())
VIRGINIA = Place("us-east-1", "US East (N. Virginia)", "AWS Region", "")
NINGXIA = Place("cn-northwest-1", "China (Ningxia)", "AWS Region", "CNW1")
MACHINE = {"Instance Type": "m5.xlarge", "vCPU": "4", "Memory": "16 GiB"}
M5 = compute_product(VIRGINIA, MACHINE, LINUX, ON_DEMAND, sku="5G4TA8Z4MUKE6MJB")
DATE = "2026-07-01"

NO_UPFRONT, PARTIAL_UPFRONT, ALL_UPFRONT = RESERVED_TERMS[:3]


def normalize(
    rows: Iterable[Mapping[str, str]], *, region_id: str = "us-east-1", block_bytes: int = 8 << 20
) -> OfferFilePart:
    stream = io.BytesIO(encode_offer_csv(rows))
    blocks = read_offer_rows(stream, source_id="doc", block_bytes=block_bytes)
    return normalize_offer_file(blocks, source_id="doc", region_id=region_id, regions=REGIONS)


def counted(part: OfferFilePart) -> dict[str, int]:
    counts = part.normalized.counts
    return dict(zip(counts["rule"].fill_null("kept"), counts["rows"], strict=True))


def rates(
    term: ReservedTerm,
    product: Row = M5,
    *,
    hourly: str = "0.1",
    upfront: str | None = "1000",
) -> list[Row]:
    """Return the rates of a term as AWS lists them: which there are depends on how it is paid."""
    pays_hours = term.purchase_option != "All Upfront"
    pays_upfront = term.purchase_option != "No Upfront"
    return list(
        reserved_rows(
            product,
            term,
            hourly=Decimal(hourly) if pays_hours else Decimal(0),
            upfront=Decimal(upfront) if upfront and pays_upfront else None,
            effective_date=DATE,
        )
    )


def on_demand(product: Row = M5, price: str = "0.192") -> Row:
    return on_demand_row(product, Decimal(price), "", effective_date=DATE)


def test_each_of_the_twelve_terms_becomes_one_price() -> None:
    rows = [row for term in RESERVED_TERMS for row in rates(term)]

    part = normalize([on_demand(), *rows])

    found = part.normalized.prices.filter(purchase_option="reserved")
    assert sorted(
        found.select(
            "commitment_type",
            "term_years",
            "payment_option",
            "hourly_rate",
            "upfront_fee",
            "effective_hourly_price",
        ).rows(),
        key=str,
    ) == sorted(
        [
            (offering, years, payment, hourly, fee, effective)
            for offering in ("standard", "convertible")
            for years, payment, hourly, fee, effective in (
                (1, "no_upfront", Decimal("0.1"), None, Decimal("0.1")),
                (1, "partial_upfront", Decimal("0.1"), Decimal(1000), Decimal("0.2141552511")),
                (1, "all_upfront", Decimal(0), Decimal(1000), Decimal("0.1141552511")),
                (3, "no_upfront", Decimal("0.1"), None, Decimal("0.1")),
                (3, "partial_upfront", Decimal("0.1"), Decimal(1000), Decimal("0.1380517504")),
                (3, "all_upfront", Decimal(0), Decimal(1000), Decimal("0.0380517504")),
            )
        ],
        key=str,
    )
    assert counted(part) == {"kept": 13, "aws_upfront_fee": 8}
    assert part.normalized.prices.height == 13


def test_a_reserved_price_says_that_it_is_committed_and_names_its_hourly_rate() -> None:
    [price] = normalize(rates(PARTIAL_UPFRONT)).normalized.prices.to_dicts()

    assert (price["purchase_option"], price["pricing_category"]) == ("reserved", "Committed")
    assert (price["sku_id"], price["currency"], price["pricing_unit"]) == (
        "5G4TA8Z4MUKE6MJB",
        "USD",
        "Hours",
    )
    assert price["sku_price_id"] == "5G4TA8Z4MUKE6MJB.HU7G6KETJZ.6YS6EN2CT7"


HOUR, FEE = rates(PARTIAL_UPFRONT)
FREE_HOUR, WHOLE_FEE = rates(ALL_UPFRONT)
[ONLY_HOUR] = rates(NO_UPFRONT)
FEE_OF_NONE = WHOLE_FEE | {
    "OfferTermCode": NO_UPFRONT.code,
    "RateCode": f"5G4TA8Z4MUKE6MJB.{NO_UPFRONT.code}.2TG2D8R56U",
    "PurchaseOption": "No Upfront",
}


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([HOUR], id="partly paid, without a fee"),
        pytest.param([FEE], id="a fee without an hour"),
        pytest.param([FREE_HOUR], id="free without a fee"),
        pytest.param([WHOLE_FEE], id="paid upfront without an hour"),
        pytest.param([HOUR, FEE, FEE | {"PricePerUnit": "7"}], id="two fees"),
        pytest.param([HOUR, FEE, FEE], id="one fee twice"),
        pytest.param([HOUR, HOUR | {"PricePerUnit": "0.2"}, FEE], id="two hours"),
        pytest.param([ONLY_HOUR, FEE_OF_NONE], id="nothing upfront, with a fee"),
        pytest.param([ONLY_HOUR | {"PricePerUnit": "0"}], id="nothing upfront, nothing an hour"),
        pytest.param([HOUR | {"PricePerUnit": "0"}, FEE], id="partly paid, nothing an hour"),
        pytest.param([HOUR, FEE | {"PricePerUnit": "0"}], id="partly paid, nothing upfront"),
        pytest.param([FREE_HOUR | {"PricePerUnit": "0.1"}, WHOLE_FEE], id="all paid, and an hour"),
        pytest.param([HOUR, FEE | {"LeaseContractLength": "3yr"}], id="two lengths"),
        pytest.param([HOUR, FEE | {"PurchaseOption": "All Upfront"}], id="two ways to pay"),
        pytest.param([HOUR, FEE | {"OfferingClass": "convertible"}], id="two classes"),
        pytest.param([HOUR, FEE | {"EffectiveDate": "2026-07-02"}], id="two dates"),
        pytest.param([HOUR, FEE | {"Instance Type": "m5.large"}], id="two types"),
        pytest.param([HOUR, FEE | {"SKU": "OTHER"}], id="two products"),
        pytest.param(
            [HOUR | {"PricePerUnit": "99999999.9999999999"}, FEE], id="more than money holds"
        ),
    ],
)
def test_a_term_whose_rates_do_not_fit_is_refused_with_all_of_them(rows: list[Row]) -> None:
    part = normalize([on_demand(), *rows])

    assert counted(part) == {"kept": 1, "aws_incomplete_term": len(rows)}
    assert part.normalized.prices["purchase_option"].to_list() == ["on_demand"]
    rejected = part.normalized.rejected
    assert rejected["rule"].to_list() == ["aws_incomplete_term"] * len(rows)
    assert all(
        reason.startswith(f"{AWS_INCOMPLETE_TERM.reason}. Got ") for reason in rejected["reason"]
    )


def test_a_refused_term_says_what_came_for_it() -> None:
    rejected = normalize([HOUR, FEE, FEE | {"PricePerUnit": "7"}]).normalized.rejected

    [reason] = rejected["reason"].unique()
    assert reason == (
        f"{AWS_INCOMPLETE_TERM.reason}. Got hour 0.1000000000 of 1 years standard partial_upfront; "
        "fee 7.0000000000 of 1 years standard partial_upfront; "
        "fee 1000.0000000000 of 1 years standard partial_upfront"
    )
    rows = [json.loads(row) for row in rejected["row"]]
    assert sorted(row["price"] for row in rows) == [
        "0.1000000000",
        "1000.0000000000",
        "7.0000000000",
    ]
    assert {row["sku"] for row in rows} == {"5G4TA8Z4MUKE6MJB"}
    assert {row["rate_code"] for row in rows} == {HOUR["RateCode"], FEE["RateCode"]}


@pytest.mark.parametrize(
    ("rows", "rule"),
    [
        ([HOUR, FEE, FEE | {"PricePerUnit": "-7"}], "negative_price"),
        ([HOUR | {"PricePerUnit": "free"}, FEE], "unparseable_price"),
        ([ONLY_HOUR, FEE_OF_NONE | {"Unit": "Pieces"}], "unknown_unit"),
        ([HOUR, FEE | {"OfferingClass": "flexible"}], "aws_unknown_offering_class"),
    ],
)
def test_a_rate_that_is_refused_takes_its_term_with_it(rows: list[Row], rule: str) -> None:
    assert counted(normalize(rows)) == {"aws_incomplete_term": len(rows) - 1, rule: 1}


def test_other_terms_of_the_sku_are_not_touched() -> None:
    part = normalize([HOUR, *rates(ALL_UPFRONT), *rates(NO_UPFRONT)])

    assert sorted(part.normalized.prices["payment_option"]) == ["all_upfront", "no_upfront"]
    assert counted(part) == {"kept": 2, "aws_upfront_fee": 1, "aws_incomplete_term": 1}


@pytest.mark.parametrize("block_bytes", [300, 1000, 5000])
def test_rates_may_be_anywhere_in_the_file(block_bytes: int) -> None:
    types = [f"c{number}.large" for number in range(8)]
    products = [
        compute_product(VIRGINIA, {"Instance Type": name}, LINUX, ON_DEMAND, sku=name)
        for name in types
    ]
    rows = [
        row
        for product in products
        for row in [
            on_demand(product),
            *(r for term in RESERVED_TERMS for r in rates(term, product)),
        ]
    ]
    rows += [row | {"SKU": "ALONE"} for row in (FEE, ONLY_HOUR)]
    in_order = normalize(rows)
    random.Random(block_bytes).shuffle(rows)

    shuffled = normalize(rows, block_bytes=block_bytes)

    assert in_order.normalized.prices.height == 8 * 13 + 1
    for left, right in zip(
        (*in_order.normalized, in_order.skus), (*shuffled.normalized, shuffled.skus), strict=True
    ):
        assert left.sort(pl.all()).equals(right.sort(pl.all()))


def test_china_is_paired_by_its_own_codes_and_priced_in_yuan() -> None:
    product = compute_product(NINGXIA, MACHINE, LINUX, ON_DEMAND, sku="R83VXG9NAPDASEGN")
    term = ReservedTerm("8CHINA1234", 3, "Partial Upfront", "convertible")
    listed = reserved_rows(
        product,
        term,
        hourly=Decimal("0.5"),
        upfront=Decimal(8000),
        effective_date=DATE,
        codes=CHINA,
    )
    rows = [on_demand_row(product, Decimal("1.9"), "", effective_date=DATE, codes=CHINA), *listed]

    prices = normalize(rows, region_id="cn-northwest-1").normalized.prices

    assert sorted(prices.select("currency", "sku_price_id", "effective_hourly_price").rows()) == [
        ("CNY", "R83VXG9NAPDASEGN.5Y9WH78GDR.Q7UJUT2CE6", Decimal("1.9")),
        ("CNY", "R83VXG9NAPDASEGN.8CHINA1234.Q7UJUT2CE6", Decimal("0.8044140030")),
    ]


def test_a_host_is_priced_on_demand_and_reserved_and_does_not_disturb_its_instances() -> None:
    host = {"vCPU": "96", "Memory": "384 GiB", "Instance Family": "General purpose"}
    used = dedicated_host_product(VIRGINIA, host, "m5", sku="HOST")
    reserved = reserved_host_product(VIRGINIA, host, "m5", sku="RESERVED")
    named_like_a_type = dedicated_host_product(VIRGINIA, host, "m5.xlarge", sku="METAL")
    rows = [
        on_demand(),
        on_demand(used, "5.069"),
        on_demand(named_like_a_type, "6"),
        *rates(ALL_UPFRONT, reserved, upfront="29000"),
        *rates(NO_UPFRONT, used, hourly="4"),
    ]

    part = normalize(rows)

    hosts = part.normalized.prices.filter(tenancy="host", instance_type="m5")
    assert sorted(hosts.select("sku_id", "purchase_option", "effective_hourly_price").rows()) == [
        ("HOST", "on_demand", Decimal("5.069")),
        ("HOST", "reserved", Decimal(4)),
        ("RESERVED", "reserved", Decimal("3.3105022831")),
    ]
    assert hosts.select(
        "operating_system", "license_model", "pre_installed_software"
    ).unique().rows() == [("linux", "included", "none")]
    assert part.skus.select("sku", "instance_type", "tenancy").rows() == [
        ("5G4TA8Z4MUKE6MJB", "m5.xlarge", "shared"),
        ("HOST", "m5", "host"),
        ("METAL", "m5.xlarge", "host"),
        ("RESERVED", "m5", "host"),
    ]
    facts = part.normalized.instance_facts
    assert facts.select(
        "instance_type", "family", "vcpu_count", "memory_gib", "category"
    ).rows() == [
        ("m5", "m5", None, None, "general"),
        ("m5.xlarge", "m5", 4, 16.0, None),
    ]


def test_a_sku_that_is_only_reserved_is_known_and_described() -> None:
    part = normalize(rates(ALL_UPFRONT))

    assert part.skus.rows(named=True) == [
        {
            "sku": "5G4TA8Z4MUKE6MJB",
            "usage_type": "BoxUsage:m5.xlarge",
            "operation": "RunInstances",
            "rule": None,
            "instance_type": "m5.xlarge",
            "operating_system": "linux",
            "license_model": "included",
            "pre_installed_software": "none",
            "tenancy": "shared",
        }
    ]
    assert part.normalized.instance_facts["instance_type"].to_list() == ["m5.xlarge"]


@pytest.mark.parametrize(
    ("rows", "rule"),
    [
        ([on_demand() | {"Tenancy": "Host"}, HOUR], "aws_host_tenancy"),
        ([on_demand(price="0"), HOUR], "zero_price"),
        ([HOUR], "aws_incomplete_term"),
        ([HOUR | {"OfferingClass": "flexible"}, FEE], "aws_incomplete_term"),
        (
            [on_demand() | {"CapacityStatus": "UnusedCapacityReservation"}],
            "aws_capacity_reservation",
        ),
        ([on_demand(price="0"), HOUR, FEE], None),
        ([on_demand(), HOUR], None),
    ],
)
def test_a_sku_without_a_price_says_which_rule_took_its_rows(
    rows: list[Row], rule: str | None
) -> None:
    [sku] = normalize(rows).skus.to_dicts()

    assert sku["rule"] == rule
    assert (sku["instance_type"] is None) == (rule is not None)
    assert sku["usage_type"] == "BoxUsage:m5.xlarge"


def test_what_is_no_instance_and_no_host_is_not_among_the_skus() -> None:
    assert normalize([{"SKU": "DISK", "Product Family": "Storage"}]).skus.is_empty()


@settings(max_examples=30, deadline=None)
@given(
    years=st.sampled_from([1, 3]),
    hourly=st.decimals("0.0000000001", "500", places=10),
    upfront=st.decimals("1", "900000", places=2),
)
def test_the_effective_price_is_the_hour_and_its_share_of_the_fee(
    years: int, hourly: Decimal, upfront: Decimal
) -> None:
    term = ReservedTerm("ANYCODE123", years, "Partial Upfront", "standard")

    [price] = normalize(
        rates(term, hourly=str(hourly), upfront=str(upfront))
    ).normalized.prices.to_dicts()

    share = (upfront / (8760 * years)).quantize(Decimal("1e-10"), ROUND_HALF_EVEN)
    assert price["effective_hourly_price"] == hourly + share
    assert (price["hourly_rate"], price["upfront_fee"]) == (hourly, upfront)
