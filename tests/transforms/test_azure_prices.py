import gzip
import json
import random
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from connectors.azure.wire import read_retail_page
from transforms.azure_prices import normalize_retail_pages
from transforms.list_prices import in_force, settle
from transforms.normalized import combine, final_counts
from warehouse.schemas.catalog import REGIONS
from warehouse.schemas.parts import (
    INSTANCE_FACTS,
    LISTINGS,
    PRICE_CANDIDATES,
    REJECTED,
    ROW_COUNTS,
)
from warehouse.schemas.raw import AZURE_RETAIL_ITEMS
from warehouse.schemas.rules import RULE
from warehouse.schemas.rules.azure import AZURE

REPOSITORY = Path(__file__).resolve().parents[2]
WIRE = REPOSITORY / "tests" / "wire" / "azure"
REAL = REPOSITORY.parent / "shared" / "data" / "azure"
SOURCE = "azure_retail_prices/eastus/Consumption/001"

needs_real_data = pytest.mark.skipif(
    not REAL.is_dir(), reason="the recorded prices are not beside this repository"
)

ORDINARY = {
    "currency_code": "USD",
    "arm_region_name": "eastus",
    "location": "US East",
    "effective_start_date": "2025-11-01T00:00:00Z",
    "meter_id": "meter",
    "meter_name": "D2als v7",
    "product_id": "product",
    "product_name": "Virtual Machines Dalsv7 Series",
    "sku_id": "product/0001",
    "sku_name": "D2als v7",
    "service_name": "Virtual Machines",
    "unit_of_measure": "1 Hour",
    "type": "Consumption",
    "arm_sku_name": "Standard_D2als_v7",
    "tier_minimum_units": Decimal(0),
    "retail_price": Decimal("0.0804"),
    "unit_price": Decimal("0.0804"),
    "is_primary_meter_region": True,
}

WINDOWS = {"product_name": "Virtual Machines Dalsv7 Series Windows"}
DEV_TEST = WINDOWS | {"type": "DevTestConsumption"}
RESERVED = {"type": "Reservation", "reservation_term": "1 Year"}


def normalize_retail_items(raw, *, source_id, region_id, regions):
    return normalize_retail_pages([(source_id, raw)], region_id=region_id, regions=regions)


def regions(*region_ids):
    rows = [
        {
            "provider": "azure",
            "region_id": region_id,
            "region_name": region_id,
            "region_kind": "region",
            "partition": "azure",
            "source": "test",
        }
        for region_id in region_ids
    ]
    return pl.DataFrame(rows, schema=REGIONS.schema)


def items(*changes):
    return pl.DataFrame([ORDINARY | change for change in changes], schema=AZURE_RETAIL_ITEMS.schema)


def normalize(*changes, region_id="eastus"):
    return normalize_retail_items(
        items(*changes),
        source_id=SOURCE,
        region_id=region_id,
        regions=regions("eastus", "malaysiawest", "francecentral", "WestUS3"),
    )


def normalize_page(name, *, folder=WIRE, region_id="eastus"):
    page = read_retail_page((folder / name).read_bytes(), source_id=SOURCE)
    return normalize_retail_items(
        page.items,
        source_id=SOURCE,
        region_id=region_id,
        regions=regions("eastus", "malaysiawest", "uksouth"),
    )


def counted(normalized):
    return {
        (outcome, rule): rows
        for outcome, rule, rows in normalized.counts.select("outcome", "rule", "rows").rows()
    }


def said(normalized):
    """What is kept, short: size, system, licence, price."""
    return sorted(
        normalized.prices.select(
            "instance_type", "operating_system", "license_model", "hourly_rate"
        ).rows()
    )


def size(number):
    return {"sku_id": f"product/{number:04}", "arm_sku_name": f"Standard_D{number}s_v9"}


