"""Write EC2 offer files (index.csv) with whatever columns and values a test needs.

`support.encode_aws` writes only what AWS would; here any column may be missing, moved or wrong.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from support.encode_aws import COLUMNS, Row

OFFER_COLUMNS = COLUMNS

_OF_ATTRIBUTE = {
    "capacitystatus": "CapacityStatus",
    "currentGeneration": "Current Generation",
    "instanceFamily": "Instance Family",
    "instanceType": "Instance Type",
    "licenseModel": "License Model",
    "location": "Location",
    "marketoption": "MarketOption",
    "memory": "Memory",
    "networkPerformance": "Network Performance",
    "operatingSystem": "Operating System",
    "operation": "operation",
    "physicalProcessor": "Physical Processor",
    "preInstalledSw": "Pre Installed S/W",
    "processorArchitecture": "Processor Architecture",
    "regionCode": "Region Code",
    "storage": "Storage",
    "tenancy": "Tenancy",
    "usagetype": "usageType",
    "vcpu": "vCPU",
}
"""Attributes of a product in AWS's JSON, and the CSV columns that hold the same."""

_OF_TERM = ("LeaseContractLength", "PurchaseOption", "OfferingClass")

_PREAMBLE = (
    '"FormatVersion","v1.0"\n'
    '"Disclaimer","This pricing list is for informational purposes only, and its terms apply."\n'
    '"Publication Date","{published}"\n'
    '"Version","{version}"\n'
    '"OfferCode","AmazonEC2"\n'
)


def quoted(value: str | None) -> str:
    """Return a field as AWS writes it: quoted, but nothing at all where it is empty."""
    return '"' + value.replace('"', '""') + '"' if value else ""


def line(values: Iterable[str | None]) -> str:
    """Return one line of an offer file."""
    return ",".join(map(quoted, values)) + "\n"


def preamble(published: str = "2026-07-05T00:00:00Z") -> str:
    """Return the five lines before the header; the version is the digits of the date."""
    version = "".join(filter(str.isdigit, published))
    return _PREAMBLE.format(published=published, version=version)


def encode_offer_csv(
    rows: Iterable[Mapping[str, str | None]],
    *,
    columns: Sequence[str] = OFFER_COLUMNS,
    published: str = "2026-07-05T00:00:00Z",
) -> bytes:
    """Return an offer file with these rows; a column that a row does not name is empty."""
    lines = [line(row.get(column) for column in columns) for row in rows]
    return (preamble(published) + line(columns) + "".join(lines)).encode()


def rows_of_offer(offer: Mapping[str, Any]) -> list[Row]:
    """Return the rows that an offer file in JSON (index.json) has as CSV."""
    return [
        row
        for sku, product in offer["products"].items()
        for row in rows_of_product(
            product, {kind: terms.get(sku, {}) for kind, terms in offer["terms"].items()}
        )
    ]


def rows_of_product(
    product: Mapping[str, Any], terms: Mapping[str, Mapping[str, Any]]
) -> Iterator[Row]:
    """Yield a row for each rate of a product, as an element of GetProducts' PriceList has them.

    `terms` are by kind (OnDemand, Reserved) and then by SKU and term code.
    """
    attributes = product["attributes"]
    described = {name: attributes[key] for key, name in _OF_ATTRIBUTE.items() if key in attributes}
    for kind, by_code in terms.items():
        for term in by_code.values():
            for rate in term["priceDimensions"].values():
                [(currency, price)] = rate["pricePerUnit"].items()
                yield described | {
                    "SKU": product["sku"],
                    "OfferTermCode": term["offerTermCode"],
                    "RateCode": rate["rateCode"],
                    "TermType": kind,
                    "PriceDescription": rate["description"],
                    "EffectiveDate": term["effectiveDate"],
                    "StartingRange": rate.get("beginRange", ""),
                    "EndingRange": rate.get("endRange", ""),
                    "Unit": rate["unit"],
                    "PricePerUnit": price,
                    "Currency": currency,
                    "Product Family": product["productFamily"],
                    **{name: term["termAttributes"].get(name, "") for name in _OF_TERM},
                }
