"""Azure Retail Prices API: one listing per region and price type, walked page by page.

The API pages by $skip over a list that is republished while it is read, so rows move between
pages, and links have been seen to repeat, to lose the query they belong to, and to lead nowhere.
A walk is therefore kept only if its pages fit together; otherwise the whole walk is worth
repeating, which is for the caller to do. Single requests are repeated by the client.

Source: Azure Retail Prices overview, api-version 2023-01-01-preview (the one with savings plans).
"""

import hashlib
import logging
from collections.abc import Iterator
from datetime import datetime
from functools import partial

import msgspec

from connectors.azure.wire import PageEnvelope, read_page_envelope
from connectors.errors import UnstableListingError, WireFormatError
from connectors.http_client import Answer, HttpClient
from connectors.landing import Landing
from connectors.urls import canonical_url, has_origin_of, query_parameters, with_query
from warehouse.schemas.documents import Document

logger = logging.getLogger(__name__)

SOURCE = "azure_retail_prices"
API_VERSION = "2023-01-01-preview"
MAX_PAGES = 500
"""Far above the 16 pages of the largest region with all its price types (September 2026)."""

_SKIP = "$skip"
# Never sent: the API puts $top=0 into the link that follows, and then refuses it.
_TOP = "$top"
_CURRENCY = "currencyCode"
_USD = "USD"
_CURRENCY_PLACE = 3
_DIGEST_BYTES = 16


class _Items(msgspec.Struct, rename="pascal"):
    items: list[msgspec.Raw]


def fetch_price_list(
    client: HttpClient,
    base_url: str,
    region_id: str,
    price_type: str,
    landing: Landing,
    *,
    fetched_at: datetime,
    currency: str = _USD,
    max_pages: int = MAX_PAGES,
) -> tuple[Document, ...]:
    """Walk and land the list prices of virtual machines of one region and price type.

    Args:
        client: repeats single requests.
        base_url: the API, such as https://prices.azure.com/api/retail/prices.
        region_id: armRegionName, in lower case (the filter is case-sensitive).
        price_type: Consumption, DevTestConsumption or Reservation.
        landing: where pages go.
        fetched_at: the time of this walk.
        currency: ISO 4217 code to list prices in. Microsoft sells by US dollars; what it lists in
            others is converted at a rate of the month, and rounded.
        max_pages: an endless listing is noticed here.

    Returns:
        One document a page, in order. A listing without prices is one document without items.
        Their source_id is azure_retail_prices/<region>/<price type>/<page>, in another currency
        than US dollars azure_retail_prices/<region>/<price type>/<currency>/<page>.

    Raises:
        UnstableListingError: the pages do not fit together; walk again.
        WireFormatError: a page, or a link, is not as the API documents it; or the prices are in
            another currency than was asked for.
        ConnectorError: see `HttpClient.read`.
    """
    listing = f"{SOURCE}/{region_id}/{price_type}"
    if currency != _USD:
        listing = f"{listing}/{currency}"
    pages = walk_pages(client, base_url, _query(region_id, price_type, currency), listing)
    documents: list[Document] = []
    for number, (answer, envelope) in enumerate(pages, start=1):
        if number > max_pages:
            raise WireFormatError(
                f"expected at most {max_pages} pages, and there are more: the listing does not "
                "end, or the cap is too low",
                source=listing,
                url=answer.head.url,
            )
        logger.debug("%s page %d: %d items", listing, number, envelope.items_count)
        documents.append(_land(answer, landing, f"{listing}/{number:03d}", region_id, fetched_at))
    return tuple(documents)


def _query(region_id: str, price_type: str, currency: str) -> dict[str, str]:
    terms = {
        "serviceName": "Virtual Machines",
        "armRegionName": region_id,
        "priceType": price_type,
    }
    quoted = {name: value.replace("'", "''") for name, value in terms.items()}
    condition = " and ".join(f"{name} eq '{value}'" for name, value in quoted.items())
    query = {"api-version": API_VERSION, "$filter": condition}
    # US dollars are the default. A currencyCode inside the filter gives some callers an empty list.
    return query if currency == _USD else query | {_CURRENCY: currency}


def currency_of(source_id: str) -> str:
    """Tell from the source_id of a page in which currency it was asked for."""
    scope = source_id.split("/")
    return scope[_CURRENCY_PLACE] if len(scope) > _CURRENCY_PLACE + 1 else _USD