def test_the_ordinary_linux_item_is_a_price_in_the_whole_schema():
    normalized = normalize({})

    assert normalized.prices.schema == PRICE_CANDIDATES.schema
    assert normalized.prices.row(0, named=True) == {
        "provider": "azure",
        "region_id": "eastus",
        "availability_zone_id": None,
        "instance_type": "Standard_D2als_v7",
        "operating_system": "linux",
        "license_model": "included",
        "pre_installed_software": "none",
        "tenancy": "shared",
        "purchase_option": "on_demand",
        "commitment_type": None,
        "term_years": None,
        "payment_option": None,
        "hourly_rate": Decimal("0.0804"),
        "upfront_fee": None,
        "effective_hourly_price": Decimal("0.0804"),
        "pricing_category": "Standard",
        "currency": "USD",
        "pricing_unit": "Hours",
        "valid_from": datetime(2025, 11, 1, tzinfo=UTC),
        "valid_to": None,
        "sku_id": "product/0001",
        "sku_price_id": "meter",
        "price_quality": "ok",
        "source_id": SOURCE,
    }
    assert counted(normalized) == {("kept", None): 1}


def test_items_say_nothing_of_sizes_and_of_sizes_without_a_price():
    normalized = normalize({})

    assert_frame_equal(normalized.instance_facts, INSTANCE_FACTS.empty())
    assert_frame_equal(normalized.listings, LISTINGS.empty())
    assert_frame_equal(normalized.rejected, REJECTED.empty())


def test_every_kind_of_one_size_gives_linux_windows_and_hybrid_benefit():
    normalized = normalize_page("retail_page_every_kind_of_one_size.json")

    size = "Standard_D2als_v7"
    assert said(normalized) == [
        (size, "linux", "included", Decimal("0.0804")),
        (size, "windows", "byol", Decimal("0.0804")),
        (size, "windows", "included", Decimal("0.172")),
    ]
    assert counted(normalized) == {
        ("kept", None): 3,
        ("filtered", "azure_reservation"): 2,
        ("filtered", "azure_spot"): 3,
    }


def test_one_meter_id_and_sku_id_may_be_several_prices():
    normalized = normalize(WINDOWS, DEV_TEST, {"arm_sku_name": "Standard_D2als_v7b"})

    assert normalized.prices.height == 3
    assert normalized.prices.select("sku_id", "sku_price_id").unique().height == 1


def test_a_meter_that_is_not_primary_is_a_price_like_any_other():
    normalized = normalize_page("retail_page_linux_meter_not_primary.json")

    assert said(normalized) == [("Standard_D2s_v3", "linux", "included", Decimal("0.096"))]


def test_the_price_that_replaced_another_stays_beside_it_with_its_own_date():
    normalized = normalize(
        {"effective_start_date": "2019-06-01T00:00:00Z", "retail_price": Decimal("0.1")}, {}
    )

    assert sorted(normalized.prices["valid_from"]) == [
        datetime(2019, 6, 1, tzinfo=UTC),
        datetime(2025, 11, 1, tzinfo=UTC),
    ]


def test_a_price_of_the_future_is_kept_for_it_depends_on_the_run_whether_it_holds():
    normalized = normalize({"effective_start_date": "2099-01-01T00:00:00Z"})

    assert normalized.prices["valid_from"].to_list() == [datetime(2099, 1, 1, tzinfo=UTC)]


def test_a_row_that_ends_before_it_starts_leaves_its_successor():
    normalized = normalize_page("retail_page_closed_and_announced.json", region_id="malaysiawest")

    assert said(normalized) == [
        ("Standard_B1s", "linux", "included", Decimal("0.0118")),
        ("Standard_L32ps_v5", "linux", "included", Decimal("4.013")),
    ]
    assert counted(normalized) == {
        ("kept", None): 2,
        ("filtered", "azure_never_in_force"): 1,
        ("filtered", "zero_price"): 1,
    }


@pytest.mark.parametrize(
    ("end", "rule"),
    [
        ("2025-10-31T23:59:00Z", "azure_never_in_force"),
        ("2025-11-01T00:00:00Z", "azure_never_in_force"),
        ("2025-11-30T23:59:00Z", None),
    ],
)
def test_a_price_held_if_it_ended_after_it_started(end, rule):
    assert counted(normalize({"effective_end_date": end})) == {
        ("kept" if rule is None else "filtered", rule): 1
    }


