"""A catalog refreshed from fake providers, which serve the small night or a later one."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flows.conductor import PlainConductor
from flows.planning import plan_run, read_settings
from flows.refresh_catalog import refresh
from flows.verdict import Refreshed
from support.fake_aws import FakeAws
from support.fake_azure import FakeAzure
from support.fake_ecb import FakeEcb
from support.fake_http import FakeServer, Provider
from support.small_night import AZURE_REGIONS, PAGE_SIZE, SmallNight
from warehouse.releases import Release, open_release
from warehouse.storage import Storage, open_storage


class NoProgress:
    """Tells nobody."""

    def begin(self, stage: str, total: int) -> None: ...

    def advance(self, stage: str) -> None: ...

    def done(self, stage: str) -> None: ...


@dataclass
class Night:
    """A catalog of its own, refreshed from fake providers."""

    folder: Path
    aws: FakeAws
    azure: FakeAzure
    server: FakeServer

    @property
    def landing(self) -> Path:
        return self.folder / "landing"

    @property
    def storage(self) -> Storage:
        return open_storage(self.folder / "catalog")

    def settings(self, **changes: Any) -> dict[str, Any]:
        return {
            "source": "live",
            "root": str(self.folder / "catalog"),
            "landing": str(self.landing),
            "aws_price_list_url": self.server.base_url,
            "aws_spot_feed_url": f"{self.server.base_url}/spot.json",
            "azure_retail_prices_url": self.server.azure_url,
            "ecb_rates_url": self.server.ecb_url,
            "azure_regions": ",".join(AZURE_REGIONS),
            "as_of": "2026-08-22T06:00:00Z",
            "http_max_attempts": 3,
            "http_backoff_seconds": 0,
            **changes,
        }

    def refresh(
        self,
        *,
        accept_jumps: bool = False,
        accept_losses: bool = False,
        from_landed: str | None = None,
        record_to: Path | None = None,
        **changes: Any,
    ) -> Refreshed:
        run = plan_run(
            read_settings(self.settings(**changes)),
            accept_jumps=accept_jumps,
            accept_losses=accept_losses,
            from_landed=from_landed,
            record_to=record_to,
        )
        return refresh(run, PlainConductor(2, NoProgress(), sleep=lambda _: None))

    def command(self, **changes: Any) -> list[str]:
        """Give the arguments of `price-catalog` that refresh this catalog in a process."""
        settings = self.settings(**changes).items()
        flags = [(f"--{name.replace('_', '-')}", str(value)) for name, value in settings]
        return ["refresh", *(part for flag in flags for part in flag)]

    def serve(self, night: SmallNight) -> None:
        self.aws.offers = dict(night.aws)
        self.aws.savings_plans = dict(night.plans)
        self.aws.spot_feed = night.spot
        self.azure.listings = dict(night.azure)

    def release(self, release_id: str | None = None) -> Release:
        return open_release(self.storage, release_id)

    def digests(self) -> dict[str, str]:
        """Digests of all tables of the latest release but the one that says where from."""
        tables = self.release().manifest.tables
        return {name: file.sha256 for name, file in tables.items() if name != "sources"}


@contextmanager
def night_in(
    folder: Path, small_night: SmallNight, *, ecb: Provider | None = None
) -> Iterator[Night]:
    """Serve a night, and give the catalog in a folder that is refreshed from it."""
    aws = FakeAws(
        small_night.aws,
        savings_plans=small_night.plans,
        spot_feed=small_night.spot,
        version="20260705000000",
    )
    azure = FakeAzure(small_night.azure, page_size=PAGE_SIZE)
    with FakeServer(aws, azure, ecb or FakeEcb(small_night.ecb)) as server:
        yield Night(folder, aws, azure, server)
