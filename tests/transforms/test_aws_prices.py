"""Which EC2 offer rows are prices; every row is kept, refused or filtered by name."""

import io
import json
import random
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from itertools import product
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from connectors.aws.wire import OPTIONAL_COLUMNS, read_offer_rows
from support.wire_aws import OFFER_COLUMNS, encode_offer_csv
from transforms.aws_prices import OfferFilePart, normalize_offer_file
from transforms.normalized import Normalized
from transforms.regions import parse_regions
from warehouse.schemas.parts import (
    AWS_SKUS,
    INSTANCE_FACTS,
    LISTINGS,
    OFFERINGS,
    PRICE_CANDIDATES,
    REJECTED,
    ROW_COUNTS,
)
from warehouse.schemas.raw import AWS_OFFER_ROWS
from warehouse.schemas.rules import RULE
from warehouse.schemas.rules.aws import AWS

ROOT = Path(__file__).resolve().parents[2]
WIRE = ROOT / "tests/wire/aws"
REGIONS = parse_regions((ROOT / "transforms/reference/regions.csv").read_bytes())

LINUX = {
    "SKU": "5G4TA8Z4MUKE6MJB",
    "OfferTermCode": "JRTCKXETXF",
    "RateCode": "5G4TA8Z4MUKE6MJB.JRTCKXETXF.6YS6EN2CT7",
    "TermType": "OnDemand",
    "EffectiveDate": "2026-07-01",
    "StartingRange": "0",
    "EndingRange": "Inf",
    "Unit": "Hrs",
    "PricePerUnit": "0.1920000000",
    "Currency": "USD",
    "Product Family": "Compute Instance",
    "Location": "US East (N. Virginia)",
    "Instance Type": "m5.xlarge",
    "Tenancy": "Shared",
    "Operating System": "Linux",
    "License Model": "No License required",
    "Pre Installed S/W": "NA",
    "usageType": "BoxUsage:m5.xlarge",
    "operation": "RunInstances",
    "CapacityStatus": "Used",
    "MarketOption": "OnDemand",
    "Region Code": "us-east-1",
}
WINDOWS = LINUX | {
    "Operating System": "Windows",
    "operation": "RunInstances:0002",
    "PricePerUnit": "0.3760000000",
}
BYOL = WINDOWS | {"License Model": "Bring your own license", "operation": "RunInstances:0800"}
DEDICATED = {"Tenancy": "Dedicated", "usageType": "DedicatedUsage:m5.xlarge"}


def normalize_file(
    rows: Iterable[Mapping[str, str | None]] | bytes,
    *,
    region_id: str = "us-east-1",
    columns: tuple[str, ...] = OFFER_COLUMNS,
    block_bytes: int = 8 << 20,
) -> OfferFilePart:
    content = rows if isinstance(rows, bytes) else encode_offer_csv(rows, columns=columns)
    blocks = read_offer_rows(io.BytesIO(content), source_id="doc", block_bytes=block_bytes)
    return normalize_offer_file(blocks, source_id="doc", region_id=region_id, regions=REGIONS)


def normalize(
    rows: Iterable[Mapping[str, str | None]] | bytes, *, region_id: str = "us-east-1"
) -> Normalized:
    return normalize_file(rows, region_id=region_id).normalized


def outcome(row: Mapping[str, str | None], *, region_id: str = "us-east-1") -> str:
    """Return the one place where a row went: kept, or the rule's id."""
    counts = normalize([row], region_id=region_id).counts
    assert counts["rows"].to_list() == [1]
    return counts["rule"].item() or counts["outcome"].item()


def counted(normalized: Normalized) -> dict[str, int]:
    rules = normalized.counts["rule"].fill_null("kept")
    return dict(zip(rules, normalized.counts["rows"], strict=True))


def prices(normalized: Normalized) -> dict[tuple[str, str, str, str], Decimal]:
    """Return what is listed on demand without software."""
    key = ["instance_type", "operating_system", "license_model", "tenancy"]
    found = normalized.prices.filter(purchase_option="on_demand", pre_installed_software="none")
    assert not found.select(key).is_duplicated().any()
    return dict(zip(found.select(key).iter_rows(), found["hourly_rate"], strict=True))