def test_a_price_is_kept_with_its_end():
    normalized = normalize(
        {"effective_end_date": "2025-11-30T23:59:00Z"}, {"effective_end_date": None}
    )

    assert normalized.prices["valid_to"].to_list() == [
        datetime(2025, 11, 30, 23, 59, tzinfo=UTC),
        None,
    ]


@pytest.mark.parametrize(
    ("as_of", "in_force_now"),
    [
        (datetime(2025, 11, 30, 23, 58, tzinfo=UTC), ["Standard_D1s_v9", "Standard_D2s_v9"]),
        (datetime(2025, 11, 30, 23, 59, tzinfo=UTC), ["Standard_D2s_v9"]),
    ],
)
def test_a_price_that_ended_without_a_successor_is_no_longer_in_force(as_of, in_force_now):
    normalized = normalize(
        size(1) | {"effective_end_date": "2025-11-30T23:59:00Z"},
        size(2),
    )
    settled = settle(normalized.prices)

    now = in_force(settled.prices, rejected=settled.rejected, as_of=as_of)

    assert sorted(now.prices["instance_type"]) == in_force_now
    ended = 2 - len(in_force_now)
    counts = final_counts([normalized.counts, settled.counts, now.counts])
    assert counts.select("outcome", "rule", "rows").rows() == [
        *[("filtered", "ended", 1)] * ended,
        ("kept", None, 2 - ended),
    ]


def test_two_prices_of_one_date_are_both_kept_for_settling_to_refuse_both():
    normalized = normalize({"retail_price": Decimal("0.01")}, {"retail_price": Decimal("4.013")})
    settled = settle(normalized.prices)

    assert normalized.prices.height == 2
    assert settled.prices.is_empty()
    assert settled.rejected["rule"].to_list() == ["ambiguous_price"] * 2


@pytest.mark.parametrize(
    ("product", "system"),
    [
        ("Virtual Machines Dalsv7 Series", "linux"),
        ("Virtual Machines Dalsv7 Series Windows", "windows"),
        ("Virtual Machines NCCadsv5 Srs", "linux"),
        ("Virtual Machines NCCadsv5 Srs Win", "windows"),
        ("NCads A100 v4 Series Linux", "linux"),
        ("NCads A100 v4 Series Windows", "windows"),
        ("Virtual Machines Dsv7-series Linux", "linux"),
        ("DCasv5-series Windows", "windows"),
        ("Virtual Machines HBrsv5 Windows", "windows"),
        ("Virtual Machines Edwinsv9 Series", "linux"),
    ],
)
def test_the_product_name_says_the_operating_system(product, system):
    normalized = normalize({"product_name": product})

    assert normalized.prices["operating_system"].to_list() == [system]


@pytest.mark.parametrize(
    "product",
    [
        "Virtual Machines Dsv9 Series RHEL",
        "Virtual Machines Dsv9 Series Red Hat Enterprise Linux",
        "Virtual Machines Dsv9 Series SUSE",
        "Virtual Machines Ubuntu Pro Dsv9 Series",
        "Virtual Machines Windows Dsv9 Series",
        "Virtual Machines Dsv9 Series SQL Server Linux",
    ],
)
def test_another_operating_system_is_not_taken_for_linux(product):
    assert counted(normalize({"product_name": product})) == {
        ("rejected", "azure_unknown_operating_system"): 1
    }


