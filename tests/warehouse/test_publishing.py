import dataclasses
import json
from datetime import datetime, timedelta, timezone
from pathlib import Path

import polars as pl
import pytest

from support.release_candidates import AS_OF, release_facts, write_candidate
from warehouse.errors import (
    CandidateError,
    PublishConflictError,
    ReleaseDamagedError,
    ReleaseOrderError,
)
from warehouse.parquet_io import file_facts
from warehouse.publishing import CandidateFiles, publish, release_id_for
from warehouse.releases import latest_release, list_releases
from warehouse.schemas.catalog import TABLES
from warehouse.storage import LocalStorage
from warehouse.verification import verify

DAY = timedelta(days=1)


@pytest.fixture
def storage(tmp_path):
    return LocalStorage(tmp_path / "root")


@pytest.fixture
def candidate(tmp_path):
    return write_candidate(tmp_path / "candidate")


def tree(directory) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(Path(directory).rglob("*"))
        if path.is_file() and ".locks" not in path.parts
    }


def test_layout_is_the_contracts(storage, candidate):
    published = publish(storage, candidate, release_facts())

    assert published.is_new
    assert published.id == published.latest_id
    directory = f"releases/{published.id}"
    expected = {f"{directory}/{table.name}.parquet" for table in TABLES} | {
        "latest.json",
        f"{directory}/manifest.json",
        f"{directory}/dictionary.json",
        f"{directory}/quality/quality.json",
        f"{directory}/quality/index.html",
    }
    files = tree(storage.root)
    assert files.keys() == expected
    assert json.loads(files["latest.json"]) == {
        "release": published.id,
        "manifest": f"{directory}/manifest.json",
        "manifest_sha256": published.release.manifest_sha256,
        "schema_version": "1.1.0",
    }
    manifest = json.loads(files[f"{directory}/manifest.json"])
    assert manifest["tables"]["prices"]["rows"] == 2
    assert manifest["files"].keys() == {
        "dictionary.json",
        "quality/index.html",
        "quality/quality.json",
    }


def test_id_is_the_as_of_time_and_the_content_digest(storage, candidate):
    facts = {name: file_facts(path) for name, path in candidate.tables.items()}
    foretold = release_id_for(AS_OF, facts)

    published = publish(storage, candidate, release_facts())

    assert published.id == foretold
    digest = published.release.manifest.content_digest
    assert published.id == f"20260822T033000Z-{digest[:8]}"


def test_id_is_in_utc_whatever_zone_the_time_is_given_in(candidate):
    facts = {name: file_facts(path) for name, path in candidate.tables.items()}
    berlin = AS_OF.astimezone(timezone(timedelta(hours=2)))

    assert release_id_for(berlin, facts) == release_id_for(AS_OF, facts)
    with pytest.raises(ValueError, match="as_of must have a time zone"):
        release_id_for(datetime(2026, 8, 22), facts)  # noqa: DTZ001 - that is the point


def test_same_input_gives_the_same_bytes_everywhere(tmp_path):
    for name in ("one", "two"):
        publish(
            LocalStorage(tmp_path / name), write_candidate(tmp_path / f"c-{name}"), release_facts()
        )

    assert tree(tmp_path / "one") == tree(tmp_path / "two")


def test_unchanged_content_publishes_nothing(storage, candidate, tmp_path):
    first = publish(storage, candidate, release_facts())
    before = tree(storage.root)
    tomorrow = write_candidate(tmp_path / "tomorrow", fetched_at=AS_OF + DAY)
    assert tomorrow.tables["sources"].read_bytes() != candidate.tables["sources"].read_bytes()

    again = publish(storage, tomorrow, release_facts(as_of=AS_OF + DAY, expected_previous=first.id))

    assert (again.is_new, again.id, again.latest_id) == (False, first.id, first.id)
    assert tree(storage.root) == before


def test_changed_content_is_a_new_release_that_names_the_one_before(storage, candidate, tmp_path):
    first = publish(storage, candidate, release_facts())

    second = publish(
        storage,
        write_candidate(tmp_path / "dearer", price="56"),
        release_facts(as_of=AS_OF + DAY, expected_previous=first.id),
    )

    assert second.is_new
    manifest = second.release.manifest
    assert manifest.previous_release == first.id
    assert manifest.previous_manifest_sha256 == first.release.manifest_sha256
    assert [release.id for release in list_releases(storage)] == [second.id, first.id]


