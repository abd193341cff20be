"""The release that a run builds on."""

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
    if run.from_landed is None:
        return Base(latest_id, latest_id)
    return Base(LandingStore(run.landing).load_run(run.from_landed).facts["compared"], latest_id)


def compared_release(run: Run, base: Base) -> Release | None:
    """Open the release that a run is compared with; None where it is the first."""
    return None if base.compared is None else open_release(storage_of(run), base.compared)