def test_the_linux_row_becomes_a_price_with_every_column_of_the_contract() -> None:
    normalized = normalize([LINUX])

    assert normalized.prices.row(0, named=True) == {
        "provider": "aws",
        "region_id": "us-east-1",
        "availability_zone_id": None,
        "instance_type": "m5.xlarge",
        "operating_system": "linux",
        "license_model": "included",
        "pre_installed_software": "none",
        "tenancy": "shared",
        "purchase_option": "on_demand",
        "commitment_type": None,
        "term_years": None,
        "payment_option": None,
        "hourly_rate": Decimal("0.1920000000"),
        "upfront_fee": None,
        "effective_hourly_price": Decimal("0.1920000000"),
        "pricing_category": "Standard",
        "currency": "USD",
        "pricing_unit": "Hours",
        "valid_from": datetime(2026, 7, 1, tzinfo=UTC),
        "valid_to": None,
        "sku_id": "5G4TA8Z4MUKE6MJB",
        "sku_price_id": "5G4TA8Z4MUKE6MJB.JRTCKXETXF.6YS6EN2CT7",
        "price_quality": "ok",
        "source_id": "doc",
    }
    assert normalized.counts.rows() == [("doc", "kept", None, 1)]


def test_every_frame_has_its_tables_schema_with_and_without_rows() -> None:
    tables = (PRICE_CANDIDATES, REJECTED, ROW_COUNTS, INSTANCE_FACTS, LISTINGS, OFFERINGS)
    nothing = normalize_offer_file([], source_id="doc", region_id="us-east-1", regions=REGIONS)

    for part in (nothing, normalize_file([LINUX, LINUX | {"Unit": "Days"}])):
        assert [frame.schema for frame in part.normalized] == [table.schema for table in tables]
        assert part.skus.schema == AWS_SKUS.schema


NO, OWN = "No License required", "Bring your own license"
RHEL_HA = "Red Hat Enterprise Linux with HA"
PRODUCTS = [
    (("Linux", "NA", NO, ""), ("linux", "none", "included")),
    (("Linux", "SQL Web", NO, ":0200"), ("linux", "sql_web", "included")),
    (("Linux", "SQL Std", NO, ":0004"), ("linux", "sql_standard", "included")),
    (("Linux", "SQL Ent", NO, ":0100"), ("linux", "sql_enterprise", "included")),
    (("Windows", "NA", NO, ":0002"), ("windows", "none", "included")),
    (("Windows", "SQL Web", NO, ":0202"), ("windows", "sql_web", "included")),
    (("Windows", "SQL Std", NO, ":0006"), ("windows", "sql_standard", "included")),
    (("Windows", "SQL Ent", NO, ":0102"), ("windows", "sql_enterprise", "included")),
    (("Windows", "NA", OWN, ":0800"), ("windows", "none", "byol")),
    (("RHEL", "NA", NO, ":0010"), ("rhel", "none", "included")),
    (("RHEL", "SQL Web", NO, ":0210"), ("rhel", "sql_web", "included")),
    (("RHEL", "SQL Std", NO, ":0014"), ("rhel", "sql_standard", "included")),
    (("RHEL", "SQL Ent", NO, ":0110"), ("rhel", "sql_enterprise", "included")),
    (("RHEL", "NA", OWN, ":00g0"), ("rhel", "none", "byol")),
    ((RHEL_HA, "NA", NO, ":1010"), ("rhel_ha", "none", "included")),
    ((RHEL_HA, "SQL Std", NO, ":1014"), ("rhel_ha", "sql_standard", "included")),
    ((RHEL_HA, "SQL Ent", NO, ":1110"), ("rhel_ha", "sql_enterprise", "included")),
    (("SUSE", "NA", NO, ":000g"), ("suse", "none", "included")),
    (("Ubuntu Pro", "NA", NO, ":0g00"), ("ubuntu_pro", "none", "included")),
]
"""AWS's operating system, software, licence and usage operation; what the catalog calls them."""


def of_product(words: tuple[str, str, str, str], tenancy: str = "Shared") -> dict[str, str]:
    system, software, licence, code = words
    return (LINUX if tenancy == "Shared" else LINUX | DEDICATED) | {
        "Operating System": system,
        "Pre Installed S/W": software,
        "License Model": licence,
        "operation": f"RunInstances{code}",
    }


