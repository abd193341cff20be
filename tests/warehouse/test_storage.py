import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from warehouse.errors import (
    LockHeldError,
    ObjectExistsError,
    ObjectMissingError,
    PointerMovedError,
    StorageError,
)
from warehouse.storage import LocalStorage, StoredObject, open_storage


@pytest.fixture
def storage(tmp_path):
    return LocalStorage(tmp_path / "root")


def test_object_is_written_once_and_never_overwritten(storage):
    storage.put_new("releases/a/x.json", b"first")

    with pytest.raises(ObjectExistsError, match=r"releases/a/x\.json is in .*never overwritten"):
        storage.put_new("releases/a/x.json", b"second")
    assert storage.read("releases/a/x.json") == b"first"


@pytest.mark.parametrize("single_put_bytes", [1 << 20, 100], ids=["whole", "in parts"])
def test_file_is_written_once_and_never_overwritten(tmp_path, single_put_bytes):
    storage = LocalStorage(tmp_path / "root", single_put_bytes=single_put_bytes)
    source = tmp_path / "source"
    source.write_bytes(bytes(range(256)) * 10)

    storage.put_file("a/copy", source)
    source.write_bytes(b"changed" * 100)

    with pytest.raises(ObjectExistsError):
        storage.put_file("a/copy", source)
    assert storage.read("a/copy") == bytes(range(256)) * 10


def test_missing_source_file_is_an_error_that_names_it(storage, tmp_path):
    with pytest.raises(StorageError, match="nowhere"):
        storage.put_file("a/copy", tmp_path / "nowhere")


def test_missing_object_is_an_error_that_names_it_with_and_without_a_root(storage):
    with pytest.raises(ObjectMissingError, match="there is no a/b in"):
        storage.read("a/b")
    storage.put_new("other", b"")
    with pytest.raises(ObjectMissingError, match="there is no a/b in"):
        storage.read("a/b")


def test_large_object_is_read_in_pieces(storage, tmp_path):
    source = tmp_path / "source"
    source.write_bytes(b"x" * (5 << 20))
    storage.put_file("large", source)

    sizes = [len(chunk) for chunk in storage.chunks("large")]

    assert sum(sizes) == 5 << 20
    assert len(sizes) > 2


def test_listing_is_sorted_deep_and_with_sizes(storage):
    for path in ("r/b/q/2", "r/a/1", "r/b/1", "s/1"):
        storage.put_new(path, path.encode())

    assert storage.objects("r") == (
        StoredObject("r/a/1", 5),
        StoredObject("r/b/1", 5),
        StoredObject("r/b/q/2", 7),
    )
    assert storage.directories("r") == ("r/a", "r/b")


def test_reading_creates_nothing(storage, tmp_path):
    assert storage.objects("r") == ()
    assert storage.directories("r") == ()
    assert storage.read_pointer("latest.json") is None
    assert not (tmp_path / "root").exists()


def test_deleted_directory_takes_half_written_files_along(storage, tmp_path):
    storage.put_new("r/a/1", b"1")
    storage.put_new("r/b/1", b"1")
    (tmp_path / "root" / "r" / "a" / "2#1").write_bytes(b"half")

    storage.delete_directory("r/a")
    storage.delete_directory("r/never")

    assert not (tmp_path / "root" / "r" / "a").exists()
    assert storage.directories("r") == ("r/b",)


def test_pointer_is_set_only_by_who_knows_its_present_content(storage):
    storage.compare_and_set("latest.json", b"one", expected=None)
    first = storage.read_pointer("latest.json")
    storage.compare_and_set("latest.json", b"two", expected=first.token)

    with pytest.raises(PointerMovedError, match=r"latest\.json .* is not what was read before"):
        storage.compare_and_set("latest.json", b"three", expected=first.token)
    with pytest.raises(PointerMovedError, match="expected no such object"):
        storage.compare_and_set("latest.json", b"three", expected=None)
    assert storage.read_pointer("latest.json").body == b"two"


def test_of_many_that_set_one_pointer_at_once_exactly_one_wins(storage):
    start = threading.Barrier(8)

    def set_pointer(number):
        start.wait()
        try:
            storage.compare_and_set("latest.json", f"{number}".encode(), expected=None)
        except PointerMovedError:
            return None
        return number

    with ThreadPoolExecutor(8) as pool:
        winners = [won for won in pool.map(set_pointer, range(8)) if won is not None]

    assert len(winners) == 1
    assert storage.read_pointer("latest.json").body == f"{winners[0]}".encode()


def test_held_lock_is_refused_at_once_and_names_its_holder(storage, tmp_path):
    with (
        storage.exclusive("publish", "process 7 on elsewhere"),
        pytest.raises(LockHeldError, match="process 7 on elsewhere"),
        LocalStorage(tmp_path / "root").exclusive("publish", "me"),
    ):
        pytest.fail("two hold one lock")

    with storage.exclusive("publish", "me"), storage.exclusive("another", "me"):
        pass


def test_lock_is_free_again_after_an_error_of_its_holder(storage):
    with pytest.raises(BlockingIOError), storage.exclusive("publish", "me"):
        raise BlockingIOError
    with storage.exclusive("publish", "me"):
        pass


def test_durable_directory_is_flushed_with_its_parents(storage, monkeypatch, tmp_path):
    storage.put_new("releases/a/q/1", b"1")
    flushed = []
    monkeypatch.setattr("warehouse.storage._flush", flushed.append)

    storage.make_durable("releases/a")

    root = tmp_path / "root"
    expected = {"releases/a/q/1", "releases/a/q", "releases/a", "releases", "."}
    assert {str(path.relative_to(root)) for path in flushed} == expected


@pytest.mark.parametrize("spell", [str, lambda path: path, lambda path: path.as_uri()])
def test_root_is_a_path_or_a_file_url(tmp_path, spell):
    root = tmp_path / "with space"

    assert open_storage(spell(root)).root == str(root)


@pytest.mark.parametrize(
    ("root", "named"),
    [
        ("s3://bucket/prefix?X-Amz-Signature=secret", "s3://bucket/prefix: expected a local path"),
        ("az://user:secret@container/x", "az://container/x"),
        ("file://elsewhere/x", "file://elsewhere/x"),
    ],
)
def test_other_root_is_refused_with_what_is_supported_and_without_secrets(root, named):
    with pytest.raises(StorageError, match=named) as caught:
        open_storage(root)
    assert "secret" not in str(caught.value)


def test_root_that_is_a_file_is_an_error_that_names_it(tmp_path):
    (tmp_path / "root").write_text("not a directory")

    with pytest.raises(StorageError, match="root"):
        LocalStorage(tmp_path / "root").put_new("a", b"")
