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
from transforms.regions import parse_regions
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
from warehouse.schemas.rules.azure import AZURE, LARGEST_AMOUNT

WIRE = Path(__file__).resolve().parents[1] / "wire" / "azure"
REGIONS_FILE = Path(__file__).resolve().parents[2] / "transforms" / "reference" / "regions.csv"
SOURCE = "azure_retail_prices/eastus/Consumption/001"

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
SPOT = {"sku_name": "D2als v7 Spot", "meter_name": "D2als v7 Spot"}
LOW_PRIORITY = {"sku_name": "D2als v7 Low Priority", "meter_name": "D2als v7 Low Priority"}


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


def plans(*rates):
    """The savingsPlan of an item: pairs of term and hourly rate."""
    return {
        "savings_plan": [
            {
                "term": term,
                "retail_price": None if rate is None else Decimal(rate),
                "unit_price": None if rate is None else Decimal(rate),
            }
            for term, rate in rates
        ]
    }


BOTH_PLANS = plans(("3 Years", "0.035376"), ("1 Year", "0.053868"))


def normalize(*changes, region_id="eastus", **options):
    return normalize_retail_pages(
        [(SOURCE, items(*changes))],
        region_id=region_id,
        regions=regions("eastus", "malaysiawest", "francecentral", "WestUS3"),
        **options,
    )


