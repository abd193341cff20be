"""Which savings plan rates are prices; every row is kept, refused or filtered by name."""

import io
import json
import random
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from connectors.aws.savings_plan_wire import read_savings_plan_rates
from connectors.aws.savings_plans import fetch_savings_plan_file, fetch_savings_plan_index
from connectors.aws.wire import read_offer_rows
from support.clients import NOW
from support.encode_aws import (
    DEDICATED,
    LINUX,
    ON_DEMAND,
    ON_HOST,
    UNUSED_RESERVATION,
    WINDOWS,
    Place,
    Product,
    compute_product,
    dedicated_host_product,
    on_demand_row,
)
from support.encode_savings_plans import COLUMNS, Plan, encode_savings_plan_csv, rate_row
from support.fake_aws import FakeAws
from support.fake_http import FakeServer
from support.rows import table_rows
from support.strategies import PROPERTY
from support.wire_aws import encode_offer_csv
from transforms.aws_prices import normalize_offer_file
from transforms.aws_savings_plans import normalize_savings_plan_rates
from transforms.normalized import Normalized
from transforms.regions import parse_regions
from warehouse.schemas.catalog import PRICE_KEY_NOW
from warehouse.schemas.parts import (
    AWS_SKUS,
    INSTANCE_FACTS,
    LISTINGS,
    OFFERINGS,
    PRICE_CANDIDATES,
    REJECTED,
    ROW_COUNTS,
)
from warehouse.schemas.raw import AWS_SAVINGS_PLAN_RATES
from warehouse.schemas.rules import RULE
from warehouse.schemas.rules.aws_savings_plans import AWS_SAVINGS_PLANS

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = (
    ROOT.parent / "shared/data/aws/savings_plan"
    "/AWSComputeSavingsPlan_20250911184447_ap-east-2_sample.csv"
)
REGIONS = parse_regions((ROOT / "transforms/reference/regions.csv").read_bytes())

needs_shared_data = pytest.mark.skipif(not SAMPLE.exists(), reason="shared sample data is absent")

Row = Mapping[str, str]

IRELAND = Place("eu-west-1", "EU (Ireland)", "AWS Region", "EU")
VIRGINIA = Place("us-east-1", "US East (N. Virginia)", "AWS Region", "")
SINCE = "2026-07-01T00:00:00Z"
M5_LINUX = compute_product(
    IRELAND, {"Instance Type": "m5.xlarge"}, LINUX, ON_DEMAND, sku="LINUX2223B6PCG6Q"
)
M5_WINDOWS = compute_product(
    IRELAND, {"Instance Type": "m5.xlarge"}, WINDOWS, ON_DEMAND, sku="WINDOWS3B6PCG6QA"
)
COMPUTE = Plan("COMPUTEPLAN1YNOU", 1, "No Upfront")
EC2_INSTANCE = Plan("M5PLAN3YPARTIALU", 3, "Partial Upfront", "m5")
LINUX_RATE = rate_row(COMPUTE, IRELAND, M5_LINUX, Decimal("0.1562"), effective_date=SINCE)
WINDOWS_RATE = rate_row(EC2_INSTANCE, IRELAND, M5_WINDOWS, Decimal("0.31"), effective_date=SINCE)


def sku(product: Row, **changes: str | None) -> dict[str, str | None]:
    is_windows = product["Operating System"] == "Windows"
    return {
        "sku": product["SKU"],
        "usage_type": product["usageType"],
        "operation": product["operation"],
        "instance_type": product["Instance Type"],
        "operating_system": "windows" if is_windows else "linux",
        "license_model": "included",
        "pre_installed_software": "none",
        "tenancy": "shared",
        **changes,
    }


def without_price(product: Row, rule: str) -> dict[str, str | None]:
    """The SKU as AWS_SKUS has it where a rule took its rows: what it is stays unsaid."""
    words = ("sku", "usage_type", "operation")
    return {name: sku(product)[name] for name in words} | {"rule": rule}


SKUS = (sku(M5_LINUX), sku(M5_WINDOWS))


def encode(rows: Iterable[Row], **options: Any) -> bytes:
    return encode_savings_plan_csv(
        rows, version="20260705130000", published_at="2026-07-05T13:00:00Z", **options
    )


