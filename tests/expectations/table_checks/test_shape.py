import polars as pl

from support.candidates import judge, prices, release

_GOOD = release(prices({}, {"region_id": "eu-central-1"}))


def test_a_column_of_another_type_is_named_with_both_types():
    broken = _GOOD.with_table("regions", _GOOD.tables["regions"].cast({"latitude": pl.String}))
    found = judge("tables.columns", broken)
    assert found.rows == [
        {
            "table": "regions",
            "place": 11,
            "expected": "latitude: Float64",
            "found": "latitude: String",
        }
    ]


def test_columns_in_another_order_fail():
    frame = _GOOD.tables["offers"]
    swapped = _GOOD.with_table(
        "offers", frame.select("region_id", "provider", pl.all().exclude("region_id", "provider"))
    )
    assert judge("tables.columns", swapped).failed == 2


def test_a_missing_table_fails_by_every_column():
    tables = {name: frame for name, frame in _GOOD.tables.items() if name != "fx_rates"}
    found = judge("tables.columns", type(_GOOD)(tables, _GOOD.row_counts))
    assert (found.failed, found.rows[0]["found"]) == (5, "nothing")


def test_nulls_in_a_key_count_as_equal():
    twice = prices({}, {})
    assert twice["availability_zone_id"].null_count() == 2
    found = judge("tables.key_unique", release(prices({})).with_table("prices", twice))
    assert [(row["table"], row["rows"]) for row in found.rows] == [("prices", 2)]


def test_two_dates_for_one_price_are_two_keys_but_not_one_price_in_force():
    two = release(
        prices({}, {"valid_from": pl.datetime(2026, 7, 1, time_zone="UTC")} | {"valid_from": None})
    )
    later = two.tables["prices"].with_columns(
        valid_from=pl.Series(["2026-08-01", "2026-07-01"]).str.to_datetime(
            time_unit="us", time_zone="UTC"
        )
    )
    two = two.with_table("prices", later)
    assert judge("tables.key_unique", two).failed == 0
    assert judge("prices.one_in_force", two).failed == 2


def test_two_spellings_of_a_region_are_one_key():
    two = release(prices({"provider": "azure", "region_id": "westus3"}))
    both = prices(
        {"provider": "azure", "region_id": "westus3"}, {"provider": "azure", "region_id": "WestUS3"}
    )
    assert judge("prices.one_in_force", two.with_table("prices", both)).failed == 2
