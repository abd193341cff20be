"""A fake AWS Price List: the bulk files, and the two calls of its API that list them."""

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime

from support.fake_http import Reply, Request

_SERVICE = "AmazonEC2"


class FakeAws:
    """Serves offer files. Its attributes may be changed while it is being served.

    offers: region to the bytes of its index.csv.
    version: 14 digits, the version that the index and the urls of all files name.
    """

    def __init__(
        self,
        offers: Mapping[str, bytes],
        *,
        version: str = "20260705120000",
        partition: str = "aws",
        has_etags: bool = True,
        gzips: bool = True,
    ) -> None:
        self.offers = dict(offers)
        self.version = version
        self.partition = partition
        self.has_etags = has_etags
        self.gzips = gzips
        self.list_page_size = 100

    @property
    def published_at(self) -> str:
        at = datetime.strptime(self.version, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
        return at.strftime("%Y-%m-%dT%H:%M:%SZ")

    def answer(self, request: Request) -> Reply | None:
        if "x-amz-target" in request.headers:
            return self._answer_call(request)
        root = f"/offers/v1.0/{self.partition}/{_SERVICE}"
        if request.path == f"{root}/current/region_index.json":
            return self._index(root)
        path = request.path.removeprefix(f"{root}/").split("/")
        if len(path) == 3 and path[0] == self.version and path[2] == "index.csv":
            return self._offer(path[1], request)
        return None

    def _index(self, root: str) -> Reply:
        index = {
            "formatVersion": "v1.0",
            "disclaimer": "This pricing list is for informational purposes only.",
            "publicationDate": self.published_at,
            "regions": {
                region: {
                    "regionCode": region,
                    "currentVersionUrl": f"{root}/{self.version}/{region}/index.json",
                }
                for region in self.offers
            },
        }
        body = json.dumps(index, indent=2, separators=(",", " : ")).encode()
        return Reply(200, {"Content-Type": "application/json"}, body)

    def _offer(self, region: str, request: Request) -> Reply | None:
        body = self.offers.get(region)
        if body is None:
            return None
        headers = {"Content-Type": "text/csv"}
        if self.has_etags:
            etag = f'"{hashlib.md5(body).hexdigest()}"'
            headers |= {"ETag": etag, "Last-Modified": "Sun, 05 Jul 2026 12:00:00 GMT"}
            if request.headers.get("if-none-match") == etag:
                return Reply(304, headers)
        reply = Reply(200, headers, body)
        return reply.gzipped_for(request) if self.gzips else reply

    def _answer_call(self, request: Request) -> Reply:
        call = request.headers["x-amz-target"].rpartition(".")[2]
        asked = json.loads(request.body)
        answer = self._list(asked) if call == "ListPriceLists" else self._file_url(asked, request)
        return Reply(
            200, {"Content-Type": "application/x-amz-json-1.1"}, json.dumps(answer).encode()
        )

    def _list(self, asked: Mapping[str, str]) -> dict[str, object]:
        currency = asked["CurrencyCode"]
        lists = [
            {
                "PriceListArn": f"arn:aws:pricing:::price-list/aws/{asked['ServiceCode']}/"
                f"{currency}/{self.version}/{region}",
                "RegionCode": region,
                "CurrencyCode": currency,
                "FileFormats": ["json", "csv"],
            }
            for region in self.offers
        ]
        start = int(asked.get("NextToken", "0"))
        end = start + self.list_page_size
        more = {"NextToken": str(end)} if end < len(lists) else {}
        return {"PriceLists": lists[start:end], **more}

    def _file_url(self, asked: Mapping[str, str], request: Request) -> dict[str, str]:
        *_, version, region = asked["PriceListArn"].split("/")
        path = f"/offers/v1.0/{self.partition}/{_SERVICE}/{version}/{region}"
        return {"Url": f"{request.base_url}{path}/index.{asked['FileFormat']}?X-Amz-Signature=s3cr"}