def normalize(
    rows: Iterable[Row] | bytes,
    *,
    skus: Sequence[Mapping[str, str | None]] = SKUS,
    region_id: str = "eu-west-1",
    block_bytes: int = 8 << 20,
    **options: Any,
) -> Normalized:
    content = rows if isinstance(rows, bytes) else encode(rows, **options)
    return normalize_savings_plan_rates(
        read_savings_plan_rates(io.BytesIO(content), source_id="doc", block_bytes=block_bytes),
        skus=table_rows(AWS_SKUS, *skus),
        source_id="doc",
        region_id=region_id,
        regions=REGIONS,
    )


def outcome(row: Row, **options: Any) -> str:
    """Return the one place where a row went: kept, or the rule's id."""
    normalized = normalize([row], **options)
    counts = normalized.counts
    assert counts["rows"].to_list() == [1]
    is_outcome = {counts["outcome"].item(): 1}
    assert normalized.prices.height == is_outcome.get("kept", 0)
    assert normalized.rejected.height == is_outcome.get("rejected", 0)
    return counts["rule"].item() or counts["outcome"].item()


def counted(normalized: Normalized) -> dict[str, int]:
    rules = normalized.counts["rule"].fill_null("kept")
    return dict(zip(rules, normalized.counts["rows"], strict=True))


def reason(row: Row, **options: Any) -> str:
    return normalize([row], **options).rejected["reason"].item()


def test_a_rate_becomes_a_price_with_every_column_of_the_contract() -> None:
    normalized = normalize([WINDOWS_RATE])

    assert normalized.prices.row(0, named=True) == {
        "provider": "aws",
        "region_id": "eu-west-1",
        "availability_zone_id": None,
        "instance_type": "m5.xlarge",
        "operating_system": "windows",
        "license_model": "included",
        "pre_installed_software": "none",
        "tenancy": "shared",
        "purchase_option": "savings_plan",
        "commitment_type": "ec2_instance",
        "term_years": 3,
        "payment_option": "partial_upfront",
        "hourly_rate": Decimal("0.3100000000"),
        "upfront_fee": None,
        "effective_hourly_price": Decimal("0.3100000000"),
        "pricing_category": "Committed",
        "currency": "USD",
        "pricing_unit": "Hours",
        "valid_from": datetime(2026, 7, 1, tzinfo=UTC),
        "valid_to": None,
        "sku_id": "WINDOWS3B6PCG6QA",
        "sku_price_id": "M5PLAN3YPARTIALU.WINDOWS3B6PCG6QA",
        "price_quality": "ok",
        "source_id": "doc",
    }
    assert normalized.counts.rows() == [("doc", "kept", None, 1)]


def test_every_frame_has_its_tables_schema_with_and_without_rows() -> None:
    tables = (PRICE_CANDIDATES, REJECTED, ROW_COUNTS, INSTANCE_FACTS, LISTINGS, OFFERINGS)

    for normalized in (normalize([]), normalize([LINUX_RATE, LINUX_RATE | {"Unit": "Days"}])):
        assert [frame.schema for frame in normalized] == [table.schema for table in tables]


def test_both_kinds_of_plan_in_all_terms_and_payments_are_prices() -> None:
    payments = ("No Upfront", "Partial Upfront", "All Upfront")
    plans = [
        Plan(f"{family}{years}{payment}", years, payment, family)
        for family in ("", "m5")
        for years in (1, 3)
        for payment in payments
    ]

    prices = normalize(
        rate_row(plan, IRELAND, M5_LINUX, Decimal(number + 1) / 100, effective_date=SINCE)
        for number, plan in enumerate(plans)
    ).prices

    words = prices.select("commitment_type", "term_years", "payment_option", "hourly_rate").rows()
    assert words == [
        (kind, years, payment, Decimal(number) / 100)
        for number, (kind, years, payment) in enumerate(
            (
                (kind, years, payment)
                for kind in ("compute", "ec2_instance")
                for years in (1, 3)
                for payment in ("no_upfront", "partial_upfront", "all_upfront")
            ),
            start=1,
        )
    ]
    assert prices["upfront_fee"].null_count() == 12
    assert_frame_equal(
        prices.select(effective_hourly_price="hourly_rate"), prices.select("effective_hourly_price")
    )
    assert not prices.select(PRICE_KEY_NOW).is_duplicated().any()


