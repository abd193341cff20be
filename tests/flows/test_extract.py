"""Which regions a run gets, from whom, and what becomes of those that it does not get."""

from dataclasses import replace
from decimal import Decimal

import polars as pl
import pytest

from connectors.errors import SourceRejectedError
from flows.conductor import PlainConductor
from flows.connections import connected
from flows.extract import fetch_rates, save_landed_run
from flows.extract_aws import extract_aws
from flows.extract_azure import extract_azure
from flows.normalize import read_part
from flows.planning import plan_run, read_settings
from flows.run import Base, Rates
from support.conducting import Told
from support.fake_aws import FakeAws
from support.fake_azure import miscounts
from support.fake_ec2 import FakeEc2, FakeRegion
from support.fake_http import FakeServer, hangs_up, refuses, sends_html
from warehouse.landing import LandingStore

SOME = {"aws_regions": "us-east-1,eu-north-1", "azure_regions": "westus,eastus"}


@pytest.fixture
def run_of(night):
    made = []

    def run_of(from_landed=None, **settings):
        asked = read_settings(night.settings(**{**SOME, **settings}))
        made.append(plan_run(asked, from_landed=from_landed))
        return made[-1]

    yield run_of
    for run in made:
        with connected(run):
            pass


@pytest.fixture
def conduct(waits):
    return PlainConductor(2, Told(), sleep=waits.append)


MAY_ASK = {"may_use_credentials": True}


@pytest.fixture
def ec2(night, monkeypatch):
    """The EC2 API of two regions, and credentials that are good for it."""
    price = {
        "AvailabilityZone": "us-east-1a",
        "AvailabilityZoneId": "use1-az1",
        "InstanceType": "m5.large",
        "ProductDescription": "Linux/UNIX",
        "SpotPrice": "0.035000",
        "Timestamp": "2026-08-22T01:00:00+00:00",
    }
    known = FakeRegion(
        prices=[price], offerings=[("m5.large", "use1-az1")], zones={"us-east-1a": "use1-az1"}
    )
    api = FakeEc2({"us-east-1": known, "eu-north-1": FakeRegion()})
    with FakeServer(api) as server:
        for name, value in {
            "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
            "AWS_SECRET_ACCESS_KEY": "example",
            "AWS_ENDPOINT_URL_EC2": server.base_url,
            "AWS_ENDPOINT_URL_PRICING": night.server.base_url,
        }.items():
            monkeypatch.setenv(name, value)
        yield api


@pytest.fixture
def china(small_night):
    """The settings by which AWS China is asked, where it serves one region."""
    beijing = {"cn-north-1": small_night.aws["eu-north-1"]}
    with FakeServer(FakeAws(beijing, partition="cn")) as server:
        yield {"aws_china_price_list_url": server.base_url}


def regions_of(extract):
    return [part.region_id for part in extract.parts if part.region_id is not None]


def test_regions_are_extracted_in_the_order_that_was_asked_for(run_of, conduct):
    extract = extract_aws(run_of(), conduct)
    assert extract.asked == ("us-east-1", "eu-north-1")
    assert regions_of(extract) == ["us-east-1", "eu-north-1"]
    assert extract.failures == ()
    assert [document.source_id for document in extract.documents] == [
        "aws_price_list_index",
        "aws_savings_plans_index",
        "aws_price_list/us-east-1",
        "aws_price_list/eu-north-1",
        "aws_spot_feed",
    ]


def test_a_region_is_its_offer_file_and_its_savings_plans(run_of, conduct):
    extract = extract_aws(run_of(aws_regions="ap-east-2"), conduct)
    assert [document.source_id for document in extract.parts[0].documents] == [
        "aws_price_list/ap-east-2",
        "aws_savings_plans/ap-east-2",
    ]
    prices = read_part(extract.parts[0].path).prices
    plans = prices.filter(pl.col("purchase_option") == "savings_plan")
    # One of each SKU that the sample's plan discounts, of the types of the small night.
    assert sorted(plans.select("instance_type", "operating_system", "tenancy").rows()) == [
        ("r7g", "linux", "host"),
        ("r7g.12xlarge", "linux", "shared"),
        ("r7g.12xlarge", "rhel", "shared"),
        ("r7g.12xlarge", "ubuntu_pro", "shared"),
        ("r7g.2xlarge", "linux", "shared"),
        ("r7g.2xlarge", "ubuntu_pro", "shared"),
        ("r7g.large", "ubuntu_pro", "shared"),
    ]