@pytest.mark.parametrize("tenancy", ["Shared", "Dedicated"])
@pytest.mark.parametrize(("words", "expected"), PRODUCTS)
def test_systems_software_licences_and_tenancies_are_told_apart(
    words: tuple[str, str, str, str], expected: tuple[str, str, str], tenancy: str
) -> None:
    part = normalize_file([of_product(words, tenancy)])

    columns = ["operating_system", "pre_installed_software", "license_model", "tenancy"]
    assert part.normalized.prices.select(columns).row(0) == (*expected, tenancy.lower())
    assert part.skus.select(columns).row(0) == (*expected, tenancy.lower())


def test_no_other_words_go_with_an_operation() -> None:
    known = {words for words, _ in PRODUCTS}
    systems, software, licences, codes = (sorted({*column}) for column in zip(*known, strict=True))
    combinations = list(product(systems, software, licences, codes))
    rows = [of_product(words) | {"SKU": str(sku)} for sku, words in enumerate(combinations)]

    found = normalize(rows)

    assert {combinations[int(sku)] for sku in found.prices["sku_id"]} == known
    assert counted(found) == {"kept": 19, "aws_inconsistent_product": len(combinations) - 19}


@pytest.mark.parametrize(
    "usage_type",
    ["BoxUsage:m5.xlarge", "EU-BoxUsage:m5.xlarge", "EU-BoxUsage", "BoxUsage", "APE2-BoxUsage:x"],
)
def test_the_usage_type_may_lack_the_regions_prefix_and_the_type(usage_type: str) -> None:
    assert outcome(LINUX | {"usageType": usage_type}) == "kept"


def test_bare_metal_is_priced_by_its_shared_row() -> None:
    metal = LINUX | {
        "Product Family": "Compute Instance (bare metal)",
        "Instance Type": "c6g.metal",
        "usageType": "BoxUsage:c6g.metal",
        "PricePerUnit": "2.1760000000",
    }
    dearer = metal | {
        "Tenancy": "Dedicated",
        "usageType": "DedicatedUsage:c6g.metal",
        "PricePerUnit": "2.3066000000",
    }

    assert prices(normalize([dearer, metal])) == {
        ("c6g.metal", "linux", "included", "shared"): Decimal("2.1760000000"),
        ("c6g.metal", "linux", "included", "dedicated"): Decimal("2.3066000000"),
    }


RESERVED = {
    "TermType": "Reserved",
    "LeaseContractLength": "1yr",
    "PurchaseOption": "No Upfront",
    "OfferingClass": "standard",
}
HOST = {
    "Product Family": "Dedicated Host",
    "Instance Type": "m5",
    "Tenancy": "Host",
    "usageType": "HostUsage:m5",
    "CapacityStatus": "NA",
}

FILTERED = [
    ("aws_not_compute", {"Product Family": "Storage", "Instance Type": None}),
    ("aws_not_compute", {"Product Family": None, "Instance Type": None}),
    ("aws_free_tier", {"Instance Type": None, "usageType": "Global-BoxUsage:freetrial"}),
    ("aws_no_instance_type", {"Instance Type": None}),
    ("aws_ebs_optimized_fee", {"usageType": "EU-EBSOptimized:c3.2xlarge", "Tenancy": "NA"}),
    ("aws_capacity_block", {"MarketOption": "CapacityBlock", "operation": "RunInstances:CB"}),
    ("aws_capacity_block", {"MarketOption": None, "operation": "RunInstances:0g00:CB"}),
    ("aws_capacity_reservation", {"CapacityStatus": "UnusedCapacityReservation"}),
    ("aws_capacity_reservation", {"CapacityStatus": "AllocatedCapacityReservation"}),
    ("aws_host_tenancy", {"Tenancy": "Host", "usageType": "HostBoxUsage:m5.xlarge"}),
    ("aws_infrastructure_part", {"License Model": "License Included - Infrastructure"}),
    ("zero_price", {"PricePerUnit": "0.0000000000"}),
    ("zero_price", {"PricePerUnit": "-0"}),
]

