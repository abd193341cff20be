from collections.abc import Iterator
from pathlib import Path

import pytest

from support.nights import Night, night_in
from support.small_night import SmallNight, load_small_night


@pytest.fixture(scope="session")
def small_night() -> SmallNight:
    return load_small_night()


@pytest.fixture
def night(tmp_path: Path, small_night: SmallNight) -> Iterator[Night]:
    with night_in(tmp_path, small_night) as night:
        yield night
