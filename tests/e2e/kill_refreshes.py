"""Kill refreshes at random moments and look at what each of them leaves.

    python tests/e2e/kill_refreshes.py --rounds 20 --seed 7

Each round serves a night with new prices, starts `price-catalog refresh` in a session of its own
and kills all its processes (SIGKILL). A uniformly random moment would nearly always hit the start
or the gate, so moments are drawn from three windows: the whole run, the time after the assembly
has begun, and the time after the publisher has begun to write.
"""

import argparse
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

# As a script it finds `support` this way, and in tests by pytest's settings.
sys.path.append(str(Path(__file__).resolve().parents[1]))

import polars as pl

from flows.normalize import read_part
from support import numbered_nights
from support.nights import Night, night_in
from support.refresh_processes import Process, kill_with_children, refresh_process
from support.small_night import SmallNight, load_small_night
from warehouse.landing import LandingStore
from warehouse.verification import verify

WINDOWS = ("publication", "assembly", "whole run", "publication")
"""Taken in turn. The first one also shows how long a whole run is."""

_WINDOW_SECONDS = {"publication": 0.12, "assembly": 1.5}
_FLAGS = {"plain": "--no-prefect", "prefect": "--prefect"}
_PREFECT_EVERY = 5
_POLL_SECONDS = 0.0005
_PATIENCE_SECONDS = 300


@dataclass(frozen=True, slots=True)
class Round:
    """What became of one round."""

    number: int
    conductor: str
    window: str
    seconds: float
    """How long the refresh lived."""
    was_killed: bool
    reached: str
    """How far it came, as far as that can be seen: started, assembled, publishing, published."""
    night: int
    """Night that the latest release is of: the round's own, or an older one."""

    def __str__(self) -> str:
        end = "killed" if self.was_killed else "ended before it could be killed,"
        state = "its release is whole" if self.night == self.number else "the old release stands"
        return (
            f"round {self.number:2d}, {self.conductor:7s}: {end} after {self.seconds:5.2f} s "
            f"(window: {self.window}, reached: {self.reached}); {state}"
        )


@dataclass(frozen=True)
class Killer:
    """Refreshes a catalog in processes that do not live long, and checks what is left."""

    night: Night
    first_night: SmallNight
    first_prices: pl.DataFrame
    chance: random.Random
    run_seconds: dict[str, float] = field(default_factory=dict)
    """Seconds from the start of a refresh to its publication, by conductor."""

    def play(self, number: int, window: str, conductor: str) -> Round:
        """Play one round; raises AssertionError where something is left that must not be."""
        before = self._latest_night()
        self.night.serve(numbered_nights.night(self.first_night, number))
        old = self._candidates() | self._directories()
        folder = self.night.folder
        command = self.night.command(as_of=numbered_nights.as_of(number).isoformat())
        log = folder / f"round-{number}.log"
        started = time.monotonic()
        with refresh_process(
            [*command, _FLAGS[conductor]], prefect_home=folder / "prefect", log=log
        ) as process:
            self._wait_for_moment(process, window, conductor, old)
            exit_code = kill_with_children(process)
        seconds = time.monotonic() - started
        assert exit_code in {0, -signal.SIGKILL}, f"{exit_code}: {log.read_text()}"
        self._check_catalog()
        self._check_landing()
        after = self._latest_night()
        assert after in ({number} if exit_code == 0 else {before, number}), (before, after)
        reached = "published" if after == number else self._reached(old)
        return Round(number, conductor, window, seconds, exit_code != 0, reached, after)

    def finish(self, number: int) -> None:
        """Let one refresh live: it publishes, and cleans up after all that did not."""
        self.night.serve(numbered_nights.night(self.first_night, number))
        refreshed = self.night.refresh(as_of=numbered_nights.as_of(number).isoformat())
        assert refreshed.outcome == "published", refreshed.headline
        assert self._latest_night() == number
        self._check_landing()
        left_over = [*self._check_catalog(), *self.night.landing.glob("incoming/*")]
        assert not left_over, f"left over after a refresh that was not killed: {left_over}"

    def _wait_for_moment(
        self, process: Process, window: str, conductor: str, old: set[Path]
    ) -> None:
        started = time.monotonic()
        if window == "publication":
            _wait_until(lambda: bool(self._directories() - old), process, _PATIENCE_SECONDS)
            self.run_seconds[conductor] = time.monotonic() - started
        elif window == "assembly":
            _wait_until(lambda: bool(self._candidates() - old), process, _PATIENCE_SECONDS)
        width = _WINDOW_SECONDS.get(window) or self.run_seconds[conductor]
        share = self.chance.random()
        if window == "publication":
            share **= 3  # Writing is over in some hundredths of a second on a machine at rest.
        _wait_until(lambda: False, process, share * width)

    def _reached(self, old: set[Path]) -> str:
        if self._directories() - old:
            return "publishing"
        return "assembled" if self._candidates() - old else "started"

    def _candidates(self) -> set[Path]:
        """Give the folders in which an assembly has begun to write."""
        return {path.parent for path in self.night.landing.glob("incoming/*/regions.parquet")}

    def _directories(self) -> set[Path]:
        """Give the directories of releases, published or not."""
        return set((self.night.folder / "catalog/releases").iterdir())

    def _latest_night(self) -> int:
        return numbered_nights.number_of(self.night.release(), self.first_prices)

    def _check_catalog(self) -> tuple[str, ...]:
        """Verify all releases; returns the directories that belong to none."""
        report = verify(self.night.storage)
        assert report.is_sound, report.problems
        return report.leftovers

    def _check_landing(self) -> None:
        """Read all that the landing store shows."""
        store = LandingStore(self.night.landing)
        for path in self.night.landing.glob("objects/*/*"):
            with store.open(path.stem) as body:
                body.read()
        for path in self.night.landing.glob("parts/*"):
            read_part(path)
        for run_id in store.runs():
            store.load_run(run_id)