REJECTED_ROWS = [
    ("aws_unknown_term", {"TermType": "Spot"}),
    ("aws_unknown_term", {"TermType": None}),
    ("aws_unknown_term", {"LeaseContractLength": "3yr", "PurchaseOption": "All Upfront"}),
    ("aws_unknown_term", {"OfferingClass": "standard"}),
    ("aws_unknown_lease", RESERVED | {"LeaseContractLength": "5yr"}),
    ("aws_unknown_lease", RESERVED | {"LeaseContractLength": None}),
    ("aws_unknown_purchase_option", RESERVED | {"PurchaseOption": "Heavy Utilization"}),
    ("aws_unknown_offering_class", RESERVED | {"OfferingClass": "flexible"}),
    ("aws_unknown_offering_class", RESERVED | {"OfferingClass": None}),
    ("aws_unknown_host", HOST | {"operation": "RunInstances:0002"}),
    ("aws_unknown_host", HOST | {"Tenancy": "Shared"}),
    ("aws_unknown_host", HOST | {"Operating System": "Windows"}),
    ("aws_unknown_host", HOST | {"CapacityStatus": "UnusedHost"}),
    ("aws_inconsistent_usage", HOST | {"usageType": "HostBoxUsage:m5"}),
    ("aws_inconsistent_usage", HOST | {"usageType": "ReservedHostUsage:m5"}),
    ("aws_unknown_product_family", {"Product Family": "Compute Instance (quantum)"}),
    ("aws_unknown_product_family", {"Product Family": None}),
    ("aws_unknown_market_option", {"MarketOption": "Flexible"}),
    ("aws_unknown_capacity_status", {"CapacityStatus": "NA"}),
    ("aws_unknown_tenancy", {"Tenancy": "Reserved"}),
    ("aws_unknown_tenancy", {"Tenancy": "NA"}),
    ("aws_unknown_operating_system", {"Operating System": "Plan 9"}),
    ("aws_unknown_operating_system", {"Operating System": "NA"}),
    ("aws_unknown_operating_system", {"Operating System": None}),
    ("aws_unknown_software", {"Pre Installed S/W": "Oracle"}),
    ("aws_unknown_software", {"Pre Installed S/W": None}),
    ("aws_unknown_license_model", {"License Model": "NA"}),
    ("aws_unknown_operation", {"operation": "RunInstances:9999"}),
    ("aws_unknown_operation", {"operation": "RunInstances:0002:box"}),
    ("aws_unknown_operation", {"operation": "Hourly"}),
    ("aws_unknown_operation", {"operation": None}),
    ("aws_inconsistent_product", {"operation": "RunInstances:0004"}),
    ("aws_inconsistent_product", {"operation": "RunInstances:00g0"}),
    ("aws_inconsistent_product", {"License Model": "Bring your own license"}),
    ("aws_inconsistent_product", {"Operating System": "Windows"}),
    ("aws_inconsistent_usage", {"usageType": "DedicatedUsage:m5.xlarge"}),
    ("aws_inconsistent_usage", {"usageType": "HostBoxUsage:m5.xlarge"}),
    ("aws_inconsistent_usage", {"usageType": "UnusedBox:m5.xlarge", "CapacityStatus": None}),
    ("aws_inconsistent_usage", {"Tenancy": "Dedicated"}),
    ("aws_inconsistent_usage", {"usageType": None}),
    ("foreign_region", {"Region Code": "us-east-1-nyc-1"}),
    ("aws_missing_identifier", {"SKU": None}),
    ("aws_missing_identifier", {"RateCode": None}),
    ("aws_missing_identifier", RESERVED | {"OfferTermCode": None}),
    ("unknown_unit", RESERVED | {"Unit": "Days"}),
    ("unknown_unit", {"Unit": "Quantity"}),
    ("unknown_unit", {"Unit": "hours"}),
    ("unknown_unit", {"Unit": None}),
    ("aws_tiered_price", {"EndingRange": "750"}),
    ("aws_tiered_price", {"StartingRange": "750"}),
    ("unknown_currency", {"Currency": "CNY"}),
    ("unknown_currency", {"Currency": None}),
    ("unparseable_price", {"PricePerUnit": None}),
    ("unparseable_price", {"PricePerUnit": "0.12345678901"}),
    ("unparseable_price", {"PricePerUnit": "123456789.0"}),
    ("unparseable_price", {"PricePerUnit": "1e-3"}),
    ("unparseable_price", {"PricePerUnit": "1,000.00"}),
    ("unparseable_price", {"PricePerUnit": "0.19 USD"}),
    ("negative_price", {"PricePerUnit": "-0.1920000000"}),
    ("unparseable_date", {"EffectiveDate": None}),
    ("unparseable_date", {"EffectiveDate": "2026-02-30"}),
    ("unparseable_date", {"EffectiveDate": "07/01/2026"}),
    ("unparseable_date", {"EffectiveDate": "2026-07-01 and later"}),
]