def normalize_page(name, *, region_id="eastus"):
    page = read_retail_page((WIRE / name).read_bytes(), source_id=SOURCE)
    return normalize_retail_pages(
        [(SOURCE, page.items)],
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


def terms_of(normalized):
    """How what is kept is paid: option, commitment, years, system, licence, effective price."""
    return sorted(
        normalized.prices.select(
            "purchase_option",
            "commitment_type",
            "term_years",
            "operating_system",
            "license_model",
            "effective_hourly_price",
        ).rows(),
        key=str,
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


EVERY_KIND = [
    ("on_demand", None, None, "linux", "included", Decimal("0.0804")),
    ("on_demand", None, None, "windows", "byol", Decimal("0.0804")),
    ("on_demand", None, None, "windows", "included", Decimal("0.172")),
    ("reserved", "azure", 1, "linux", "included", Decimal("0.0474885845")),
    ("reserved", "azure", 3, "linux", "included", Decimal("0.0305555556")),
    ("savings_plan", "azure_compute", 1, "linux", "included", Decimal("0.053868")),
    ("savings_plan", "azure_compute", 3, "linux", "included", Decimal("0.035376")),
    ("spot", None, None, "linux", "included", Decimal("0.015598")),
    ("spot", None, None, "windows", "byol", Decimal("0.015598")),
    ("spot", None, None, "windows", "included", Decimal("0.033368")),
]


def test_every_kind_of_one_size_is_a_price():
    normalized = normalize_page("retail_page_every_kind_of_one_size.json")

    assert terms_of(normalized) == EVERY_KIND
    assert counted(normalized) == {("kept", None): 10}


def priced(*changes, **options):
    (row,) = normalize(*changes, **options).prices.rows(named=True)
    return row


@pytest.mark.parametrize(
    ("kind", "option"), [(SPOT, "spot"), (LOW_PRIORITY, "low_priority")], ids=["spot", "low"]
)
@pytest.mark.parametrize(
    ("system", "operating_system", "license_model"),
    [
        ({}, "linux", "included"),
        (WINDOWS, "windows", "included"),
        (DEV_TEST, "windows", "byol"),
    ],
    ids=["linux", "windows", "devtest"],
)
def test_spot_and_low_priority_are_dynamic_prices_of_each_system(
    kind, option, system, operating_system, license_model
):
    row = priced(kind | system)

    assert {name: row[name] for name in row if row[name] != priced({})[name]} == {
        "purchase_option": option,
        "pricing_category": "Dynamic",
        **({"operating_system": "windows"} if operating_system == "windows" else {}),
        **({"license_model": "byol"} if license_model == "byol" else {}),
    }


def test_a_reservation_is_one_sum_for_the_machine():
    row = priced(RESERVED | {"retail_price": Decimal(551221)})

    assert {name: row[name] for name in row if row[name] != priced({})[name]} == {
        "purchase_option": "reserved",
        "commitment_type": "azure",
        "term_years": 1,
        "payment_option": "all_upfront",
        "hourly_rate": Decimal(0),
        "upfront_fee": Decimal(551221),
        "effective_hourly_price": Decimal("62.9247716895"),
        "pricing_category": "Committed",
        "sku_price_id": "meter/Reservation/1 Year",
    }


@pytest.mark.parametrize(
    ("term", "years", "price"),
    [
        ("1 Year", 1, "129.4874429224"),
        ("3 Years", 3, "43.1624809741"),
        ("5 Years", 5, "25.8974885845"),
    ],
)
def test_a_reservation_is_divided_once_by_the_hours_of_its_term(term, years, price):
    row = priced(RESERVED | {"reservation_term": term, "retail_price": Decimal(1134310)})

    assert (row["term_years"], row["effective_hourly_price"]) == (years, Decimal(price))
    assert row["sku_price_id"] == f"meter/Reservation/{term}"


@pytest.mark.parametrize(
    ("total", "price"),
    [
        ("0.000000438", "0.0000000000"),
        ("0.000001314", "0.0000000002"),
        ("0.0000004381", "0.0000000001"),
        ("99999999.9999999998", "11415.5251141553"),
    ],
)
def test_what_lies_in_the_middle_is_rounded_to_the_even_digit(total, price):
    row = priced(RESERVED | {"retail_price": Decimal(total)})

    assert row["effective_hourly_price"] == Decimal(price)


@pytest.mark.parametrize("system", [{}, WINDOWS], ids=["linux", "windows"])
def test_a_plain_item_gives_its_savings_plans_beside_its_price(system):
    normalized = normalize(system | BOTH_PLANS | {"effective_end_date": "2027-01-01T00:00:00Z"})

    on_demand = normalized.prices.row(0, named=True)
    rates = sorted(normalized.prices[1:].rows(named=True), key=lambda row: row["term_years"])
    assert on_demand["purchase_option"] == "on_demand"
    assert [{name: row[name] for name in row if row[name] != on_demand[name]} for row in rates] == [
        {
            "purchase_option": "savings_plan",
            "commitment_type": "azure_compute",
            "term_years": years,
            "payment_option": "no_upfront",
            "hourly_rate": Decimal(rate),
            "effective_hourly_price": Decimal(rate),
            "pricing_category": "Committed",
            "sku_price_id": f"meter/SavingsPlan/{term}",
        }
        for years, term, rate in ((1, "1 Year", "0.053868"), (3, "3 Years", "0.035376"))
    ]
    assert counted(normalized) == {("kept", None): 3}


@pytest.mark.parametrize(
    ("rate", "outcome", "rule", "shown"),
    [
        (("1 Year", "0"), "filtered", "zero_price", None),
        (("2 Years", "0"), "filtered", "zero_price", None),
        (("1 Year", None), "rejected", "unparseable_price", ""),
        (("1 Year", "-0.1"), "rejected", "negative_price", " (plan_rate: -0.1000000000)"),
        (("5 Years", "0.03"), "rejected", "azure_unknown_savings_plan_term",
         " (plan_term: 5 Years)"),
        (("", "0.03"), "rejected", "azure_unknown_savings_plan_term", " (plan_term: )"),
    ],
)  # fmt: skip
def test_a_doubtful_rate_goes_alone_and_leaves_its_item_and_the_other_rate(
    rate, outcome, rule, shown
):
    normalized = normalize(plans(rate, ("3 Years", "0.035376")))

    assert terms_of(normalized) == [
        ("on_demand", None, None, "linux", "included", Decimal("0.0804")),
        ("savings_plan", "azure_compute", 3, "linux", "included", Decimal("0.035376")),
    ]
    assert counted(normalized) == {("kept", None): 2, (outcome, rule): 1}
    assert normalized.rejected.height == (outcome == "rejected")
    if shown is not None:
        assert normalized.rejected["reason"].item() == RULE[rule].reason + shown
        row = json.loads(normalized.rejected["row"].item())
        assert list(row) == AZURE_RETAIL_ITEMS.columns
        assert [(plan["term"], plan["retail_price"]) for plan in row["savings_plan"]] == [
            (rate[0], None if rate[1] is None else f"{Decimal(rate[1]):.10f}")
        ]


@pytest.mark.parametrize("kind", [SPOT, LOW_PRIORITY, DEV_TEST, RESERVED, SPOT | DEV_TEST])
def test_a_savings_plan_of_anything_but_a_plain_price_is_not_understood(kind):
    normalized = normalize(kind | BOTH_PLANS)

    assert normalized.prices.height == 1
    assert counted(normalized) == {
        ("kept", None): 1,
        ("rejected", "azure_unknown_savings_plan"): 2,
    }


def test_two_rates_of_one_term_are_settled_without_harm_to_the_price():
    normalized = normalize(
        size(1) | plans(("1 Year", "0.05"), ("1 Year", "0.06"), ("3 Years", "0.03")),
        size(2) | plans(("1 Year", "0.05"), ("1 Year", "0.05")),
    )
    settled = settle(normalized.prices)

    counts = final_counts([normalized.counts, settled.counts])
    assert counts.select("outcome", "rule", "rows").rows() == [
        ("filtered", "equal_duplicate", 1),
        ("kept", None, 4),
        ("rejected", "ambiguous_price", 2),
    ]
    assert sorted(settled.prices.select("purchase_option", "term_years").rows(), key=str) == [
        ("on_demand", None), ("on_demand", None), ("savings_plan", 1), ("savings_plan", 3),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "outcome", "rule"),
    [
        ({"service_name": "Virtual Machines Licenses"}, "filtered", "azure_other_service"),
        ({"product_name": "Dasv5 Series Cloud Services"}, "filtered", "azure_cloud_services"),
        ({"retail_price": Decimal(0)}, "filtered", "zero_price"),
        ({"unit_of_measure": "1/Month"}, "rejected", "unknown_unit"),
        ({"retail_price": None}, "rejected", "unparseable_price"),
    ],
)
def test_savings_plans_go_the_way_of_their_item(change, outcome, rule):
    normalized = normalize(change | BOTH_PLANS)

    assert counted(normalized) == {(outcome, rule): 3}
    assert normalized.prices.is_empty()
    assert normalized.rejected.height == (3 if outcome == "rejected" else 0)
    quoted = [json.loads(row)["savings_plan"] for row in normalized.rejected["row"]]
    assert [len(plan) for plan in quoted] == ([2, 1, 1] if quoted else [])
    assert normalized.rejected["reason"].n_unique() <= 1


def test_a_list_of_no_savings_plans_is_no_row():
    assert counted(normalize(plans(), {"savings_plan": None})) == {("kept", None): 2}


def test_prices_in_another_currency_are_kept_as_a_reference_if_they_were_asked_for():
    euro = {"currency_code": "EUR", "retail_price": Decimal("0.0712")} | plans(("1 Year", "0.047"))
    both = normalize({}, euro, currencies=("USD", "EUR"))

    assert both.prices.select("currency", "price_quality", "hourly_rate").rows() == [
        ("USD", "ok", Decimal("0.0804")),
        ("EUR", "reference", Decimal("0.0712")),
        ("EUR", "reference", Decimal("0.047")),
    ]
    assert counted(normalize({}, euro)) == {("kept", None): 1, ("rejected", "unknown_currency"): 2}


def test_a_price_that_a_currency_rounds_to_nothing_is_filtered():
    yen = {"currency_code": "JPY", "retail_price": Decimal("0.0")}

    assert counted(normalize(yen, currencies=("JPY",))) == {("filtered", "zero_price"): 1}


RUPIAH = {"currency_code": "IDR"}
YEN = {"currency_code": "JPY"}
TOO_MUCH = {"retail_price": LARGEST_AMOUNT}
NOTHING = {"retail_price": Decimal(0)}
OLD = {"effective_start_date": "2024-01-01T00:00:00Z"}


def test_a_sum_too_large_for_money_is_filtered_in_a_reference_currency_and_refused_in_dollars():
    normalized = normalize(
        RESERVED | RUPIAH | TOO_MUCH, RESERVED | TOO_MUCH, currencies=("USD", "IDR")
    )

    assert normalized.prices.is_empty()
    assert counted(normalized) == {
        ("filtered", "azure_sum_beyond_money"): 1,
        ("rejected", "azure_price_beyond_money"): 1,
    }
    assert "100,000,000" in normalized.rejected["reason"].item()


def test_a_large_sum_is_no_reason_to_overlook_that_its_currency_was_not_asked_for():
    assert counted(normalize(RESERVED | RUPIAH | TOO_MUCH)) == {("rejected", "unknown_currency"): 1}


def test_a_savings_plan_rate_too_large_for_money_goes_as_a_price_does():
    rates = plans(("1 Year", LARGEST_AMOUNT))
    normalized = normalize(rates, RUPIAH | rates, currencies=("USD", "IDR"))

    assert counted(normalized) == {
        ("kept", None): 2,
        ("filtered", "azure_sum_beyond_money"): 1,
        ("rejected", "azure_price_beyond_money"): 1,
    }


def test_sums_too_large_for_money_are_told_from_the_page_on():
    body = (WIRE / "retail_page_every_kind_of_one_size.json").read_text()
    rupiah = body.replace('"USD"', '"IDR"').replace("416.0", "6800768000.0")
    page = read_retail_page(rupiah.encode(), source_id=SOURCE)

    normalized = normalize_retail_pages(
        [(SOURCE, page.items)], region_id="eastus", regions=regions("eastus"), currencies={"IDR"}
    )

    assert counted(normalized) == {("kept", None): 9, ("filtered", "azure_sum_beyond_money"): 1}


def in_force_now(*changes, currency, as_of=datetime(2026, 11, 30, tzinfo=UTC)):
    normalized = normalize(*changes, currencies=("USD", currency))
    settled = settle(normalized.prices)
    return in_force(settled.prices, rejected=settled.rejected, as_of=as_of)


@pytest.mark.parametrize("kind", [{}, SPOT, LOW_PRIORITY, DEV_TEST, RESERVED])
@pytest.mark.parametrize(
    ("currency", "no_amount"), [("JPY", NOTHING), ("IDR", TOO_MUCH)], ids=["zero", "too large"]
)
def test_a_reference_price_does_not_outlive_a_newer_listing_without_an_amount(
    kind, currency, no_amount
):
    foreign = kind | {"currency_code": currency}
    now = in_force_now(
        foreign | OLD | {"arm_sku_name": "standard_d2als_V7 "},
        foreign | no_amount,
        kind,
        currency=currency,
    )

    assert now.prices["currency"].to_list() == ["USD"]


def test_the_savings_plans_of_a_reference_price_end_with_it():
    now = in_force_now(YEN | OLD | BOTH_PLANS, YEN | NOTHING | BOTH_PLANS, currency="JPY")

    assert now.prices.is_empty()


@pytest.mark.parametrize(
    "other",
    [
        OLD | NOTHING,
        {"effective_start_date": "2027-01-01T00:00:00Z"} | NOTHING,
        NOTHING,
        SPOT | NOTHING,
        WINDOWS | NOTHING,
        size(3) | NOTHING,
        {"currency_code": "USD"} | NOTHING,
        {"effective_start_date": "2026-02-01T00:00:00Z"} | {"service_name": "Other"} | NOTHING,
    ],
    ids=["older", "announced", "same date", "spot", "windows", "size", "dollars", "service"],
)
def test_a_reference_price_is_ended_by_nothing_else(other):
    now = in_force_now(YEN, YEN | other, currency="JPY")

    assert now.prices["currency"].to_list() == ["JPY"]


def test_a_reference_price_ends_when_an_announced_listing_without_an_amount_begins():
    announced = {"effective_start_date": "2027-01-01T00:00:00Z"}
    later = {"effective_start_date": "2027-06-01T00:00:00Z"}
    changes = [YEN, YEN | announced | NOTHING, YEN | later | NOTHING]

    ends = in_force_now(*changes, currency="JPY").prices["valid_to"]
    on_the_day = in_force_now(*changes, currency="JPY", as_of=datetime(2027, 1, 1, tzinfo=UTC))

    assert ends.to_list() == [datetime(2027, 1, 1, tzinfo=UTC)]
    assert on_the_day.prices.is_empty()


def test_a_reference_price_that_comes_after_one_without_an_amount_holds():
    now = in_force_now(
        YEN | OLD,
        YEN | NOTHING | {"effective_start_date": "2025-01-01T00:00:00Z"},
        YEN | {"effective_end_date": "2027-01-01T00:00:00Z"},
        currency="JPY",
    )

    assert now.prices.select("valid_from", "valid_to").rows() == [
        (datetime(2025, 11, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC))
    ]


def test_in_dollars_the_price_before_a_listing_at_zero_does_hold():
    now = in_force_now(OLD, NOTHING, currency="JPY")

    assert now.prices.select("valid_from", "valid_to").rows() == [
        (datetime(2024, 1, 1, tzinfo=UTC), None)
    ]


def test_one_meter_id_and_sku_id_may_be_several_prices():
    normalized = normalize(WINDOWS, DEV_TEST, {"arm_sku_name": "Standard_D2als_v7b"})

    assert normalized.prices.height == 3
    assert normalized.prices.select("sku_id", "sku_price_id").unique().height == 1


def test_a_meter_that_is_not_primary_is_a_price_like_any_other():
    normalized = normalize_page("retail_page_linux_meter_not_primary.json")

    assert terms_of(normalized) == [
        ("on_demand", None, None, "linux", "included", Decimal("0.096")),
        ("savings_plan", "azure_compute", 1, "linux", "included", Decimal("0.06624")),
        ("savings_plan", "azure_compute", 3, "linux", "included", Decimal("0.04416")),
        ("spot", None, None, "linux", "included", Decimal("0.0192")),
    ]
    assert counted(normalized) == {("kept", None): 4}


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
        ("DCasv5-series Linux", "linux"),
        ("DCasv5-series Windows", "windows"),
        ("ECadsv5-series Linux", "linux"),
        ("ECadsv5-series Windows", "windows"),
        ("Lasv3 Series Linux", "linux"),
        ("Lasv3 Series Windows", "windows"),
        ("Virtual Machines DCadsv6 series", "linux"),
        ("Virtual Machines Ebsv6-Series Linux", "linux"),
        ("Virtual Machines Mdsv3 Very High Memory Series Linux", "linux"),
        ("Virtual Machines A Series Basic", "linux"),
        ("Virtual Machines A Series Basic Windows", "windows"),
        ("Virtual Machines NCdsxlRTX6kv6", "linux"),
        ("Virtual Machines NCdsxlRTX6kv6 Windows", "windows"),
        ("Virtual Machines NDamsr GB500 X Pro v9 Series", "linux"),
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
        "Virtual Machines Dsv9 Series SQL Server Windows",
        "Virtual Machines SQL Dsv9 Series Windows",
        "Virtual Machines Dsv9 Series Hybrid Benefit",
        "Virtual Machines Dsv9 Hybrid Benefit Series",
        "Virtual Machines Dsv9 Series Windows Hybrid Benefit",
        "Virtual Machines Dsv9 Series AHB",
        "Virtual Machines BYOL Dsv9 Series",
        "Virtual Machines Dsv9 Series License",
        "Virtual Machines Dsv9 Series Dev/Test",
        "Virtual Machines Dsv9 DevTest Series",
        "Virtual Machines Dsv9 Series Reserved",
        "Virtual Machines Licenses",
        "Virtual Machines Dsv9 Series Flatcar",
        "Virtual Machines Dsv9 Flatcar",
        "Virtual Machines Dsv9 Series Linux Windows",
        "Virtual Machines Dsv9 Series windows",
        "Virtual Machines Dsv9 Series Windows ",
        "Virtual Machines",
        "Windows",
        "",
    ],
)
def test_what_is_not_plainly_a_linux_or_a_windows_machine_is_taken_for_neither(product):
    assert counted(normalize({"product_name": product})) == {
        ("rejected", "azure_unknown_operating_system"): 1
    }


