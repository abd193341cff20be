"""Generate an EC2 offer file (index.csv) of any size, in the real file's proportions.

What is copied from the real thing: 91 columns, about 790 bytes a line, lines in order of SKU with
a SKU's terms beside each other, and per instance type the cross product of operating systems,
software, tenancies and capacity statuses that AWS lists: about 120 compute SKUs a type, of which a
dozen have the 12 reserved terms (20 lines). Prices, types and SKUs are made up, from a seed.
"""

import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from support.wire_aws import OFFER_COLUMNS, line, preamble  # noqa: E402

_OTHER_LINES_PER_TYPE = 6

_SKU_LETTERS = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"
_SIZES = (
    ("medium", 1),
    ("large", 2),
    ("xlarge", 4),
    ("2xlarge", 8),
    ("4xlarge", 16),
    ("8xlarge", 32),
    ("12xlarge", 48),
    ("16xlarge", 64),
    ("24xlarge", 96),
    ("48xlarge", 192),
)
_SOFTWARE = ("NA", "SQL Std", "SQL Web", "SQL Ent")
_SYSTEMS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("Linux", "No License required", ("", ":0004", ":0200", ":0100")),
    ("Windows", "No License required", (":0002", ":0006", ":0202", ":0102")),
    ("Windows", "Bring your own license", (":0800",)),
    ("RHEL", "No License required", (":0010", ":0014", ":0210", ":0110")),
    ("Red Hat Enterprise Linux with HA", "No License required", (":1010", ":1014")),
    ("SUSE", "No License required", (":000g",)),
    ("Ubuntu Pro", "No License required", (":0g00",)),
)
"""Operating system, licence model, and the operation code for each of `_SOFTWARE`."""

_USE = (
    ("Shared", "Used", "BoxUsage"),
    ("Shared", "UnusedCapacityReservation", "UnusedBox"),
    ("Shared", "AllocatedCapacityReservation", "Reservation"),
    ("Dedicated", "Used", "DedicatedUsage"),
    ("Dedicated", "UnusedCapacityReservation", "UnusedDed"),
    ("Dedicated", "AllocatedCapacityReservation", "DedicatedRes"),
    ("Host", "Used", "HostBoxUsage"),
)
_TERMS = tuple(
    (code, years, payment, offering)
    for years in ("1yr", "3yr")
    for offering in ("standard", "convertible")
    for code, payment in (
        (f"N{years[0]}{offering[0].upper()}NOUPFRO"[:10], "No Upfront"),
        (f"P{years[0]}{offering[0].upper()}PARTIAL"[:10], "Partial Upfront"),
        (f"A{years[0]}{offering[0].upper()}ALLUPFR"[:10], "All Upfront"),
    )
)


class OfferFile(NamedTuple):
    """What was generated."""

    bytes: int
    lines: int
    compute_skus: int


def write_offer_file(path: Path, *, instance_types: int, seed: int = 0) -> OfferFile:
    """Write an offer file of us-east-1; 1,050 types make one of us-east-1's real size."""
    rng = random.Random(seed)
    products = [
        (f"{''.join(rng.choices(_SKU_LETTERS, k=16))}", product)
        for number in range(instance_types)
        for product in _products(number)
    ]
    products.sort(key=lambda item: item[0])
    lines = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(preamble() + line(OFFER_COLUMNS))
        for sku, product in products:
            for row in _lines(sku, product, rng):
                file.write(line(row.get(column) for column in OFFER_COLUMNS))
                lines += 1
    compute = sum("Instance Type" in product for _, product in products)
    return OfferFile(path.stat().st_size, lines, compute)


