"""The one reader of the environment: every setting of a refresh, its unit and its default."""

import os
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

Source = Literal["recorded", "live"]
Provider = Literal["aws", "azure"]
Currency = Annotated[str, StringConstraints(pattern="^[A-Z]{3}$")]

AWS_PRICE_LIST_URL = "https://pricing.us-east-1.amazonaws.com"

BUNDLED_RECORDING = Path(__file__).resolve().parent.parent / "recording" / "bundled"


class CatalogSettings(BaseSettings):
    """Settings of a refresh. Each is a PRICE_CATALOG_* variable and a flag of `refresh`."""

    model_config = SettingsConfigDict(
        env_prefix="PRICE_CATALOG_", env_file=".env", frozen=True, extra="ignore"
    )

    source: Source = Field("live", description="recorded: replay a recording. live: fetch")
    root: str = Field("catalog", description="Catalog root: a folder, or a file:// address")
    landing: Path = Field(Path("landing"), description="Folder that fetched bytes land in")
    recording: Path = Field(BUNDLED_RECORDING, description="Recording that `recorded` replays")
    aws_price_list_url: str = Field(AWS_PRICE_LIST_URL, description="AWS Price List bulk endpoint")
    aws_china: bool = Field(
        default=False, description="Also AWS China: its own endpoint, prices in CNY"
    )
    aws_china_price_list_url: str = Field(
        "https://pricing.cn-north-1.amazonaws.com.cn", description="AWS China's bulk endpoint"
    )
    aws_spot_feed_url: str = Field(
        "https://website.spot.ec2.aws.a2z.com/spot.json",
        description="AWS's public spot feed, for runs without credentials",
    )
    azure_retail_prices_url: str = Field(
        "https://prices.azure.com/api/retail/prices", description="Azure Retail Prices endpoint"
    )
    ecb_rates_url: str = Field(
        "https://www.ecb.europa.eu/stats/eurofxref/eurofxref-daily.xml",
        description="Euro reference rates of the European Central Bank",
    )
    providers: Annotated[tuple[Provider, ...], NoDecode] = Field(
        ("aws", "azure"), min_length=1, description="Providers, a comma list"
    )
    aws_regions: Annotated[tuple[str, ...] | None, NoDecode] = Field(
        None, description="AWS regions, a comma list; default all that the index names"
    )
    azure_regions: Annotated[tuple[str, ...] | None, NoDecode] = Field(
        None, description="Azure regions, a comma list; default all that are known"
    )
    azure_currencies: Annotated[tuple[Currency, ...], NoDecode] = Field(
        (), description="Currencies that Azure is asked for beside USD, a comma list"
    )
    spot_lost_work_pct: Decimal = Field(
        Decimal(10),
        ge=0,
        lt=100,
        description="Share of spot hours whose work purchase_advice assumes to be lost, percent",
    )
    as_of: datetime | None = Field(
        None, description="The run's clock, ISO 8601; default now, or the recording's own date"
    )
    http_workers: int = Field(4, ge=1, le=64, description="Regions of a provider fetched at once")
    http_max_attempts: int = Field(5, ge=1, le=20, description="Attempts a request")
    http_backoff_seconds: float = Field(
        2.0, ge=0, description="Wait before the second attempt, seconds; doubles each time"
    )
    walk_max_attempts: int = Field(
        3, ge=1, le=10, description="Walks over one listing whose pages do not fit together"
    )

    @field_validator("azure_currencies", mode="before")
    @classmethod
    def _other_currencies(cls, value: object) -> object:
        if isinstance(value, str):
            names = (name.strip().upper() for name in value.split(","))
            return tuple(dict.fromkeys(name for name in names if name not in {"", "USD"}))
        return value

    @field_validator("providers", "aws_regions", "azure_regions", mode="before")
    @classmethod
    def _split_comma_list(cls, value: object) -> object:
        if isinstance(value, str):
            names = (name.strip() for name in value.split(","))
            # Once each: a region that is asked for twice would be published twice.
            return tuple(dict.fromkeys(name for name in names if name)) or None
        return value

    @field_validator("aws_regions", "azure_regions")
    @classmethod
    def _as_the_providers_spell(cls, value: tuple[str, ...] | None) -> tuple[str, ...] | None:
        # Azure's filter is case-sensitive: GermanyWestCentral would be a region without a price.
        return None if value is None else tuple(dict.fromkeys(name.lower() for name in value))

    @field_validator("as_of", mode="before")
    @classmethod
    def _is_iso_8601(cls, value: object) -> object:
        # pydantic takes a bare number, such as 20260822, for seconds since 1970.
        return datetime.fromisoformat(value) if isinstance(value, str) else value

    @field_validator("as_of")
    @classmethod
    def _in_utc(cls, value: datetime | None) -> datetime | None:
        if value is None:
            return None
        aware = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
        return aware.replace(microsecond=0)


def prepare_prefect(*, quiet: bool, for_one_run: bool) -> None:
    """Set Prefect's variables before it is imported: no telemetry, room to start, little noise.

    A variable that is already set stays as it is.
    """
    wanted = {
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
        # A new home migrates its database first, which takes most of the default of 20 seconds.
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
        # By default each of a run's thousand events is a transaction of its own, which costs a
        # server of ours more than the refresh.
        "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "200",
        "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "1",
    }
    if quiet:
        wanted |= {"PREFECT_LOGGING_LEVEL": "CRITICAL", "PREFECT_SERVER_LOGGING_LEVEL": "CRITICAL"}
    if for_one_run:
        # Nobody can watch the events of a server that ends with the run, nor react to them.
        wanted |= {
            "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_ENABLED": "false",
            "PREFECT_SERVER_SERVICES_TRIGGERS_ENABLED": "false",
        }
    for name, value in wanted.items():
        os.environ.setdefault(name, value)  # noqa: TID251 - the one place that may