def test_what_runs_on_what_comes_from_the_sku() -> None:
    sql = sku(
        M5_WINDOWS,
        license_model="byol",
        pre_installed_software="sql_enterprise",
        tenancy="dedicated",
    )

    price = normalize([WINDOWS_RATE], skus=[sql]).prices.row(0, named=True)

    words = ("operating_system", "license_model", "pre_installed_software", "tenancy")
    assert [price[name] for name in words] == ["windows", "byol", "sql_enterprise", "dedicated"]


def test_the_price_of_a_host_is_one_of_its_family() -> None:
    host = {
        "sku": "HOST",
        "usage_type": "EU-HostUsage:m5",
        "operation": "RunInstances",
        "instance_type": "m5",
        "operating_system": "linux",
        "license_model": "included",
        "pre_installed_software": "none",
        "tenancy": "host",
    }
    row = LINUX_RATE | {
        "DiscountedSKU": "HOST",
        "DiscountedUsageType": "EU-HostUsage:m5",
        "DiscountedInstanceType": "m5",
        "DiscountedRate": "3.2",
    }

    price = normalize([row], skus=[host]).prices.row(0, named=True)

    assert (price["tenancy"], price["instance_type"]) == ("host", "m5")
    assert price["hourly_rate"] == Decimal("3.2")


def test_a_plan_that_is_dearer_than_on_demand_is_a_price() -> None:
    # The offer file lists 0.214 for it.
    assert normalize([LINUX_RATE | {"DiscountedRate": "9.99"}]).prices["hourly_rate"].to_list() == [
        Decimal("9.99")
    ]


def test_virginia_has_no_usage_prefix_and_the_oldest_type_none_at_all() -> None:
    product = compute_product(
        VIRGINIA, {"Instance Type": "m1.small"}, LINUX, ON_DEMAND, sku="M1"
    ) | {"usageType": "BoxUsage"}
    row = rate_row(COMPUTE, VIRGINIA, product, Decimal("0.03"), effective_date=SINCE)

    assert outcome(row, skus=[sku(product)], region_id="us-east-1") == "kept"


def test_china_is_priced_in_yuan() -> None:
    place = Place("cn-north-1", "China (Beijing)", "AWS Region", "CNN1")
    product = compute_product(place, {"Instance Type": "m5.xlarge"}, LINUX, ON_DEMAND, sku="CN")
    row = rate_row(COMPUTE, place, product, Decimal("1.5"), effective_date=SINCE, currency="CNY")
    china = {"skus": [sku(product)], "region_id": "cn-north-1"}

    assert normalize([row], **china).prices["currency"].to_list() == ["CNY"]
    assert outcome(row | {"Currency": "USD"}, **china) == "unknown_currency"


@pytest.mark.parametrize(
    ("rate", "price"),
    [
        ("0.0425", "0.0425000000"),
        ("2", "2.0000000000"),
        ("21.957642", "21.9576420000"),
        ("0.1234567891", "0.1234567891"),
        ("0.12345678910000", "0.1234567891"),
        ("99999999.9999999999", "99999999.9999999999"),
    ],
)
def test_a_rate_is_exact_however_many_decimals_it_is_written_with(rate: str, price: str) -> None:
    prices = normalize([LINUX_RATE | {"DiscountedRate": rate}]).prices

    assert prices["hourly_rate"].to_list() == [Decimal(price)]


@PROPERTY
@given(st.integers(1, 10**18 - 1))
def test_every_rate_that_money_can_hold_comes_back_as_it_was(units: int) -> None:
    rate = Decimal(units).scaleb(-10)

    prices = normalize([LINUX_RATE | {"DiscountedRate": f"{rate.normalize():f}"}]).prices

    assert prices["effective_hourly_price"].to_list() == [rate]