FILTERED = {
    "other service": ({"service_name": "Azure Managed Instance for Apache Cassandra"},
                      "azure_other_service"),
    "licences": ({"service_name": "Virtual Machines Licenses"}, "azure_other_service"),
    "case of the service": ({"service_name": "virtual machines"}, "azure_other_service"),
    "host": ({"product_name": "Easv4 Series Dedicated Host"}, "azure_dedicated_host"),
    "host without space": ({"product_name": "NVadsA10v5 DedicatedHost"}, "azure_dedicated_host"),
    "reserved host": (RESERVED | {"product_name": "Easv4 Series Dedicated Host"},
                      "azure_dedicated_host"),
    "host group": ({"arm_sku_name": "Dsv5_Type1"}, "azure_dedicated_host"),
    "host group with a dash": ({"arm_sku_name": "Mmsv2MedMem-Type1"}, "azure_dedicated_host"),
    "cloud services": ({"product_name": "Dasv5 Series Cloud Services"}, "azure_cloud_services"),
    "cloudservices": ({"product_name": "Eadsv5 Series CloudServices"}, "azure_cloud_services"),
    "expired": ({"product_name": "Virtual Machines Dv2 promo Series",
                 "meter_name": "D2 v2/DS2 v2 - Expired"}, "azure_expired_meter"),
    "zero": ({"retail_price": Decimal(0)}, "zero_price"),
    "free": ({"retail_price": Decimal(0), "meter_name": "B1s - Free"}, "zero_price"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "rule"), FILTERED.values(), ids=FILTERED.keys())
