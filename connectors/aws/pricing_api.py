"""AWS Price List through its API, which needs credentials: which offer files there are.

ListPriceLists names the price lists in force on a day, GetPriceListFileUrl gives each one's url;
the files themselves are those of the bulk API. The API has endpoints in a few regions only, and
which one is asked has nothing to do with the regions priced.

Source: AWS Price List API, version 2017-10-15.
"""

import json
import logging
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config

from connectors.aws.aws_errors import translated_errors
from connectors.aws.bulk_files import OfferFile, version_time
from connectors.aws.price_list import INDEX_SOURCE, SERVICE_CODE
from connectors.errors import WireFormatError
from connectors.landing import Landing
from connectors.urls import canonical_url
from warehouse.schemas.documents import Document

if TYPE_CHECKING:
    from mypy_boto3_pricing import PricingClient

logger = logging.getLogger(__name__)

ENDPOINT_REGION = "us-east-1"

_FORMAT = "csv"


def has_credentials() -> bool:
    """Tell whether boto3 finds credentials: environment, configuration, or the instance's role."""
    return boto3.Session().get_credentials() is not None


def create_pricing_client(
    *, region_name: str = ENDPOINT_REGION, max_attempts: int = 6
) -> "PricingClient":
    """Make a client of the Price List API; it repeats single calls. AWS_ENDPOINT_URL_* apply."""
    config = Config(retries={"mode": "standard", "total_max_attempts": max_attempts})
    return boto3.client("pricing", region_name=region_name, config=config)


def fetch_price_list_index(
    pricing: "PricingClient",
    landing: Landing,
    *,
    as_of: datetime,
    fetched_at: datetime,
    currency: str = "USD",
) -> tuple[Document, tuple[OfferFile, ...]]:
    """Ask which EC2 offer files are in force at `as_of`, and land the answer.

    The landed document is the list of price lists, each with its url, as JSON.

    Returns:
        The document, and the offer files sorted by region.

    Raises:
        RateLimitedError: asked too often, to the client's last attempt.
        SourceUnavailableError: no answer, to the client's last attempt.
        SourceRejectedError: refused: credentials or rights (pricing:ListPriceLists,
            pricing:GetPriceListFileUrl).
        WireFormatError: no price list, or one without a CSV file.
    """
    with translated_errors("the Price List API", source=INDEX_SOURCE):
        listed = sorted(
            _list_with_urls(pricing, as_of, currency), key=lambda item: str(item["RegionCode"])
        )
    if not listed:
        raise WireFormatError(
            f"expected price lists of {SERVICE_CODE} in {currency} at {as_of:%Y-%m-%d}, got none",
            source=INDEX_SOURCE,
        )
    offer_files = tuple(_offer_file(item) for item in listed)
    shown = [item | {"Url": canonical_url(item["Url"])} for item in listed]
    stored = landing.put([json.dumps({"PriceLists": shown}, indent=1).encode()])
    document = Document(
        source_id=INDEX_SOURCE,
        source=INDEX_SOURCE,
        provider="aws",
        region_id=None,
        url=canonical_url(pricing.meta.endpoint_url),
        fetched_at=fetched_at,
        confirmed_at=fetched_at,
        published_at=max(
            (file.published_at for file in offer_files if file.published_at), default=None
        ),
        version=None,
        media_type="application/json",
        sha256=stored.sha256,
        bytes=stored.bytes,
    )
    logger.info("%s names %d regions", INDEX_SOURCE, len(offer_files))
    return document, offer_files


def _list_with_urls(
    pricing: "PricingClient", as_of: datetime, currency: str
) -> Iterator[dict[str, Any]]:
    pages = pricing.get_paginator("list_price_lists").paginate(
        ServiceCode=SERVICE_CODE, EffectiveDate=as_of, CurrencyCode=currency
    )
    for page in pages:
        for item in page["PriceLists"]:
            if _FORMAT not in item["FileFormats"]:
                raise WireFormatError(
                    f"expected an offer file as {_FORMAT}, got only {item['FileFormats']}",
                    source=INDEX_SOURCE,
                    region_id=item["RegionCode"],
                    field="FileFormats",
                )
            answer = pricing.get_price_list_file_url(
                PriceListArn=item["PriceListArn"], FileFormat=_FORMAT
            )
            yield {**item, "Url": answer["Url"]}


def _offer_file(item: dict[str, Any]) -> OfferFile:
    # arn:aws:pricing:::price-list/aws/AmazonEC2/USD/20230328234721/us-east-1
    segments = str(item["PriceListArn"]).split("/")
    version = next((text for text in segments if version_time(text) is not None), None)
    return OfferFile(
        region_id=item["RegionCode"],
        url=item["Url"],
        version=version,
        published_at=version_time(version) if version else None,
    )