FILTERED = {
    "other service": ({"service_name": "Azure Managed Instance for Apache Cassandra"},
                      "azure_other_service"),
    "licences": ({"service_name": "Virtual Machines Licenses"}, "azure_other_service"),
    "case of the service": ({"service_name": "virtual machines"}, "azure_other_service"),
    "reservation": (RESERVED, "azure_reservation"),
    "3 years": (RESERVED | {"reservation_term": "3 Years"}, "azure_reservation"),
    "5 years": (RESERVED | {"reservation_term": "5 Years"}, "azure_reservation"),
    "10 years": (RESERVED | {"reservation_term": "10 Years"}, "azure_reservation"),
    "host": ({"product_name": "Easv4 Series Dedicated Host"}, "azure_dedicated_host"),
    "host without space": ({"product_name": "NVadsA10v5 DedicatedHost"}, "azure_dedicated_host"),
    "host group": ({"arm_sku_name": "Dsv5_Type1"}, "azure_dedicated_host"),
    "host group with a dash": ({"arm_sku_name": "Mmsv2MedMem-Type1"}, "azure_dedicated_host"),
    "cloud services": ({"product_name": "Dasv5 Series Cloud Services"}, "azure_cloud_services"),
    "cloudservices": ({"product_name": "Eadsv5 Series CloudServices"}, "azure_cloud_services"),
    "spot": ({"sku_name": "D2als v7 Spot", "meter_name": "D2als v7 Spot"}, "azure_spot"),
    "spot of two sizes": ({"sku_name": "E4a v4 Spot", "meter_name": "E4a v4/E4as v4 Spot"},
                          "azure_spot"),
    "Dev/Test spot": (DEV_TEST | {"sku_name": "D2 Spot", "meter_name": "D2 Spot"}, "azure_spot"),
    "promo spot": ({"sku_name": "Standard_D4as_v5_Promo Spot", "meter_name": "D4as v5 Spot",
                    "arm_sku_name": "Standard_D4as_v5_Promo"}, "azure_spot"),
    "low priority": ({"sku_name": "D1 Low Priority", "meter_name": "D1/DS1 Low Priority"},
                     "azure_low_priority"),
    "expired": ({"product_name": "Virtual Machines Dv2 promo Series",
                 "meter_name": "D2 v2/DS2 v2 - Expired"}, "azure_expired_meter"),
    "zero": ({"retail_price": Decimal(0)}, "zero_price"),
    "free": ({"retail_price": Decimal(0), "meter_name": "B1s - Free"}, "zero_price"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "rule"), FILTERED.values(), ids=FILTERED.keys())
def test_what_is_known_to_be_no_on_demand_price_is_filtered_by_name(change, rule):
    normalized = normalize(change)

    assert counted(normalized) == {("filtered", rule): 1}
    assert normalized.prices.is_empty()
    assert normalized.rejected.is_empty()


