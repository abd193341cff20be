"""Settings come from PRICE_CATALOG_* variables, and what is asked for goes before them."""

import os
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from flows.errors import SettingsError
from flows.planning import read_settings
from flows.settings import CatalogSettings, prepare_prefect


@pytest.fixture(autouse=True)
def _no_env_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_without_any_variable_the_providers_themselves_are_asked():
    settings = read_settings({})
    assert settings.source == "live"
    assert settings.root == "catalog"
    assert settings.landing == Path("landing")
    assert settings.aws_price_list_url == "https://pricing.us-east-1.amazonaws.com"
    assert settings.azure_retail_prices_url == "https://prices.azure.com/api/retail/prices"
    assert settings.providers == ("aws", "azure")
    assert (settings.aws_regions, settings.azure_regions, settings.as_of) == (None, None, None)
    assert (settings.aws_china, settings.azure_currencies) == (False, ())
    assert settings.aws_spot_feed_url == "https://website.spot.ec2.aws.a2z.com/spot.json"
    assert settings.spot_lost_work_pct == 10
    assert (settings.http_workers, settings.http_max_attempts) == (4, 5)
    assert settings.http_backoff_seconds == 2.0


@pytest.mark.parametrize(
    ("variable", "text", "name", "value"),
    [
        ("SOURCE", "recorded", "source", "recorded"),
        ("ROOT", "file:///srv/catalog", "root", "file:///srv/catalog"),
        ("LANDING", "/srv/landing", "landing", Path("/srv/landing")),
        ("RECORDING", "/srv/night", "recording", Path("/srv/night")),
        ("AWS_PRICE_LIST_URL", "http://a", "aws_price_list_url", "http://a"),
        ("AWS_CHINA", "true", "aws_china", True),
        ("AWS_CHINA_PRICE_LIST_URL", "http://d", "aws_china_price_list_url", "http://d"),
        ("AWS_SPOT_FEED_URL", "http://e", "aws_spot_feed_url", "http://e"),
        ("AZURE_RETAIL_PRICES_URL", "http://b", "azure_retail_prices_url", "http://b"),
        ("ECB_RATES_URL", "http://c", "ecb_rates_url", "http://c"),
        ("PROVIDERS", "azure", "providers", ("azure",)),
        ("AWS_REGIONS", "us-east-1, eu-west-1", "aws_regions", ("us-east-1", "eu-west-1")),
        ("AZURE_REGIONS", "eastus,,westus,", "azure_regions", ("eastus", "westus")),
        ("AZURE_CURRENCIES", "eur, GBP,USD,EUR", "azure_currencies", ("EUR", "GBP")),
        ("SPOT_LOST_WORK_PCT", "12.5", "spot_lost_work_pct", Decimal("12.5")),
        ("AS_OF", "2026-08-22", "as_of", datetime(2026, 8, 22, tzinfo=UTC)),
        ("HTTP_WORKERS", "9", "http_workers", 9),
        ("HTTP_MAX_ATTEMPTS", "2", "http_max_attempts", 2),
        ("HTTP_BACKOFF_SECONDS", "0.5", "http_backoff_seconds", 0.5),
        ("WALK_MAX_ATTEMPTS", "1", "walk_max_attempts", 1),
    ],
)
def test_every_setting_is_a_variable(monkeypatch, variable, text, name, value):
    monkeypatch.setenv(f"PRICE_CATALOG_{variable}", text)
    assert getattr(read_settings({}), name) == value


def test_every_setting_is_named_in_the_test_above():
    (marker,) = test_every_setting_is_a_variable.pytestmark
    assert {name for _, _, name, _ in marker.args[1]} == set(CatalogSettings.model_fields)


def test_what_is_asked_for_goes_before_the_environment_and_none_is_not_asked(monkeypatch):
    monkeypatch.setenv("PRICE_CATALOG_ROOT", "environment")
    assert read_settings({"root": "asked"}).root == "asked"
    assert read_settings({"root": None}).root == "environment"


