import gzip
import io

import pytest
import requests

from connectors.errors import SourceUnavailableError, WireFormatError
from connectors.http_body import iter_body

PLAIN = bytes(range(256)) * 40


def response(body: bytes, **headers: str) -> requests.Response:
    made = requests.Response()
    made.url = "https://h/a?sig=secret"
    made.headers.update({name.replace("_", "-"): value for name, value in headers.items()})
    made.raw = io.BytesIO(body)
    return made


@pytest.mark.parametrize("chunk_bytes", [1, 7, 256, 1 << 20])
@pytest.mark.parametrize(
    "encoded",
    [
        gzip.compress(PLAIN),
        gzip.compress(PLAIN[:5000]) + gzip.compress(PLAIN[5000:]),
        gzip.compress(PLAIN) + bytes(20),
    ],
    ids=["one member", "two members", "zero padding"],
)
def test_gzip_is_decoded_in_chunks_of_bounded_size(encoded, chunk_bytes):
    chunks = list(iter_body(response(encoded, Content_Encoding="gzip"), chunk_bytes))

    assert b"".join(chunks) == PLAIN
    assert max(map(len, chunks)) <= chunk_bytes


def test_a_small_gzip_body_that_is_large_does_not_come_in_one_piece():
    bomb = gzip.compress(bytes(8 << 20))

    sizes = [len(chunk) for chunk in iter_body(response(bomb, Content_Encoding="gzip"), 1 << 20)]

    assert sum(sizes) == 8 << 20
    assert max(sizes) <= 1 << 20


@pytest.mark.parametrize("missing", [1, 8, 100])
def test_gzip_that_stops_before_its_end_is_no_whole_body(missing):
    cut = gzip.compress(PLAIN)[:-missing]

    with pytest.raises(SourceUnavailableError, match="stops before its end") as caught:
        list(iter_body(response(cut, Content_Encoding="gzip")))

    assert caught.value.url == "https://h/a?sig=REDACTED"


def test_damaged_gzip_is_no_whole_body():
    damaged = bytearray(gzip.compress(PLAIN))
    damaged[-6] ^= 0xFF

    with pytest.raises(SourceUnavailableError, match="damaged"):
        list(iter_body(response(bytes(damaged), Content_Encoding="gzip")))


@pytest.mark.parametrize("declared", [len(PLAIN) + 1, len(PLAIN) - 1])
def test_length_that_was_announced_must_come(declared):
    with pytest.raises(SourceUnavailableError, match=f"{declared} bytes, got {len(PLAIN)}"):
        list(iter_body(response(PLAIN, Content_Length=str(declared))))


def test_encoding_that_was_not_asked_for_is_refused():
    with pytest.raises(WireFormatError, match="'br'"):
        iter_body(response(PLAIN, Content_Encoding="br"))