def _products(number: int) -> Iterator[dict[str, str]]:
    size, vcpus = _SIZES[number % len(_SIZES)]
    instance_type = f"m{number // len(_SIZES) % 9 + 1}x{number // len(_SIZES)}.{size}"
    machine = {
        "Product Family": "Compute Instance",
        "serviceCode": "AmazonEC2",
        "Location": "US East (N. Virginia)",
        "Location Type": "AWS Region",
        "Instance Type": instance_type,
        "Current Generation": "Yes",
        "Instance Family": "General purpose",
        "vCPU": str(vcpus),
        "Physical Processor": "Intel Xeon 8375C (Ice Lake)",
        "Clock Speed": "3.5 GHz",
        "Memory": f"{vcpus * 4:,} GiB",
        "Storage": "1 x 950 NVMe SSD",
        "Network Performance": "Up to 12500 Megabit",
        "Processor Architecture": "64-bit",
        "AvailabilityZone": "NA",
        "ClassicNetworkingSupport": "false",
        "Dedicated EBS Throughput": "Up to 10000 Mbps",
        "ECU": "NA",
        "Enhanced Networking Supported": "Yes",
        "GPU Memory": "NA",
        "Intel AVX2 Available": "Yes",
        "Intel AVX Available": "Yes",
        "Intel Turbo Available": "Yes",
        "MarketOption": "OnDemand",
        "Normalization Size Factor": str(vcpus * 2),
        "Processor Features": "Intel AVX; Intel AVX2; Intel AVX512; Intel Turbo",
        "Region Code": "us-east-1",
        "serviceName": "Amazon Elastic Compute Cloud",
        "VPCNetworkingSupport": "true",
    }
    for system, licence, codes in _SYSTEMS:
        for software, code in zip(_SOFTWARE, codes, strict=False):
            for tenancy, capacity, usage in _USE:
                if tenancy == "Host" and system == "Ubuntu Pro":
                    continue
                yield machine | {
                    "Tenancy": tenancy,
                    "Operating System": system,
                    "License Model": licence,
                    "usageType": f"{usage}:{instance_type}",
                    "operation": f"RunInstances{code}",
                    "CapacityStatus": capacity,
                    "Pre Installed S/W": software,
                }
    for other in range(_OTHER_LINES_PER_TYPE):
        yield {
            "Product Family": "Data Transfer",
            "serviceCode": "AmazonEC2",
            "Location": "US East (N. Virginia)",
            "usageType": f"USE1-AWS-Out-{number}-{other}",
            "operation": "Hourly",
            "Region Code": "us-east-1",
            "serviceName": "Amazon Elastic Compute Cloud",
        }


def _lines(sku: str, product: dict[str, str], rng: random.Random) -> Iterator[dict[str, str]]:
    is_zero = product.get("CapacityStatus") == "AllocatedCapacityReservation"
    price = 0.0 if is_zero or product.get("Tenancy") == "Host" else rng.uniform(0.01, 100)
    system = product.get("Operating System", product["Product Family"])
    yield (
        product
        | _term(sku, "JRTCKXETXF", "6YS6EN2CT7")
        | {
            "TermType": "OnDemand",
            "PriceDescription": f"${price:.5f} per On Demand {system} Instance Hour",
            "EffectiveDate": "2026-07-01",
            "StartingRange": "0",
            "EndingRange": "Inf",
            "Unit": "Hrs",
            "PricePerUnit": f"{price:.5f}00000",
        }
    )
    if product.get("CapacityStatus") == "Used" and (
        product["Tenancy"] != "Host"
        and product["License Model"] != "Bring your own license"
        and product["Pre Installed S/W"] in {"NA", "SQL Std"}
        and system != "Ubuntu Pro"
    ):
        yield from _reserved(sku, product, price, rng)


def _reserved(
    sku: str, product: dict[str, str], price: float, rng: random.Random
) -> Iterator[dict[str, str]]:
    for code, years, payment, offering in _TERMS[: 12 if rng.random() < 0.4 else 6]:
        term = {
            "TermType": "Reserved",
            "EffectiveDate": "2026-07-01",
            "LeaseContractLength": years,
            "PurchaseOption": payment,
            "OfferingClass": offering,
        }
        if payment != "No Upfront":
            yield (
                product
                | term
                | _term(sku, code, "2TG2D8R56U")
                | {
                    "PriceDescription": "Upfront Fee",
                    "Unit": "Quantity",
                    "PricePerUnit": str(round(price * 4000)),
                }
            )
        yield (
            product
            | term
            | _term(sku, code, "6YS6EN2CT7")
            | {
                "PriceDescription": f"{product['Instance Type']} (VPC), reserved instance applied",
                "StartingRange": "0",
                "EndingRange": "Inf",
                "Unit": "Hrs",
                "PricePerUnit": "0.0000000000" if payment == "All Upfront" else f"{price / 2:.10f}",
            }
        )


def _term(sku: str, term_code: str, rate_code: str) -> dict[str, str]:
    return {
        "SKU": sku,
        "OfferTermCode": term_code,
        "RateCode": f"{sku}.{term_code}.{rate_code}",
        "Currency": "USD",
    }