def test_what_is_known_to_be_no_price_of_a_machine_is_filtered_by_name(change, rule):
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
    "reservation of 10 years": (RESERVED | {"reservation_term": "10 Years"},
                                "azure_unknown_reservation_term", "10 Years"),
    "reservation without term": ({"type": "Reservation"}, "azure_unknown_reservation_term", None),
    "consumption with term": ({"reservation_term": "1 Year"}, "azure_unknown_reservation_term",
                              "1 Year"),
    "spot by the meter alone": ({"meter_name": "D2als v7 Spot"}, "azure_unknown_meter",
                                "D2als v7 Spot"),
    "low priority by the sku alone": ({"sku_name": "D2als v7 Low Priority"}, "azure_unknown_meter",
                                      "D2als v7"),
    "spot by the sku, low priority by the meter": (
        SPOT | {"meter_name": "D2als v7 Low Priority"}, "azure_unknown_meter",
        "D2als v7 Low Priority"),
    "spot and low priority at once": (
        {"sku_name": "D2 Low Priority Spot", "meter_name": "D2 Low Priority Spot"},
        "azure_unknown_meter", "D2 Low Priority Spot"),
    "low priority of spot": (
        {"sku_name": "D2 Spot Low Priority", "meter_name": "D2 Spot Low Priority"},
        "azure_unknown_meter", "D2 Spot Low Priority"),
    "spot with an underscore": ({"sku_name": "D2_Spot", "meter_name": "D2_Spot"},
                                "azure_unknown_meter", "D2_Spot"),
    "reservation of spot": (RESERVED | SPOT, "azure_unknown_meter", "D2als v7 Spot"),
    "reservation of low priority": (RESERVED | LOW_PRIORITY, "azure_unknown_meter",
                                    "D2als v7 Low Priority"),
    "reservation of another system": (
        RESERVED | {"product_name": "Virtual Machines Dsv9 Series RHEL"},
        "azure_unknown_operating_system", "Virtual Machines Dsv9 Series RHEL"),
    "reservation of Windows": (RESERVED | WINDOWS, "azure_reservation_of_windows",
                               "Virtual Machines Dalsv7 Series Windows"),
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
    "promo by the sku alone": ({"sku_name": "Standard_D2als_v7_Promo"},
                               "azure_promo_on_ordinary_size", "Standard_D2als_v7"),
    "promo by the meter alone": ({"meter_name": "D2als v7 promo"},
                                 "azure_promo_on_ordinary_size", "Standard_D2als_v7"),
    "promo of spot": ({"sku_name": "Standard_D2als_v7_Promo Spot",
                       "meter_name": "D2als v7 Promo Spot"},
                      "azure_promo_on_ordinary_size", "Standard_D2als_v7"),
    "too dear": ({"retail_price": LARGEST_AMOUNT}, "azure_price_beyond_money",
                 "99999999.9999999999"),
    "too cheap": ({"retail_price": -LARGEST_AMOUNT}, "negative_price", "-99999999.9999999999"),
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


