"""A transport that stands where the network stands, and answers from collected prices."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from email.utils import format_datetime
from hashlib import sha256
from io import BytesIO
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from requests import PreparedRequest, Response
from requests.adapters import BaseAdapter
from requests.structures import CaseInsensitiveDict
from urllib3 import HTTPResponse

from recording import aws_china, aws_facts, aws_savings_plans, aws_spot, azure_facts, ecb_facts
from support.encode_aws import encode_offer_csv, encode_region_index, offer_file_path
from support.encode_azure import PAGE_SIZE, encode_error, encode_page, next_page_link
from support.encode_ecb import encode_reference_rates
from support.encode_savings_plans import (
    encode_savings_plan_csv,
    encode_savings_plan_index,
    savings_plan_path,
)
from support.encode_spot import encode_spot_feed

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from recording.selection import Selection
    from support.encode_azure import Item

REGION_INDEX_PATH = "/offers/v1.0/aws/AmazonEC2/current/region_index.json"
CHINA_INDEX_PATH = "/offers/v1.0/cn/AmazonEC2/current/region_index.json"
SAVINGS_PLAN_INDEX_PATH = "/savingsPlan/v1.0/aws/AWSComputeSavingsPlan/current/region_index.json"
SPOT_FEED_PATH = "/spot.json"
RETAIL_PRICES_PATH = "/api/retail/prices"
REFERENCE_RATES_PATH = "/stats/eurofxref/eurofxref-daily.xml"

_REGION_AND_TYPE = re.compile(
    r"armRegionName eq '(?P<region>[^']+)'.*priceType eq '(?P<type>[^']+)'"
    r"|priceType eq '(?P<type_first>[^']+)'.*armRegionName eq '(?P<region_last>[^']+)'"
)


@dataclass(frozen=True, slots=True)
class Body:
    """A file as a provider serves it."""

    content: bytes
    media_type: str
    last_modified: datetime | None = None


class CollectedPrices(BaseAdapter):
    """Serves the three sources' documents under any host, made from collected facts.

    `files` are served by path, `retail_items` page by page by region and price type.
    """

    def __init__(
        self,
        files: Mapping[str, Body],
        retail_items: Mapping[tuple[str, str], list[Item]],
    ) -> None:
        """Keep the documents; nothing is encoded before it is asked for but the files."""
        super().__init__()
        self._files = files
        self._retail_items = retail_items

    @property
    def azure_regions(self) -> tuple[str, ...]:
        """The regions that there are retail items of."""
        return tuple(sorted({region_id for region_id, _ in self._retail_items}))

    def send(  # noqa: PLR0917 (the signature is the base class's)
        self,
        request: PreparedRequest,
        stream: bool = False,  # noqa: FBT001, FBT002
        timeout: object = None,
        verify: object = True,  # noqa: FBT002
        cert: object = None,
        proxies: object = None,
    ) -> Response:
        """Answer as the provider does: the file, a page, 400 for a bad filter, or 404."""
        del stream, timeout, verify, cert, proxies
        split = urlsplit(str(request.url))
        if split.path == RETAIL_PRICES_PATH:
            parameters = dict(parse_qsl(split.query, keep_blank_values=True))
            base_url = f"{split.scheme}://{split.netloc}{split.path}"
            return _response(request, *self._page(base_url, parameters))
        if (body := self._files.get(split.path)) is not None:
            return _response(request, 200, body)
        return _response(request, 404, Body(b"", "text/plain"))

    def close(self) -> None:
        """Nothing is held open."""

    def _page(self, base_url: str, parameters: dict[str, str]) -> tuple[int, Body]:
        media_type = "application/json; charset=utf-8"
        match = _REGION_AND_TYPE.search(parameters.get("$filter", ""))
        if match is None:
            return 400, Body(encode_error("Invalid OData parameters supplied"), media_type)
        region_id = match["region"] or match["region_last"]
        items = self._retail_items.get((region_id, match["type"] or match["type_first"]), [])
        skip = int(parameters.get("$skip", "0"))
        end = skip + PAGE_SIZE
        link = next_page_link(base_url, parameters, end) if end < len(items) else None
        return 200, Body(encode_page(items[skip:end], next_page_link=link), media_type)


def read_collected_prices(data: Path, places: Path, selection: Selection) -> CollectedPrices:
    """Encode everything that the recording is to hold; `data` is the folder of collected facts."""
    published_at = datetime.fromisoformat(aws_facts.PUBLISHED_AT)
    files = {
        offer_file_path(region_id, aws_facts.VERSION, "csv"): Body(
            encode_offer_csv(rows, version=aws_facts.VERSION, published_at=aws_facts.PUBLISHED_AT),
            "text/csv",
            published_at,
        )
        for region_id, rows in aws_facts.read_offer_rows(data, places, selection.aws)
    }
    versions = {path.split("/")[-2]: aws_facts.VERSION for path in files}
    files[REGION_INDEX_PATH] = Body(
        encode_region_index(versions, published_at=aws_facts.PUBLISHED_AT),
        "application/json",
        published_at,
    )
    files |= _savings_plans(data) | _china(data, selection)
    files[SPOT_FEED_PATH] = Body(
        encode_spot_feed(aws_spot.read_feed_prices(data, selection.aws)),
        "application/json",
        published_at,
    )
    files[REFERENCE_RATES_PATH] = Body(
        encode_reference_rates(ecb_facts.read_reference_rates(data), rate_date=ecb_facts.RATE_DATE),
        "text/xml",
    )
    retail_items = {
        (region_id, price_type): items
        for region_id, by_type in azure_facts.read_region_items(data, selection.azure)
        for price_type, items in by_type.items()
    }
    return CollectedPrices(files, retail_items)


def _china(data: Path, selection: Selection) -> dict[str, Body]:
    region_id, version = aws_china.BEIJING.region_id, aws_china.VERSION
    published_at = aws_china.PUBLISHED_AT
    csv = encode_offer_csv(
        aws_china.read_offer_rows(data, selection.aws), version=version, published_at=published_at
    )
    index = encode_region_index({region_id: version}, published_at=published_at, partition="cn")
    modified = datetime.fromisoformat(published_at)
    return {
        offer_file_path(region_id, version, "csv", partition="cn"): Body(csv, "text/csv", modified),
        CHINA_INDEX_PATH: Body(index, "application/json", modified),
    }


def _savings_plans(data: Path) -> dict[str, Body]:
    region_id, version = aws_savings_plans.REGION_ID, aws_savings_plans.VERSION
    published_at = aws_savings_plans.PUBLISHED_AT
    csv = encode_savings_plan_csv(
        aws_savings_plans.read_rate_rows(data), version=version, published_at=published_at
    )
    index = encode_savings_plan_index({region_id: version}, published_at=published_at)
    modified = datetime.fromisoformat(published_at)
    return {
        savings_plan_path(region_id, version, "csv"): Body(csv, "text/csv", modified),
        SAVINGS_PLAN_INDEX_PATH: Body(index, "application/json", modified),
    }


def _response(request: PreparedRequest, status: int, body: Body) -> Response:
    headers = {"Content-Type": body.media_type, "Content-Length": str(len(body.content))}
    if body.last_modified is not None:
        headers["Last-Modified"] = format_datetime(body.last_modified, usegmt=True)
        headers["ETag"] = f'"{sha256(body.content).hexdigest()[:32]}"'
    response = Response()
    response.status_code = status
    response.request = request
    response.url = str(request.url)
    response.headers = CaseInsensitiveDict(headers)
    response.raw = HTTPResponse(
        body=BytesIO(body.content), headers=headers, status=status, preload_content=False
    )
    return response
