import json
from datetime import timedelta
from pathlib import Path

import pytest

from support.release_candidates import AS_OF, release_facts, write_candidate
from warehouse import canonical_json
from warehouse.errors import UnknownReleaseError
from warehouse.parquet_io import digest
from warehouse.publishing import publish
from warehouse.releases import latest_release, list_releases
from warehouse.schemas.catalog import TABLES
from warehouse.storage import LocalStorage
from warehouse.verification import VerifyReport, verify


@pytest.fixture
def storage(tmp_path):
    """A catalog of two releases."""
    storage = LocalStorage(tmp_path / "root")
    first = publish(storage, write_candidate(tmp_path / "a", price="1"), release_facts())
    publish(
        storage,
        write_candidate(tmp_path / "b", price="2"),
        release_facts(as_of=AS_OF + timedelta(days=1), expected_previous=first.id),
    )
    return storage


def directory(storage, number) -> Path:
    return Path(list_releases(storage)[number].directory)


def found(storage, release_id=None):
    root = Path(storage.root)
    report = verify(storage, release_id)
    assert report.is_sound == (not report.problems)
    return {(problem.kind, str(Path(problem.path).name)) for problem in report.problems}, root


def test_sound_catalog_is_sound_and_every_file_was_counted(storage):
    report = verify(storage)

    assert report.is_sound
    assert report.releases == tuple(release.id for release in list_releases(storage))
    assert report.files == 2 * (len(TABLES) + 3)
    on_disk = sum(
        path.stat().st_size
        for path in Path(storage.root).rglob("releases/*/**/*")
        if path.is_file() and path.name != "manifest.json"
    )
    assert report.bytes == on_disk


def test_empty_root_is_sound(tmp_path):
    assert verify(LocalStorage(tmp_path / "none")) == VerifyReport((), 0, 0, (), ())


def test_single_flipped_bit_is_found_in_any_release(storage):
    for number, name in ((0, "prices.parquet"), (1, "sources.parquet")):
        path = directory(storage, number) / name
        body = bytearray(path.read_bytes())
        body[len(body) // 2] ^= 1
        path.write_bytes(body)

    report = verify(storage)

    assert [(problem.kind, Path(problem.path).name) for problem in report.problems] == [
        ("changed", "prices.parquet"),
        ("changed", "sources.parquet"),
    ]
    assert "is not what was published: expected" in report.problems[0].message


def test_truncated_missing_and_extra_files_are_each_named(storage):
    latest = directory(storage, 0)
    page = latest / "quality" / "index.html"
    page.write_bytes(page.read_bytes()[:-1])
    (latest / "prices.parquet").unlink()
    (latest / "quality" / "stray.txt").write_text("?")

    problems, _ = found(storage)

    assert problems == {
        ("changed", "index.html"),
        ("missing", "prices.parquet"),
        ("extra", "stray.txt"),
    }


def test_only_the_release_that_was_asked_for_is_checked(storage):
    (directory(storage, 0) / "prices.parquet").unlink()
    older = list_releases(storage)[1].id

    report = verify(storage, older)

    assert report.is_sound
    assert report.releases == (older,)


def test_unknown_release_is_an_error(storage):
    with pytest.raises(UnknownReleaseError, match="no release 2026"):
        verify(storage, "2026")


def test_changed_manifest_breaks_the_chain(storage):
    path = directory(storage, 1) / "manifest.json"
    path.write_bytes(path.read_bytes().replace(b"0123abc", b"0123abd"))

    report = verify(storage)

    assert [problem.kind for problem in report.problems] == ["broken_chain"]
    assert report.problems[0].path == f"releases/{path.parent.name}/manifest.json"
    assert "Releases before it cannot be reached" in report.problems[0].message
    assert len(report.releases) == 1
    assert report.leftovers == ()


def test_unreadable_pointer_breaks_the_chain(storage):
    (Path(storage.root) / "latest.json").write_text("{}")

    problems, _ = found(storage)

    assert problems == {("broken_chain", "latest.json")}


def test_pointer_to_another_manifest_is_a_contradiction(storage):
    path = Path(storage.root) / "latest.json"
    latest = json.loads(path.read_bytes())
    path.write_text(json.dumps({**latest, "manifest": "elsewhere/manifest.json"}))

    problems, _ = found(storage)

    assert problems == {("contradiction", "latest.json")}


def test_manifest_whose_content_digest_is_not_its_tables_is_a_contradiction(storage):
    manifest_path = directory(storage, 0) / "manifest.json"
    manifest = json.loads(manifest_path.read_bytes())
    body = canonical_json.encode({**manifest, "content_digest": "0" * 64})
    manifest_path.write_bytes(body)
    pointer_path = Path(storage.root) / "latest.json"
    pointer = json.loads(pointer_path.read_bytes())
    pointer_path.write_text(json.dumps({**pointer, "manifest_sha256": digest([body])[0]}))

    problems, _ = found(storage)

    assert problems == {("contradiction", "manifest.json")}


def test_chain_that_runs_in_a_circle_ends(storage):
    latest = latest_release(storage)
    oldest = list_releases(storage)[1]
    # A circle cannot be closed by digests, so the check is of the walk: both name each other.
    for release, other in ((oldest, latest), (latest, oldest)):
        path = Path(release.location("manifest.json"))
        manifest = json.loads(path.read_bytes())
        path.write_bytes(canonical_json.encode({**manifest, "previous_release": other.id}))

    problems, _ = found(storage)

    assert {kind for kind, _ in problems} == {"broken_chain"}


def test_leftovers_are_reported_and_are_no_problem(storage):
    storage.put_new("releases/20260901T000000Z-deadbeef/prices.parquet", b"half")

    report = verify(storage)

    assert report.is_sound
    assert report.leftovers == ("releases/20260901T000000Z-deadbeef",)