@pytest.mark.parametrize(
    "region_id",
    [
        "sgxsingapore1", "attatlanta1", "attdallas1", "attdetroit1", "attnewyork1", "swedensouth",
        "israelnorthwest", "usgovarizona", "usgovtexas", "usgovvirginia",
    ],
)  # fmt: skip
def test_edge_zones_regions_without_a_location_and_government_regions_have_prices(region_id):
    normalized = normalize_retail_pages(
        [(SOURCE, items({"arm_region_name": region_id}))],
        region_id=region_id,
        regions=parse_regions(REGIONS_FILE.read_bytes()),
    )

    assert normalized.prices.select("region_id", "hourly_rate").rows() == [
        (region_id, Decimal("0.0804"))
    ]


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

    assert normalized.prices.select("purchase_option", "hourly_rate").rows() == [
        ("on_demand", Decimal("0.0804")),
        ("reserved", Decimal(0)),
    ]


@pytest.mark.parametrize(
    ("sku_name", "meter_name", "arm_sku_name"),
    [
        ("E4a v4 Spot", "E4a v4/E4as v4 Spot", "Standard_E4a_v4"),
        ("Standard_D4as_v5_Promo Spot", "D4as v5 Spot", "Standard_D4as_v5_Promo"),
        ("E64-16ds v4 Spot", "E64-16ds v4 Spot", "Standard_E64-16ds_v4"),
    ],
)
def test_the_ending_alone_says_spot(sku_name, meter_name, arm_sku_name):
    row = priced({"sku_name": sku_name, "meter_name": meter_name, "arm_sku_name": arm_sku_name})

    assert (row["purchase_option"], row["instance_type"]) == ("spot", arm_sku_name)