@pytest.mark.parametrize("service", ["AmazonECS", "AmazonEKS", "AWSLambda", "AmazonSageMaker"])
def test_rates_of_other_services_are_filtered(service: str) -> None:
    row = LINUX_RATE | {
        "DiscountedServiceCode": service,
        "DiscountedSKU": "FARGATE",
        "DiscountedUsageType": "EU-Fargate-vCPU-Hours:perCPU",
        "DiscountedOperation": "",
        "DiscountedInstanceType": "",
        "Unit": "Lambda-GB-Second",
    }

    assert outcome(row) == "aws_savings_plan_other_service"


@pytest.mark.parametrize("usage", ["UnusedBox", "UnusedDed", "Reservation", "DedicatedRes"])
@pytest.mark.parametrize("form", ["EU-{}:m5.xlarge", "{}:m5.xlarge", "EU-{}", "{}"])
def test_rates_of_unused_capacity_are_filtered_even_if_their_sku_is_gone(
    usage: str, form: str
) -> None:
    row = LINUX_RATE | {"DiscountedUsageType": form.format(usage), "DiscountedSKU": "GONE"}

    assert outcome(row) == "aws_savings_plan_unused_capacity"


@pytest.mark.parametrize("rule", ["zero_price", "aws_host_tenancy", "aws_unknown_operation"])
def test_a_sku_that_has_no_price_in_the_offer_file_has_none_under_a_plan(rule: str) -> None:
    skus = [without_price(M5_LINUX, rule)]

    assert outcome(LINUX_RATE, skus=skus) == "aws_savings_plan_sku_without_price"
    # What is wrong with the row itself is not hidden by that.
    other = LINUX_RATE | {"DiscountedOperation": "RunInstances:0010"}
    assert outcome(other, skus=skus) == "aws_savings_plan_other_product"


@pytest.mark.parametrize("rate", ["0", "0.0", "0.0000000000"])
def test_a_rate_of_0_is_none(rate: str) -> None:
    assert outcome(LINUX_RATE | {"DiscountedRate": rate}) == "zero_price"


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"DiscountedServiceCode": "AmazonQuantum"}, "aws_savings_plan_unknown_service"),
        ({"DiscountedServiceCode": ""}, "aws_savings_plan_unknown_service"),
        ({"DiscountedSKU": "GONE"}, "aws_savings_plan_unknown_sku"),
        ({"SKU": ""}, "aws_savings_plan_missing_identifier"),
        ({"RateCode": ""}, "aws_savings_plan_missing_identifier"),
        ({"DiscountedSKU": ""}, "aws_savings_plan_missing_identifier"),
        ({"DiscountedUsageType": "EU-BoxUsage:m5.large"}, "aws_savings_plan_other_product"),
        ({"DiscountedUsageType": "EU-DedicatedUsage:m5.xlarge"}, "aws_savings_plan_other_product"),
        ({"DiscountedUsageType": ""}, "aws_savings_plan_other_product"),
        ({"DiscountedOperation": "RunInstances:0002"}, "aws_savings_plan_other_product"),
        ({"DiscountedOperation": ""}, "aws_savings_plan_other_product"),
        ({"DiscountedInstanceType": "m5.large"}, "aws_savings_plan_other_instance_type"),
        ({"Product Family": "SageMakerSavingsPlans"}, "aws_savings_plan_unknown_plan"),
        ({"Product Family": ""}, "aws_savings_plan_unknown_plan"),
        ({"PurchaseOption": "Heavy Upfront"}, "aws_savings_plan_unknown_payment_option"),
        ({"PurchaseOption": ""}, "aws_savings_plan_unknown_payment_option"),
        ({"LeaseContractLength": "2"}, "aws_savings_plan_unknown_lease"),
        ({"LeaseContractLength": "36"}, "aws_savings_plan_unknown_lease"),
        ({"LeaseContractLength": ""}, "aws_savings_plan_unknown_lease"),
        ({"LeaseContractLengthUnit": "month"}, "aws_savings_plan_unknown_lease"),
        ({"LeaseContractLengthUnit": ""}, "aws_savings_plan_unknown_lease"),
        ({"Unit": "Quantity"}, "unknown_unit"),
        ({"Unit": ""}, "unknown_unit"),
        ({"Currency": "CNY"}, "unknown_currency"),
        ({"Currency": ""}, "unknown_currency"),
        ({"DiscountedRegionCode": "eu-west-2"}, "foreign_region"),
        ({"DiscountedRate": ""}, "unparseable_price"),
        ({"DiscountedRate": "1e-3"}, "unparseable_price"),
        ({"DiscountedRate": "0.12345678912"}, "unparseable_price"),
        ({"DiscountedRate": "1,5"}, "unparseable_price"),
        ({"DiscountedRate": "-0.1"}, "negative_price"),
        ({"EffectiveDate": ""}, "unparseable_date"),
        ({"EffectiveDate": "July 2026"}, "unparseable_date"),
        ({"EffectiveDate": "2026-13-01T00:00:00Z"}, "unparseable_date"),
    ],
)
def test_what_is_not_understood_is_refused(changes: Row, rule: str) -> None:
    assert outcome(LINUX_RATE | changes) == rule
    assert RULE[rule].kind == "reject"