def walk_pages(
    client: HttpClient, base_url: str, query: dict[str, str], listing: str
) -> Iterator[tuple[Answer, PageEnvelope]]:
    """Yield each page that fits to those before it.

    Raises: see `fetch_price_list`.
    """
    url: str | None = with_query(base_url, query)
    asked: set[str] = set()
    seen_items: set[bytes] = set()
    seen_count = 0
    while url is not None:
        asked.add(canonical_url(url))
        source = f"{listing}/{len(asked):03d}"
        # A body that is no page is fetched again by the client: it is never "no prices".
        answer = client.get(url, check=partial(read_page_envelope, source_id=source))
        envelope = read_page_envelope(answer.body, source)
        _check_envelope(envelope, query.get(_CURRENCY, _USD), source, url)
        _check_items(answer.body, seen_items, source, url)
        seen_count += envelope.items_count
        url = _next_url(envelope.next_page_link, base_url, query, source)
        if url is not None:
            _check_next(url, asked, seen_count, source)
        yield answer, envelope


def _check_envelope(envelope: PageEnvelope, currency: str, source: str, url: str) -> None:
    if envelope.billing_currency != currency:
        raise WireFormatError(
            f"expected prices in {currency}, got {envelope.billing_currency}: the API does not "
            "list that currency, or its query parameter currencyCode has changed",
            source=source,
            url=canonical_url(url),
            field="BillingCurrency",
        )
    if envelope.count != envelope.items_count:
        raise UnstableListingError(
            f"expected {envelope.count} items as the page says, got {envelope.items_count}; "
            "walk again",
            source=source,
            url=canonical_url(url),
        )


def _check_items(body: bytes, seen: set[bytes], source: str, url: str) -> None:
    """Refuse a page that repeats an item of an earlier page, then add its items.

    Two items never agree in every byte (none of the 38,239 in two saved listings): a repeated one
    means that rows moved down between two requests, or that a page came twice. Where rows moved
    one way others may have moved the other, unseen.
    """
    page = {
        hashlib.blake2b(item, digest_size=_DIGEST_BYTES).digest()
        for item in msgspec.json.decode(body, type=_Items).items
    }
    repeated = len(page & seen)
    if repeated:
        raise UnstableListingError(
            f"expected new items, got {repeated} that were on an earlier page; walk again",
            source=source,
            url=canonical_url(url),
        )
    seen |= page


def _next_url(link: str | None, base_url: str, query: dict[str, str], source: str) -> str | None:
    """Make of a NextPageLink the url to ask: same origin, same query, no $top."""
    if not link:
        return None
    if not has_origin_of(link, base_url):
        raise WireFormatError(
            "expected a link to the scheme, host and port that were asked, got another place; "
            "it is not followed",
            source=source,
            url=canonical_url(base_url),
            field="NextPageLink",
            sample=link[:200],
        )
    parameters = query_parameters(link)
    parameters.pop(_TOP, None)
    # The query is the walk's own: a link that dropped the api-version would lose savings plans.
    return with_query(base_url.partition("?")[0], parameters | query)


def _check_next(url: str, asked: set[str], seen_count: int, source: str) -> None:
    if canonical_url(url) in asked:
        raise UnstableListingError(
            "expected a link to a further page, got one to a page that was read already; "
            "walk again",
            source=source,
            url=canonical_url(url),
        )
    skip = query_parameters(url).get(_SKIP)
    if skip is not None and skip != str(seen_count):
        raise UnstableListingError(
            f"expected the next page to skip the {seen_count} items read so far, but it skips "
            f"{skip}: a page was lost or came twice; walk again",
            source=source,
            url=canonical_url(url),
        )


def _land(
    answer: Answer, landing: Landing, source_id: str, region_id: str, fetched_at: datetime
) -> Document:
    stored = landing.put([answer.body])
    recorded = answer.head.recorded
    at = recorded.at if recorded else fetched_at
    return Document(
        source_id=source_id,
        source=SOURCE,
        provider="azure",
        region_id=region_id,
        url=canonical_url(answer.head.url),
        fetched_at=at,
        confirmed_at=at,
        published_at=None,
        version=None,
        media_type="application/json",
        sha256=stored.sha256,
        bytes=stored.bytes,
        is_recorded=recorded is not None,
        note=recorded.note if recorded else None,
    )
