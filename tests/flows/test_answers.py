"""Answers of a release that was made of real list prices."""

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal

import polars as pl
import pytest

from flows import answers, shown
from flows.errors import UnknownNameError

H100 = "Standard_NC40ads_H100_v5"


def cheapest(release, asked, scope=None, operating_system="linux", purchase_option="on_demand"):
    return answers.cheapest(
        release,
        asked,
        scope=scope,
        operating_system=operating_system,
        purchase_option=purchase_option,
    )


def prices(release, asked, region_id=None, operating_system=None, purchase_option=None):
    return answers.prices(
        release,
        asked,
        region_id=region_id,
        operating_system=operating_system,
        purchase_option=purchase_option,
    )


def seen_cheapest(release, asked, currency, **which):
    rates = answers.table(release, "fx_rates").collect()
    return shown.cheapest(cheapest(release, asked, **which), currency=currency, fx_rates=rates)


def test_the_cheapest_regions_of_each_scope_come_in_the_order_of_the_scopes(release):
    rows = cheapest(release, "p5.48xlarge")
    assert rows["scope"].to_list() == [
        "world",
        "eu",
        "eea",
        "asia",
        "europe",
        "north_america",
        "south_america",
        "us_gov",
    ]
    world = rows.row(0, named=True)
    assert (world["region_id"], world["tied_region_ids"]) == (
        "us-east-1",
        ["us-east-2", "us-west-2"],
    )
    assert world["price_usd"] == Decimal("55.04")
    assert (world["dearest_region_id"], world["dearest_price_usd"]) == (
        "sa-east-1",
        Decimal("92.4672"),
    )


def test_one_scope_and_one_operating_system_are_one_row(release):
    rows = cheapest(release, H100, scope="eu", operating_system="windows")
    assert rows.select("scope", "operating_system", "region_id").rows() == [
        ("eu", "windows", "northeurope")
    ]


def test_a_scope_without_a_price_is_no_row(release):
    assert cheapest(release, "p5.48xlarge", scope="de").is_empty()


def test_people_see_prices_in_dollars_with_all_tied_regions(release):
    (row,) = seen_cheapest(release, "p5.48xlarge", "USD", scope="world").iter_rows(named=True)
    assert row["cheapest_regions"] == ["us-east-1", "us-east-2", "us-west-2"]
    assert row["usd_per_hour"] == Decimal("55.04")
    assert row["next_price"] == Decimal("58.8928")
    assert row["spread_pct"] == 68.0
    assert "price_quality" not in row


def test_people_see_every_price_in_euro_if_they_ask_for_it(release):
    dollar = (
        answers.table(release, "fx_rates")
        .filter(pl.col("currency") == "USD")
        .collect()["units_per_eur"]
        .item()
    )
    (row,) = seen_cheapest(release, "p5.48xlarge", "EUR", scope="world").iter_rows(named=True)
    for name, usd in (
        ("eur_per_hour", "55.04"),
        ("next_price", "58.8928"),
        ("dearest_price", "92.4672"),
    ):
        assert abs(row[name] - Decimal(usd) / dollar) <= Decimal("0.00005")
    assert "usd_per_hour" not in row


def test_without_a_rate_there_is_no_price_in_euro(release):
    rows = cheapest(release, "p5.48xlarge", scope="world")
    none = answers.table(release, "fx_rates").collect().clear()
    assert "eur_per_hour" not in shown.cheapest(rows, currency="EUR", fx_rates=none).columns


def test_types_are_found_without_case_and_named_as_they_are_spelled(release):
    found = answers.find_instance_type(release, " standard_nc40ads_h100_V5 ")
    assert found.rows() == [("azure", H100)]


@pytest.mark.parametrize(
    ("asked", "offered"),
    [
        ("p5.48xlarg", "p5.48xlarge"),
        ("NC40ads_H100", H100),
        ("h100_v5", H100),
        ("M5.LARGE2", "m5.large"),
    ],
)
def test_an_unknown_type_gets_the_nearest_names(release, asked, offered):
    with pytest.raises(UnknownNameError, match=f"no instance type '{asked}'") as refused:
        answers.find_instance_type(release, asked)
    assert offered in str(refused.value).partition("Did you mean ")[2]


