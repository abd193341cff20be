"""A release against a provider, key by key."""

from decimal import Decimal

import polars as pl
import pytest

from support.rows import day, price_rows
from transforms.reconciliation import compare_prices
from warehouse.schemas.catalog import PRICE_KEY_NOW
from warehouse.schemas.table import PRICE, TIMESTAMP

RESERVED = {
    "purchase_option": "reserved",
    "commitment_type": "azure",
    "term_years": 1,
    "payment_option": "all_upfront",
    "hourly_rate": "0",
    "upfront_fee": "8760",
    "effective_hourly_price": "1",
}


def kinds(differences: pl.DataFrame) -> list[tuple[str, str]]:
    return differences.select("kind", "region_id").rows()


def test_equal_prices_are_no_difference():
    rows = price_rows({}, {"region_id": "westeurope"}, RESERVED)
    differences = compare_prices(rows, rows.sample(fraction=1, shuffle=True, seed=3))
    assert differences.is_empty()
    assert differences.schema == pl.Schema(
        {
            "kind": pl.String,
            **{name: rows.schema[name] for name in PRICE_KEY_NOW},
            "published_hourly_rate": PRICE,
            "published_upfront_fee": PRICE,
            "published_effective_hourly_price": PRICE,
            "published_valid_from": TIMESTAMP,
            "listed_hourly_rate": PRICE,
            "listed_upfront_fee": PRICE,
            "listed_effective_hourly_price": PRICE,
            "listed_valid_from": TIMESTAMP,
            "difference_pct": pl.Float64,
        }
    )


def test_what_does_not_decide_an_amount_is_no_difference():
    published = price_rows({"price_quality": "carried_over"})
    listed = price_rows(
        {
            "valid_from": day("2026-11-01"),
            "sku_id": "other",
            "sku_price_id": "other",
            "source_id": "other",
        }
    )
    assert compare_prices(published, listed).is_empty()


def test_both_sides_of_a_difference_are_shown():
    published = price_rows({"hourly_rate": "0.1000000000", "valid_from": day("2026-01-01")})
    listed = price_rows({"hourly_rate": "0.1200000000", "valid_from": day("2026-11-01")})

    assert compare_prices(published, listed).rows(named=True) == [
        {
            "kind": "price_differs",
            "provider": "azure",
            "region_id": "eastus",
            "availability_zone_id": None,
            "instance_type": "Standard_D2s_v5",
            "operating_system": "linux",
            "license_model": "included",
            "pre_installed_software": "none",
            "tenancy": "shared",
            "purchase_option": "on_demand",
            "commitment_type": None,
            "term_years": None,
            "payment_option": None,
            "currency": "USD",
            "published_hourly_rate": Decimal("0.1000000000"),
            "published_upfront_fee": None,
            "published_effective_hourly_price": Decimal("0.1000000000"),
            "published_valid_from": day("2026-01-01"),
            "listed_hourly_rate": Decimal("0.1200000000"),
            "listed_upfront_fee": None,
            "listed_effective_hourly_price": Decimal("0.1200000000"),
            "listed_valid_from": day("2026-11-01"),
            "difference_pct": 20.0,
        }
    ]


def test_the_last_decimal_counts():
    published = price_rows({"hourly_rate": "21.9576420000"})
    listed = price_rows({"hourly_rate": "21.9576420001"})
    (row,) = compare_prices(published, listed).rows(named=True)
    assert (row["kind"], row["difference_pct"]) == ("price_differs", 0.0)


@pytest.mark.parametrize(
    "change",
    [
        {"upfront_fee": "8761"},
        {"upfront_fee": None},
        {"hourly_rate": "0.1"},
        {"effective_hourly_price": "1.1"},
    ],
    ids=["fee", "no fee", "rate", "effective"],
)
def test_each_amount_is_compared(change):
    differences = compare_prices(price_rows(RESERVED), price_rows({**RESERVED, **change}))
    assert kinds(differences) == [("price_differs", "eastus")]


def test_a_price_of_one_side_is_a_difference_without_a_percentage():
    published = price_rows({"region_id": "westeurope"}, {"region_id": "eastus"})
    listed = price_rows({"region_id": "eastus"}, {"region_id": "brazilsouth"})

    differences = compare_prices(published, listed)

    assert kinds(differences) == [
        ("only_at_provider", "brazilsouth"),
        ("only_in_release", "westeurope"),
    ]
    assert differences["difference_pct"].to_list() == [None, None]
    assert differences.select("published_hourly_rate", "listed_hourly_rate").rows() == [
        (None, Decimal("0.096")),
        (Decimal("0.096"), None),
    ]


def test_regions_and_types_are_compared_without_case_and_shown_as_published():
    published = price_rows({"region_id": "westus3", "instance_type": "Standard_NC16dsxlRTX6Kv6"})
    listed = price_rows(
        {
            "region_id": "WestUS3",
            "instance_type": "Standard_NC16dsxlRTX6kv6",
            "hourly_rate": "0.048",
        }
    )
    (row,) = compare_prices(published, listed).rows(named=True)
    assert (row["region_id"], row["instance_type"]) == ("westus3", "Standard_NC16dsxlRTX6Kv6")
    assert (row["kind"], row["difference_pct"]) == ("price_differs", -50.0)


@pytest.mark.parametrize(
    "other",
    [
        {"operating_system": "windows"},
        {"license_model": "byol"},
        {"pre_installed_software": "sql_web"},
        {"tenancy": "dedicated"},
        {"purchase_option": "spot"},
        {"availability_zone_id": "use1-az1"},
        {"currency": "EUR"},
    ],
    ids=lambda other: next(iter(other)),
)
def test_a_price_of_another_key_is_another_price(other):
    differences = compare_prices(price_rows({}), price_rows(other))
    assert sorted(differences["kind"]) == ["only_at_provider", "only_in_release"]


def test_against_a_price_of_nothing_there_is_no_percentage():
    nothing = {"hourly_rate": "0", "effective_hourly_price": "0"}
    (row,) = compare_prices(price_rows(nothing), price_rows({})).rows(named=True)
    assert (row["kind"], row["difference_pct"]) == ("price_differs", None)


def test_two_prices_of_one_key_are_refused():
    twice = price_rows({}, {"valid_from": day("2026-02-01")})
    with pytest.raises(pl.exceptions.ComputeError):
        compare_prices(price_rows({}), twice)
    with pytest.raises(pl.exceptions.ComputeError):
        compare_prices(twice, price_rows({}))


def test_differences_come_sorted_by_key_whatever_the_order():
    regions = [{"region_id": name} for name in ("uksouth", "eastus", "japaneast")]
    published = price_rows(*regions)
    none = published.clear()
    assert [name for _, name in kinds(compare_prices(published, none))] == [
        "eastus",
        "japaneast",
        "uksouth",
    ]
    assert compare_prices(published.reverse(), none).equals(compare_prices(published, none))
