"""The release that a run builds on."""

from dataclasses import replace

import polars as pl

from flows.run import Base, Run
from warehouse.landing import LandingStore
from warehouse.releases import Release, latest_release, open_release
from warehouse.storage import Storage, open_storage


def storage_of(run: Run) -> Storage:
    """Open the catalog root of a run."""
    return open_storage(run.root)


def find_base(run: Run) -> Base:
    """Find the latest release; a repeated run is compared with what it was compared with then."""
    latest = latest_release(storage_of(run))
    latest_id = latest.id if latest else None
    compared = latest_id
    if run.from_landed is not None:
        compared = LandingStore(run.landing).load_run(run.from_landed).facts["compared"]
    base = Base(compared, latest_id)
    return replace(base, regions=_priced_regions(compared_release(run, base)))


def compared_release(run: Run, base: Base) -> Release | None:
    """Open the release that a run is compared with; None where it is the first."""
    return None if base.compared is None else open_release(storage_of(run), base.compared)


def _priced_regions(release: Release | None) -> tuple[tuple[str, str], ...]:
    if release is None:
        return ()
    prices = pl.scan_parquet(release.table("prices"))
    regions = prices.select("provider", "region_id").unique().collect()
    return tuple(sorted(regions.iter_rows()))
