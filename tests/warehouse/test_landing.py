import dataclasses
import hashlib
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from warehouse.errors import DocumentDamagedError, DocumentMissingError, LandingBusyError
from warehouse.landing import LandedRun, LandingStore, Pruned, part_key
from warehouse.schemas.documents import Document, StoredBody, Validators

URL = "https://prices.example/us-east-1/index.csv?X-Amz-Signature=secret"


@pytest.fixture
def root(tmp_path) -> Path:
    return tmp_path / "landing"


@pytest.fixture
def store(root) -> LandingStore:
    return LandingStore(root)


def document(stored: StoredBody, source_id: str = "aws_price_list/us-east-1") -> Document:
    return Document(
        source_id=source_id,
        source="aws_price_list",
        provider="aws",
        region_id="us-east-1",
        url="https://prices.example/us-east-1/index.csv",
        fetched_at=datetime(2026, 8, 22, 3, 30, tzinfo=UTC),
        confirmed_at=datetime(2026, 8, 23, 3, 30, tzinfo=UTC),
        published_at=datetime(2026, 7, 5, tzinfo=UTC),
        version="20260705000000",
        media_type="text/csv",
        sha256=stored.sha256,
        bytes=stored.bytes,
    )


def files(root: Path, pattern: str) -> list[Path]:
    return sorted(path for path in root.glob(pattern) if path.is_file())


def forget_confirmation(record: Path) -> None:
    """Make of a record what was saved before documents had confirmed_at."""
    lines = record.read_text().splitlines(keepends=True)
    kept = [line for line in lines if '"confirmed_at"' not in line]
    assert len(kept) == len(lines) - 1
    record.write_text("".join(kept))


# Bodies


def test_body_is_named_by_the_digest_of_its_decoded_bytes_and_comes_back_whole(store, root):
    chunks = [b"sku,price\n", b"A,1\n" * 100_000, b""]
    body = b"".join(chunks)
    sha256 = hashlib.sha256(body).hexdigest()

    stored = store.put(iter(chunks))

    assert stored == StoredBody(sha256, len(body))
    path = root / "objects" / sha256[:2] / f"{sha256}.zst"
    assert path.stat().st_size < len(body) / 100
    with store.open(sha256) as stream:
        assert stream.read() == body


def test_body_is_read_in_any_pieces(store):
    body = bytes(range(256)) * 5000
    stored = store.put([body])

    with store.open(stored.sha256) as stream:
        pieces = [stream.read(10), stream.readline(), *iter(lambda: stream.read(70_000), b"")]

    assert b"".join(pieces) == body


def test_empty_body_is_a_body(store):
    stored = store.put([])

    with store.open(stored.sha256) as stream:
        assert stream.read() == b""


def test_equal_bodies_are_one_object_and_nothing_is_left_beside(store, root):
    assert store.put([b"ab", b"c"]) == store.put([b"abc"])

    assert len(files(root, "objects/*/*")) == 1
    assert files(root, "incoming/*") == []


def test_body_that_breaks_off_leaves_nothing(store, root):
    def chunks():
        yield b"half"
        raise ConnectionError

    with pytest.raises(ConnectionError):
        store.put(chunks())

    assert files(root, "**/*") == []


def test_body_may_be_put_by_many_at_once(store, root):
    start = threading.Barrier(4)

    def put(_number):
        start.wait()
        return store.put([b"x" * 1000] * 100)

    with ThreadPoolExecutor(4) as pool:
        stored = set(pool.map(put, range(4)))

    assert len(stored) == 1
    with store.open(stored.pop().sha256) as stream:
        assert stream.read() == b"x" * 100_000
    assert len(files(root, "**/*")) == 1


def test_missing_body_is_an_error_that_names_it(store):
    with pytest.raises(DocumentMissingError, match="no document abab"):
        store.open("ab" * 32)


def flip_a_bit(body: bytes) -> bytes:
    return body[:100] + bytes([body[100] ^ 1]) + body[101:]