def test_a_name_near_to_none_is_told_where_all_of_them_are(release):
    with pytest.raises(UnknownNameError, match="`price-catalog sql` lists them all"):
        answers.find_instance_type(release, "???")


def test_every_price_of_a_type_comes_the_cheapest_first(release):
    rows = prices(release, "p5.48xlarge")
    assert rows["effective_hourly_price"].is_sorted()
    assert rows["region_id"].to_list()[0] == "us-east-2"
    assert rows["purchase_option"].unique().sort().to_list() == ["on_demand", "reserved", "spot"]
    assert rows["operating_system"].unique().sort().to_list() == [
        *("linux", "rhel", "rhel_ha", "suse", "ubuntu_pro")
    ]


def test_prices_can_be_narrowed_to_a_system_and_a_way_to_pay(release):
    rows = prices(release, "p5.48xlarge", operating_system="linux", purchase_option="on_demand")
    assert rows["region_id"].to_list()[:4] == ["us-east-1", "us-east-2", "us-west-2", "eu-north-1"]
    assert rows["hourly_rate"].to_list()[-1] == Decimal("92.4672")


def test_the_cheapest_regions_can_be_asked_for_every_way_to_pay(release):
    rows = cheapest(release, "p5.48xlarge", scope="world", purchase_option=None)
    assert rows.select("purchase_option", "term_years", "region_id").rows() == [
        ("on_demand", None, "us-east-1"),
        ("spot", None, "us-east-2"),
        ("reserved", 3, "us-east-1"),
    ]


def test_prices_of_one_region_are_found_without_case(release):
    rows = prices(release, H100, region_id="GermanyWestCentral")
    assert set(rows["region_id"]) == {"germanywestcentral"}
    linux = rows.filter(
        pl.col("operating_system") == "linux",
        pl.col("license_model") == "included",
        pl.col("purchase_option") == "on_demand",
    )
    assert linux["hourly_rate"].to_list() == [Decimal("9.074")]
    assert prices(release, H100, region_id="nowhere").is_empty()


def test_home_is_compared_with_every_region_of_the_lowest_price(release):
    gap = answers.home_gap(release, H100, "germanywestcentral")
    assert gap.cheapest == ("eastus", "eastus2", "westus2", "westus3")
    assert (gap.price_usd, gap.home_price_usd) == (Decimal("6.98"), Decimal("9.074"))
    assert gap.gap_pct == Decimal(30)


def test_a_home_without_a_price_has_no_gap(release):
    gap = answers.home_gap(release, "p5.48xlarge", "eu-central-1")
    assert gap.cheapest == ("us-east-1", "us-east-2", "us-west-2")
    assert (gap.home_price_usd, gap.gap_pct) == (None, None)


def test_a_type_without_a_price_anywhere_cannot_be_compared(release):
    assert answers.home_gap(release, "p6.none", "eu-central-1") is None


def with_sources(release, tmp_path, **values):
    """Give the release with another table of sources."""
    changed = pl.read_parquet(release.table("sources")).with_columns(**values)
    path = tmp_path / "sources.parquet"
    changed.write_parquet(path)

    class Changed(type(release)):
        def table(self, name):
            return str(path) if name == "sources" else super().table(name)

    return Changed(release.manifest, release.manifest_sha256, release.storage)


def test_prices_are_of_the_day_that_the_provider_names_or_else_of_the_fetch(release, tmp_path):
    fetched = datetime(2026, 8, 22, 6, tzinfo=UTC)
    same = with_sources(release, tmp_path, fetched_at=pl.lit(fetched, pl.Datetime("us", "UTC")))
    published = datetime(2026, 7, 5, tzinfo=UTC)
    plans, feed = (
        datetime(2025, 9, 11, 18, 44, 47, tzinfo=UTC),
        datetime(2026, 8, 22, 5, tzinfo=UTC),
    )
    assert answers.price_dates(same).rows() == [
        ("aws", "aws_price_list", False, published, published),
        ("aws", "aws_savings_plans", False, plans, plans),
        ("aws", "aws_spot_feed", False, feed, feed),
        ("azure", "azure_retail_prices", False, fetched, fetched),
    ]