def test_savings_plans_that_cannot_be_had_take_no_prices_with_them(run_of, conduct, night):
    night.server.misbehave(refuses(503), on="SavingsPlan/20260705130000/", times=None)
    extract = extract_aws(run_of(aws_regions="us-east-1,ap-east-2"), conduct)
    assert (regions_of(extract), extract.failures) == (["us-east-1", "ap-east-2"], ())
    (gap,) = extract.gaps
    assert (gap.region_id, gap.source) == ("ap-east-2", "aws_savings_plans")
    assert "503" in gap.message


def test_without_an_index_of_savings_plans_all_regions_go_without(run_of, conduct, night):
    night.server.misbehave(sends_html(), on="SavingsPlan/current", times=None)
    extract = extract_aws(run_of(aws_regions="us-east-1,ap-east-2"), conduct)
    assert (regions_of(extract), extract.failures) == (["us-east-1", "ap-east-2"], ())
    (gap,) = extract.gaps
    assert (gap.region_id, gap.source) == (None, "aws_savings_plans")
    assert [document.source_id for document in extract.indexes] == ["aws_price_list_index"]


def test_the_spot_feed_is_one_part_of_the_regions_asked_for(run_of, conduct):
    extract = extract_aws(run_of(), conduct)
    (part,) = [part for part in extract.parts if part.region_id is None]
    prices = read_part(part.path).prices
    assert set(prices["region_id"]) == {"us-east-1", "eu-north-1"}
    assert set(prices["price_quality"]) == {"indicative"}
    # Other regions have a part of their own, though the document is the same.
    other = extract_aws(run_of(aws_regions="us-east-2"), conduct)
    (part,) = [part for part in other.parts if part.region_id is None]
    assert set(read_part(part.path).prices["region_id"]) == {"us-east-2"}


def test_without_a_spot_feed_every_region_goes_without_and_none_has_failed(run_of, conduct, night):
    night.aws.spot_feed = None
    extract = extract_aws(run_of(), conduct)
    assert (regions_of(extract), extract.failures) == (["us-east-1", "eu-north-1"], ())
    (gap,) = extract.gaps
    assert (gap.region_id, gap.source) == (None, "aws_spot_feed")
    assert (gap.error, "404" in gap.message) == ("SourceRejectedError", True)


def test_with_credentials_spot_prices_and_offerings_are_those_of_each_regions_ec2_api(
    run_of, conduct, ec2
):
    extract = extract_aws(replace(run_of(aws_regions="us-east-1"), **MAY_ASK), conduct)
    spot, offerings = extract.parts[-2:]
    assert [document.source_id for document in (*spot.documents, *offerings.documents)] == [
        "aws_spot_price_history/us-east-1",
        "aws_instance_type_offerings/us-east-1",
    ]
    assert read_part(spot.path).prices.select("availability_zone_id", "hourly_rate").rows() == [
        ("use1-az1", Decimal("0.0350000000"))
    ]
    assert read_part(offerings.path).offerings.select("instance_type", "zones").rows() == [
        ("m5.large", ["use1-az1"])
    ]
    assert extract.gaps == ()


def test_regions_whose_api_cannot_be_asked_have_the_feeds_spot_prices(run_of, conduct, ec2):
    del ec2.regions["eu-north-1"]
    asked = "us-east-1,eu-north-1,us-gov-west-1"
    extract = extract_aws(replace(run_of(aws_regions=asked), **MAY_ASK), conduct)
    assert [(gap.region_id, gap.source, gap.error) for gap in extract.gaps] == [
        ("eu-north-1", "aws_instance_type_offerings", "RegionNotUsableError"),
        ("eu-north-1", "aws_spot_price_history", "RegionNotUsableError"),
    ]
    assert extract.failures == ()
    (feed,) = [part for part in extract.parts if part.region_id is None]
    # The feed has no prices of GovCloud, and those of us-east-1 are known better.
    assert set(read_part(feed.path).prices["region_id"]) == {"eu-north-1"}


