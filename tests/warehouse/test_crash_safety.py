"""Publishers that are killed, that race, and readers that look at every moment."""

import json
import shutil
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from support.release_candidates import AS_OF, release_facts, write_candidate
from support.stepping_storage import SteppingStorage
from warehouse.publishing import publish
from warehouse.releases import latest_release, list_releases
from warehouse.storage import LocalStorage
from warehouse.verification import verify

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tests" / "support" / "publisher_processes.py"


def run_publishers(*arguments: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *arguments],
        env={"PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    outcomes: list[str] = json.loads(done.stdout)
    return outcomes


def tree(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize("has_release", [True, False], ids=["second", "first"])
def test_publisher_killed_at_any_step_leaves_a_whole_catalog_and_the_next_succeeds(
    tmp_path, monkeypatch, has_release
):
    # Flushing to the disk is slow, and no power is cut here.
    monkeypatch.setattr("warehouse.storage._flush", lambda _: None)
    template = tmp_path / "roots" / "template"
    template.mkdir(parents=True)
    old_id = None
    if has_release:
        old = publish(
            LocalStorage(template), write_candidate(tmp_path / "old", price="60"), release_facts()
        )
        old_id = old.id
        # What an earlier killed publisher left is being cleaned up when this one is killed.
        leftover = template / "releases" / "20260822T100000Z-deadbeef"
        leftover.mkdir()
        (leftover / "prices.parquet").write_bytes(b"half")
        (leftover / "sources.parquet#1").write_bytes(b"half")
    candidate = write_candidate(tmp_path / "new", price="55.04")

    steps = run_publishers("kill", str(tmp_path / "roots"), str(tmp_path / "new"), old_id or "")

    visible = steps.index("after compare_and_set latest.json")
    assert steps[-1] == "not killed"
    assert {
        "holding publish",
        "half of prices.parquet#1",
        "half of manifest.json#1",
        "half of latest.json.new",
        "before release of publish",
    } < set(steps)
    ids = set()
    for number, step in enumerate(steps):
        storage = LocalStorage(tmp_path / "roots" / str(number))
        assert verify(storage).is_sound, step
        latest = latest_release(storage)
        if number < visible:
            assert (latest.id if latest else None) == old_id, step
        else:
            assert latest is not None
            assert latest.id != old_id, step
        again = publish(
            storage,
            candidate,
            release_facts(as_of=AS_OF + timedelta(days=1), expected_previous=old_id),
        )
        assert again.is_new == (number < visible), step
        report = verify(storage)
        assert report.is_sound, step
        assert report.leftovers == (), step
        assert len(report.releases) == (2 if has_release else 1), step
        ids.add(again.id)
    assert len(ids) == 1


def test_of_publishers_that_start_together_exactly_one_wins(tmp_path):
    root = tmp_path / "root"
    candidates = [tmp_path / f"candidate-{number}" for number in range(4)]
    for number, candidate in enumerate(candidates):
        write_candidate(candidate, price=f"{10 + number}")

    outcomes = run_publishers("race", str(root), *map(str, candidates))

    assert outcomes.count("published") == 1
    conflicts = [outcome for outcome in outcomes if outcome != "published"]
    assert all(outcome.startswith("conflict: release 2026") for outcome in conflicts)
    report = verify(LocalStorage(root))
    assert report.is_sound
    assert len(report.releases) == 1


def test_reader_at_every_step_of_a_publish_sees_one_whole_release(tmp_path):
    root = tmp_path / "root"
    old = publish(
        LocalStorage(root), write_candidate(tmp_path / "old", price="60"), release_facts()
    )
    old_bytes = tree(Path(old.release.directory))
    seen: list[str] = []

    def look(step: str) -> None:
        reader = LocalStorage(root)
        assert verify(reader).is_sound, step
        latest = latest_release(reader)
        assert latest is not None
        seen.append(latest.id)

    new = publish(
        SteppingStorage(root, look),
        write_candidate(tmp_path / "new", price="55.04"),
        release_facts(as_of=AS_OF + timedelta(days=1), expected_previous=old.id),
    )

    assert len(seen) > 40
    assert set(seen) == {old.id, new.id}
    assert seen == sorted(seen), "a reader never goes back"
    assert seen.index(new.id) >= len(seen) - 2
    assert tree(Path(old.release.directory)) == old_bytes


def test_reader_that_opened_a_release_keeps_it_while_others_are_published(tmp_path):
    root = tmp_path / "root"
    first = publish(
        LocalStorage(root), write_candidate(tmp_path / "one", price="60"), release_facts()
    )
    opened = latest_release(LocalStorage(root))
    assert opened is not None
    publish(
        LocalStorage(root),
        write_candidate(tmp_path / "two", price="50"),
        release_facts(as_of=AS_OF + timedelta(days=1), expected_previous=first.id),
    )

    assert (
        Path(opened.table("prices")).read_bytes()
        == (tmp_path / "one" / "prices.parquet").read_bytes()
    )
    assert [release.id for release in list_releases(LocalStorage(root))][1] == opened.id


def test_failed_publish_leaves_nothing_that_readers_see(tmp_path):
    root = tmp_path / "root"
    damaged: list[str] = []

    def damage(step: str) -> None:
        if step.startswith("make_durable"):
            target = next(root.glob("releases/*/prices.parquet"))
            target.write_bytes(target.read_bytes()[:-1] + b"?")
            damaged.append(str(target))

    with pytest.raises(Exception, match=r"was not published.*prices\.parquet is not what"):
        publish(SteppingStorage(root, damage), write_candidate(tmp_path / "c"), release_facts())

    assert damaged
    assert latest_release(LocalStorage(root)) is None
    shutil.rmtree(tmp_path / "c")
    again = publish(LocalStorage(root), write_candidate(tmp_path / "c"), release_facts())
    assert again.is_new