def test_the_environment_goes_before_the_env_file(tmp_path, monkeypatch):
    (tmp_path / ".env").write_text(
        "PRICE_CATALOG_ROOT=file\nPRICE_CATALOG_HTTP_WORKERS=7\nANOTHER_PROGRAM=1\n"
    )
    monkeypatch.setenv("PRICE_CATALOG_ROOT", "environment")
    settings = read_settings({})
    assert (settings.root, settings.http_workers) == ("environment", 7)


def test_a_name_that_is_listed_twice_is_asked_for_once():
    settings = read_settings({"providers": "azure,aws,azure", "aws_regions": "b,a,b"})
    assert settings.providers == ("azure", "aws")
    assert settings.aws_regions == ("b", "a")


def test_an_empty_list_of_regions_means_all():
    assert read_settings({"azure_regions": " , "}).azure_regions is None


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-08-22T06:00:00Z", datetime(2026, 8, 22, 6, tzinfo=UTC)),
        ("2026-08-22T06:00:00+02:00", datetime(2026, 8, 22, 4, tzinfo=UTC)),
        ("2026-08-22T06:00:00", datetime(2026, 8, 22, 6, tzinfo=UTC)),
        ("2026-08-22T06:00:00.987Z", datetime(2026, 8, 22, 6, tzinfo=UTC)),
        ("20260822", datetime(2026, 8, 22, tzinfo=UTC)),
    ],
    ids=["UTC", "another zone", "no zone is UTC", "whole seconds", "basic format"],
)
def test_as_of_is_iso_8601_and_becomes_utc(text, moment):
    as_of = read_settings({"as_of": text}).as_of
    assert as_of == moment
    assert as_of.tzinfo is UTC


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("source", "yesterday"),
        ("providers", "gcp"),
        ("providers", ","),
        ("as_of", "1755842400"),
        ("as_of", "last tuesday"),
        ("http_workers", "0"),
        ("http_workers", "many"),
        ("http_max_attempts", "21"),
        ("http_backoff_seconds", "-1"),
        ("azure_currencies", "EURO"),
        ("spot_lost_work_pct", "100"),
    ],
)
def test_a_value_that_cannot_be_used_is_named_with_its_setting(monkeypatch, name, value):
    for given in ({name: value}, {}):
        if not given:
            monkeypatch.setenv(f"PRICE_CATALOG_{name.upper()}", value)
        with pytest.raises(SettingsError) as refused:
            read_settings(given)
        assert f"{name}" in str(refused.value)
        assert value.strip(",") in str(refused.value)


def test_every_bad_value_is_told_at_once():
    with pytest.raises(SettingsError, match=r"source: .*got 'x'.*http_workers: .*got '0'"):
        read_settings({"source": "x", "http_workers": "0"})


def test_a_setting_that_does_not_exist_is_refused_and_not_passed_over():
    with pytest.raises(SettingsError, match=r"no setting azure_region; there are .*azure_regions"):
        read_settings({"azure_region": "eastus"})


def test_prefect_is_prepared_without_overruling_its_user(monkeypatch):
    for name in ("PREFECT_SERVER_ANALYTICS_ENABLED", "DO_NOT_TRACK", "PREFECT_LOGGING_LEVEL"):
        monkeypatch.setenv(name, "sentinel")
        monkeypatch.delenv(name)
    monkeypatch.setenv("PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS", "7")
    monkeypatch.setenv("PREFECT_SERVER_LOGGING_LEVEL", "INFO")
    prepare_prefect(quiet=False, for_one_run=False)
    assert os.environ["PREFECT_SERVER_ANALYTICS_ENABLED"] == "false"  # noqa: TID251 - what it sets
    assert os.environ["DO_NOT_TRACK"] == "1"  # noqa: TID251
    assert os.environ["PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS"] == "7"  # noqa: TID251
    assert "PREFECT_LOGGING_LEVEL" not in os.environ  # noqa: TID251
    prepare_prefect(quiet=True, for_one_run=False)
    assert os.environ["PREFECT_LOGGING_LEVEL"] == "CRITICAL"  # noqa: TID251
    assert os.environ["PREFECT_SERVER_LOGGING_LEVEL"] == "INFO"  # noqa: TID251
