"""From the providers' bytes to a published release, and what goes wrong on the way."""

import shutil
from decimal import Decimal
from functools import partial

import polars as pl
import pytest

from support.fake_azure import loses_next_page, miscounts, repeats_its_link
from support.fake_http import cuts_off, hangs_up, rate_limited, refuses, sends, sends_html
from warehouse.landing import LandingStore
from warehouse.releases import open_release
from warehouse.storage import open_storage
from warehouse.verification import verify

pytestmark = pytest.mark.e2e


def prices(night, *conditions, release_id=None):
    return pl.read_parquet(night.release(release_id).table("prices")).filter(*conditions)


def linux_price(night, instance_type, region_id):
    rows = prices(
        night,
        pl.col("instance_type") == instance_type,
        pl.col("region_id") == region_id,
        pl.col("operating_system") == "linux",
        pl.col("tenancy") == "shared",
        pl.col("purchase_option") == "on_demand",
        pl.col("license_model") == "included",
        pl.col("pre_installed_software") == "none",
    )
    return rows["hourly_rate"].item()


def test_list_prices_arrive_exactly_and_the_same_night_again_is_unchanged(night):
    first = night.refresh()
    assert first.outcome == "published"
    assert linux_price(night, "p5.48xlarge", "us-east-1") == Decimal("55.04")
    assert linux_price(night, "p5.48xlarge", "sa-east-1") == Decimal("92.4672")
    assert linux_price(night, "Standard_NC40ads_H100_v5", "germanywestcentral") == Decimal("9.074")

    again = night.refresh()
    assert (again.outcome, again.release_id) == ("unchanged", first.release_id)
    assert len(night.server.targets("/index.csv")) == 28
    fetched_anew = [part for extract in again.extracts for part in extract.parts]
    assert all(part.from_cache for part in fetched_anew)


def test_an_unchanged_offer_file_is_confirmed_by_a_304_without_its_body(night):
    night.refresh(providers="aws", aws_regions="us-east-1,us-east-2,us-west-2")
    before = len(night.server.requests)
    night.refresh(providers="aws", aws_regions="us-east-1,us-east-2,us-west-2")
    repeated = [
        request for request in night.server.requests[before:] if "/index.csv" in request.path
    ]
    assert len(repeated) == 3
    assert all("if-none-match" in request.headers for request in repeated)


def test_rows_in_another_order_give_the_same_bytes(night, small_night):
    first = night.refresh()
    digests = night.digests()
    night.serve(small_night.shuffled(seed=7))
    again = night.refresh()
    assert again.outcome == "unchanged"
    assert again.release_id == first.release_id

    night.folder /= "shuffled"
    night.refresh()
    assert night.digests() == digests


def test_passing_faults_change_nothing(night):
    night.server.misbehave(rate_limited("1"), on="armRegionName%20eq%20'eastus'")
    night.server.misbehave(refuses(503), on="region_index.json")
    night.server.misbehave(cuts_off(), on="/us-east-1/index.csv")
    night.server.misbehave(hangs_up(), on="/us-west-2/index.csv")
    night.server.misbehave(refuses(404), on="/eu-central-1/index.csv")
    night.server.misbehave(sends(b"{}"), on="germanywestcentral")
    night.server.misbehave(sends_html(), on="germanynorth")
    night.azure.disturb(loses_next_page(), page=1, times=1)
    with_faults = night.refresh()
    assert [extract.failures for extract in with_faults.extracts] == [(), ()]
    night.server.behave()
    assert night.refresh().release_id == with_faults.release_id


@pytest.mark.parametrize(
    ("fault", "region"),
    [
        (refuses(503), "eu-north-1"),
        (sends_html(), "eu-north-1"),
        (refuses(400, b"{}"), "uksouth"),
        (sends(b"null"), "uksouth"),
    ],
    ids=["offer file unavailable", "offer file is a page", "listing refused", "listing is null"],
)
def test_a_region_that_fails_is_carried_over_with_its_own_dates(night, fault, region):
    night.refresh()
    # Spot prices of AWS are of another document, and of the moment.
    is_listed = pl.col("source_id") != "aws_spot_feed"
    before = prices(night, pl.col("region_id") == region, is_listed)
    night.server.misbehave(fault, on=region, times=None)
    refreshed = night.refresh(as_of="2026-08-23T06:00:00Z")
    assert refreshed.outcome == "published"
    assert [failed for _, failed in refreshed.carried_over] == [region]
    after = prices(night, pl.col("region_id") == region, is_listed)
    assert after.height > 0
    assert set(after["price_quality"]) == {"carried_over"}
    assert after.drop("price_quality").equals(before.drop("price_quality"))
    others = prices(night, pl.col("region_id") != region, is_listed)
    assert set(others["price_quality"]) == {"ok"}


@pytest.mark.parametrize("fault", [repeats_its_link, miscounts, partial(loses_next_page)])
def test_a_listing_whose_pages_never_fit_is_not_published_in_part(night, fault):
    night.refresh()
    digests = night.digests()
    night.azure.disturb(fault())
    refreshed = night.refresh(as_of="2026-08-23T06:00:00Z")
    assert refreshed.outcome == "refused"
    assert {provider for provider, _ in refreshed.carried_over} == {"azure"}
    assert night.digests() == digests