def test_rights_to_spot_prices_alone_are_good_for_spot_prices(run_of, conduct, ec2, monkeypatch):
    def forbidden(*_, **__):
        raise SourceRejectedError("not authorised")

    monkeypatch.setattr("connectors.aws.ec2_api.fetch_instance_type_offerings", forbidden)
    extract = extract_aws(replace(run_of(aws_regions="us-east-1"), **MAY_ASK), conduct)
    assert "aws_spot_price_history/us-east-1" in {one.source_id for one in extract.documents}
    assert [gap.source for gap in extract.gaps] == ["aws_instance_type_offerings"]


def test_a_landed_night_of_apis_and_feed_gives_the_same_again(run_of, conduct, ec2, night):
    del ec2.regions["eu-north-1"]
    run = replace(run_of(), **MAY_ASK)
    (aws, _), _ = land(run, conduct)
    night.server.misbehave(hangs_up(), times=None)
    again = extract_aws(run_of(from_landed=run.run_id), conduct)
    assert without_seconds(again) == without_seconds(aws)


def test_china_is_asked_if_wanted_or_named_and_not_otherwise(run_of, conduct, china):
    for asked in ({"aws_china": True}, {"aws_regions": "us-east-1,cn-north-1"}):
        extract = extract_aws(run_of(**{"aws_regions": None, **asked}, **china), conduct)
        assert "cn-north-1" in regions_of(extract)
        assert "aws_price_list_index/cn" in {entry.source_id for entry in extract.indexes}
    extract = extract_aws(run_of(aws_regions=None, **china), conduct, ("cn-north-1",))
    assert "cn-north-1" not in extract.asked


def test_a_china_that_cannot_be_reached_takes_nothing_else_with_it(run_of, conduct, night):
    unserved = {"aws_china_price_list_url": f"{night.server.base_url}/nowhere"}
    extract = extract_aws(run_of(aws_regions="us-east-1,cn-north-1", **unserved), conduct)
    assert regions_of(extract) == ["us-east-1"]
    assert [failure.region_id for failure in extract.failures] == ["cn-north-1"]


def test_by_default_every_region_of_the_index_is_asked_for(run_of, conduct, small_night):
    extract = extract_aws(run_of(aws_regions=None), conduct)
    assert extract.asked == tuple(sorted(small_night.aws))


def test_a_region_that_the_index_does_not_name_is_a_failure_and_no_end(run_of, conduct):
    extract = extract_aws(run_of(aws_regions="us-east-1,xx-none-1"), conduct)
    assert extract.asked == ("us-east-1", "xx-none-1")
    assert regions_of(extract) == ["us-east-1"]
    (failure,) = extract.failures
    assert (failure.region_id, failure.error) == ("xx-none-1", "NotInIndex")
    assert failure.message == "AWS's region index names no xx-none-1"


def test_without_an_index_every_region_asked_for_has_failed(run_of, conduct, night):
    night.server.misbehave(refuses(503), on="region_index.json", times=None)
    extract = extract_aws(run_of(), conduct)
    assert (extract.indexes, regions_of(extract)) == ((), [])
    assert [failure.region_id for failure in extract.failures] == ["eu-north-1", "us-east-1"]
    assert {failure.error for failure in extract.failures} == {"SourceUnavailableError"}


def test_an_azure_region_is_all_its_price_types(run_of, conduct):
    extract = extract_azure(run_of(), conduct)
    assert regions_of(extract) == ["westus", "eastus"]
    kinds = {document.source_id.split("/")[2] for document in extract.parts[0].documents}
    assert kinds == {"Consumption", "DevTestConsumption", "Reservation"}
    assert {document.region_id for document in extract.parts[0].documents} == {"westus"}


