"""One instance type's products through GetProducts, as rows of an EC2 offer file.

The offer file of a region holds every price; this call answers for one type, in all regions or
one, for whoever wants to see a number again at its source. It knows what an offer file knows, so
neither savings plans nor spot. It needs credentials with the right pricing:GetProducts.

A product comes as JSON inside JSON: `PriceList` is a list of texts. Its attributes have other
names than the columns of the CSV (`usagetype`, `capacitystatus`), terms are keyed by
`<sku>.<offer term code>` (one level less than in the JSON offer file), and every number is a text.
Attributes come in any order; one that says nothing is not there, as `regionCode` before 2022.

Source: AWS Price List API, version 2017-10-15, GetProducts.
"""

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl

from connectors.aws.aws_errors import translated_errors
from connectors.aws.price_list import SERVICE_CODE
from connectors.aws.pricing_api import has_credentials
from connectors.errors import SourceRejectedError, WireFormatError
from warehouse.schemas.raw import AWS_OFFER_ROWS

if TYPE_CHECKING:
    from mypy_boto3_pricing import PricingClient
    from mypy_boto3_pricing.type_defs import FilterTypeDef

logger = logging.getLogger(__name__)

SOURCE = "aws_products"
MAX_PAGES = 500
"""Far above what one type needs: some 120 SKUs in each of some 110 regions and zones."""

ATTRIBUTES = {
    "region_code": "regionCode",
    "location": "location",
    "location_type": "locationType",
    "instance_type": "instanceType",
    "current_generation": "currentGeneration",
    "instance_family": "instanceFamily",
    "vcpu": "vcpu",
    "physical_processor": "physicalProcessor",
    "memory": "memory",
    "storage": "storage",
    "network_performance": "networkPerformance",
    "processor_architecture": "processorArchitecture",
    "gpu": "gpu",
    "gpu_memory": "gpuMemory",
    "tenancy": "tenancy",
    "operating_system": "operatingSystem",
    "license_model": "licenseModel",
    "pre_installed_sw": "preInstalledSw",
    "usage_type": "usagetype",
    "operation": "operation",
    "capacity_status": "capacitystatus",
    "market_option": "marketoption",
}
"""Raw column to the attribute of a product that it is in JSON."""

TERM_ATTRIBUTES = {
    "lease_contract_length": "LeaseContractLength",
    "purchase_option": "PurchaseOption",
    "offering_class": "OfferingClass",
}

_PAGE_SIZE = 100


class _Rate(msgspec.Struct, rename="camel"):
    rate_code: str
    unit: str
    price_per_unit: dict[str, str]
    begin_range: str | None = None
    end_range: str | None = None


class _Term(msgspec.Struct, rename="camel"):
    offer_term_code: str
    effective_date: str
    price_dimensions: dict[str, _Rate]
    term_attributes: dict[str, str] = {}


class _Product(msgspec.Struct, rename="camel"):
    sku: str
    attributes: dict[str, str]
    product_family: str | None = None


class _Listed(msgspec.Struct):
    product: _Product
    terms: dict[str, dict[str, _Term]]


_LISTED = msgspec.json.Decoder(_Listed)


def require_credentials() -> None:
    """Raise SourceRejectedError, which says what to set, where boto3 finds no credentials."""
    if not has_credentials():
        raise SourceRejectedError(
            "AWS answers GetProducts only to credentials, and there are none: set "
            "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (with AWS_SESSION_TOKEN for temporary "
            "ones), or AWS_PROFILE. They need the right pricing:GetProducts"
        )