def test_windows_may_cost_less_than_linux():
    normalized = normalize({}, WINDOWS | {"retail_price": Decimal("0.01")})

    assert normalized.prices.height == 2


def test_every_row_is_kept_rejected_or_filtered_for_its_own_document():
    changes = [change for change, *_ in [*FILTERED.values(), *REJECTED_FOR.values()]]
    changes += [change | BOTH_PLANS for change in changes] + [{}, SPOT, RESERVED, BOTH_PLANS] * 5
    pages = [(f"page/{number}", items(*changes[number::3])) for number in range(3)]

    whole = normalize_retail_pages(pages, region_id="eastus", regions=regions("eastus"))

    assert whole.counts.schema == ROW_COUNTS.schema
    rows = dict(whole.counts.group_by("source_id").agg(pl.col("rows").sum()).rows())
    assert rows == {
        source_id: page.height + page["savings_plan"].list.len().sum() for source_id, page in pages
    }
    kept = whole.counts.filter(pl.col("outcome") == "kept")["rows"].sum()
    refused = whole.counts.filter(pl.col("outcome") == "rejected")["rows"].sum()
    assert (kept, refused) == (whole.prices.height, whole.rejected.height)
    assert set(whole.prices["source_id"]) <= set(rows)


def test_pages_together_give_what_they_give_one_by_one():
    changes = [change | size(n) for n, (change, *_) in enumerate(REJECTED_FOR.values())]
    changes += [size(n) | kind for n in range(100, 120) for kind in (BOTH_PLANS, SPOT, RESERVED)]
    random.Random(7).shuffle(changes)
    pages = [(f"page/{number}", items(*changes[number::4])) for number in range(4)]
    arguments = {"region_id": "eastus", "regions": regions("eastus")}

    together = normalize_retail_pages(pages, **arguments)
    alone = combine(normalize_retail_pages([page], **arguments) for page in reversed(pages))

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
    elsewhere = {
        "azure_never_in_force",
        "azure_sum_beyond_money",
        "azure_unknown_operating_system",
        "azure_unknown_savings_plan",
        "azure_unknown_savings_plan_term",
    }

    assert {rule.id for rule in AZURE} <= taken | elsewhere
