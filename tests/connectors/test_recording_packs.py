import hashlib

import pytest

from connectors.errors import RecordingError
from connectors.recording_packs import unpack, write_pack

BODIES = (b"first " * 1000, b"", b"third " * 3000)


@pytest.fixture
def pack(tmp_path):
    paths = [tmp_path / f"body{number}" for number in range(len(BODIES))]
    for path, body in zip(paths, BODIES, strict=True):
        path.write_bytes(body)
    name = write_pack(tmp_path / "packs", "host", paths, scratch=tmp_path)
    return tmp_path / "packs" / name


def sizes(*bodies: bytes) -> dict[str, int]:
    return {hashlib.sha256(body).hexdigest(): len(body) for body in bodies}


def test_name_of_a_pack_is_its_digest(pack):
    assert pack.name == f"host-{hashlib.sha256(pack.read_bytes()).hexdigest()[:12]}.xz"


def test_bodies_are_read_independently_of_each_other(pack):
    unpacked = unpack(pack, sizes(*BODIES))
    first, empty, third = (unpacked.open(sha256) for sha256 in sizes(*BODIES))

    assert third.read(12) + first.read(6) + empty.read() == b"third third first "
    assert first.read() == BODIES[0][6:]
    assert third.read() == BODIES[2][12:]

    unpacked.close()


def test_pack_that_is_missing_is_an_error(tmp_path):
    with pytest.raises(RecordingError, match=r"host.xz of the recording cannot be read"):
        unpack(tmp_path / "host.xz", {})


@pytest.mark.parametrize("claimed", [BODIES[::-1], (*BODIES, b"fourth")])
def test_pack_that_holds_something_else_is_an_error(pack, claimed):
    with pytest.raises(RecordingError, match="does not hold what the index"):
        unpack(pack, sizes(*claimed))