@pytest.mark.parametrize(
    "damage",
    [flip_a_bit, lambda body: body[: len(body) // 2], lambda _: b"", lambda _: b"no zstd at all"],
    ids=["flipped bit", "cut off", "empty", "something else"],
)
def test_damaged_body_is_an_error_that_says_what_to_do(store, root, damage):
    body = b"".join(hashlib.sha256(b"%d" % number).digest() for number in range(5000))
    stored = store.put([body])
    path = files(root, "objects/*/*")[0]
    path.write_bytes(damage(path.read_bytes()))

    with (
        pytest.raises(DocumentDamagedError, match=rf"{stored.sha256} is damaged.*delete {path}"),
        store.open(stored.sha256) as stream,
    ):
        stream.read()


def test_damaged_body_is_repaired_by_putting_it_again(store, root):
    stored = store.put([b"abc"])
    files(root, "objects/*/*")[0].write_bytes(b"")

    store.put([b"abc"])

    with store.open(stored.sha256) as stream:
        assert stream.read() == b"abc"


@pytest.mark.parametrize("name", ["../../etc/passwd", "AB" * 32, "ab", ""])
def test_name_that_is_no_digest_is_refused(store, name):
    with pytest.raises(ValueError, match="expected the SHA-256 of a document"):
        store.open(name)


# Validators


def test_validators_are_remembered_per_url_and_replaced(store):
    first = Validators('"one"', None, document(store.put([b"1"])))
    second = Validators('W/"two"', "Sun, 05 Jul 2026 00:00:00 GMT", document(store.put([b"2"])))

    assert store.validators(URL) is None
    store.remember(URL, first)
    store.remember(URL + "&more", first)
    store.remember(URL, second)

    assert store.validators(URL) == second
    assert store.validators(URL + "&more") == first


def test_url_with_its_secret_is_not_kept(store, root):
    store.remember(URL, Validators('"one"', None, document(store.put([b"1"]))))

    for path in files(root, "**/*"):
        assert b"secret" not in path.read_bytes()
        assert "secret" not in path.name


def test_validators_without_their_body_are_none(store, root):
    store.remember(URL, Validators('"one"', None, document(store.put([b"1"]))))
    files(root, "objects/*/*")[0].unlink()

    assert store.validators(URL) is None


def test_unreadable_validators_are_none_and_logged(store, root, caplog):
    store.remember(URL, Validators('"one"', None, document(store.put([b"1"]))))
    files(root, "validators/*")[0].write_bytes(b"")

    assert store.validators(URL) is None
    assert "passing over unreadable validators" in caplog.text


def test_validators_of_a_document_without_its_confirmation_are_none(store, root):
    store.remember(URL, Validators('"one"', None, document(store.put([b"1"]))))
    forget_confirmation(*files(root, "validators/*"))

    assert store.validators(URL) is None


# Runs


def test_run_comes_back_as_it_was_saved(store):
    one = document(store.put([b"1"]), "aws_price_list/us-east-1")
    two = document(store.put([b"2"]), "aws_price_list/eu-central-1")
    facts = {"as_of": "2026-08-22T03:30:00Z", "regions": ["us-east-1"], "accept_jumps": False}

    store.save_run("20260822T033000Z", [one, two], facts, parts=["cd" * 32, "ab" * 32])

    assert store.load_run("20260822T033000Z") == LandedRun(
        "20260822T033000Z", (two, one), facts, ("ab" * 32, "cd" * 32)
    )
    assert store.runs() == ("20260822T033000Z",)


def test_order_of_documents_does_not_change_a_bit_of_the_record(store, root):
    documents = [document(store.put([b"%d" % n]), f"aws_price_list/{n}") for n in range(5)]

    store.save_run("a", documents, {"x": 1, "y": 2})
    store.save_run("b", reversed(documents), {"y": 2, "x": 1})

    a, b = (path.read_bytes() for path in files(root, "runs/*/run.json"))
    assert a.replace(b'"run_id": "a"', b'"run_id": "b"') == b


def test_run_saved_again_is_replaced(store):
    store.save_run("a", [], {"attempt": 1})
    store.save_run("a", [], {"attempt": 2})

    assert store.load_run("a").facts == {"attempt": 2}


def test_run_that_could_not_be_repeated_is_not_saved(store):
    lost = document(StoredBody("ab" * 32, 3))

    with pytest.raises(DocumentMissingError, match=r"aws_price_list/us-east-1 of sha256 abab"):
        store.save_run("a", [lost], {})
    assert store.runs() == ()


def test_unknown_run_names_those_there_are(store):
    with pytest.raises(DocumentMissingError, match="no run b; the newest are: none"):
        store.load_run("b")
    store.save_run("a", [], {})
    with pytest.raises(DocumentMissingError, match="no run b; the newest are: a"):
        store.load_run("b")


def test_damaged_run_is_an_error(store, root):
    store.save_run("a", [], {})
    (root / "runs" / "a" / "run.json").write_text("{}")

    with pytest.raises(DocumentDamagedError, match="missing required field"):
        store.load_run("a")


def test_run_saved_without_confirmations_is_an_error_that_names_them(store, root):
    store.save_run("a", [document(store.put([b"1"]))], {})
    forget_confirmation(root / "runs" / "a" / "run.json")

    with pytest.raises(
        DocumentDamagedError,
        match=r"runs/a/run.json .*`confirmed_at` - at `\$.documents\[0\]`; delete it and run again",
    ):
        store.load_run("a")


@pytest.mark.parametrize("run_id", ["", "..", "a/b", ".hidden"])
def test_run_id_that_leads_elsewhere_is_refused(store, run_id):
    with pytest.raises(ValueError, match="expected a run id"):
        store.save_run(run_id, [], {})


# Parts


def test_part_key_is_of_documents_and_code_and_of_nothing_else(store):
    one = document(store.put([b"1"]), "a")
    two = document(store.put([b"2"]), "b")
    key = part_key([one, two], code_fingerprint="c")

    new_year = datetime(2027, 1, 1, tzinfo=UTC)
    later = dataclasses.replace(one, fetched_at=new_year, confirmed_at=new_year)
    assert part_key([two, later], code_fingerprint="c") == key
    assert part_key([one, two], code_fingerprint="d") != key
    assert part_key([one], code_fingerprint="c") != key
    swapped = [
        dataclasses.replace(one, sha256=two.sha256),
        dataclasses.replace(two, sha256=one.sha256),
    ]
    assert part_key(swapped, code_fingerprint="c") != key


def make_part(store: LandingStore, content: str) -> Path:
    directory = store.new_part_directory()
    (directory / "prices.parquet").write_text(content)
    return directory


def test_part_is_there_whole_or_not_at_all(store):
    key = "ab" * 32
    directory = make_part(store, "rows")
    assert store.part_directory(key) is None

    committed = store.commit_part(key, directory)

    assert store.part_directory(key) == committed
    assert (committed / "prices.parquet").read_text() == "rows"
    assert not directory.exists()


def test_part_that_another_writer_committed_first_stays(store, root):
    first, second = make_part(store, "rows"), make_part(store, "rows again")
    committed = store.commit_part("ab" * 32, first)

    assert store.commit_part("ab" * 32, second) == committed

    assert (committed / "prices.parquet").read_text() == "rows"
    assert list((root / "incoming").iterdir()) == []


def test_part_may_be_committed_by_many_at_once(store):
    directories = [make_part(store, "rows") for _ in range(4)]
    start = threading.Barrier(4)

    def commit(directory):
        start.wait()
        return store.commit_part("ab" * 32, directory)

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(commit, directories)) == {store.part_directory("ab" * 32)}


def test_part_that_is_discarded_can_be_made_again(store):
    key = "ab" * 32
    store.commit_part(key, make_part(store, "damaged"))
    store.discard_part(key)
    assert store.part_directory(key) is None
    again = store.commit_part(key, make_part(store, "whole"))
    assert [file.read_text() for file in again.iterdir()] == ["whole"]


def test_part_that_was_never_made_is_an_error(store, tmp_path):
    with pytest.raises(FileNotFoundError):
        store.commit_part("ab" * 32, tmp_path / "nowhere")


# In use


def leave_remains(store: LandingStore) -> None:
    make_part(store, "of a part that was never committed")
    (store.new_work_directory() / "prices.parquet").write_bytes(b"of a release that never was")


def test_first_run_in_deletes_what_killed_runs_left_half_written(store, root):
    body = store.put([b"whole"])
    leave_remains(store)

    with store.in_use():
        assert files(root, "incoming/*") == []
        assert store.open(body.sha256).read() == b"whole"


def test_run_that_joins_another_deletes_nothing_of_its_work(store, root):
    with store.in_use():
        leave_remains(store)
        with LandingStore(root).in_use():
            assert len(files(root, "incoming/*/*")) == 2


def test_store_can_be_joined_while_it_is_in_use_and_pruned_when_it_is_not(store, root):
    with store.in_use():
        with LandingStore(root).in_use():
            pass
        with pytest.raises(LandingBusyError):
            LandingStore(root).prune(keep_runs=1)
    store.prune(keep_runs=1)


# Prune


def test_prune_keeps_the_last_runs_and_all_that_they_need(store, root):
    shared = document(store.put([b"shared"]), "shared")
    for number in range(4):
        own = document(store.put([b"own %d" % number]), "own")
        store.remember(f"https://prices.example/{number}", Validators('"v"', None, own))
        key = f"{number}" * 64
        store.commit_part(key, make_part(store, "rows"))
        store.save_run(f"2026080{number}T000000Z", [shared, own], {}, parts=[key])
    store.put([b"in no run"])
    make_part(store, "left over by a killed run")

    pruned = store.prune(keep_runs=2)

    assert pruned == Pruned(runs=2, objects=3, validators=2, parts=2)
    assert store.runs() == ("20260802T000000Z", "20260803T000000Z")
    for run_id in store.runs():
        run = store.load_run(run_id)
        for kept in run.documents:
            with store.open(kept.sha256) as stream:
                stream.read()
        assert all(store.part_directory(key) for key in run.parts)
    assert store.validators("https://prices.example/3") is not None
    assert store.validators("https://prices.example/1") is None
    assert len(files(root, "objects/*/*")) == 3
    assert not (root / "incoming").exists()
    assert store.prune(keep_runs=2) == Pruned(0, 0, 0, 0)


def test_prune_waits_for_nobody_and_harms_nobody_at_work(store, root):
    body = store.put([b"of a run that is not saved yet"])

    with store.in_use(), LandingStore(root).in_use():
        with pytest.raises(LandingBusyError, match="is in use"):
            LandingStore(root).prune(keep_runs=1)
        assert store.open(body.sha256).read() == b"of a run that is not saved yet"

    store.prune(keep_runs=1)


def test_prune_to_nothing_is_refused(store):
    with pytest.raises(ValueError, match="keep_runs must be 1 or more, got 0"):
        store.prune(keep_runs=0)