def kill_refreshes(
    folder: Path, first_night: SmallNight, *, rounds: int, seed: int, prefect_every: int | None
) -> Iterator[Round]:
    """Publish a first night, then play rounds, then let a refresh live.

    Args:
        folder: for the catalog, the landing store, logs and Prefect's home.
        first_night: what the providers serve at first.
        rounds: how many refreshes are killed.
        seed: of the random moments.
        prefect_every: every which round is conducted by Prefect; None for no such round.

    Raises:
        AssertionError: something is left that must not be.
    """
    with night_in(folder, first_night) as night:
        first = night.refresh()
        assert first.outcome == "published", first.headline
        prices = pl.read_parquet(night.release().table("prices"))
        killer = Killer(night, first_night, prices, random.Random(seed))
        turns = {"prefect": 0, "plain": 0}
        for number in range(1, rounds + 1):
            is_prefects = prefect_every is not None and number % prefect_every == 0
            conductor = "prefect" if is_prefects else "plain"
            window = WINDOWS[turns[conductor] % len(WINDOWS)]
            turns[conductor] += 1
            yield killer.play(number, window, conductor)
        killer.finish(rounds + 1)


def _wait_until(has_come: Callable[[], bool], process: Process, seconds: float) -> None:
    """Wait for something, but not longer than a process lives, nor longer than some seconds."""
    ends_at = time.monotonic() + seconds
    while not has_come() and process.poll() is None and time.monotonic() < ends_at:
        time.sleep(_POLL_SECONDS)


def main() -> None:
    """Play rounds and say what became of each."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=7)
    asked = parser.parse_args()
    started = time.monotonic()
    played: list[Round] = []
    with tempfile.TemporaryDirectory() as folder:
        for end in kill_refreshes(
            Path(folder),
            load_small_night(),
            rounds=asked.rounds,
            seed=asked.seed,
            prefect_every=_PREFECT_EVERY,
        ):
            sys.stdout.write(f"{end}\n")
            sys.stdout.flush()
            played.append(end)
    reached = Counter(end.reached for end in played)
    sys.stdout.write(
        f"{sum(end.was_killed for end in played)} of {len(played)} refreshes were killed; they had "
        f"reached: {', '.join(f'{stage} {count}' for stage, count in sorted(reached.items()))}.\n"
        f"After each the catalog verified and its latest release was whole and of one night.\n"
        f"The refresh after them published and left nothing over. "
        f"{time.monotonic() - started:.0f} s in all.\n"
    )


if __name__ == "__main__":
    main()
