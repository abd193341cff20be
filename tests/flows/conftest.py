"""One catalog of the small night for all tests that only ask it."""

from collections.abc import Iterator

import pytest

from flows.verdict import Refreshed
from support.nights import Night, night_in
from support.small_night import SmallNight, load_small_night
from warehouse.releases import Release


@pytest.fixture(scope="session")
def small_night() -> SmallNight:
    return load_small_night()


@pytest.fixture(scope="session")
def night_of_all(
    tmp_path_factory: pytest.TempPathFactory, small_night: SmallNight
) -> Iterator[Night]:
    with night_in(tmp_path_factory.mktemp("published"), small_night) as night:
        yield night


@pytest.fixture(scope="session")
def refreshed(night_of_all: Night) -> Refreshed:
    """How the refresh ended that published the catalog of `published`."""
    return night_of_all.refresh()


@pytest.fixture(scope="session")
def published(night_of_all: Night, refreshed: Refreshed) -> Night:
    """A night whose catalog holds one release. Do not change it: every test asks the same one."""
    assert refreshed.outcome == "published"
    return night_of_all


@pytest.fixture
def night(tmp_path, small_night: SmallNight) -> Iterator[Night]:
    """A night of the test's own, with nothing published or landed yet."""
    with night_in(tmp_path, small_night) as night:
        yield night


@pytest.fixture(scope="session")
def release(published: Night) -> Release:
    return published.release()


@pytest.fixture(scope="session")
def prefect_api() -> Iterator[None]:
    """A Prefect server of the tests' own, which phones nobody."""
    from prefect.settings import PREFECT_SERVER_ANALYTICS_ENABLED, temporary_settings
    from prefect.testing.utilities import prefect_test_harness

    with (
        pytest.MonkeyPatch.context() as patch,
        temporary_settings({PREFECT_SERVER_ANALYTICS_ENABLED: False}),
    ):
        patch.setenv("DO_NOT_TRACK", "1")
        with prefect_test_harness(server_startup_timeout=180):
            yield
