"""Facts -> the bytes that the AWS Price List bulk API sends: region_index.json and index.csv.

A product is a dict of offer file columns; a row is a product and one rate of one of its terms.
Builders fill the columns that AWS fills for that kind of product, with AWS's own words. What a
price is, and whether a product exists, is the caller's knowledge: nothing here makes up a price.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

DISCLAIMER = (
    "This pricing list is for informational purposes only. All prices are subject to the "
    "additional terms included in the pricing pages on http://aws.amazon.com. All Free Tier "
    "prices are also subject to the terms included at https://aws.amazon.com/free/"
)

# The header of the published file of 2025-09-12, in its order.
COLUMNS: tuple[str, ...] = (
    "SKU",
    "OfferTermCode",
    "RateCode",
    "TermType",
    "PriceDescription",
    "EffectiveDate",
    "StartingRange",
    "EndingRange",
    "Unit",
    "PricePerUnit",
    "Currency",
    "RelatedTo",
    "LeaseContractLength",
    "PurchaseOption",
    "OfferingClass",
    "Product Family",
    "serviceCode",
    "Location",
    "Location Type",
    "Instance Type",
    "Current Generation",
    "Instance Family",
    "vCPU",
    "Physical Processor",
    "Clock Speed",
    "Memory",
    "Storage",
    "Network Performance",
    "Processor Architecture",
    "Storage Media",
    "Volume Type",
    "Max Volume Size",
    "Max IOPS/volume",
    "Max IOPS Burst Performance",
    "Max throughput/volume",
    "Provisioned",
    "Tenancy",
    "EBS Optimized",
    "Operating System",
    "License Model",
    "Group",
    "Group Description",
    "Transfer Type",
    "From Location",
    "From Location Type",
    "To Location",
    "To Location Type",
    "usageType",
    "operation",
    "AvailabilityZone",
    "CapacityStatus",
    "ClassicNetworkingSupport",
    "Dedicated EBS Throughput",
    "ECU",
    "Elastic Graphics Type",
    "Enhanced Networking Supported",
    "From Region Code",
    "GPU",
    "GPU Memory",
    "Instance",
    "Instance Capacity - 10xlarge",
    "Instance Capacity - 12xlarge",
    "Instance Capacity - 16xlarge",
    "Instance Capacity - 18xlarge",
    "Instance Capacity - 24xlarge",
    "Instance Capacity - 2xlarge",
    "Instance Capacity - 32xlarge",
    "Instance Capacity - 4xlarge",
    "Instance Capacity - 8xlarge",
    "Instance Capacity - 9xlarge",
    "Instance Capacity - large",
    "Instance Capacity - medium",
    "Instance Capacity - metal",
    "Instance Capacity - xlarge",
    "instanceSKU",
    "Intel AVX2 Available",
    "Intel AVX Available",
    "Intel Turbo Available",
    "MarketOption",
    "Normalization Size Factor",
    "Physical Cores",
    "Pre Installed S/W",
    "Processor Features",
    "Product Type",
    "Region Code",
    "Resource Type",
    "serviceName",
    "SnapshotArchiveFeeType",
    "To Region Code",
    "Volume API Name",
    "VPCNetworkingSupport",
)

UPFRONT_RATE = "2TG2D8R56U"

Product = Mapping[str, str]
Row = dict[str, str]


@dataclass(frozen=True, slots=True)
class Place:
    """A region or zone in the words of the offer file. us-east-1 has no usage prefix."""

    region_id: str
    location: str
    location_type: str
    usage_prefix: str

    def usage(self, kind: str) -> str:
        """`BoxUsage:m5.large` -> `EU-BoxUsage:m5.large`."""
        return f"{self.usage_prefix}-{kind}" if self.usage_prefix else kind


@dataclass(frozen=True, slots=True)
class Codes:
    """What a partition calls the on-demand term and its hourly rate, and what it charges in."""

    on_demand_term: str
    hourly_rate: str
    currency: str


GLOBAL = Codes("JRTCKXETXF", "6YS6EN2CT7", "USD")
CHINA = Codes("5Y9WH78GDR", "Q7UJUT2CE6", "CNY")


@dataclass(frozen=True, slots=True)
class ReservedTerm:
    """One of the 12 ways to reserve, with the code that it has outside China."""

    code: str
    years: int
    purchase_option: str
    offering_class: str


RESERVED_TERMS = tuple(
    ReservedTerm(code, years, purchase_option, offering_class)
    for years, offering_class, codes in (
        (1, "standard", ("4NA7Y494T4", "HU7G6KETJZ", "6QCMYABX3D")),
        (3, "standard", ("BPH4J8HBKS", "38NPMPTW36", "NQ3QZPMQV9")),
        (1, "convertible", ("7NE97W5U4E", "CUZHX8X6JH", "VJWZNREJX2")),
        (3, "convertible", ("Z2E3P23VKM", "R5XV2EPZQZ", "MZU6U2429S")),
    )
    for code, purchase_option in zip(
        codes, ("No Upfront", "Partial Upfront", "All Upfront"), strict=True
    )
)


@dataclass(frozen=True, slots=True)
class Software:
    """What runs on a machine: the four columns that tell one licence from another."""

    operating_system: str
    operation: str
    pre_installed: str = "NA"
    license_model: str = "No License required"
    spoken: str = ""

    @property
    def words(self) -> str:
        """What a price description calls it, as in `RHEL with SQL Web`."""
        if self.spoken:
            return self.spoken
        if self.pre_installed == "NA":
            return self.operating_system
        return f"{self.operating_system} with {self.pre_installed}"


LINUX = Software("Linux", "RunInstances")
WINDOWS = Software("Windows", "RunInstances:0002")
WINDOWS_BYOL = Software(
    "Windows", "RunInstances:0800", license_model="Bring your own license", spoken="Windows BYOL"
)
WINDOWS_UNLICENSED = Software(
    "Windows",
    "RunInstances:0002:box",
    license_model="License Included - Infrastructure",
    spoken="Windows without licenses",
)


@dataclass(frozen=True, slots=True)
class Billing:
    """How a machine is billed: tenancy and capacity, and the usage type that goes with them."""

    tenancy: str
    capacity_status: str
    usage_kind: str
    spoken: str


ON_DEMAND = Billing("Shared", "Used", "BoxUsage", "On Demand")
UNUSED_RESERVATION = Billing(
    "Shared", "UnusedCapacityReservation", "UnusedBox", "Unused Reservation"
)
ALLOCATED_RESERVATION = Billing(
    "Shared", "AllocatedCapacityReservation", "Reservation", "Reservation"
)
DEDICATED = Billing("Dedicated", "Used", "DedicatedUsage", "Dedicated")
ON_HOST = Billing("Host", "Used", "HostBoxUsage", "Host")
CAPACITY_BLOCK = Billing("Shared", "Used", "BoxUsage", "Capacity Block")


def encode_offer_csv(
    rows: Iterable[Mapping[str, str]], *, version: str, published_at: str
) -> bytes:
    """Encode an offer file as CSV: five metadata lines, the header, one line a row.

    Every field is quoted except empty ones. `published_at` is UTC, as in 2026-07-05T00:00:00Z.

    Raises:
        KeyError: a row has a column that the file does not.
    """
    metadata = (
        ("FormatVersion", "v1.0"),
        ("Disclaimer", DISCLAIMER),
        ("Publication Date", published_at),
        ("Version", version),
        ("OfferCode", "AmazonEC2"),
    )
    lines = [_csv_line(pair) for pair in metadata]
    lines.append(_csv_line(COLUMNS))
    lines.extend(_csv_line(_fields(row)) for row in rows)
    return ("\n".join(lines) + "\n").encode()


def encode_region_index(
    versions: Mapping[str, str], *, published_at: str, partition: str = "aws"
) -> bytes:
    """Encode AmazonEC2's region_index.json: region or zone -> version of its offer file.

    A space on both sides of the colon, two spaces of indent and no newline at the end, as sent.
    """
    paths = {
        region_id: offer_file_path(region_id, version, partition=partition)
        for region_id, version in versions.items()
    }
    entries = ",\n".join(
        f'    "{region_id}" : {{\n'
        f'      "regionCode" : "{region_id}",\n'
        f'      "currentVersionUrl" : "{path}"\n'
        "    }"
        for region_id, path in paths.items()
    )
    return (
        '{\n  "formatVersion" : "v1.0",\n'
        f'  "disclaimer" : "{DISCLAIMER}",\n'
        f'  "publicationDate" : "{published_at}",\n'
        f'  "regions" : {{\n{entries}\n  }}\n}}'
    ).encode()


def offer_file_path(
    region_id: str, version: str, extension: str = "json", *, partition: str = "aws"
) -> str:
    """Return the path that the index names: always that of the JSON file; CSV lies beside it."""
    return f"/offers/v1.0/{partition}/AmazonEC2/{version}/{region_id}/index.{extension}"


def compute_product(
    place: Place,
    machine: Mapping[str, str],
    software: Software,
    billing: Billing,
    *,
    sku: str,
    used_sku: str = "",
) -> Row:
    """One instance type in one place with one software and one way of billing.

    `machine` holds the columns that describe the type (Instance Type, vCPU, Memory, ...).
    `used_sku` is the SKU that a capacity reservation is for.
    """
    instance_type = machine["Instance Type"]
    is_metal = ".metal" in instance_type
    return {
        "SKU": sku,
        "Product Family": "Compute Instance (bare metal)" if is_metal else "Compute Instance",
        **_service(place),
        **machine,
        "Processor Architecture": "64-bit",
        "Tenancy": billing.tenancy,
        "Operating System": software.operating_system,
        "License Model": software.license_model,
        "usageType": place.usage(f"{billing.usage_kind}:{instance_type}"),
        "operation": software.operation,
        "AvailabilityZone": "NA",
        "CapacityStatus": billing.capacity_status,
        "ClassicNetworkingSupport": "false",
        "instanceSKU": used_sku,
        "MarketOption": "OnDemand",
        "Pre Installed S/W": software.pre_installed,
        "VPCNetworkingSupport": "true",
    }


def capacity_block_product(
    place: Place, machine: Mapping[str, str], software: Software, *, sku: str
) -> Row:
    """One instance type of a Capacity Block: its hourly price is the fee of the software only."""
    product = compute_product(place, machine, software, CAPACITY_BLOCK, sku=sku)
    return product | {
        "operation": f"{software.operation}:CB",
        "MarketOption": "CapacityBlock",
    }


def dedicated_host_product(
    place: Place, machine: Mapping[str, str], family: str, *, sku: str
) -> Row:
    """A Dedicated Host: its Instance Type is a family, its price is that of the whole host."""
    return {
        "SKU": sku,
        "Product Family": "Dedicated Host",
        **_service(place),
        **machine,
        "Instance Type": family,
        "Processor Architecture": "64-bit",
        "Tenancy": "Host",
        "Operating System": "NA",
        "License Model": "NA",
        "usageType": place.usage(f"HostUsage:{family}"),
        "operation": "RunInstances",
        "AvailabilityZone": "NA",
        "CapacityStatus": "NA",
        "MarketOption": "OnDemand",
        "Pre Installed S/W": "NA",
    }


def reserved_host_product(
    place: Place, machine: Mapping[str, str], family: str, *, sku: str
) -> Row:
    """What a Dedicated Host reservation is for: the price list of 2019 has it in these words."""
    return dedicated_host_product(place, machine, family, sku=sku) | {
        "Tenancy": "Reserved",
        "Operating System": "Linux",
        "License Model": "No License required",
        "usageType": place.usage(f"ReservedHostUsage:{family}"),
        "CapacityStatus": "AllocatedHost",
    }


def ebs_optimized_product(place: Place, machine: Mapping[str, str], *, sku: str) -> Row:
    """The fee of EBS optimisation: a compute product without operating system and tenancy."""
    instance_type = machine["Instance Type"]
    return {
        "SKU": sku,
        "Product Family": "Compute Instance",
        **_service(place),
        "Instance Type": instance_type,
        "Tenancy": "NA",
        "EBS Optimized": "Yes",
        "Operating System": "NA",
        "License Model": "NA",
        "usageType": place.usage(f"EBSOptimized:{instance_type}"),
        "operation": "Hourly",
        "AvailabilityZone": "NA",
        "CapacityStatus": "NA",
        "MarketOption": "OnDemand",
        "Pre Installed S/W": "NA",
    }


def data_transfer_in_product(place: Place, *, sku: str) -> Row:
    """Traffic from the internet into a place, which AWS lists at 0."""
    return {
        "SKU": sku,
        "Product Family": "Data Transfer",
        "serviceCode": "AWSDataTransfer",
        "Transfer Type": "AWS Inbound",
        "From Location": "External",
        "From Location Type": "Other",
        "To Location": place.location,
        "To Location Type": place.location_type,
        "usageType": place.usage("DataTransfer-In-Bytes"),
        "serviceName": "AWS Data Transfer",
        "To Region Code": place.region_id,
    }


def free_trial_row(effective_date: str) -> Row:
    """The free tier's pseudo product with its real SKU: no instance type, no region, 750 hours."""
    sku, term = "R3WPVNCD34N9W7UV", "A429C66SYZ"
    return {
        "SKU": sku,
        "OfferTermCode": term,
        "RateCode": f"{sku}.{term}.TKQXKGP374",
        "TermType": "OnDemand",
        "PriceDescription": "Global",
        "EffectiveDate": effective_date,
        "StartingRange": "0",
        "EndingRange": "750",
        "Unit": "Hrs",
        "PricePerUnit": "0.0000000000",
        "Currency": "USD",
        "Product Family": "Compute Instance",
        "serviceCode": "AmazonEC2",
        "Location": "Any",
        "Location Type": "AWS Region",
        "Group": "FreeTrial",
        "Group Description": "Free Trial for running instances for a limited number of hours and "
        "instances, see marketing for details",
        "usageType": "Global-BoxUsage:freetrial",
        "operation": "RunInstances",
        "serviceName": "Amazon Elastic Compute Cloud",
    }


