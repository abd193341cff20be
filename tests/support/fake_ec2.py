"""A fake EC2 API: spot price history, zones and offerings of the regions an account may use."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import parse_qsl

from support.encode_spot import Entry, encode_answer, encode_error
from support.fake_http import Reply, Request

_SCOPE = re.compile(r"Credential=[^/]+/\d+/(?P<region>[^/]+)/ec2/")
_XML = {"Content-Type": "text/xml;charset=UTF-8"}


@dataclass(slots=True)
class FakeRegion:
    """What a region's API knows.

    prices: every change of a spot price, ever, under the keys that the AWS CLI shows.
    offerings: (instance type, zone id).
    zones: the account's zone names to zone ids.
    """

    prices: Sequence[Entry] = ()
    offerings: Sequence[tuple[str, str]] = ()
    zones: Mapping[str, str] = field(default_factory=dict)


class FakeEc2:
    """Serves all regions at one address: a request is signed for the region that it is for.

    regions: a region that is not among them does not know the account.
    page_size: entries a page, if that is fewer than are asked for.
    has_last_token: the last page names "" as the next one, instead of none.
    """

    def __init__(self, regions: Mapping[str, FakeRegion]) -> None:
        self.regions = dict(regions)
        self.page_size = 1000
        self.has_last_token = True
        self.asked: list[dict[str, str]] = []

    def answer(self, request: Request) -> Reply | None:
        scope = _SCOPE.search(request.headers.get("authorization", ""))
        if scope is None:
            return None
        asked = dict(parse_qsl(request.body.decode()))
        self.asked.append({"region": scope["region"], **asked})
        region = self.regions.get(scope["region"])
        if region is None:
            unknown = "AWS was not able to validate the provided access credentials"
            return Reply(401, _XML, encode_error("AuthFailure", unknown))
        element, entries = _ANSWERS[asked["Action"]](region, asked)
        return self._page(asked, element, entries)

    def _page(self, asked: Mapping[str, str], element: str, entries: Sequence[Entry]) -> Reply:
        token = asked.get("NextToken", "0")
        if not token.isdecimal():
            return Reply(400, _XML, encode_error("InvalidNextToken", "The token is not valid"))
        start = int(token)
        end = start + min(self.page_size, int(asked.get("MaxResults", "1000")))
        last_token = "" if self.has_last_token else None
        next_token = str(end) if end < len(entries) else last_token
        page = entries[start:end]
        return Reply(
            200, _XML, encode_answer(asked["Action"], element, page, next_token=next_token)
        )


def _spot_prices(region: FakeRegion, asked: Mapping[str, str]) -> tuple[str, Sequence[Entry]]:
    """Give the changes from start to end and, of each product, the one in force at the start."""
    start, end = (datetime.fromisoformat(asked[name]) for name in ("StartTime", "EndTime"))
    answer: list[Entry] = []
    has_started: set[tuple[str, ...]] = set()
    for price in sorted(region.prices, key=_changed_at, reverse=True):
        product = tuple(text for name, text in price.items() if name not in _OF_A_CHANGE)
        if _changed_at(price) > end or product in has_started:
            continue
        if _changed_at(price) <= start:
            has_started.add(product)
        answer.append(price)
    return "spotPriceHistorySet", answer


_OF_A_CHANGE = ("SpotPrice", "Timestamp")


def _changed_at(price: Entry) -> datetime:
    return datetime.fromisoformat(price["Timestamp"])


def _zones(region: FakeRegion, _: Mapping[str, str]) -> tuple[str, Sequence[Entry]]:
    return "availabilityZoneInfo", [
        {"ZoneName": name, "ZoneState": "available", "ZoneId": zone_id}
        for name, zone_id in region.zones.items()
    ]


def _offerings(region: FakeRegion, asked: Mapping[str, str]) -> tuple[str, Sequence[Entry]]:
    return "instanceTypeOfferingSet", [
        {"InstanceType": name, "LocationType": asked["LocationType"], "Location": zone_id}
        for name, zone_id in region.offerings
    ]


_ANSWERS = {
    "DescribeSpotPriceHistory": _spot_prices,
    "DescribeAvailabilityZones": _zones,
    "DescribeInstanceTypeOfferings": _offerings,
}