def test_every_rule_of_savings_plans_takes_a_row_in_these_tests() -> None:
    rows = [
        LINUX_RATE | changes
        for changes in (
            {"DiscountedServiceCode": "AWSLambda"},
            {"DiscountedUsageType": "EU-UnusedBox:m5.xlarge"},
            {"RateCode": ""},
            {"DiscountedServiceCode": "AmazonQuantum"},
            {"DiscountedSKU": "GONE"},
            {"DiscountedOperation": ""},
            {"DiscountedInstanceType": "m5"},
            {"Product Family": ""},
            {"PurchaseOption": ""},
            {"LeaseContractLength": ""},
        )
    ]
    skus = [sku(M5_LINUX), without_price(M5_WINDOWS, "zero_price")]

    counts = counted(normalize([*rows, WINDOWS_RATE], skus=skus))

    assert counts == dict.fromkeys((rule.id for rule in AWS_SAVINGS_PLANS), 1)


def test_an_absent_region_code_and_instance_type_contradict_nothing() -> None:
    columns = [
        name for name in COLUMNS if name not in {"DiscountedRegionCode", "DiscountedInstanceType"}
    ]

    assert_frame_equal(
        normalize([LINUX_RATE], columns=columns).prices, normalize([LINUX_RATE]).prices
    )


def test_region_codes_are_compared_without_case() -> None:
    assert outcome(LINUX_RATE | {"DiscountedRegionCode": "EU-West-1"}) == "kept"


def test_no_rate_of_a_region_that_is_not_known_is_a_price() -> None:
    row = LINUX_RATE | {"DiscountedRegionCode": "xx-moon-1"}

    assert outcome(row, region_id="xx-moon-1") == "unknown_region"


def test_a_refused_row_is_kept_with_what_was_expected_and_what_came() -> None:
    rejected = normalize([LINUX_RATE | {"DiscountedOperation": ""}]).rejected

    assert rejected.drop("row").row(0, named=True) == {
        "table": "prices",
        "source_id": "doc",
        "provider": "aws",
        "region_id": "eu-west-1",
        "rule": "aws_savings_plan_other_product",
        "reason": (
            "Expected the usage type and operation that the offer file has for the discounted "
            'SKU. Got discounted_usage_type "EU-BoxUsage:m5.xlarge", sku_usage_type '
            '"EU-BoxUsage:m5.xlarge", discounted_operation missing, sku_operation "RunInstances"'
        ),
    }
    row = json.loads(rejected["row"].item())
    assert list(row) == AWS_SAVINGS_PLAN_RATES.columns
    assert (row["discounted_rate"], row["discounted_operation"]) == ("0.1562", None)


def test_a_refusal_names_the_value_that_came() -> None:
    assert reason(LINUX_RATE | {"LeaseContractLength": "5"}) == (
        "Expected a lease contract length of 1 or 3, in year. Got lease_contract_length "
        '"5", lease_contract_length_unit "year"'
    )
    assert '"m5.large"' in reason(LINUX_RATE | {"DiscountedInstanceType": "m5.large"})
    assert '"GONE"' in reason(LINUX_RATE | {"DiscountedSKU": "GONE"})


