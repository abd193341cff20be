"""A fake of the European Central Bank's reference rates."""

from support.fake_http import Reply, Request


class FakeEcb:
    """Serves one file; see `support.encode_ecb` for its bytes."""

    def __init__(self, body: bytes) -> None:
        self.body = body

    def answer(self, request: Request) -> Reply | None:
        if not request.path.endswith("/eurofxref-daily.xml"):
            return None
        return Reply(200, {"Content-Type": "text/xml"}, self.body).gzipped_for(request)
