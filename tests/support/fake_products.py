"""Providers that are asked for one type: AWS's GetProducts, and Azure's listing by size.

A product is a dict, or the text that AWS sends: `PriceList` is a list of texts.
"""

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from support.encode_azure import encode_error, encode_page, next_page_link
from support.fake_http import Reply, Request

Product = dict[str, Any]

_MAX_RESULTS = 100
_PREAMBLE_LINES = 5
_AZURE_PATH = "/api/retail/prices"
_AZURE_TERM = re.compile(r"(\w+) eq '((?:[^']|'')*)'")
_ATTRIBUTES = {
    "Location": "location",
    "Location Type": "locationType",
    "Instance Type": "instanceType",
    "Current Generation": "currentGeneration",
    "Instance Family": "instanceFamily",
    "vCPU": "vcpu",
    "Physical Processor": "physicalProcessor",
    "Memory": "memory",
    "Storage": "storage",
    "Network Performance": "networkPerformance",
    "Processor Architecture": "processorArchitecture",
    "Tenancy": "tenancy",
    "Operating System": "operatingSystem",
    "License Model": "licenseModel",
    "usageType": "usagetype",
    "operation": "operation",
    "CapacityStatus": "capacitystatus",
    "GPU": "gpu",
    "GPU Memory": "gpuMemory",
    "MarketOption": "marketoption",
    "Pre Installed S/W": "preInstalledSw",
    "Region Code": "regionCode",
}
_TERM_ATTRIBUTES = ("LeaseContractLength", "OfferingClass", "PurchaseOption")


class FakeProducts:
    """Answers GetProducts. Its attributes may be changed while it is being served.

    last_token: what the last page has as NextToken; None leaves it out. circles: every page leads
    to the second one. never_ends: there is always a further page. pages: token to the bytes that
    are sent for it, whatever is asked for.
    """

    def __init__(self, products: Iterable[Product | str], *, page_size: int = _MAX_RESULTS) -> None:
        self.products = list(products)
        self.page_size = page_size
        self.last_token: str | None = None
        self.circles = False
        self.never_ends = False
        self.pages: dict[str | None, bytes] = {}

    def answer(self, request: Request) -> Reply | None:
        if request.headers.get("x-amz-target") != "AWSPriceListService.GetProducts":
            return None
        asked = json.loads(request.body)
        if asked["ServiceCode"] != "AmazonEC2" or asked["MaxResults"] > _MAX_RESULTS:
            return Reply(400, {}, b'{"__type": "InvalidParameterException", "message": "no"}')
        if self.pages:
            return _answered(self.pages[asked.get("NextToken")])
        start = int(asked.get("NextToken", "page-0").removeprefix("page-"))
        found = [
            product for product in self.products if _matches(_decoded(product), asked["Filters"])
        ]
        end = start + self.page_size
        answer = {
            "FormatVersion": "aws_v1",
            "PriceList": [
                product if isinstance(product, str) else json.dumps(product)
                for product in found[start:end]
            ],
        }
        if self.circles:
            answer["NextToken"] = "page-1"
        elif self.never_ends or end < len(found):
            answer["NextToken"] = f"page-{end}"
        elif self.last_token is not None:
            answer["NextToken"] = self.last_token
        return _answered(json.dumps(answer).encode())


class FakeSizes:
    """Serves Azure's items by whatever fields the filter names. `items` may be changed."""

    def __init__(self, items: Sequence[Mapping[str, Any]], *, page_size: int = 1000) -> None:
        self.items = list(items)
        self.page_size = page_size

    def answer(self, request: Request) -> Reply | None:
        if request.path != _AZURE_PATH:
            return None
        terms = [_AZURE_TERM.fullmatch(term) for term in request.query["$filter"].split(" and ")]
        if None in terms or request.query.get("api-version") != "2023-01-01-preview":
            body = encode_error("Invalid OData parameters supplied")
            return Reply(400, {"Content-Type": "application/json"}, body)
        wanted = {term[1]: term[2].replace("''", "'") for term in terms if term}
        found = [
            item
            for item in self.items
            if all(item[name] == value for name, value in wanted.items())
        ]
        start = int(request.query.get("$skip", "0"))
        end = start + self.page_size
        link = next_page_link(request.base_url + _AZURE_PATH, request.query, end)
        body = encode_page(found[start:end], next_page_link=link if end < len(found) else None)
        return Reply(200, {"Content-Type": "application/json; charset=utf-8"}, body)


def ec2_product(
    sku: str,
    *,
    attributes: Mapping[str, str],
    terms: Mapping[str, Mapping[str, Any]],
    family: str = "Compute Instance",
) -> Product:
    """One element of PriceList, before it is made a text."""
    return {
        "product": {"productFamily": family, "attributes": dict(attributes), "sku": sku},
        "serviceCode": "AmazonEC2",
        "terms": terms,
        "version": "20260705000000",
        "publicationDate": "2026-07-05T00:00:00Z",
    }


def products_of_offer(offer: bytes) -> list[Product]:
    """Make products of an offer file's rows, as GetProducts has them."""
    lines = offer.decode().splitlines()[_PREAMBLE_LINES:]
    products: dict[str, Product] = {}
    for row in csv.DictReader(io.StringIO("\n".join(lines))):
        sku, term_code = row["SKU"], f"{row['SKU']}.{row['OfferTermCode']}"
        attributes = {key: row[name] for name, key in _ATTRIBUTES.items() if row.get(name)}
        product = products.setdefault(
            sku, ec2_product(sku, attributes=attributes, terms={}, family=row["Product Family"])
        )
        term = (
            product["terms"]
            .setdefault(row["TermType"], {})
            .setdefault(
                term_code,
                {
                    "offerTermCode": row["OfferTermCode"],
                    "sku": sku,
                    "effectiveDate": f"{row['EffectiveDate']}T00:00:00Z",
                    "priceDimensions": {},
                    "termAttributes": {
                        name: row[name] for name in _TERM_ATTRIBUTES if row.get(name)
                    },
                },
            )
        )
        ranges = {"beginRange": row["StartingRange"], "endRange": row["EndingRange"]}
        term["priceDimensions"][row["RateCode"]] = {
            "rateCode": row["RateCode"],
            "description": row["PriceDescription"],
            **{name: value for name, value in ranges.items() if value},
            "unit": row["Unit"],
            "pricePerUnit": {row["Currency"]: row["PricePerUnit"]},
            "appliesTo": [],
        }
    return list(products.values())


def products_of_bulk(document: Mapping[str, Any]) -> list[Product]:
    """Make products of a JSON offer file, whose terms are keyed by SKU first."""
    return [
        {
            "product": product,
            "serviceCode": document["offerCode"],
            "terms": {
                kind: terms[sku] for kind, terms in document["terms"].items() if sku in terms
            },
        }
        for sku, product in document["products"].items()
    ]


def _decoded(product: Product | str) -> Product:
    decoded: Product = json.loads(product) if isinstance(product, str) else product
    return decoded


def _matches(product: Product, filters: Iterable[Mapping[str, str]]) -> bool:
    attributes = product["product"]["attributes"]
    return all(
        wanted["Type"] == "TERM_MATCH" and attributes.get(wanted["Field"]) == wanted["Value"]
        for wanted in filters
    )


def _answered(body: bytes) -> Reply:
    return Reply(200, {"Content-Type": "application/x-amz-json-1.1"}, body)