@pytest.mark.parametrize(("rule", "change"), FILTERED)
def test_what_is_known_to_be_no_price_is_filtered_by_name(
    rule: str, change: dict[str, str | None]
) -> None:
    normalized = normalize([LINUX | change])

    assert normalized.counts.rows() == [("doc", "filtered", rule, 1)]
    assert normalized.prices.height == normalized.rejected.height == 0


@pytest.mark.parametrize(("rule", "change"), REJECTED_ROWS)
def test_what_is_not_known_is_refused_with_what_came(
    rule: str, change: dict[str, str | None]
) -> None:
    normalized = normalize([LINUX | change])

    assert normalized.counts.rows() == [("doc", "rejected", rule, 1)]
    assert normalized.prices.height == 0
    refused = normalized.rejected.row(0, named=True)
    assert (refused["rule"], refused["source_id"]) == (rule, "doc")
    assert (refused["provider"], refused["region_id"]) == ("aws", "us-east-1")
    assert refused["reason"].startswith(f"{RULE[rule].reason}. Got ")
    assert any(
        (f'"{value}"' if value else "missing") in refused["reason"] for value in change.values()
    )


def test_every_rule_of_this_provider_has_a_row_that_shows_it() -> None:
    of_whole_terms = {"aws_upfront_fee", "aws_incomplete_term"}  # in test_aws_reserved_terms.py
    shown = {rule for rule, _ in FILTERED + REJECTED_ROWS} | of_whole_terms

    assert {rule.id for rule in AWS} - shown == set()


def test_a_refused_row_is_kept_whole_in_the_providers_words() -> None:
    row = json.loads(normalize([LINUX | {"Operating System": "Plan 9"}]).rejected["row"].item())

    assert list(row) == AWS_OFFER_ROWS.columns
    assert row["operating_system"] == "Plan 9"
    assert row["price_per_unit"] == "0.1920000000"
    assert row["capacity_status"] == "Used"
    assert row["gpu"] is None


def test_the_licence_models_of_windows_are_three_and_only_one_is_what_windows_costs() -> None:
    rows = [
        WINDOWS,
        BYOL | {"PricePerUnit": "0.1920000000"},
        WINDOWS
        | {
            "License Model": "License Included - Infrastructure",
            "operation": "RunInstances:0002:box",
            "PricePerUnit": "0.1920000000",
        },
    ]

    normalized = normalize(rows)

    assert prices(normalized) == {
        ("m5.xlarge", "windows", "included", "shared"): Decimal("0.3760000000"),
        ("m5.xlarge", "windows", "byol", "shared"): Decimal("0.1920000000"),
    }
    assert counted(normalized) == {"kept": 2, "aws_infrastructure_part": 1}


@pytest.mark.parametrize(
    ("text", "price"),
    [
        ("21.9576420000", "21.957642"),
        ("21.95764", "21.95764"),
        ("0.0000000001", "0.0000000001"),
        ("0.19200000000000", "0.192"),
        ("99999999.9999999999", "99999999.9999999999"),
        ("5", "5"),
    ],
)
def test_prices_are_exact(text: str, price: str) -> None:
    found = normalize([LINUX | {"PricePerUnit": text}]).prices

    assert found["hourly_rate"].item() == Decimal(price)
    assert found["effective_hourly_price"].item() == Decimal(price)


def test_a_date_with_time_is_read_as_utc() -> None:
    found = normalize([LINUX | {"EffectiveDate": "2026-09-01T12:30:00Z"}]).prices

    assert found["valid_from"].item() == datetime(2026, 9, 1, 12, 30, tzinfo=UTC)