def test_a_sku_that_is_given_twice_is_an_error_and_not_two_prices() -> None:
    with pytest.raises(pl.exceptions.ComputeError):
        normalize([LINUX_RATE], skus=[*SKUS, sku(M5_LINUX, operating_system="rhel")])


def many_rows() -> list[Row]:
    """Rates of every outcome, so that what is compared is not only what is kept."""
    rates = [LINUX_RATE | {"DiscountedRate": f"0.{number}"} for number in range(1, 30)]
    return [
        *rates,
        WINDOWS_RATE,
        LINUX_RATE | {"DiscountedUsageType": "EU-UnusedBox:m5.xlarge"},
        LINUX_RATE | {"DiscountedServiceCode": "AWSLambda", "Location": "EU (Ireland), Dublin"},
        LINUX_RATE | {"DiscountedSKU": "GONE"},
        WINDOWS_RATE | {"Unit": "Days"},
    ]


def assert_same(one: Normalized, other: Normalized) -> None:
    for left, right in zip(one, other, strict=True):
        assert_frame_equal(left, right, check_row_order=False)
    assert one.prices.height == 30
    assert one.counts["rows"].sum() == len(many_rows())


def test_rows_in_another_order_give_the_same() -> None:
    rows = many_rows()
    random.Random(3).shuffle(rows)

    assert_same(normalize(rows), normalize(many_rows()))


def test_columns_added_moved_and_dropped_give_the_same() -> None:
    needless = {"Description", "Granularity", "Location", "ServiceCode", "UsageType"}
    columns = ["New", *(name for name in reversed(COLUMNS) if name not in needless)]

    assert_same(normalize(many_rows(), columns=columns), normalize(many_rows()))


def test_quoted_fields_give_the_same() -> None:
    assert_same(normalize(many_rows(), quotes_all=True), normalize(many_rows()))


@pytest.mark.parametrize("block_bytes", [64, 700, 5000])
def test_where_blocks_are_cut_changes_nothing_not_even_the_order(block_bytes: int) -> None:
    cut, whole = normalize(many_rows(), block_bytes=block_bytes), normalize(many_rows())

    for left, right in zip(cut, whole, strict=True):
        assert_frame_equal(left, right)


def test_blocks_are_read_one_at_a_time() -> None:
    alive: list[int] = []

    def blocks() -> Iterable[pl.DataFrame]:
        content = encode(many_rows())
        for number, block in enumerate(
            read_savings_plan_rates(io.BytesIO(content), source_id="doc", block_bytes=700)
        ):
            alive.append(number)
            yield block

    given_blocks = iter(blocks())
    next(given_blocks)
    assert alive == [0]

    normalize_savings_plan_rates(
        given_blocks,
        skus=table_rows(AWS_SKUS, *SKUS),
        source_id="doc",
        region_id="eu-west-1",
        regions=REGIONS,
    )
    assert len(alive) > 5


def product_of_m5(*how: Any, number: int) -> Product:
    return compute_product(IRELAND, {"Instance Type": "m5.xlarge"}, *how, sku=f"SKU{number}")


