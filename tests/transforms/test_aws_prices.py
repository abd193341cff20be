"""Which EC2 offer rows are on-demand prices; every row is kept, refused or filtered by name."""

import io
import json
import random
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from connectors.aws.wire import read_offer_rows
from support.wire_aws import OFFER_COLUMNS, encode_offer_csv
from transforms.aws_prices import normalize_offer_rows
from transforms.normalized import Normalized, combine
from transforms.regions import parse_regions
from warehouse.schemas.catalog import PRICE_KEY_NOW
from warehouse.schemas.parts import INSTANCE_FACTS, LISTINGS, PRICE_CANDIDATES, REJECTED, ROW_COUNTS
from warehouse.schemas.raw import AWS_OFFER_ROWS
from warehouse.schemas.rules import RULE
from warehouse.schemas.rules.aws import AWS

ROOT = Path(__file__).resolve().parents[2]
WIRE = ROOT / "tests/wire/aws"
SHARED = ROOT.parent / "shared/data/aws"
REGIONS = parse_regions((ROOT / "transforms/reference/regions.csv").read_bytes())

needs_shared_data = pytest.mark.skipif(not SHARED.exists(), reason="shared sample data is absent")

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


def normalize(
    rows: Iterable[Mapping[str, str | None]] | bytes,
    *,
    region_id: str = "us-east-1",
    columns: tuple[str, ...] = OFFER_COLUMNS,
    block_bytes: int = 8 << 20,
) -> Normalized:
    content = rows if isinstance(rows, bytes) else encode_offer_csv(rows, columns=columns)
    blocks = read_offer_rows(io.BytesIO(content), source_id="doc", block_bytes=block_bytes)
    return combine(
        normalize_offer_rows(block, source_id="doc", region_id=region_id, regions=REGIONS)
        for block in blocks
    )


def outcome(row: Mapping[str, str | None], *, region_id: str = "us-east-1") -> str:
    """Return the one place where a row went: kept, or the rule's id."""
    counts = normalize([row], region_id=region_id).counts
    assert counts["rows"].to_list() == [1]
    return counts["rule"].item() or counts["outcome"].item()


def counted(normalized: Normalized) -> dict[str, int]:
    rules = normalized.counts["rule"].fill_null("kept")
    return dict(zip(rules, normalized.counts["rows"], strict=True))


def prices(normalized: Normalized) -> dict[tuple[str, str, str, str], Decimal]:
    key = ["instance_type", "operating_system", "license_model", "tenancy"]
    found = normalized.prices
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
    tables = (PRICE_CANDIDATES, REJECTED, ROW_COUNTS, INSTANCE_FACTS, LISTINGS)
    empty = normalize_offer_rows(
        AWS_OFFER_ROWS.empty(), source_id="doc", region_id="us-east-1", regions=REGIONS
    )

    for normalized in (empty, normalize([LINUX, LINUX | {"Unit": "Days"}])):
        assert [frame.schema for frame in normalized] == [table.schema for table in tables]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (LINUX, ("linux", "included", "shared")),
        (WINDOWS, ("windows", "included", "shared")),
        (BYOL, ("windows", "byol", "shared")),
        (LINUX | DEDICATED, ("linux", "included", "dedicated")),
        (WINDOWS | DEDICATED, ("windows", "included", "dedicated")),
        (BYOL | DEDICATED, ("windows", "byol", "dedicated")),
    ],
)
def test_systems_licences_and_tenancies_are_told_apart(
    row: dict[str, str], expected: tuple[str, str, str]
) -> None:
    found = normalize([row]).prices

    assert found.select("operating_system", "license_model", "tenancy").row(0) == expected


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


FILTERED = [
    ("aws_reserved_term", {"TermType": "Reserved", "LeaseContractLength": "1yr"}),
    ("aws_reserved_term", {"TermType": "Reserved", "Unit": "Quantity", "PricePerUnit": "2750"}),
    ("aws_dedicated_host", {"Product Family": "Dedicated Host", "Instance Type": "m5"}),
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
    ("aws_other_operating_system", {"Operating System": "RHEL", "operation": "RunInstances:0010"}),
    ("aws_other_operating_system", {"Operating System": "Red Hat Enterprise Linux with HA"}),
    ("aws_other_operating_system", {"Operating System": "SUSE"}),
    ("aws_other_operating_system", {"Operating System": "Ubuntu Pro"}),
    ("aws_sql_server", {"Pre Installed S/W": "SQL Std", "operation": "RunInstances:0004"}),
    ("aws_sql_server", {"Pre Installed S/W": "SQL Web"}),
    ("aws_sql_server", {"Pre Installed S/W": "SQL Ent"}),
    ("aws_infrastructure_part", {"License Model": "License Included - Infrastructure"}),
    ("zero_price", {"PricePerUnit": "0.0000000000"}),
    ("zero_price", {"PricePerUnit": "-0"}),
]