REJECTED_FOR = {
    "region": ({"arm_region_name": "westus"}, "foreign_region", "westus"),
    "no region": ({"arm_region_name": ""}, "foreign_region", ""),
    "type": ({"type": "SavingsPlanConsumption"}, "azure_unknown_price_type",
             "SavingsPlanConsumption"),
    "reservation of 2 years": (RESERVED | {"reservation_term": "2 Years"},
                               "azure_unknown_reservation_term", "2 Years"),
    "reservation without term": ({"type": "Reservation"}, "azure_unknown_reservation_term", None),
    "consumption with term": ({"reservation_term": "1 Year"}, "azure_unknown_reservation_term",
                              "1 Year"),
    "spot by the meter alone": ({"meter_name": "D2als v7 Spot"}, "azure_unknown_meter",
                                "D2als v7 Spot"),
    "low priority by the sku alone": ({"sku_name": "D2als v7 Low Priority"}, "azure_unknown_meter",
                                      "D2als v7"),
    "spot in other words": ({"sku_name": "Spot D2", "meter_name": "Spot D2"},
                            "azure_unknown_meter", "Spot D2"),
    "low priority in other words": ({"sku_name": "D2 LowPriority", "meter_name": "D2 LowPriority"},
                                    "azure_unknown_meter", "D2 LowPriority"),
    "Dev/Test of Linux": ({"type": "DevTestConsumption"}, "azure_dev_test_not_windows",
                          "Virtual Machines Dalsv7 Series"),
    "no size": ({"arm_sku_name": ""}, "azure_no_instance_type", ""),
    "blank size": ({"arm_sku_name": "  "}, "azure_no_instance_type", "  "),
    "promo under the ordinary name": ({"product_name": "Virtual Machines NC Promo Series",
                                       "arm_sku_name": "Standard_NC6"},
                                      "azure_promo_on_ordinary_size", "Standard_NC6"),
    "unit": ({"unit_of_measure": "1/Month"}, "unknown_unit", "1/Month"),
    "100 hours": ({"unit_of_measure": "100 Hours"}, "unknown_unit", "100 Hours"),
    "tier": ({"tier_minimum_units": Decimal(750)}, "azure_volume_tier", "750.0000000000"),
    "no tier": ({"tier_minimum_units": None}, "azure_volume_tier", None),
    "currency": ({"currency_code": "EUR"}, "unknown_currency", "EUR"),
    "no price": ({"retail_price": None}, "unparseable_price", None),
    "negative price": ({"retail_price": Decimal("-0.1")}, "negative_price", "-0.1000000000"),
    "date": ({"effective_start_date": "01/11/2025"}, "unparseable_date", "01/11/2025"),
    "date that is none": ({"effective_start_date": "2025-02-30T00:00:00Z"}, "unparseable_date",
                          "2025-02-30T00:00:00Z"),
    "end date": ({"effective_end_date": "soon"}, "unparseable_date", "soon"),
    "end date that is empty": ({"effective_end_date": ""}, "unparseable_date", ""),
    "both dates": ({"effective_start_date": "now", "effective_end_date": "soon"},
                   "unparseable_date", "now"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "rule", "shown"), REJECTED_FOR.values(), ids=REJECTED_FOR.keys()
)
def test_what_does_not_prove_to_be_a_price_is_refused_with_what_it_says(change, rule, shown):
    normalized = normalize(change)

    assert counted(normalized) == {("rejected", rule): 1}
    assert normalized.prices.is_empty()
    refused = normalized.rejected.row(0, named=True)
    reason = RULE[rule].reason
    assert (refused["table"], refused["provider"], refused["rule"]) == ("prices", "azure", rule)
    assert (refused["source_id"], refused["region_id"]) == (SOURCE, "eastus")
    if shown is None:
        assert refused["reason"] == reason
    else:
        assert refused["reason"].startswith(reason + " (")
        assert refused["reason"].endswith(f": {shown})")


def test_a_refused_row_is_kept_whole_with_its_exact_price():
    refused = normalize({"unit_of_measure": "1/Month", "retail_price": Decimal("1134310.37")})

    row = json.loads(refused.rejected["row"].item())
    assert list(row) == AZURE_RETAIL_ITEMS.columns
    assert row["unit_of_measure"] == "1/Month"
    assert row["retail_price"] == "1134310.3700000000"
    assert row["reservation_term"] is None


def test_a_region_that_is_not_in_the_reference_table_is_refused():
    normalized = normalize({"arm_region_name": "newregion"}, region_id="newregion")

    assert counted(normalized) == {("rejected", "unknown_region"): 1}


@pytest.mark.parametrize("document", ["westus3", "WestUS3"])
@pytest.mark.parametrize("sent", ["WestUS3", "westus3", "WESTUS3"])
def test_regions_are_compared_without_case_and_spelled_as_the_document(sent, document):
    normalized = normalize({"arm_region_name": sent}, region_id=document)

    assert normalized.prices["region_id"].to_list() == [document]


@pytest.mark.parametrize(
    ("sent", "instance_type"),
    [
        ("Standard_D2als_v7 ", "Standard_D2als_v7"),
        (" Standard_D2als_v7\t", "Standard_D2als_v7"),
        ("Standard_NG32adms_V620", "Standard_NG32adms_V620"),
        ("NC16dsxlRTX6Kv6", "NC16dsxlRTX6Kv6"),
        ("Ebdsv5", "Ebdsv5"),
        ("L192isv4", "L192isv4"),
        ("Standard_E64-16ds_v4", "Standard_E64-16ds_v4"),
        ("Standard_M176ds-44_3_v3", "Standard_M176ds-44_3_v3"),
        ("Standard_E4ds_v4_ADHType1", "Standard_E4ds_v4_ADHType1"),
        ("Basic_A1", "Basic_A1"),
    ],
)
def test_a_size_is_trimmed_and_otherwise_spelled_as_sent(sent, instance_type):
    normalized = normalize({"arm_sku_name": sent})

    assert normalized.prices["instance_type"].to_list() == [instance_type]


