"""A fake Azure Retail Prices API: filters, pages, links, and the ways they have gone wrong.

A disturbance makes of a page another one; `FakeAzure.disturb` says of which.
"""

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from support.encode_azure import encode_error, encode_page, next_page_link
from support.fake_http import Reply, Request

Item = Mapping[str, Any]
Listings = Mapping[tuple[str, str], Sequence[Item]]

_PATH = "/api/retail/prices"
_FILTER = re.compile(
    r"serviceName eq 'Virtual Machines' and armRegionName eq '([^']*)' and priceType eq '([^']*)'"
)


@dataclass(frozen=True, slots=True)
class Page:
    """A page before it is encoded: `items` are those of `listing` from `skip` on."""

    listing: Sequence[Item]
    skip: int
    size: int
    items: Sequence[Item]
    count: int
    link: str | None

    def links_to(self, skip: int) -> "Page":
        """Give the page with another $skip in its link."""
        link = self.link and re.sub(r"\$skip=\d+", f"$skip={skip}", self.link)
        return replace(self, link=link)


Disturbance = Callable[[Page], Page]


def repeats_its_link() -> Disturbance:
    """The link leads to the page itself."""
    return lambda page: page.links_to(page.skip)


def leads_to(link: str) -> Disturbance:
    """The link leads somewhere else."""
    return lambda page: replace(page, link=link)


def loses_next_page() -> Disturbance:
    """The link leads past the next page."""
    return lambda page: page.links_to(page.skip + 2 * page.size)


def loses_rows(count: int) -> Disturbance:
    """Rows at the end of the page are missing, and it says so of itself."""

    def disturb(page: Page) -> Page:
        items = page.items[:-count]
        return replace(page, items=items, count=len(items))

    return disturb


def repeats_rows(count: int) -> Disturbance:
    """The list has moved down: the page begins with rows of the page before it."""

    def disturb(page: Page) -> Page:
        first = page.skip - count
        items = page.listing[first : first + page.size]
        return replace(page, items=items, count=len(items))

    return disturb


def miscounts() -> Disturbance:
    """Count is not the number of items."""
    return lambda page: replace(page, count=page.count + 1)


def carries_top() -> Disturbance:
    """The link carries $top=0, which the API then refuses."""
    return lambda page: replace(page, link=page.link and f"{page.link}&$top=0")


def forgets_query() -> Disturbance:
    """The link has lost filter and api-version."""
    return lambda page: replace(page, link=page.link and re.sub(r"\?.*&", "?", page.link))


class FakeAzure:
    """Serves listings, and in other currencies `converted` ones by their code.

    Both may be changed while they are being served.
    """

    def __init__(
        self,
        listings: Listings,
        *,
        converted: Mapping[str, Listings] | None = None,
        page_size: int = 1000,
    ) -> None:
        self.listings = dict(listings)
        self.converted = dict(converted or {})
        self.page_size = page_size
        self._disturbances: list[tuple[Disturbance, int, list[int | None]]] = []
        self._lock = threading.Lock()

    def disturb(self, disturbance: Disturbance, *, page: int = 1, times: int | None = None) -> None:
        """Disturb a page, counted from 1, of every listing; `times` None is for ever."""
        self._disturbances.append((disturbance, page, [times]))

    def answer(self, request: Request) -> Reply | None:
        if request.path != _PATH:
            return None
        if request.query.get("api-version") != "2023-01-01-preview":
            return self._refuse("Unsupported API version")
        asked = _FILTER.fullmatch(request.query.get("$filter", ""))
        if asked is None or "$top" in request.query:
            return self._refuse("Invalid OData parameters supplied")
        currency = request.query.get("currencyCode", "USD")
        listings = self.listings if currency == "USD" else self.converted.get(currency)
        if listings is None:
            return self._refuse(f"ExchangeRate {currency}_202608 not found")
        page = self._page(listings.get((asked.group(1), asked.group(2)), ()), request)
        body = encode_page(
            page.items, next_page_link=page.link, count=page.count, currency=currency
        )
        return Reply(200, {"Content-Type": "application/json; charset=utf-8"}, body).gzipped_for(
            request
        )

    def _page(self, listing: Sequence[Item], request: Request) -> Page:
        skip = int(request.query.get("$skip", "0"))
        items = listing[skip : skip + self.page_size]
        is_last = skip + self.page_size >= len(listing)
        link = next_page_link(request.base_url + _PATH, request.query, skip + self.page_size)
        page = Page(listing, skip, self.page_size, items, len(items), None if is_last else link)
        with self._lock:
            for disturbance, number, left in self._disturbances:
                if number == skip // self.page_size + 1 and left[0] != 0:
                    left[0] = None if left[0] is None else left[0] - 1
                    page = disturbance(page)
        return page

    def _refuse(self, message: str) -> Reply:
        return Reply(400, {"Content-Type": "application/json"}, encode_error(message))