def test_plans_join_to_what_the_offer_file_of_the_region_gave() -> None:
    products = [
        product_of_m5(LINUX, ON_DEMAND, number=1),
        product_of_m5(WINDOWS, DEDICATED, number=2),
        product_of_m5(LINUX, UNUSED_RESERVATION, number=3),
        product_of_m5(LINUX, ON_HOST, number=4),
        dedicated_host_product(IRELAND, {}, "m5", sku="SKU5"),
        product_of_m5(LINUX, ON_DEMAND, number=6),
    ]
    listed = [Decimal("0.214"), Decimal("0.42"), Decimal("0.214"), Decimal(0), Decimal("5.3")]
    offer = encode_offer_csv(
        on_demand_row(product, price, "", effective_date="2026-07-01")
        for product, price in zip(products[:5], listed, strict=True)
    )
    part = normalize_offer_file(
        read_offer_rows(io.BytesIO(offer), source_id="offer"),
        source_id="offer",
        region_id="eu-west-1",
        regions=REGIONS,
    )
    rates = [
        rate_row(COMPUTE, IRELAND, product, Decimal(number), effective_date=SINCE)
        for number, product in enumerate(products, start=1)
    ]

    normalized = normalize_savings_plan_rates(
        read_savings_plan_rates(io.BytesIO(encode(rates)), source_id="doc"),
        skus=part.skus,
        source_id="doc",
        region_id="eu-west-1",
        regions=REGIONS,
    )

    assert counted(normalized) == {
        "kept": 3,
        "aws_savings_plan_unused_capacity": 1,
        "aws_savings_plan_sku_without_price": 1,
        "aws_savings_plan_unknown_sku": 1,
    }
    words = ["sku_id", "instance_type", "operating_system", "license_model", "tenancy"]
    assert normalized.prices.select(words).rows() == [
        ("SKU1", "m5.xlarge", "linux", "included", "shared"),
        ("SKU2", "m5.xlarge", "windows", "included", "dedicated"),
        ("SKU5", "m5", "linux", "included", "host"),
    ]
    # A plan's price stands beside the offer file's own, of the same machine.
    assert_frame_equal(
        normalized.prices.select(words),
        part.normalized.prices.select(words),
        check_row_order=False,
    )


CHANGES = st.fixed_dictionaries(
    {},
    optional={
        name: st.sampled_from(values)
        for name, values in {
            "SKU": ["", "P"],
            "DiscountedSKU": ["", "GONE", "LINUX2223B6PCG6Q", "WINDOWS3B6PCG6QA"],
            "DiscountedServiceCode": ["", "AWSLambda", "AmazonQuantum"],
            "DiscountedUsageType": ["", "EU-UnusedBox", "EU-BoxUsage:m5.large"],
            "DiscountedOperation": ["", "RunInstances:0002"],
            "DiscountedRate": ["", "0", "-1", "x", "7"],
            "PurchaseOption": ["", "All Upfront"],
            "LeaseContractLength": ["", "3"],
            "EffectiveDate": ["", "2026-08-01T00:00:00Z"],
            "Currency": ["", "EUR"],
        }.items()
    },
)


@PROPERTY
@given(st.lists(CHANGES, max_size=12))
def test_no_row_is_lost_or_counted_twice(changes: list[dict[str, str]]) -> None:
    normalized = normalize([LINUX_RATE | change for change in changes])

    by_outcome = dict(normalized.counts.group_by("outcome").agg(pl.col("rows").sum()).iter_rows())
    assert sum(by_outcome.values()) == len(changes)
    assert by_outcome.get("kept", 0) == normalized.prices.height
    assert by_outcome.get("rejected", 0) == normalized.rejected.height
    assert normalized.rejected["reason"].null_count() == 0


# What the offer file says of the sample's SKUs: operation to system.
R7G_SYSTEMS = {
    "RunInstances": "linux",
    "RunInstances:000g": "suse",
    "RunInstances:0010": "rhel",
    "RunInstances:0g00": "ubuntu_pro",
    "RunInstances:1010": "rhel_ha",
}


def skus_of_the_sample(raw: pl.DataFrame) -> list[dict[str, str | None]]:
    """AWS_SKUS as the offer file of ap-east-2 would give them for the sample's SKUs."""
    tenancies = {"BoxUsage": "shared", "DedicatedUsage": "dedicated", "HostUsage": "host"}
    found: list[dict[str, str | None]] = []
    for row in raw.rows(named=True):
        use = row["discounted_usage_type"].removeprefix("APE2-").partition(":")[0]
        product = {
            "SKU": row["discounted_sku"],
            "usageType": row["discounted_usage_type"],
            "operation": row["discounted_operation"],
            "Instance Type": row["discounted_instance_type"],
            "Operating System": "",
        }
        system = R7G_SYSTEMS[row["discounted_operation"]]
        found.append(
            sku(product, operating_system=system, tenancy=tenancies[use])
            if use in tenancies
            else without_price(product, "aws_capacity_reservation")
        )
    return found


