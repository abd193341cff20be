"""The body of an HTTP response, decoded, and known to be whole when its end is reached."""

import zlib
from collections.abc import Iterator

import requests
import urllib3

from connectors.errors import SourceUnavailableError, WireFormatError
from connectors.urls import redact_url

CHUNK_BYTES = 1 << 20

_GZIP_WINDOW_BITS = 31


def iter_body(response: requests.Response, chunk_bytes: int = CHUNK_BYTES) -> Iterator[bytes]:
    """Yield the decoded body in bounded chunks and make sure that it came to its end.

    Neither requests nor zlib complains about a gzip stream that stops in its middle, and requests
    does not compare the bytes it got with Content-Length: a cut-off price list would look like a
    short one.

    Raises:
        SourceUnavailableError: the connection broke, or the body is shorter than announced.
        WireFormatError: the body is in an encoding that was not asked for.
    """
    url = redact_url(response.url)
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    chunks = _count(_received(response, chunk_bytes, url), response, url)
    if encoding in {"gzip", "x-gzip"}:
        return _gunzip(chunks, chunk_bytes, url)
    if encoding in {"identity", ""}:
        return chunks
    raise WireFormatError(
        f"expected the content encoding gzip or identity, got {encoding!r}; "
        "only these are accepted, so something between here and the source changed the answer",
        url=url,
    )


def _received(response: requests.Response, chunk_bytes: int, url: str) -> Iterator[bytes]:
    try:
        if isinstance(response.raw, urllib3.BaseHTTPResponse):
            yield from response.raw.stream(chunk_bytes, decode_content=False)
        else:
            while chunk := response.raw.read(chunk_bytes):
                yield chunk
    except (urllib3.exceptions.HTTPError, requests.RequestException, OSError) as exc:
        raise SourceUnavailableError(
            f"the body broke off ({type(exc).__name__}); fetch it again", url=url
        ) from exc


def _count(chunks: Iterator[bytes], response: requests.Response, url: str) -> Iterator[bytes]:
    received = 0
    for chunk in chunks:
        received += len(chunk)
        yield chunk
    declared = response.headers.get("Content-Length", "")
    if declared.isdecimal() and received != int(declared):
        raise SourceUnavailableError(
            f"expected a body of {declared} bytes, got {received}; fetch it again", url=url
        )


def _gunzip(chunks: Iterator[bytes], chunk_bytes: int, url: str) -> Iterator[bytes]:
    # A gzip body may be several members one after the other, and may end in zero padding.
    decoder = zlib.decompressobj(_GZIP_WINDOW_BITS)
    try:
        for chunk in chunks:
            pending = _after_member(decoder, chunk)
            while pending:
                if decoder.eof:
                    decoder = zlib.decompressobj(_GZIP_WINDOW_BITS)
                yield from _inflate(decoder, pending, chunk_bytes)
                pending = _after_member(decoder, decoder.unused_data)
    except zlib.error as exc:
        raise SourceUnavailableError(
            f"the gzip body is damaged ({exc}); fetch it again", url=url
        ) from exc
    if not decoder.eof:
        raise SourceUnavailableError("the gzip body stops before its end; fetch it again", url=url)


def _after_member(decoder: "zlib._Decompress", data: bytes) -> bytes:
    return data.lstrip(b"\0") if decoder.eof else data


def _inflate(decoder: "zlib._Decompress", data: bytes, chunk_bytes: int) -> Iterator[bytes]:
    while True:
        decoded = decoder.decompress(data, chunk_bytes)
        if decoded:
            yield decoded
        data = decoder.unconsumed_tail
        # A full chunk may leave output inside the decoder although all input is consumed.
        if decoder.eof or (not data and len(decoded) < chunk_bytes):
            return
