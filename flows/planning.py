"""From settings to a run. The clock is read here and nowhere else."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from connectors.recording import read_recording
from flows import reference
from flows.errors import SettingsError
from flows.identity import code_version, fingerprint
from flows.run import Endpoints, HttpLimits, Run
from flows.settings import AWS_PRICE_LIST_URL, CatalogSettings
from warehouse.landing import LandedRun, LandingStore


def now() -> datetime:
    """Return the time of day in UTC, to the second."""
    return datetime.now(UTC).replace(microsecond=0)  # noqa: TID251 - the one place that may


def read_settings(overrides: Mapping[str, Any]) -> CatalogSettings:
    """Read the environment, with what was asked for on top; raises SettingsError."""
    asked = {name: value for name, value in overrides.items() if value is not None}
    unknown = sorted(asked.keys() - CatalogSettings.model_fields.keys())
    if unknown:
        known = ", ".join(CatalogSettings.model_fields)
        raise SettingsError(f"there is no setting {', '.join(unknown)}; there are {known}")
    try:
        return CatalogSettings(**asked)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(str(part) for part in problem['loc'])}: {problem['msg']}, "
            f"got {problem['input']!r}"
            for problem in error.errors()
        )
        raise SettingsError(f"settings that cannot be used: {problems}") from error


def plan_run(
    settings: CatalogSettings,
    *,
    accept_jumps: bool = False,
    accept_losses: bool = False,
    record_to: Path | None = None,
    from_landed: str | None = None,
) -> Run:
    """Fix everything about a run before it begins; raises SettingsError."""
    is_replay = settings.source == "recorded" and from_landed is None
    if record_to is not None and (is_replay or from_landed is not None):
        raise SettingsError("a recording is written by a live run: --record needs --source live")
    landed = None if from_landed is None else LandingStore(settings.landing).load_run(from_landed)
    as_of = settings.as_of or _own_clock(settings, landed)
    return Run(
        run_id=from_landed or f"{as_of:%Y%m%dT%H%M%SZ}-{settings.source}",
        as_of=as_of,
        started_at=now(),
        recording=settings.recording if is_replay else None,
        record_to=record_to,
        from_landed=from_landed,
        root=settings.root,
        landing=settings.landing,
        endpoints=Endpoints(
            aws_price_list=settings.aws_price_list_url,
            aws_china_price_list=settings.aws_china_price_list_url,
            aws_spot_feed=settings.aws_spot_feed_url,
            azure_retail_prices=settings.azure_retail_prices_url,
            ecb_rates=settings.ecb_rates_url,
        ),
        limits=HttpLimits(
            workers=settings.http_workers,
            max_attempts=settings.http_max_attempts,
            backoff_seconds=settings.http_backoff_seconds,
            walk_max_attempts=settings.walk_max_attempts,
        ),
        may_use_credentials=(
            settings.source == "live"
            and record_to is None
            and settings.aws_price_list_url == AWS_PRICE_LIST_URL
        ),
        providers=settings.providers if landed is None else tuple(landed.facts["providers"]),
        aws_regions=settings.aws_regions,
        has_aws_china=settings.aws_china or _names_china(settings.aws_regions),
        azure_regions=settings.azure_regions,
        azure_currencies=settings.azure_currencies,
        spot_lost_work_pct=settings.spot_lost_work_pct,
        accept_jumps=accept_jumps,
        accept_losses=accept_losses,
        code_version=code_version(),
        fingerprint=fingerprint(),
    )


def _names_china(aws_regions: tuple[str, ...] | None) -> bool:
    return not set(aws_regions or ()).isdisjoint(reference.region_ids("aws", "aws-cn"))


def _own_clock(settings: CatalogSettings, landed: LandedRun | None) -> datetime:
    if landed is not None:
        return datetime.fromisoformat(landed.facts["as_of"])
    if settings.source == "recorded":
        return read_recording(settings.recording).as_of
    return now()