def test_one_provider_down_leaves_the_other_alone_and_the_gate_refuses(night):
    first = night.refresh()
    night.server.misbehave(refuses(503), on="region_index.json", times=None)
    refreshed = night.refresh(as_of="2026-08-23T06:00:00Z")
    aws, azure = refreshed.extracts
    assert len(aws.failures) == len(aws.asked)
    assert azure.failures == ()
    assert refreshed.outcome == "refused"
    assert "503" in aws.failures[0].message
    assert night.release().id == first.release_id


def test_a_first_night_without_a_region_says_that_it_is_missing(night):
    night.server.misbehave(refuses(503), on="/eu-north-1/", times=None)
    refreshed = night.refresh()
    assert refreshed.carried_over == ()
    assert [failure.region_id for failure in refreshed.extracts[0].failures] == ["eu-north-1"]


def test_a_tenfold_price_is_refused_until_somebody_has_looked(night, small_night):
    night.refresh()

    def tenfold(line):
        return line.replace('"Hrs","', '"Hrs","1') if '"m5.large"' in line else line

    for region in small_night.aws:
        small_night = small_night.with_aws_lines(region, tenfold)
    night.serve(small_night)
    night.aws.version = "20260823000000"
    later = {"as_of": "2026-08-23T06:00:00Z"}
    refused = night.refresh(**later)
    assert refused.outcome == "refused"
    assert linux_price(night, "m5.large", "us-east-1") == Decimal("0.096")


def test_a_landed_run_is_repeated_without_a_network_byte_for_byte(night):
    first = night.refresh()
    digests = night.digests()
    (run_id,) = LandingStore(night.landing).runs()
    night.server.misbehave(hangs_up(), times=None)
    again = night.refresh(from_landed=run_id)
    assert (again.outcome, again.release_id) == ("unchanged", first.release_id)
    elsewhere = str(night.folder / "elsewhere")
    repeated = night.refresh(from_landed=run_id, root=elsewhere)
    assert repeated.release_id == first.release_id
    tables = night.release().manifest.tables
    there = {
        name: file.sha256
        for name, file in _open(elsewhere).manifest.tables.items()
        if name != "sources"
    }
    assert there == digests
    assert _open(elsewhere).manifest.tables["sources"] == tables["sources"]


def test_what_a_live_run_records_is_replayed_as_the_same_release(night):
    recording = night.folder / "recording"
    live = night.refresh(record_to=recording)
    replayed = night.refresh(
        source="recorded",
        recording=str(recording),
        root=str(night.folder / "replayed"),
        landing=str(night.folder / "landing-of-replay"),
    )
    assert replayed.release_id == live.release_id
    sources = pl.read_parquet(_open(str(night.folder / "replayed")).table("sources"))
    assert sources["is_recorded"].all()


def test_with_credentials_the_offer_files_are_listed_by_the_price_list_api(night, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setenv("AWS_ENDPOINT_URL_PRICING", night.server.base_url)
    monkeypatch.setenv("AWS_ENDPOINT_URL_EC2", night.server.base_url)
    # Credentials are for AWS itself, which the fake stands for here.
    monkeypatch.setattr("flows.planning.AWS_PRICE_LIST_URL", night.server.base_url)
    with_credentials = night.refresh()
    assert with_credentials.outcome == "published"
    assert night.server.targets("AmazonEC2/current/region_index.json") == []
    sources = pl.read_parquet(night.release().table("sources"))
    assert not sources["url"].str.contains("s3cr").any()
    assert linux_price(night, "p5.48xlarge", "us-west-2") == Decimal("55.04")


def test_a_published_catalog_verifies_and_names_every_input(night):
    night.refresh()
    report = verify(open_storage(night.folder / "catalog"))
    assert report.is_sound, report.problems
    manifest = night.release().manifest
    assert len(manifest.inputs) == manifest.tables["sources"].rows
    assert {entry.source for entry in manifest.inputs} == {
        "aws_price_list",
        "aws_price_list_index",
        "aws_savings_plans",
        "aws_savings_plans_index",
        "aws_spot_feed",
        "azure_retail_prices",
        "ecb_reference_rates",
    }


def _open(root):
    return open_release(open_storage(root))


def test_a_landed_file_that_is_damaged_is_carried_over_once_and_then_fetched_again(night):
    night.refresh()
    document = _document(night, "aws_price_list/eu-north-1")
    body = night.landing / "objects" / document[:2] / f"{document}.zst"
    body.write_bytes(body.read_bytes()[:-20])
    for part in (night.landing / "parts").iterdir():
        shutil.rmtree(part)
    damaged = night.refresh(as_of="2026-08-23T06:00:00Z")
    assert damaged.carried_over == (("aws", "eu-north-1"),)
    mended = night.refresh(as_of="2026-08-24T06:00:00Z")
    assert mended.carried_over == ()


def _document(night, source_id):
    sources = pl.read_parquet(night.release().table("sources"))
    return sources.filter(pl.col("source_id") == source_id)["sha256"].item()


def test_a_region_that_vanishes_from_the_index_is_carried_over(night):
    night.refresh()
    del night.aws.offers["us-west-2"]
    refreshed = night.refresh(as_of="2026-08-23T06:00:00Z")
    assert refreshed.carried_over == (("aws", "us-west-2"),)
    assert linux_price(night, "p5.48xlarge", "us-west-2") == Decimal("55.04")
