"""What a flow run leaves for people in Prefect: regions, the gate's word, the release."""

from prefect.artifacts import create_link_artifact, create_markdown_artifact, create_table_artifact

from flows.verdict import Refreshed

_ALL = "all (spot)"
"""Stands for the region where a document of spot prices covers all."""


def create_artifacts(refreshed: Refreshed) -> None:
    """Attach a run's artifacts to the flow run that is under way."""
    create_table_artifact(
        key="regions",
        table=region_rows(refreshed),
        description="Every region asked for: rows read and kept, seconds, bytes, carried over",
    )
    create_markdown_artifact(
        key="gate", markdown=gate_markdown(refreshed), description="What the gate said"
    )
    create_link_artifact(
        key="release",
        link=refreshed.page,
        link_text=refreshed.headline,
        description="The quality report of this run",
    )


def region_rows(refreshed: Refreshed) -> list[dict[str, object]]:
    """Return one row a region, those that failed first."""
    failed: list[dict[str, object]] = [
        {
            "provider": failure.provider,
            "region": failure.region_id or _ALL,
            "rows read": None,
            "rows kept": None,
            "seconds": None,
            "bytes": None,
            "unchanged": None,
            "carried over": (failure.provider, failure.region_id) in refreshed.carried_over,
            "problem": f"{failure.error}: {failure.message}",
        }
        for extract in refreshed.extracts
        for failure in extract.problems
    ]
    fetched: list[dict[str, object]] = [
        {
            "provider": part.provider,
            "region": part.region_id or _ALL,
            "rows read": part.rows_read,
            "rows kept": part.rows_kept,
            "seconds": round(part.seconds, 2),
            "bytes": part.bytes,
            "unchanged": part.from_cache,
            "carried over": False,
            "problem": None,
        }
        for extract in refreshed.extracts
        for part in extract.parts
    ]
    return failed + fetched


def gate_markdown(refreshed: Refreshed) -> str:
    """Return the gate's verdict and every rule that did not pass."""
    lines = [
        f"- {result.severity}: `{result.rule.id}` failed for {result.failed} of "
        f"{result.checked} {result.counted}. {result.rule.reason}"
        for result in refreshed.report.rules
        if result.status == "failed"
    ]
    return "\n".join([f"**{refreshed.headline}**", "", *(lines or ["Every rule passed."])])