def test_sku_name_is_free_text_and_takes_no_part():
    names = ["D2als v7", "Standard_D2als_v7", "NC16asT4 v3", "Anything"]

    normalized = normalize(*({"sku_name": name, "meter_name": name} for name in names))

    assert normalized.prices["instance_type"].to_list() == ["Standard_D2als_v7"] * 4


def test_a_promotion_under_its_own_name_is_a_price_beside_the_ordinary_one():
    normalized = normalize(
        {"arm_sku_name": "Standard_NC6", "sku_name": "NC6", "retail_price": Decimal("0.9")},
        {
            "arm_sku_name": "Standard_NC6_Promo",
            "sku_name": "NC6",
            "product_name": "Virtual Machines NC Promo Series",
            "retail_price": Decimal("0.428"),
        },
    )

    assert said(normalized) == [
        ("Standard_NC6", "linux", "included", Decimal("0.9")),
        ("Standard_NC6_Promo", "linux", "included", Decimal("0.428")),
    ]


def test_a_reservation_is_never_an_hourly_price():
    normalized = normalize({}, RESERVED | {"retail_price": Decimal("0.01")})

    assert normalized.prices["hourly_rate"].to_list() == [Decimal("0.0804")]


def test_windows_may_cost_less_than_linux():
    normalized = normalize({}, WINDOWS | {"retail_price": Decimal("0.01")})

    assert normalized.prices.height == 2


def test_every_row_is_kept_rejected_or_filtered_for_its_own_document():
    changes = [change for change, *_ in [*FILTERED.values(), *REJECTED_FOR.values()]] + [{}] * 5
    pages = [(f"page/{number}", items(*changes[number::3])) for number in range(3)]

    whole = normalize_retail_pages(pages, region_id="eastus", regions=regions("eastus"))

    assert whole.counts.schema == ROW_COUNTS.schema
    rows = dict(whole.counts.group_by("source_id").agg(pl.col("rows").sum()).rows())
    assert rows == {source_id: page.height for source_id, page in pages}
    kept = whole.counts.filter(pl.col("outcome") == "kept")["rows"].sum()
    refused = whole.counts.filter(pl.col("outcome") == "rejected")["rows"].sum()
    assert (kept, refused) == (whole.prices.height, whole.rejected.height)
    assert set(whole.prices["source_id"]) <= set(rows)


def test_pages_together_give_what_they_give_one_by_one():
    changes = [change | size(n) for n, (change, *_) in enumerate(REJECTED_FOR.values())]
    changes += [size(n) for n in range(100, 140)]
    random.Random(7).shuffle(changes)
    pages = [(f"page/{number}", items(*changes[number::4])) for number in range(4)]
    arguments = {"region_id": "eastus", "regions": regions("eastus")}

    together = normalize_retail_pages(pages, **arguments)
    alone = combine(
        normalize_retail_items(page, source_id=source_id, **arguments)
        for source_id, page in reversed(pages)
    )

    assert_frame_equal(together.counts, final_counts([alone.counts]))
    for ours, theirs in ((together.prices, alone.prices), (together.rejected, alone.rejected)):
        assert not ours.is_empty()
        assert_frame_equal(ours, theirs, check_row_order=False)


def test_no_pages_and_an_empty_page_give_empty_tables():
    arguments = {"region_id": "eastus", "regions": regions("eastus")}
    none = normalize_retail_pages([], **arguments)
    empty = normalize_retail_pages([(SOURCE, AZURE_RETAIL_ITEMS.empty())], **arguments)

    for normalized in (none, empty):
        assert_frame_equal(normalized.prices, PRICE_CANDIDATES.empty())
        assert_frame_equal(normalized.counts, ROW_COUNTS.empty())