def test_the_regions_own_currency_is_asked_for() -> None:
    yuan = LINUX | {"Region Code": "cn-northwest-1", "Currency": "CNY"}

    assert outcome(yuan, region_id="cn-northwest-1") == "kept"
    assert outcome(yuan | {"Currency": "USD"}, region_id="cn-northwest-1") == "unknown_currency"


def test_no_price_of_a_region_that_is_not_in_the_reference_table_is_kept() -> None:
    moon = LINUX | {"Region Code": "moon-1"}

    assert outcome(moon, region_id="moon-1") == "unknown_region"
    assert outcome(moon | {"Tenancy": "Host"}, region_id="moon-1") == "aws_host_tenancy"


def test_regions_are_compared_without_case() -> None:
    assert outcome(LINUX | {"Region Code": "US-East-1"}) == "kept"


def test_a_local_zones_price_never_stands_for_its_parents() -> None:
    zone = LINUX | {"Region Code": "us-west-2-lax-1", "PricePerUnit": "0.1020000000"}

    assert outcome(zone, region_id="us-west-2") == "foreign_region"
    assert outcome(zone, region_id="us-west-2-lax-1") == "kept"


def test_capacity_blocks_are_listed_and_their_fees_are_no_prices() -> None:
    block = {"MarketOption": "CapacityBlock", "Instance Type": "p5e.48xlarge"}
    rows = [
        LINUX | block | {"operation": "RunInstances:CB", "PricePerUnit": "0.0000000000"},
        LINUX | block | {"Operating System": "Ubuntu Pro", "PricePerUnit": "0.3360000000"},
        LINUX | block | {"Region Code": "us-east-2", "Instance Type": "p5en.48xlarge"},
        LINUX,
    ]

    normalized = normalize(rows)

    assert prices(normalized).keys() == {("m5.xlarge", "linux", "included", "shared")}
    assert normalized.listings.rows() == [
        ("aws", "us-east-1", "p5e.48xlarge", "capacity_block_only")
    ]
    assert counted(normalized) == {"kept": 1, "aws_capacity_block": 3}


def test_a_type_that_has_only_fees_and_blocks_is_still_described() -> None:
    host_only = {"Instance Type": "u-6tb1.metal", "Tenancy": "Host", "vCPU": "448"}
    block_only = {"Instance Type": "p5e.48xlarge", "MarketOption": "CapacityBlock", "vCPU": "192"}
    fee = {"Instance Type": "c3.large", "usageType": "EBSOptimized:c3.large"}

    facts = normalize([LINUX | host_only, LINUX | block_only, LINUX | fee]).instance_facts

    assert facts.select("instance_type", "vcpu_count").rows() == [
        ("p5e.48xlarge", 192),
        ("u-6tb1.metal", 448),
    ]


def test_equal_rows_are_all_kept_for_the_step_that_sees_the_whole_region() -> None:
    assert counted(normalize([LINUX, LINUX])) == {"kept": 2}


def sample() -> list[dict[str, str | None]]:
    changes = [change for _, change in FILTERED + REJECTED_ROWS]
    types = [LINUX | {"Instance Type": f"c{number}.large"} for number in range(5)]
    return [*types, LINUX, WINDOWS, BYOL, *(LINUX | change for change in changes)]


def ordered(part: OfferFilePart) -> list[pl.DataFrame]:
    return [frame.sort(pl.all()) for frame in (*part.normalized, part.skus)]


def test_order_of_rows_cuts_of_blocks_and_columns_change_nothing() -> None:
    rows = sample()
    expected = ordered(normalize_file(rows))
    rng = random.Random(7)

    for _ in range(3):
        rng.shuffle(rows)
        columns = rng.sample(OFFER_COLUMNS, len(OFFER_COLUMNS))
        columns.insert(rng.randrange(90), "A New Column")
        found = normalize_file(rows, columns=tuple(columns), block_bytes=rng.randrange(500, 5000))
        for left, right in zip(ordered(found), expected, strict=True):
            assert_frame_equal(left, right)


def test_rows_in_are_rows_kept_refused_and_filtered() -> None:
    rows = sample()

    normalized = normalize(rows)

    by_outcome = dict(normalized.counts.group_by("outcome").agg(pl.col("rows").sum()).iter_rows())
    assert by_outcome == {"kept": 8, "rejected": len(REJECTED_ROWS), "filtered": len(FILTERED)}
    assert normalized.prices.height == 8
    assert normalized.rejected.height == len(REJECTED_ROWS)