def test_other_currencies_are_lists_of_their_own(run_of, conduct, night):
    dollars = night.azure.listings["westus", "Consumption"]
    half = [item | {"currencyCode": "EUR", "retailPrice": 0.5} for item in dollars[:2]]
    night.azure.converted["EUR"] = {("westus", "Consumption"): half}
    extract = extract_azure(run_of(azure_regions="westus", azure_currencies="EUR"), conduct)
    assert extract.failures == ()
    prices = read_part(extract.parts[0].path).prices
    euro = prices.filter(pl.col("currency") == "EUR")
    assert set(euro["price_quality"]) == {"reference"}
    assert set(euro["source_id"]) == {"azure_retail_prices/westus/Consumption/EUR/001"}
    assert set(prices.filter(pl.col("currency") == "USD")["price_quality"]) == {"ok"}


def test_a_walk_over_pages_that_do_not_fit_is_repeated_as_a_whole(run_of, conduct, night, waits):
    night.azure.disturb(miscounts(), page=1, times=2)
    run = run_of(azure_regions="westus", http_backoff_seconds=1.5)
    extract = extract_azure(run, conduct)
    assert (regions_of(extract), extract.failures) == (["westus"], ())
    assert waits == [1.5, 1.5]


def test_pages_that_never_fit_are_a_failure_after_as_many_walks_as_are_allowed(
    run_of, conduct, night, waits
):
    night.azure.disturb(miscounts(), page=1)
    extract = extract_azure(run_of(azure_regions="westus", walk_max_attempts=2), conduct)
    (failure,) = extract.failures
    assert failure.error == "UnstableListingError"
    assert len(waits) == 1
    assert len(night.server.targets("armRegionName eq 'westus'")) == 2


def test_a_document_of_another_format_is_fetched_once_only(run_of, conduct, night, waits):
    night.server.misbehave(sends_html(), on="/eu-north-1/index.csv", times=None)
    extract = extract_aws(run_of(), conduct)
    (failure,) = extract.failures
    assert (failure.region_id, failure.error) == ("eu-north-1", "WireFormatError")
    assert waits == []


def test_without_rates_the_reason_is_handed_on(run_of, night):
    night.server.misbehave(refuses(404), on="eurofxref", times=None)
    rates = fetch_rates(run_of())
    assert rates.document is None
    assert rates.failure.startswith("Source")
    assert "404" in rates.failure


def land(run, conduct):
    extracts = (extract_aws(run, conduct), extract_azure(run, conduct))
    rates = fetch_rates(run)
    save_landed_run(run, Base("compared-then", "latest-then"), extracts, rates)
    return extracts, rates


def without_seconds(extract):
    parts = (replace(part, seconds=0, from_cache=True) for part in extract.parts)
    by_region = sorted(parts, key=lambda part: (part.region_id or "", part.key))
    return replace(extract, parts=tuple(by_region))


def test_a_landed_run_gives_the_same_again_without_a_network(run_of, conduct, night):
    night.server.misbehave(refuses(503), on="/eu-north-1/", times=None)
    run = run_of(aws_regions="us-east-1,eu-north-1,xx-none-1")
    (aws, azure), rates = land(run, conduct)
    assert [failure.region_id for failure in aws.failures] == ["eu-north-1", "xx-none-1"]

    night.server.misbehave(hangs_up(), times=None)
    before = len(night.server.requests)
    again = run_of(from_landed=run.run_id, aws_regions="another-region")
    assert without_seconds(extract_aws(again, conduct)) == without_seconds(aws)
    assert without_seconds(extract_azure(again, conduct)) == without_seconds(azure)
    assert fetch_rates(again) == rates
    assert len(night.server.requests) == before


def test_missing_rates_are_missing_again_in_the_landed_run(run_of, conduct, night):
    night.server.misbehave(refuses(404), on="eurofxref", times=None)
    run = run_of()
    _, rates = land(run, conduct)
    assert fetch_rates(run_of(from_landed=run.run_id)) == Rates(None, rates.failure)