def test_repeated_old_run_is_found_and_changes_nothing(storage, candidate, tmp_path):
    first = publish(storage, candidate, release_facts())
    second = publish(
        storage,
        write_candidate(tmp_path / "dearer", price="56"),
        release_facts(as_of=AS_OF + DAY, expected_previous=first.id),
    )
    before = tree(storage.root)

    again = publish(storage, candidate, release_facts(expected_previous=second.id))

    assert (again.is_new, again.id, again.latest_id) == (False, first.id, second.id)
    assert tree(storage.root) == before


def test_other_content_of_an_earlier_time_than_the_latest_is_refused(storage, candidate, tmp_path):
    first = publish(storage, candidate, release_facts())
    before = tree(storage.root)

    with pytest.raises(ReleaseOrderError, match=rf"before the latest, {first.id}; repeat an old"):
        publish(
            storage,
            write_candidate(tmp_path / "other", price="1"),
            release_facts(as_of=AS_OF - DAY, expected_previous=first.id),
        )
    assert tree(storage.root) == before


def test_other_content_of_the_same_time_is_a_new_release(storage, candidate, tmp_path):
    first = publish(storage, candidate, release_facts())

    fixed = publish(
        storage,
        write_candidate(tmp_path / "fixed", price="1"),
        release_facts(expected_previous=first.id),
    )

    assert fixed.is_new
    assert latest_release(storage).id == fixed.id


def test_publisher_that_compared_with_an_older_release_is_told_who_was_faster(
    storage, candidate, tmp_path
):
    first = publish(storage, candidate, release_facts())

    with pytest.raises(PublishConflictError, match=rf"compared with no release, .* {first.id} is"):
        publish(storage, write_candidate(tmp_path / "mine", price="1"), release_facts())
    assert latest_release(storage).id == first.id


def test_second_publisher_is_told_who_is_at_work(storage, candidate):
    with (
        storage.exclusive("publish", "process 7 on elsewhere"),
        pytest.raises(PublishConflictError, match="process 7 on elsewhere"),
    ):
        publish(storage, candidate, release_facts())
    assert latest_release(storage) is None


def test_publisher_names_itself_in_the_lock(storage, candidate, monkeypatch):
    holders = []
    monkeypatch.setattr(
        LocalStorage,
        "make_durable",
        lambda *_: holders.append((Path(storage.root) / ".locks" / "publish").read_text()),
    )

    published = publish(storage, candidate, release_facts())

    assert holders[0].endswith(f"publishing {published.id}")


def test_leftovers_of_a_killed_publisher_are_deleted_and_reported(storage, candidate, caplog):
    storage.put_new("releases/20260101T000000Z-deadbeef/prices.parquet", b"half")

    with caplog.at_level("WARNING"):
        publish(storage, candidate, release_facts())

    assert "deleting releases/20260101T000000Z-deadbeef" in caplog.text
    assert len(storage.directories("releases")) == 1


def test_nothing_is_deleted_while_the_chain_is_broken(storage, candidate, tmp_path):
    first = publish(storage, candidate, release_facts())
    second = publish(
        storage,
        write_candidate(tmp_path / "b", price="2"),
        release_facts(as_of=AS_OF + DAY, expected_previous=first.id),
    )
    (Path(second.release.directory) / "manifest.json").unlink()
    before = tree(storage.root)

    with pytest.raises(ReleaseDamagedError, match=r"manifest\.json is missing"):
        publish(
            storage,
            write_candidate(tmp_path / "c", price="3"),
            release_facts(as_of=AS_OF + 2 * DAY, expected_previous=second.id),
        )
    assert tree(storage.root) == before


def test_candidate_without_a_table_or_with_an_unknown_one_is_refused(storage, candidate):
    tables = dict(candidate.tables)
    tables["price"] = tables.pop("prices")

    with pytest.raises(CandidateError, match=r"missing prices; unknown price$"):
        publish(storage, CandidateFiles(tables, {}), release_facts())
    assert not Path(storage.root).exists()


def test_candidate_of_another_schema_is_refused(storage, candidate):
    path = candidate.tables["prices"]
    pl.read_parquet(path).drop("tenancy").write_parquet(path)

    with pytest.raises(CandidateError, match=r"not a file of table prices: missing tenancy"):
        publish(storage, candidate, release_facts())
    assert not Path(storage.root).exists()


@pytest.mark.parametrize(
    "path", ["prices.parquet", "manifest.json", "../x/y", "/etc/x", "quality/../../x", "a//b", "a/"]
)
def test_further_file_outside_a_folder_of_its_own_is_refused(storage, candidate, path):
    with pytest.raises(CandidateError, match="is no path for a further file"):
        publish(storage, dataclasses.replace(candidate, files={path: b""}), release_facts())


def test_published_catalog_is_sound(storage, candidate):
    publish(storage, candidate, release_facts())

    assert verify(storage).is_sound
