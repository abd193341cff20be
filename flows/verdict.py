"""The gate, and what follows from it: a published release, or none."""

import shutil
from dataclasses import dataclass
from typing import Literal

import polars as pl

from expectations.gate import check_release
from expectations.gate_report import GateReport
from expectations.release import Candidate as GateCandidate
from expectations.release import Request
from expectations.report import ReportFacts, render_html
from flows.base import compared_release, storage_of
from flows.candidate import read_candidate
from flows.run import CandidateAddress, Extract, Run
from warehouse.manifest import Input, QualitySummary, coverage_of
from warehouse.parquet_io import file_facts
from warehouse.publishing import CandidateFiles, ReleaseFacts, publish, release_id_for
from warehouse.schemas.catalog import TABLE
from warehouse.schemas.version import SCHEMA_VERSION

Outcome = Literal["published", "unchanged", "refused"]

PAGE = "quality/index.html"
RECORD = "quality/quality.json"


@dataclass(frozen=True, slots=True)
class Refreshed:
    """How a refresh ended, for people and for Prefect."""

    outcome: Outcome
    release_id: str
    """The release that holds this content; of a refused one the id that it would have had."""
    report: GateReport
    extracts: tuple[Extract, ...]
    rates_failure: str | None
    carried_over: tuple[tuple[str, str], ...]
    rows: dict[str, int]
    """Rows by table."""
    page: str
    """Where the quality report is."""

    @property
    def headline(self) -> str:
        """One sentence for people."""
        return {
            "published": f"Release {self.release_id} is published.",
            "unchanged": f"Unchanged: release {self.release_id} holds this content already.",
            "refused": f"Refused: {self.release_id} is not published, the last release stays.",
        }[self.outcome]


def check_candidate(run: Run, candidate: CandidateAddress) -> GateReport:
    """Judge a candidate against the registry of rules and against the last release."""
    tables, row_counts = read_candidate(candidate)
    last = compared_release(run, candidate.base)
    # A release of an earlier schema may lack tables; the gate compares prices.
    previous = None if last is None else {"prices": pl.scan_parquet(last.table("prices"))}
    request = Request(
        regions={extract.provider: extract.asked for extract in candidate.extracts},
        as_of=run.as_of,
        accept_jumps=run.accept_jumps,
        accept_losses=run.accept_losses,
    )
    return check_release(GateCandidate(tables, row_counts), previous, request)


def publish_candidate(run: Run, candidate: CandidateAddress, report: GateReport) -> Refreshed:
    """Publish a candidate that the gate let pass; of a refused one keep the report."""
    files = {name: candidate.folder / f"{name}.parquet" for name in TABLE}
    facts = {name: file_facts(path) for name, path in files.items()}
    release_id = release_id_for(run.as_of, facts)
    is_refused = report.verdict == "refuse"
    page_facts = ReportFacts(
        release_id=None if is_refused else release_id,
        previous_release=candidate.base.compared,
        schema_version=SCHEMA_VERSION,
        code_version=run.code_version,
    )
    pages = {
        PAGE: render_html(report, page_facts).encode(),
        RECORD: report.to_json().encode(),
    }
    outcome: Outcome
    if is_refused:
        outcome, page = "refused", _keep_refused(run, pages)
    else:
        published = publish(
            storage_of(run), CandidateFiles(files, pages), _release_facts(run, candidate, report)
        )
        outcome = "published" if published.is_new else "unchanged"
        release_id, page = published.id, published.release.location(PAGE)
    shutil.rmtree(candidate.folder)
    return Refreshed(
        outcome=outcome,
        release_id=release_id,
        report=report,
        extracts=candidate.extracts,
        rates_failure=candidate.rates.failure,
        carried_over=candidate.carried_over,
        rows={name: fact.rows for name, fact in facts.items()},
        page=page,
    )


def _release_facts(run: Run, candidate: CandidateAddress, report: GateReport) -> ReleaseFacts:
    tables, _ = read_candidate(candidate)
    return ReleaseFacts(
        as_of=run.as_of,
        created_at=run.started_at,
        code_version=run.code_version,
        inputs=_inputs(tables["sources"].collect()),
        quality=QualitySummary(
            verdict=report.verdict,
            critical=len(report.failed("critical")),
            warning=len(report.failed("warning")),
            rows_rejected=tables["rejected_rows"].select(pl.len()).collect().item(),
        ),
        coverage=coverage_of(tables["prices"]),
        expected_previous=candidate.base.latest,
    )


def _inputs(sources: pl.DataFrame) -> tuple[Input, ...]:
    return tuple(Input(**row) for row in sources.iter_rows(named=True))


def _keep_refused(run: Run, pages: dict[str, bytes]) -> str:
    # Beside what the run is saved as, so that it goes when that does.
    folder = run.landing / "runs" / run.run_id
    for name, content in pages.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return str(folder / PAGE)
