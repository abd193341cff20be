"""Which regions a run gets, from whom, and what becomes of those that it does not get."""

from dataclasses import replace

import pytest

from flows.conductor import PlainConductor
from flows.connections import connected
from flows.extract import extract_aws, extract_azure, fetch_rates, save_landed_run
from flows.planning import plan_run, read_settings
from flows.run import Base, Rates
from support.conducting import Told
from support.fake_azure import miscounts
from support.fake_http import hangs_up, refuses, sends_html
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


def regions_of(extract):
    return [part.region_id for part in extract.parts]


def test_regions_are_extracted_in_the_order_that_was_asked_for(run_of, conduct):
    extract = extract_aws(run_of(), conduct)
    assert extract.asked == ("us-east-1", "eu-north-1")
    assert regions_of(extract) == ["us-east-1", "eu-north-1"]
    assert extract.failures == ()
    assert [document.source_id for document in extract.documents] == [
        "aws_price_list_index",
        "aws_price_list/us-east-1",
        "aws_price_list/eu-north-1",
    ]


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
    assert (extract.index, extract.parts) == (None, ())
    assert [failure.region_id for failure in extract.failures] == ["us-east-1", "eu-north-1"]
    assert {failure.error for failure in extract.failures} == {"SourceUnavailableError"}


def test_an_azure_region_is_all_its_price_types(run_of, conduct):
    extract = extract_azure(run_of(), conduct)
    assert regions_of(extract) == ["westus", "eastus"]
    kinds = {document.source_id.split("/")[2] for document in extract.parts[0].documents}
    assert kinds == {"Consumption", "DevTestConsumption", "Reservation"}
    assert {document.region_id for document in extract.parts[0].documents} == {"westus"}


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
    by_region = sorted(parts, key=lambda part: part.region_id)
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
    assert extract_aws(run, conduct).failures == ()
    assert len(night.server.targets("region_index.json")) == 1
    assert "the public one is taken" in caplog.text