def test_an_answer_says_of_which_release_and_days_it_is(release, tmp_path):
    is_index = pl.col("source_id").str.ends_with("/001")
    days = (
        pl.when(is_index)
        .then(datetime(2026, 8, 21, tzinfo=UTC))
        .otherwise(datetime(2026, 8, 22, tzinfo=UTC))
    )
    replayed = with_sources(
        release,
        tmp_path,
        is_recorded=pl.lit(value=True),
        fetched_at=days.cast(pl.Datetime("us", "UTC")),
    )
    assert answers.provenance(replayed) == [
        f"Release {release.id}.",
        "AWS: recorded list prices of 2026-07-05, not today's.",
        "AWS: recorded savings plan rates of 2025-09-11, not today's.",
        "AWS: recorded indicative spot prices of 2026-08-22, not today's.",
        "Azure: recorded list prices of 2026-08-21 to 2026-08-22, not today's.",
    ]
    assert answers.provenance(release)[1] == "AWS: list prices of 2026-07-05."


def test_euro_are_of_the_newest_rate(release, tmp_path):
    newest = answers.table(release, "fx_rates").collect()["rate_date"].max()
    assert isinstance(newest, date)
    assert answers.rate_provenance(release) == f"Exchange rate of {newest}."
    noted = with_sources(release, tmp_path, note=pl.lit("Synthetic."))
    assert answers.rate_provenance(noted) == f"Exchange rate of {newest}. Synthetic."


def test_releases_are_listed_with_what_the_gate_said(release, refreshed):
    manifest = release.manifest
    older = replace(release, manifest=replace(manifest, release="older"))
    rows = answers.release_list([release, older])
    assert rows["release"].to_list() == [refreshed.release_id, "older"]
    assert rows.row(0, named=True) == {
        "release": refreshed.release_id,
        "as_of": datetime(2026, 8, 22, 6, tzinfo=UTC),
        "prices": refreshed.rows["prices"],
        "verdict": refreshed.report.verdict,
        "warnings": len(refreshed.report.failed("warning")),
        "rows_rejected": 0,
        "schema_version": manifest.schema_version,
    }
    assert answers.release_list([]).columns == rows.columns


def test_the_dictionary_lists_every_table_with_its_rows_and_key(release, refreshed):
    rows = answers.dictionary(release, None)
    assert dict(rows.select("table", "rows").iter_rows()) == refreshed.rows
    assert dict(rows.select("table", "key").iter_rows())["fx_rates"] == "currency, rate_date"


def test_the_dictionary_describes_the_columns_of_a_table(release):
    rows = answers.dictionary(release, "cheapest_region")
    price = rows.row(by_predicate=pl.col("name") == "price_usd", named=True)
    assert (price["type"], price["unit"]) == ("DECIMAL(18,10)", "USD per hour")
    provider = rows.row(by_predicate=pl.col("name") == "provider", named=True)
    assert (provider["key_position"], provider["vocabulary"]) == (1, "aws, azure")


def test_an_unknown_table_is_told_with_those_that_there_are(release):
    with pytest.raises(UnknownNameError, match=r"no table 'price'; it has regions, .*prices"):
        answers.dictionary(release, "price")


def test_columns_that_came_after_a_release_are_null_in_its_answers(release, tmp_path):
    path = tmp_path / "cheapest_region.parquet"
    later = ("availability_zone_id", "zone_count")
    pl.read_parquet(release.table("cheapest_region")).drop(later).write_parquet(path)

    class Older(type(release)):
        def table(self, name):
            return str(path) if name == "cheapest_region" else super().table(name)

    older = Older(release.manifest, release.manifest_sha256, release.storage)
    rows = cheapest(older, "p5.48xlarge", purchase_option="spot")
    assert rows.height > 0
    assert rows.select(later).null_count().row(0) == (rows.height, rows.height)