def test_every_rule_of_azure_takes_some_row_here():
    taken = {rule for _, rule, *_ in [*FILTERED.values(), *REJECTED_FOR.values()]}
    elsewhere = {"azure_never_in_force", "azure_unknown_operating_system"}

    assert {rule.id for rule in AZURE} <= taken | elsewhere


@needs_real_data
def test_recorded_h100_and_its_neighbours():
    normalized = normalize_page("retail_eastus_nd_2026-07-27.json", folder=REAL / "wire")

    assert ("Standard_ND96isr_H100_v5", "linux", "included", Decimal("98.32")) in said(normalized)
    assert normalized.rejected.is_empty()
    assert normalized.counts["rows"].sum() == 10


@needs_real_data
def test_recorded_page_with_savings_plans():
    name = "retail_eastus_d2als_v7_preview_savingsplan.json"

    normalized = normalize_page(name, folder=REAL / "wire")

    size = "Standard_D2als_v7"
    assert said(normalized) == [
        (size, "linux", "included", Decimal("0.0804")),
        (size, "windows", "byol", Decimal("0.0804")),
        (size, "windows", "included", Decimal("0.172")),
    ]


@needs_real_data
def test_recorded_linux_meter_that_is_not_primary():
    normalized = normalize_page("retail_eastus_d2s_v3_preview_nofilter.json", folder=REAL / "wire")

    assert [row for row in said(normalized) if row[1] == "linux"] == [
        ("Standard_D2s_v3", "linux", "included", Decimal("0.096"))
    ]
    assert normalized.rejected.is_empty()


@needs_real_data
@pytest.mark.parametrize(
    ("name", "region_id", "counts"),
    [
        (
            "retail_eastus_aks_closed_meter_excerpt.json",
            "eastus",
            {("filtered", "azure_other_service"): 3},
        ),
        (
            "retail_reservation_page1_excerpt.json",
            "uksouth",
            {("filtered", "azure_other_service"): 1, ("filtered", "azure_reservation"): 5},
        ),
    ],
)
def test_recorded_pages_without_an_on_demand_price(name, region_id, counts):
    normalized = normalize_page(name, folder=REAL / "wire", region_id=region_id)

    assert counted(normalized) == counts


@needs_real_data
def test_recorded_region_of_2021_settles_without_a_contradiction():
    dump = json.loads(
        gzip.decompress((REAL / "retail_vm_francecentral_2021-12.json.gz").read_bytes())
    )
    body = {"Items": dump["items"], "NextPageLink": None, "Count": len(dump["items"])}
    page = read_retail_page(json.dumps(body).encode(), source_id=SOURCE)

    normalized = normalize_retail_items(
        page.items, source_id=SOURCE, region_id="francecentral", regions=regions("francecentral")
    )

    assert counted(normalized) == {
        ("kept", None): 1221,
        ("filtered", "azure_reservation"): 810,
        ("filtered", "azure_dedicated_host"): 26,
        ("filtered", "azure_spot"): 1191,
        ("filtered", "azure_low_priority"): 1185,
        ("filtered", "zero_price"): 3,
    }
    settled = settle(normalized.prices)
    assert settled.prices.height == 1221
    assert settled.rejected.is_empty()
    b1s = normalized.prices.filter(pl.col("instance_type") == "Standard_B1s")
    assert said(normalized._replace(prices=b1s)) == [
        ("Standard_B1s", "linux", "included", Decimal("0.0118")),
        ("Standard_B1s", "windows", "byol", Decimal("0.0118")),
        ("Standard_B1s", "windows", "included", Decimal("0.0158")),
    ]
    assert normalized.prices["valid_from"].max() == datetime(2021, 11, 1, tzinfo=UTC)
    assert normalized.prices["instance_type"].n_unique() == 407