@pytest.mark.parametrize("column", sorted(OPTIONAL_COLUMNS.values()))
def test_a_column_that_may_be_missing_is_not_needed_on_demand(column: str) -> None:
    rows = [
        of_product(words, tenancy) for words, _ in PRODUCTS for tenancy in ("Shared", "Dedicated")
    ]
    columns = tuple(name for name in OFFER_COLUMNS if name != column)

    found, expected = normalize_file(rows, columns=columns), normalize_file(rows)

    assert found.normalized.prices.equals(expected.normalized.prices)
    assert found.normalized.counts.equals(expected.normalized.counts)
    assert found.skus.equals(expected.skus)


def test_files_without_the_newer_columns_mean_on_demand_used_and_their_own_region() -> None:
    newer = {"MarketOption", "CapacityStatus", "Region Code"}
    columns = tuple(name for name in OFFER_COLUMNS if name not in newer)

    assert counted(normalize_file([LINUX], columns=columns).normalized) == {"kept": 1}


def test_the_sample_of_2026_gives_its_prices_and_counts() -> None:
    normalized = normalize((WIRE / "offer_2026_us-east-1.csv").read_bytes())

    assert prices(normalized) == {
        ("t3.micro", "linux", "included", "shared"): Decimal("0.0104"),
        ("m5.xlarge", "linux", "included", "shared"): Decimal("0.192"),
        ("g4dn.xlarge", "linux", "included", "shared"): Decimal("0.526"),
        ("g5.2xlarge", "linux", "included", "shared"): Decimal("1.212"),
        ("g6.xlarge", "linux", "included", "shared"): Decimal("0.8048"),
        ("inf2.xlarge", "linux", "included", "shared"): Decimal("0.7582"),
        ("p4d.24xlarge", "linux", "included", "shared"): Decimal("21.957642"),
        ("p5.48xlarge", "linux", "included", "shared"): Decimal("55.04"),
        ("trn1.32xlarge", "linux", "included", "shared"): Decimal("21.5"),
        ("m5.xlarge", "windows", "included", "shared"): Decimal("0.376"),
        ("m5.xlarge", "windows", "byol", "shared"): Decimal("0.192"),
        ("m5.xlarge", "linux", "included", "dedicated"): Decimal("0.204"),
        ("m5", "linux", "included", "host"): Decimal("5.069"),
    }
    others = normalized.prices.filter(
        (pl.col("purchase_option") != "on_demand") | (pl.col("pre_installed_software") != "none")
    )
    assert others.select(
        "instance_type", "pre_installed_software", "payment_option", "effective_hourly_price"
    ).sort(pl.all()).rows() == [
        ("m5.xlarge", "none", "partial_upfront", Decimal("0.0798021309")),  # 0.04 + 1046/26280
        ("m5.xlarge", "sql_standard", None, Decimal("0.672")),
    ]
    assert counted(normalized) == {
        "kept": 15,
        "aws_capacity_block": 1,
        "aws_capacity_reservation": 1,
        "aws_ebs_optimized_fee": 1,
        "aws_free_tier": 1,
        "aws_infrastructure_part": 1,
        "aws_not_compute": 1,
        "aws_upfront_fee": 1,
    }
    assert normalized.listings["instance_type"].to_list() == ["p5.48xlarge"]


def test_the_sample_of_2020_gives_its_prices() -> None:
    content = (WIRE / "offer_2020_eu-west-1.csv").read_bytes()

    assert prices(normalize(content, region_id="eu-west-1")) == {
        ("m1.small", "linux", "included", "shared"): Decimal("0.047"),
        ("m5.xlarge", "linux", "included", "shared"): Decimal("0.214"),
    }


def test_the_sample_of_china_is_priced_in_yuan_whatever_its_codes() -> None:
    content = (WIRE / "offer_2023_cn-northwest-1.csv").read_bytes()

    found = normalize(content, region_id="cn-northwest-1").prices

    assert found.select("currency", "hourly_rate", "sku_price_id").row(0) == (
        "CNY",
        Decimal("1.992"),
        "SYNTHETIC0000020.5Y9WH78GDR.Q7UJUT2CE6",
    )