def fetch_products(
    pricing: "PricingClient",
    instance_type: str,
    *,
    region_id: str | None,
    max_pages: int = MAX_PAGES,
) -> pl.DataFrame:
    """Ask for every product of an instance type, with all its terms and rates.

    Args:
        pricing: client of the Price List API; it repeats single calls.
        instance_type: as AWS spells it; for Dedicated Hosts the family, such as m5.
        region_id: region or zone; None asks for all of the client's partition.
        max_pages: an endless answer is noticed here.

    Returns:
        AWS_OFFER_ROWS, one row a rate, as the offer file has them; no rows where AWS lists nothing
        under that name.

    Raises:
        RateLimitedError: asked too often, to the client's last attempt.
        SourceUnavailableError: no answer, to the client's last attempt.
        SourceRejectedError: no credentials, or they lack pricing:GetProducts.
        WireFormatError: a product is not as documented, or the pages do not end.
    """
    source = f"{SOURCE}/{instance_type}"
    with translated_errors("the Price List API", source=source):
        rows = [
            row
            for product in _products(pricing, instance_type, region_id, max_pages, source)
            for row in _rows(_decode(product, source))
        ]
    logger.debug("%s: %d rates in %s", source, len(rows), region_id or "all regions")
    columns = {name: [row.get(name) or None for row in rows] for name in AWS_OFFER_ROWS.columns}
    return pl.DataFrame(columns, schema=AWS_OFFER_ROWS.schema)


def _products(
    pricing: "PricingClient",
    instance_type: str,
    region_id: str | None,
    max_pages: int,
    source: str,
) -> Iterator[str]:
    asked: dict[str, Any] = {
        "ServiceCode": SERVICE_CODE,
        "Filters": _filters(instance_type, region_id),
        "FormatVersion": "aws_v1",
        "MaxResults": _PAGE_SIZE,
    }
    tokens: set[str] = set()
    for _ in range(max_pages):
        page = pricing.get_products(**asked)
        yield from page["PriceList"]
        # The last page has no token, or an empty one.
        token = page.get("NextToken")
        if not token:
            return
        if token in tokens:
            raise WireFormatError(
                f"expected a token of a further page, got one that led to page {len(tokens) + 1} "
                "before: the answer goes in circles; ask again",
                source=source,
                region_id=region_id,
                field="NextToken",
            )
        tokens.add(token)
        asked["NextToken"] = token
    raise WireFormatError(
        f"expected at most {max_pages} pages of products, and there are more: the answer does not "
        "end, or the cap is too low",
        source=source,
        region_id=region_id,
    )


def _filters(instance_type: str, region_id: str | None) -> "list[FilterTypeDef]":
    # By code, not by location: AWS renames locations ("EU (Ireland)", "Europe (Ireland)").
    wanted = {"instanceType": instance_type, "regionCode": region_id}
    return [
        {"Type": "TERM_MATCH", "Field": field, "Value": value}
        for field, value in wanted.items()
        if value is not None
    ]


def _decode(product: str, source: str) -> _Listed:
    try:
        return _LISTED.decode(product)
    except msgspec.MsgspecError as exc:
        raise WireFormatError(
            f"expected a product of GetProducts with its terms, got something else: {exc}. If AWS "
            "changed it, adapt connectors/aws/products.py before trusting a price",
            source=source,
            sample=product[:200],
        ) from exc


def _rows(listed: _Listed) -> Iterator[dict[str, str | None]]:
    """Yield one row a rate and currency; a rate without a price is a row too, to be refused."""
    product = listed.product
    described = {name: product.attributes.get(key) for name, key in ATTRIBUTES.items()}
    for term_type, terms in listed.terms.items():
        for term in terms.values():
            agreed = {name: term.term_attributes.get(key) for name, key in TERM_ATTRIBUTES.items()}
            for rate in term.price_dimensions.values():
                for currency, price in (rate.price_per_unit or {"": ""}).items():
                    yield {
                        **described,
                        **agreed,
                        "sku": product.sku,
                        "product_family": product.product_family,
                        "term_type": term_type,
                        "offer_term_code": term.offer_term_code,
                        "effective_date": term.effective_date,
                        "rate_code": rate.rate_code,
                        "starting_range": rate.begin_range,
                        "ending_range": rate.end_range,
                        "unit": rate.unit,
                        "price_per_unit": price,
                        "currency": currency,
                    }