@needs_shared_data
def test_the_real_rates_of_taipei_from_the_source_to_prices(client, landing) -> None:
    aws = FakeAws({}, savings_plans={"ap-east-2": SAMPLE.read_bytes()})
    with FakeServer(aws) as server:
        _, (file,) = fetch_savings_plan_index(client, server.aws_url, landing, fetched_at=NOW)
        document = fetch_savings_plan_file(client, file, landing, fetched_at=NOW)
    landed = landing.bodies[document.sha256]
    raw = pl.concat(read_savings_plan_rates(io.BytesIO(landed), source_id=document.source_id))

    normalized = normalize(landed, skus=skus_of_the_sample(raw), region_id="ap-east-2")

    assert counted(normalized) == {"kept": 23, "aws_savings_plan_unused_capacity": 21}
    prices = normalized.prices
    assert dict(prices.group_by("tenancy").len().iter_rows()) == {
        "shared": 10,
        "dedicated": 12,
        "host": 1,
    }
    assert prices.select(
        "purchase_option",
        "commitment_type",
        "term_years",
        "payment_option",
        "currency",
        "valid_from",
    ).unique().rows() == [
        (
            "savings_plan",
            "ec2_instance",
            3,
            "partial_upfront",
            "USD",
            datetime(2025, 6, 5, 18, 51, 13, tzinfo=UTC),
        )
    ]
    found = prices.select("sku_id", "instance_type", "operating_system", "tenancy", "hourly_rate")
    assert found.rows() == [
        (sku_id, instance_type, system, tenancy, Decimal(rate))
        for sku_id, instance_type, system, tenancy, rate in (
            ("23PWZ6X8AQE4NKNR", "r7g.medium", "rhel", "dedicated", "0.0425"),
            ("28DXD4M5FZD3DMKB", "r7g.xlarge", "rhel_ha", "dedicated", "0.2399"),
            ("2GKZZWX3JXB9PGVM", "r7g.16xlarge", "ubuntu_pro", "dedicated", "1.6358"),
            ("2NY8QY787VR5YXVW", "r7g.12xlarge", "ubuntu_pro", "shared", "1.2268"),
            ("2RNU8DBB4RCGTSYF", "r7g.12xlarge", "rhel_ha", "dedicated", "2.5383"),
            ("3AFPUQMRGQYZT63S", "r7g.2xlarge", "linux", "shared", "0.1954"),
            ("3KCBCRF6VKV6QC43", "r7g.12xlarge", "rhel", "shared", "1.6905"),
            ("3NSMMW24NHX6V77F", "r7g", "linux", "host", "5.157"),
            ("46NSN4YQKYX9TGA2", "r7g.16xlarge", "ubuntu_pro", "shared", "1.6358"),
            ("563DU8F7GYEBEAU5", "r7g.xlarge", "linux", "dedicated", "0.1123"),
            ("5ZFVZGGRWZRAN9UB", "r7g.16xlarge", "linux", "dedicated", "1.5628"),
            ("62U497ZCZ23AYBBP", "r7g.xlarge", "rhel", "shared", "0.1553"),
            ("63GMR57PNRYKEMA2", "r7g.large", "rhel_ha", "dedicated", "0.12"),
            ("6449V6VR3HYGW6KX", "r7g.medium", "suse", "dedicated", "0.0506"),
            ("77V6KFVNMCC4PA83", "r7g.large", "suse", "dedicated", "0.0787"),
            ("7BJ2PVZFQU4T83RA", "r7g.16xlarge", "suse", "shared", "1.6168"),
            ("7RFWSY8F63X2W33W", "r7g.2xlarge", "ubuntu_pro", "shared", "0.2045"),
            ("7XYHX3CH6NCEFSGW", "r7g.16xlarge", "rhel", "dedicated", "2.254"),
            ("7ZBJKPQ7TNHCMCP3", "r7g.12xlarge", "linux", "shared", "1.1721"),
            ("87EKYHWKZAPTQSWV", "r7g.12xlarge", "suse", "dedicated", "1.4019"),
            ("89N3T2GEERWFDZZ4", "r7g.8xlarge", "rhel_ha", "dedicated", "1.6922"),
            ("8BXN8443YCK74N7C", "r7g.large", "ubuntu_pro", "shared", "0.0511"),
            ("8H8CCSDWTXBK9CKQ", "r7g.metal", "suse", "shared", "1.6168"),
        )
    ]
