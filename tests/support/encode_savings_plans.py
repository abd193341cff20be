"""Facts -> the bytes that AWS sends of savings plans: region_index.json and a region's index.csv.

A row is a plan and one SKU that it discounts. Builders fill the columns that AWS fills, with its
own words. What a rate is, and which SKU there is, is the caller's knowledge.
"""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from support.encode_aws import DISCLAIMER, Place, Product, Row, plain_text

# The header of the published file of 2025-09-11, in its order.
COLUMNS: tuple[str, ...] = (
    "SKU",
    "RateCode",
    "Unit",
    "EffectiveDate",
    "DiscountedRate",
    "Currency",
    "DiscountedSKU",
    "DiscountedServiceCode",
    "DiscountedUsageType",
    "DiscountedOperation",
    "PurchaseOption",
    "LeaseContractLength",
    "LeaseContractLengthUnit",
    "ServiceCode",
    "UsageType",
    "Operation",
    "Description",
    "Instance Family",
    "Location",
    "Location Type",
    "Granularity",
    "Product Family",
    "DiscountedRegionCode",
    "DiscountedInstanceType",
)


@dataclass(frozen=True, slots=True)
class Plan:
    """One plan. EC2 Instance plans are of an instance family in a place; Compute plans of all.

    `payment` is AWS's purchase option, such as Partial Upfront.
    """

    sku: str
    years: int
    payment: str
    instance_family: str = ""

    @property
    def product_family(self) -> str:
        return "EC2InstanceSavingsPlans" if self.instance_family else "ComputeSavingsPlans"

    @property
    def lease(self) -> str:
        """`3yrPartialUpfront`, as a usage type ends."""
        return f"{self.years}yr{self.payment.replace(' ', '')}"


def encode_savings_plan_csv(
    rows: Iterable[Mapping[str, str]],
    *,
    version: str,
    published_at: str,
    columns: Sequence[str] = COLUMNS,
    quotes_all: bool = False,
) -> bytes:
    """Encode a region's file: five metadata lines, the header, one line a row, nothing quoted.

    `published_at` is UTC, as in 2026-07-05T00:00:00Z. A column that a row does not name is empty.
    A field is quoted where CSV must (it holds a comma), and everywhere with `quotes_all`.
    """
    buffer = io.StringIO()
    quoting = csv.QUOTE_ALL if quotes_all else csv.QUOTE_MINIMAL
    writer = csv.writer(buffer, lineterminator="\n", quoting=quoting)
    writer.writerows(
        [
            ("FormatVersion", "v1.0"),
            ("Disclaimer", DISCLAIMER),
            ("Publication Date", published_at),
            ("Version", version),
            ("OfferCode", "AmazonComputeSavingsPlan"),
            columns,
        ]
    )
    writer.writerows([row.get(name, "") for name in columns] for row in rows)
    return buffer.getvalue().encode()


def encode_savings_plan_index(
    versions: Mapping[str, str], *, published_at: str, partition: str = "aws"
) -> bytes:
    """Encode region_index.json: region or zone -> version of its file.

    Here `regions` is a list, and the version of the format comes last; no newline at the end.
    """
    entries = ", ".join(
        "{\n"
        f'    "regionCode" : "{region_id}",\n'
        f'    "versionUrl" : "{savings_plan_path(region_id, version, partition=partition)}"\n'
        "  }"
        for region_id, version in versions.items()
    )
    return (
        f'{{\n  "disclaimer" : "{DISCLAIMER}",\n'
        f'  "publicationDate" : "{published_at}",\n'
        f'  "regions" : [ {entries} ],\n'
        '  "formatVersion" : "v1.0"\n}'
    ).encode()


def savings_plan_path(
    region_id: str, version: str, extension: str = "json", *, partition: str = "aws"
) -> str:
    """Return the path that the index names: always that of the JSON file; CSV lies beside it."""
    root = f"/savingsPlan/v1.0/{partition}/AWSComputeSavingsPlan"
    return f"{root}/{version}/{region_id}/index.{extension}"


def rate_row(
    plan: Plan,
    place: Place,
    product: Product,
    rate: Decimal,
    *,
    effective_date: str,
    currency: str = "USD",
) -> Row:
    """What one SKU of the offer file costs an hour under a plan.

    `product` is a row of the offer file, as `support.encode_aws` builds it. `effective_date` is
    UTC to the second, as in 2026-07-01T00:00:00Z.
    """
    family = plan.instance_family
    spoken = f"{plan.years} year {plan.payment}"
    return {
        "SKU": plan.sku,
        "RateCode": f"{plan.sku}.{product['SKU']}",
        "Unit": "Hrs",
        "EffectiveDate": effective_date,
        "DiscountedRate": plain_text(rate),
        "Currency": currency,
        "DiscountedSKU": product["SKU"],
        "DiscountedServiceCode": product["serviceCode"],
        "DiscountedUsageType": product["usageType"],
        "DiscountedOperation": product["operation"],
        "PurchaseOption": plan.payment,
        "LeaseContractLength": str(plan.years),
        "LeaseContractLengthUnit": "year",
        "ServiceCode": "ComputeSavingsPlans",
        "UsageType": place.usage(f"EC2SP:{family}.{plan.lease}")
        if family
        else f"ComputeSP:{plan.lease}",
        "Description": f"{spoken} {family} EC2 Instance Savings Plan in {place.region_id}"
        if family
        else f"{spoken} Compute Savings Plan",
        "Instance Family": family,
        "Location": place.location if family else "Any",
        "Location Type": place.location_type,
        "Granularity": "hourly",
        "Product Family": plan.product_family,
        "DiscountedRegionCode": place.region_id,
        "DiscountedInstanceType": product["Instance Type"],
    }