def test_what_a_run_is_compared_with_is_landed_with_it(run_of, conduct):
    run = run_of()
    (aws, azure), _ = land(run, conduct)
    landed = LandingStore(run.landing).load_run(run.run_id)
    assert landed.facts["compared"] == "compared-then"
    assert landed.facts["asked"] == {"aws": list(aws.asked), "azure": list(azure.asked)}
    assert set(landed.parts) == {part.key for part in (*aws.parts, *azure.parts)}


def test_repeating_a_landed_run_does_not_change_it_even_where_it_fails_now(run_of, conduct):
    run = run_of()
    land(run, conduct)
    saved = run.landing / "runs" / run.run_id / "run.json"
    before = saved.read_bytes()
    again = replace(run_of(from_landed=run.run_id), fingerprint="0" * 16)
    document = LandingStore(run.landing).load_run(run.run_id).documents[0]
    assert document.source_id == "aws_price_list/eu-north-1"
    (run.landing / "objects" / document.sha256[:2] / f"{document.sha256}.zst").unlink()
    (aws, _), _ = land(again, conduct)
    assert [failure.region_id for failure in aws.failures] == ["eu-north-1"]
    assert saved.read_bytes() == before


def test_a_document_that_cannot_be_read_is_kept_and_read_again_on_a_repeat(
    run_of, conduct, night, small_night, monkeypatch
):
    def unreadable(line):
        return line.replace('"m5.large"', '"m5.large","one too many"')

    night.serve(small_night.with_aws_lines("eu-north-1", unreadable))
    run = run_of(providers="aws")
    extract = extract_aws(run, conduct)
    (failure,) = extract.failures
    assert (failure.region_id, failure.error) == ("eu-north-1", "WireFormatError")
    assert [document.source_id for document in failure.documents] == ["aws_price_list/eu-north-1"]
    assert "aws_price_list/eu-north-1" not in {entry.source_id for entry in extract.documents}

    save_landed_run(run, Base(None, None), (extract,), Rates(None, None))
    again = extract_aws(run_of(from_landed=run.run_id), conduct)
    assert [entry.region_id for entry in again.failures] == ["eu-north-1"]

    # As if the code had learnt to read it: the landed document gives the region after all.
    monkeypatch.setattr("flows.extract.normalize_region", lambda _run, region: region)
    mended = extract_aws(run_of(from_landed=run.run_id), conduct)
    assert mended.failures == ()
    assert sorted(regions_of(mended)) == ["eu-north-1", "us-east-1"]


def test_a_region_that_the_index_has_lost_is_missed_and_not_forgotten(run_of, conduct):
    known = ("eu-north-1", "xx-was-1")
    extract = extract_aws(run_of(aws_regions=None), conduct, known)
    assert [(entry.region_id, entry.error) for entry in extract.failures] == [
        ("xx-was-1", "NotInIndex")
    ]
    accepted = replace(run_of(aws_regions=None), accept_losses=True)
    assert extract_aws(accepted, conduct, known).failures == ()


def test_credentials_that_are_of_no_use_do_not_hide_the_public_index(
    run_of, conduct, night, monkeypatch, caplog
):
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    run = replace(run_of(), may_use_credentials=True)
    extract = extract_aws(run, conduct)
    assert (extract.failures, extract.gaps) == ((), ())
    assert len(night.server.targets("AmazonEC2/current/region_index.json")) == 1
    assert "aws_spot_feed" in {document.source_id for document in extract.documents}
    assert "AWS is asked without credentials" in caplog.text


def test_an_api_that_refuses_does_not_hide_the_public_index(run_of, conduct, night, ec2, caplog):
    night.server.misbehave(refuses(400), on="/", times=1)
    assert extract_aws(replace(run_of(), **MAY_ASK), conduct).failures == ()
    assert len(night.server.targets("AmazonEC2/current/region_index.json")) == 1
    assert "the public one is taken" in caplog.text