REJECTED_ROWS = [
    ("aws_unknown_term", {"TermType": "Spot"}),
    ("aws_unknown_term", {"TermType": None}),
    ("aws_unknown_term", {"LeaseContractLength": "3yr", "PurchaseOption": "All Upfront"}),
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
    shown = {rule for rule, _ in FILTERED + REJECTED_ROWS}

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


def ordered(normalized: Normalized) -> list[pl.DataFrame]:
    return [frame.sort(pl.all()) for frame in normalized]


def test_order_of_rows_cuts_of_blocks_and_columns_change_nothing() -> None:
    rows = sample()
    expected = ordered(normalize(rows))
    rng = random.Random(7)

    for _ in range(3):
        rng.shuffle(rows)
        columns = rng.sample(OFFER_COLUMNS, len(OFFER_COLUMNS))
        columns.insert(rng.randrange(90), "A New Column")
        found = normalize(rows, columns=tuple(columns), block_bytes=rng.randrange(500, 5000))
        for left, right in zip(ordered(found), expected, strict=True):
            assert_frame_equal(left, right)


def test_rows_in_are_rows_kept_refused_and_filtered() -> None:
    rows = sample()

    normalized = normalize(rows)

    by_outcome = dict(normalized.counts.group_by("outcome").agg(pl.col("rows").sum()).iter_rows())
    assert by_outcome == {"kept": 8, "rejected": len(REJECTED_ROWS), "filtered": len(FILTERED)}
    assert normalized.prices.height == 8
    assert normalized.rejected.height == len(REJECTED_ROWS)


def test_files_without_the_newer_columns_mean_on_demand_used_and_their_own_region() -> None:
    newer = {"MarketOption", "CapacityStatus", "Region Code"}
    columns = tuple(name for name in OFFER_COLUMNS if name not in newer)

    assert counted(normalize([LINUX], columns=columns)) == {"kept": 1}


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
    }
    assert counted(normalized) == {
        "kept": 12,
        "aws_capacity_block": 1,
        "aws_capacity_reservation": 1,
        "aws_dedicated_host": 1,
        "aws_ebs_optimized_fee": 1,
        "aws_free_tier": 1,
        "aws_infrastructure_part": 1,
        "aws_not_compute": 1,
        "aws_reserved_term": 2,
        "aws_sql_server": 1,
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


@needs_shared_data
def test_the_verbatim_head_of_2025_holds_one_price_of_frankfurt_and_none_else() -> None:
    content = (SHARED / "bulk/AmazonEC2_global_index_sample_20250912225308.csv").read_bytes()

    normalized = normalize(content, region_id="eu-central-1")

    found = normalized.prices.select("operating_system", "license_model", "tenancy", "sku_id")
    assert normalized.rejected.height == 0
    assert found.rows() == [("windows", "byol", "dedicated", found["sku_id"].item())]
    assert counted(normalized) == {
        "kept": 1,
        "aws_reserved_term": 30,
        "aws_capacity_reservation": 8,
        "aws_host_tenancy": 2,
        "aws_other_operating_system": 2,
        "aws_sql_server": 1,
    }


JSON_TO_CSV = {
    "instanceType": "Instance Type",
    "operatingSystem": "Operating System",
    "tenancy": "Tenancy",
    "capacitystatus": "CapacityStatus",
    "preInstalledSw": "Pre Installed S/W",
    "licenseModel": "License Model",
    "marketoption": "MarketOption",
    "operation": "operation",
    "usagetype": "usageType",
    "regionCode": "Region Code",
    "location": "Location",
}


def from_json(path: Path) -> bytes:
    """Re-encode an offer file's JSON as AWS's CSV has it."""
    offer = json.loads(path.read_text())
    rows = []
    for term_type, terms in offer["terms"].items():
        for sku, by_code in terms.items():
            product = offer["products"][sku]
            attributes = product["attributes"]
            for term in by_code.values():
                for rate in term["priceDimensions"].values():
                    [(currency, price)] = rate["pricePerUnit"].items()
                    row = {JSON_TO_CSV[k]: v for k, v in attributes.items() if k in JSON_TO_CSV}
                    row |= {
                        "SKU": sku,
                        "OfferTermCode": term["offerTermCode"],
                        "RateCode": rate["rateCode"],
                        "TermType": term_type,
                        "EffectiveDate": term["effectiveDate"],
                        "StartingRange": rate.get("beginRange"),
                        "EndingRange": rate.get("endRange"),
                        "Unit": rate["unit"],
                        "PricePerUnit": price,
                        "Currency": currency,
                        "Product Family": product["productFamily"],
                        "LeaseContractLength": term["termAttributes"].get("LeaseContractLength"),
                    }
                    rows.append(row)
    return encode_offer_csv(rows)


@needs_shared_data
@pytest.mark.parametrize(
    ("region_id", "counts", "p4d"),
    [
        (
            "us-east-1",
            {
                "kept": 12,
                "aws_capacity_block": 1,
                "aws_capacity_reservation": 1,
                "aws_free_tier": 1,
                "aws_infrastructure_part": 1,
                "aws_sql_server": 1,
            },
            "21.957642",
        ),
        ("us-west-2", {"kept": 9, "aws_free_tier": 1}, "21.95764"),
        ("eu-west-1", {"kept": 6, "aws_free_tier": 1}, "23.71569"),
    ],
)
def test_the_json_slices_of_2026_give_their_prices(
    region_id: str, counts: dict[str, int], p4d: str
) -> None:
    path = SHARED / f"bulk/AmazonEC2_{region_id}_slice_20260910195514.json"

    normalized = normalize(from_json(path), region_id=region_id)

    assert counted(normalized) == counts
    assert prices(normalized)["p4d.24xlarge", "linux", "included", "shared"] == Decimal(p4d)


CODES = {
    ("Linux", "NA"): "RunInstances",
    ("Linux", "SQL Std"): "RunInstances:0004",
    ("Linux", "SQL Web"): "RunInstances:0200",
    ("Linux", "SQL Ent"): "RunInstances:0100",
    ("Windows", "NA"): "RunInstances:0002",
    ("Windows", "SQL Std"): "RunInstances:0006",
    ("Windows", "SQL Web"): "RunInstances:0202",
    ("Windows", "SQL Ent"): "RunInstances:0102",
}
"""AWS's usage operations; the dump of 2023 has all other columns of the file but this one."""


@pytest.fixture(scope="module")
def ireland() -> Normalized:
    path = SHARED / "prices/AmazonEC2_eu-west-1_ondemand_all-skus_2023-02-23.csv.gz"
    dump = pl.read_csv(path, infer_schema=False)
    renamed = {
        "sku": "SKU",
        "productFamily": "Product Family",
        "termType": "TermType",
        "startingRange": "StartingRange",
        "unit": "Unit",
        "currency": "Currency",
        "price": "PricePerUnit",
        "region": "Region Code",
    } | {raw: name for raw, name in JSON_TO_CSV.items() if raw in dump.columns}
    rows = dump.rename(renamed).to_dicts()
    for row in rows:
        is_byol = row["License Model"] == "Bring your own license"
        code = CODES.get((row["Operating System"], row["Pre Installed S/W"]), "RunInstances:0010")
        row["operation"] = "RunInstances:0800" if is_byol else code
        row["RateCode"] = row["SKU"]
        row["EffectiveDate"] = "2023-02-01"
    columns = tuple(name for name in OFFER_COLUMNS if name != "MarketOption")
    content = encode_offer_csv(rows, columns=columns, published="2023-02-23T00:00:00Z")
    return normalize(content, region_id="eu-west-1")


@needs_shared_data
def test_all_of_ireland_2023_is_accounted_for(ireland: Normalized) -> None:
    assert counted(ireland) == {
        "kept": 614 + 480 + 351 + 577 + 456 + 332,
        "aws_capacity_reservation": 29480,
        "aws_ebs_optimized_fee": 102,
        "aws_host_tenancy": 6292,
        "aws_other_operating_system": 7422,
        "aws_reserved_term": 22008,
        "aws_sql_server": 4863,
    }
    assert ireland.counts["rows"].sum() == 72977
    assert ireland.rejected.height == 0


@needs_shared_data
def test_each_key_of_ireland_2023_has_one_price_and_none_is_zero(ireland: Normalized) -> None:
    linux = ireland.prices.filter(operating_system="linux", tenancy="shared")

    assert not ireland.prices.select(PRICE_KEY_NOW).is_duplicated().any()
    assert ireland.prices["hourly_rate"].min() == Decimal("0.0046")  # t4g.nano
    assert linux.height == linux["instance_type"].n_unique() == 614


@needs_shared_data
def test_known_prices_of_ireland_2023_are_right(ireland: Normalized) -> None:
    found = prices(ireland)

    assert found["m1.small", "linux", "included", "shared"] == Decimal("0.047")
    assert found["m5.xlarge", "linux", "included", "shared"] == Decimal("0.2140000000")
    assert found["m5.xlarge", "windows", "included", "shared"] == Decimal("0.398")
    assert found["m5.xlarge", "windows", "byol", "shared"] == Decimal("0.214")