def on_demand_row(
    product: Product,
    price: Decimal,
    description: str,
    *,
    effective_date: str,
    unit: str = "Hrs",
    codes: Codes = GLOBAL,
) -> Row:
    """The on-demand rate of a product. `price` in the partition's currency per unit."""
    return {
        **product,
        **_term(product, codes.on_demand_term, "OnDemand", effective_date, codes),
        **_rate(product, codes.on_demand_term, codes.hourly_rate),
        "PriceDescription": description,
        "StartingRange": "0",
        "EndingRange": "Inf",
        "Unit": unit,
        "PricePerUnit": price_text(price),
    }


def all_upfront_rows(
    product: Product, upfront: Decimal, *, years: int, effective_date: str
) -> tuple[Row, Row]:
    """The two rates of a standard all-upfront reservation: an hour that costs 0, and the fee."""
    [term] = [
        term
        for term in RESERVED_TERMS
        if (term.years, term.purchase_option, term.offering_class)
        == (years, "All Upfront", "standard")
    ]
    hourly, fee = reserved_rows(
        product, term, hourly=Decimal(0), upfront=upfront, effective_date=effective_date
    )
    return hourly, fee


def reserved_rows(
    product: Product,
    term: ReservedTerm,
    *,
    hourly: Decimal,
    upfront: Decimal | None,
    effective_date: str,
    codes: Codes = GLOBAL,
) -> tuple[Row, ...]:
    """The rates of a reserved term: its hour and, unless `upfront` is None, its fee."""
    words = "Linux/UNIX" if product["Operating System"] == "Linux" else product["Operating System"]
    applied = f"{words} (Amazon VPC), {product['Instance Type']} reserved instance applied"
    shared = {
        **product,
        **_term(product, term.code, "Reserved", effective_date, codes),
        "LeaseContractLength": f"{term.years}yr",
        "PurchaseOption": term.purchase_option,
        "OfferingClass": term.offering_class,
    }
    hour = {
        **shared,
        **_rate(product, term.code, codes.hourly_rate),
        "PriceDescription": applied if hourly else f"{codes.currency} 0.0 per {applied}",
        "StartingRange": "0",
        "EndingRange": "Inf",
        "Unit": "Hrs",
        "PricePerUnit": price_text(hourly),
    }
    if upfront is None:
        return (hour,)
    fee = {
        **shared,
        **_rate(product, term.code, UPFRONT_RATE),
        "PriceDescription": "Upfront Fee",
        "Unit": "Quantity",
        "PricePerUnit": plain_text(upfront),
    }
    return hour, fee


