from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest

from support.release_candidates import AS_OF, release_facts, write_candidate
from warehouse.errors import ObjectMissingError, ReleaseDamagedError, UnknownReleaseError
from warehouse.publishing import publish
from warehouse.releases import latest_release, list_releases, open_release
from warehouse.storage import LocalStorage


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


def test_latest_is_opened_by_default(storage):
    assert open_release(storage).id.startswith("20260823T033000Z-")
    assert latest_release(storage).id == open_release(storage).id


def test_older_release_is_opened_by_id_and_its_tables_are_read(storage):
    older = list_releases(storage)[1]

    opened = open_release(storage, older.id)

    prices = pl.read_parquet(opened.table("prices"))
    assert [str(price) for price in prices["hourly_rate"]] == ["92.4672000000", "1.0000000000"]
    assert opened.read("quality/quality.json") == b"{}\n"
    assert Path(opened.directory).name == older.id


def test_unknown_release_names_the_newest(storage):
    newest = latest_release(storage).id

    with pytest.raises(UnknownReleaseError, match=rf"no release 2026; the newest are {newest}, "):
        open_release(storage, "2026")


def test_directory_that_is_not_in_the_chain_is_no_release(storage):
    storage.put_new("releases/20260901T000000Z-deadbeef/manifest.json", b"{}")

    assert len(list_releases(storage)) == 2
    with pytest.raises(UnknownReleaseError, match="20260901T000000Z-deadbeef"):
        open_release(storage, "20260901T000000Z-deadbeef")


def test_unknown_table_names_those_there_are(storage):
    with pytest.raises(UnknownReleaseError, match=r"no table price; it has announced_prices, "):
        open_release(storage).table("price")


def test_unknown_file_is_missing(storage):
    with pytest.raises(ObjectMissingError, match=r"quality/none\.html"):
        open_release(storage).read("quality/none.html")


def test_empty_root_has_no_release(tmp_path):
    storage = LocalStorage(tmp_path / "nothing")

    assert latest_release(storage) is None
    assert list_releases(storage) == ()
    with pytest.raises(UnknownReleaseError, match="holds no release; run a refresh first"):
        open_release(storage)


def test_changed_manifest_is_not_opened(storage):
    path = Path(latest_release(storage).location("manifest.json"))
    path.write_bytes(path.read_bytes().replace(b'"rows": 2', b'"rows": 3'))

    with pytest.raises(ReleaseDamagedError, match="is not the manifest that was published"):
        open_release(storage)


@pytest.mark.parametrize("body", [b"", b"{}", b"<html>"])
def test_unreadable_pointer_is_an_error_that_names_it(storage, body):
    (Path(storage.root) / "latest.json").write_bytes(body)

    with pytest.raises(ReleaseDamagedError, match=r"latest\.json cannot be read as Latest"):
        latest_release(storage)
