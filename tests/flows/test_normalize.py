"""A region's documents become a part once, and again only for other bytes or other code."""

from dataclasses import replace
from datetime import UTC, datetime

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from flows.normalize import make_part, normalize_region, read_part, write_part
from flows.planning import plan_run, read_settings
from flows.run import RegionDocuments
from support.encode_azure import encode_page
from transforms.normalized import Normalized
from warehouse.landing import LandingStore
from warehouse.schemas.documents import Document
from warehouse.schemas.parts import (
    INSTANCE_FACTS,
    LISTINGS,
    PRICE_CANDIDATES,
    REJECTED,
    ROW_COUNTS,
)

PREAMBLE_LINES = 6


@pytest.fixture
def run(tmp_path):
    return plan_run(read_settings({"landing": str(tmp_path / "landing"), "as_of": "2026-08-22"}))


@pytest.fixture
def landed(run):
    def landed(body, source_id, provider, region_id):
        stored = LandingStore(run.landing).put([body])
        return Document(
            source_id=source_id,
            source=source_id.partition("/")[0],
            provider=provider,
            region_id=region_id,
            url="http://127.0.0.1/",
            fetched_at=datetime(2026, 8, 22, tzinfo=UTC),
            confirmed_at=datetime(2026, 8, 22, tzinfo=UTC),
            published_at=None,
            version=None,
            media_type="text/plain",
            sha256=stored.sha256,
            bytes=stored.bytes,
        )

    return landed


@pytest.fixture
def virginia(landed, small_night):
    body = small_night.aws["us-east-1"]
    return RegionDocuments(
        "aws", "us-east-1", (landed(body, "aws_price_list/us-east-1", "aws", "us-east-1"),)
    )


@pytest.fixture
def frankfurt(landed, small_night):
    region = "germanywestcentral"
    items = small_night.azure[region, "Consumption"]
    pages = (items[:3], items[3:])
    return RegionDocuments(
        "azure",
        region,
        tuple(
            landed(
                encode_page(page, next_page_link=None, count=len(page)),
                f"azure_retail_prices/{region}/Consumption/{number:03}",
                "azure",
                region,
            )
            for number, page in enumerate(pages, start=1)
        ),
    )


def body_of(run, document):
    return run.landing / "objects" / document.sha256[:2] / f"{document.sha256}.zst"


def test_every_row_of_an_offer_file_is_accounted_for(run, virginia, small_night):
    part = normalize_region(run, virginia)
    lines = small_night.aws["us-east-1"].decode().splitlines()
    assert part.rows_read == len(lines) - PREAMBLE_LINES
    prices = pl.read_parquet(part.path / "prices.parquet")
    assert 0 < part.rows_kept == prices.height
    assert set(prices["source_id"]) == {"aws_price_list/us-east-1"}
    assert part.bytes == len(small_night.aws["us-east-1"])


def test_every_item_of_all_pages_is_accounted_for(run, frankfurt, small_night):
    part = normalize_region(run, frankfurt)
    items = small_night.azure["germanywestcentral", "Consumption"]
    # Each rate of a savings plan inside an item counts as a row of its own.
    assert part.rows_read == len(items) + sum(len(item.get("savingsPlan", ())) for item in items)
    counts = read_part(part.path).counts
    assert set(counts["source_id"]) == {document.source_id for document in frankfurt.documents}


def test_the_same_documents_are_not_read_again(run, virginia):
    first = normalize_region(run, virginia)
    body_of(run, virginia.documents[0]).unlink()
    again = normalize_region(run, virginia)
    assert (first.from_cache, again.from_cache) == (False, True)
    assert replace(again, seconds=0, from_cache=False) == replace(first, seconds=0)


@pytest.mark.parametrize("name", ["prices.parquet", "counts.parquet"])
@pytest.mark.parametrize(
    "damage", [lambda file: file.write_bytes(b""), lambda file: file.unlink()], ids=["cut", "gone"]
)
def test_a_damaged_part_is_made_again(run, virginia, caplog, name, damage):
    first = normalize_region(run, virginia)
    whole = read_part(first.path)
    damage(first.path / name)
    again = normalize_region(run, virginia)
    assert not again.from_cache
    assert again.path == first.path
    for before, after in zip(whole, read_part(again.path), strict=True):
        assert_frame_equal(before, after)
    assert f"part {first.key} of us-east-1 is damaged" in caplog.text


def test_other_code_reads_them_again(run, virginia):
    first = normalize_region(run, virginia)
    other = normalize_region(replace(run, fingerprint="0123456789abcdef"), virginia)
    assert not other.from_cache
    assert other.path != first.path
    assert first.path.is_dir()


def test_other_bytes_are_read_of_their_own(run, virginia, landed, small_night):
    first = normalize_region(run, virginia)
    changed = small_night.with_aws_lines(
        "us-east-1", lambda line: line.replace('"0.0960000000"', '"0.0970000000"')
    )
    document = landed(changed.aws["us-east-1"], "aws_price_list/us-east-1", "aws", "us-east-1")
    other = normalize_region(run, replace(virginia, documents=(document,)))
    assert not other.from_cache
    assert other.key != first.key


def test_the_order_of_documents_makes_no_other_part(run, frankfurt):
    first = normalize_region(run, frankfurt)
    turned = replace(frankfurt, documents=frankfurt.documents[::-1])
    assert normalize_region(run, turned).from_cache
    assert normalize_region(run, turned).key == first.key
    for straight, reverse in zip(
        make_part(LandingStore(run.landing), frankfurt),
        make_part(LandingStore(run.landing), turned),
        strict=True,
    ):
        assert_frame_equal(straight, reverse, check_row_order=False)


def test_a_document_that_cannot_be_read_leaves_no_part(run, virginia, landed):
    page = landed(b"<html></html>", "aws_price_list/us-east-1", "aws", "us-east-1")
    broken = replace(virginia, documents=(page,))
    with pytest.raises(Exception, match="aws_price_list/us-east-1"):
        normalize_region(run, broken)
    assert list((run.landing / "parts").glob("*")) == []


def test_a_part_is_read_as_it_was_written(tmp_path):
    part = Normalized(
        PRICE_CANDIDATES.empty(),
        REJECTED.empty(),
        pl.DataFrame([("a", "kept", None, 3)], schema=ROW_COUNTS.schema, orient="row"),
        INSTANCE_FACTS.empty(),
        LISTINGS.empty(),
    )
    write_part(part, tmp_path)
    for written, read in zip(part, read_part(tmp_path), strict=True):
        assert_frame_equal(read, written)