def describe(price: Decimal, software: Software, billing: Billing, instance_type: str) -> str:
    """AWS's sentence about an hour of an instance, as in `$0.192 per On Demand Linux ...`."""
    amount = "0.00" if price == 0 else plain_text(price)
    if billing is ON_HOST:
        return f"${amount} per {software.words} {instance_type} Dedicated Host Instance hour"
    return f"${amount} per {billing.spoken} {software.words} {instance_type} Instance Hour"


def price_text(price: Decimal) -> str:
    """An hourly price as AWS writes it: ten decimals.

    Raises:
        ValueError: the price has more decimals, which would be lost.
    """
    text = f"{price:.10f}"
    if Decimal(text) != price:
        raise ValueError(f"AWS writes ten decimals, and {price} has more")
    return text


def plain_text(price: Decimal) -> str:
    """A number without padding and exponent: 2750, 0.192."""
    text = f"{price:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _service(place: Place) -> Row:
    return {
        "serviceCode": "AmazonEC2",
        "Location": place.location,
        "Location Type": place.location_type,
        "Region Code": place.region_id,
        "serviceName": "Amazon Elastic Compute Cloud",
    }


def _term(
    product: Product, term_code: str, term_type: str, effective_date: str, codes: Codes
) -> Row:
    return {
        "SKU": product["SKU"],
        "OfferTermCode": term_code,
        "TermType": term_type,
        "EffectiveDate": effective_date,
        "Currency": codes.currency,
    }


def _rate(product: Product, term_code: str, rate: str) -> Row:
    return {"RateCode": f"{product['SKU']}.{term_code}.{rate}"}


_POSITIONS = {name: position for position, name in enumerate(COLUMNS)}


def _fields(row: Mapping[str, str]) -> Sequence[str]:
    fields = [""] * len(COLUMNS)
    for name, value in row.items():
        fields[_POSITIONS[name]] = value
    return fields


def _csv_line(fields: Sequence[str]) -> str:
    return ",".join(_quoted(fields))


def _quoted(fields: Sequence[str]) -> Iterator[str]:
    for field in fields:
        yield '"' + field.replace('"', '""') + '"' if field else ""
