"""A fake AWS: the bulk price files, the two calls of the API that list them, the spot feed."""

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime

from support.encode_savings_plans import encode_savings_plan_index
from support.fake_http import Reply, Request

_SERVICE = "AmazonEC2"
_PLAN = "AWSComputeSavingsPlan"


class FakeAws:
    """Serves offer files and savings plans of one partition; serve two for AWS and AWS China.

    Its attributes may be changed while it is being served.

    offers: region to the bytes of its index.csv.
    savings_plans: region to the bytes of its savings plan index.csv.
    spot_feed: the bytes of the public spot feed; None where there is none.
    version, plans_version: 14 digits, the version that the index and the urls of all files name.
    """

    def __init__(
        self,
        offers: Mapping[str, bytes],
        *,
        savings_plans: Mapping[str, bytes] | None = None,
        spot_feed: bytes | None = None,
        version: str = "20260705120000",
        plans_version: str = "20260705130000",
        partition: str = "aws",
        has_etags: bool = True,
        gzips: bool = True,
    ) -> None:
        self.offers = dict(offers)
        self.savings_plans = dict(savings_plans or {})
        self.spot_feed = spot_feed
        self.spot_feed_date = "Sat, 22 Aug 2026 05:00:00 GMT"
        self.version = version
        self.plans_version = plans_version
        self.partition = partition
        self.has_etags = has_etags
        self.gzips = gzips
        self.list_page_size = 100

    def answer(self, request: Request) -> Reply | None:
        if "x-amz-target" in request.headers:
            return self._answer_call(request)
        offers = f"/offers/v1.0/{self.partition}/{_SERVICE}"
        plans = f"/savingsPlan/v1.0/{self.partition}/{_PLAN}"
        if request.path == f"{offers}/current/region_index.json":
            return self._offer_index(offers)
        if request.path == f"{plans}/current/region_index.json":
            return self._plan_index()
        if request.path == "/spot.json" and self.spot_feed is not None:
            headers = {"Content-Type": "application/json", "Last-Modified": self.spot_feed_date}
            return Reply(200, headers, self.spot_feed)
        return self._file(offers, self.version, self.offers, request) or self._file(
            plans, self.plans_version, self.savings_plans, request
        )

    def _offer_index(self, root: str) -> Reply:
        index = {
            "formatVersion": "v1.0",
            "disclaimer": "This pricing list is for informational purposes only.",
            "publicationDate": _published_at(self.version),
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

    def _plan_index(self) -> Reply:
        body = encode_savings_plan_index(
            dict.fromkeys(self.savings_plans, self.plans_version),
            published_at=_published_at(self.plans_version),
            partition=self.partition,
        )
        return Reply(200, {"Content-Type": "application/json"}, body)

    def _file(
        self, root: str, version: str, files: Mapping[str, bytes], request: Request
    ) -> Reply | None:
        """Answer for `<root>/<version>/<region>/index.csv`."""
        folder, _, name = request.path.rpartition("/")
        body = files.get(folder.removeprefix(f"{root}/{version}/"))
        if body is None or name != "index.csv":
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


def _published_at(version: str) -> str:
    at = datetime.strptime(version, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")
