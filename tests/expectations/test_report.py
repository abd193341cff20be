"""The page that people read."""

import re
from html.parser import HTMLParser

import polars as pl
import pytest

from expectations.report import ReportFacts, render_html
from support.candidates import Release, check, prices, release

pytestmark = pytest.mark.slow

_FACTS = ReportFacts("20260822T030000Z-1a2b3c4d", "20260821T030000Z-0f0e0d0c", "1.0.0", "abc1234")
_VOID = {"meta", "br"}


class _Outline(HTMLParser):
    """Collects text, and checks that every element is closed in its turn."""

    def __init__(self):
        super().__init__()
        self.open, self.text, self.ids, self.links = [], [], set(), set()

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.ids.add(attributes.get("id"))
        self.links.add(attributes.get("href"))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] != ["style"]:
            self.text.append(data)


def outline(page: str) -> _Outline:
    parser = _Outline()
    parser.feed(page)
    parser.close()
    return parser


def words(page: str) -> str:
    return re.sub(r"\s+", " ", "".join(outline(page).text))


def night(p5: str) -> Release:
    fleet = [{"instance_type": f"m{number}.large"} for number in range(40)]
    gpu = [
        {"instance_type": "p5.48xlarge", "hourly_rate": p5, "region_id": region}
        for region in ("us-east-1", "us-west-2")
    ]
    made = release(prices(*fleet, *gpu))
    counts = {
        "source_id": "aws/us-east-1",
        "outcome": "filtered",
        "rule": "zero_price",
        "rows": 1234,
    }
    here = pl.col("source_id") == "aws/us-east-1"
    return made.with_counts(*made.row_counts.to_dicts(), counts).with_values(
        "sources",
        rows=pl.when(here).then(pl.col("rows") + 1234).otherwise("rows"),
        is_recorded=True,
        fetched_at=pl.datetime(2026, 8, 12, time_zone="UTC"),
        published_at=pl.datetime(2026, 7, 5, time_zone="UTC"),
        note="re-encoded from <b>facts</b>",
    )


@pytest.fixture(scope="module")
def report():
    return check(night("55.04"), night("98.32"))


@pytest.fixture(scope="module")
def page(report):
    return render_html(report, _FACTS)


def test_the_page_is_whole_and_needs_no_network_and_no_script(page):
    parser = outline(page)
    assert parser.open == []
    assert "<script" not in page
    assert re.findall(r"https?://|@import|url\(", page) == []
    assert {link[1:] for link in parser.links if link} <= parser.ids


def test_verdict_release_and_comparison_come_first(page):
    start = words(page)[:1500]
    for said in (
        "Published with warnings",
        "20260822T030000Z-1a2b3c4d",
        "2026-08-22 03:00 UTC",
        "compared with 20260821T030000Z-0f0e0d0c",
    ):
        assert said in start


def test_recorded_prices_say_their_date(page):
    assert "AWS: recorded list prices of 2026-07-05, not today's." in words(page)


def test_a_failing_rule_shows_reason_numbers_and_rows(page):
    said = words(page)
    assert "Checked 42 prices, 2 failed" in said
    assert "In all of them: provider aws, instance_type p5.48xlarge" in said
    assert "old_price 98.32, new_price 55.04, change_pct -44.02" in said
    assert "us-west-2" in said


def test_documents_show_when_they_were_fetched_last_confirmed_and_published(page):
    assert "<td>2026-08-12</td><td>2026-08-22</td><td>2026-07-05</td>" in page


def test_rows_are_accounted_for_with_the_reason_of_each_filter(page):
    said = words(page)
    assert "zero_price" in said
    assert "1 234" in said
    assert "It is not free, so it is no price." in said


def test_every_rule_has_its_line(report, page):
    said = words(page)
    assert [result.rule.id for result in report.rules if result.rule.id not in said] == []
    assert "Not applicable: no canary lives in the regions" in said


def test_notes_of_documents_are_text_and_not_markup(page):
    assert "<b>facts" not in page
    assert "re-encoded from <b>facts</b>" in words(page)


def test_the_same_report_gives_the_same_page(report, page):
    assert render_html(report, _FACTS) == page


def test_a_refused_first_release_says_why_and_promises_nothing():
    refused = check(night("1").with_values("prices", hourly_rate=0))
    said = words(render_html(refused, ReportFacts(None, None, "1.0.0", "abc1234")))
    assert "Candidate, not published" in said
    assert "Refused A critical rule failed. The last good release stays the latest one." in said
    assert "no earlier release" in said
    assert "Critical: why it was refused" in said


def test_a_release_whose_tables_cannot_be_read_has_a_page_too():
    made = night("1")
    refused = check(made.with_table("sources", made.tables["sources"].drop("note")))
    said = words(render_html(refused, ReportFacts(None, None, "1.0.0", "abc1234")))
    assert "note: String" in said
    assert "nothing else was checked" in said
