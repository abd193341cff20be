"""Collected EC2 list prices -> the rows of one offer file a region or zone.

Only prices that are facts are written: those of the collected tables, and those that follow from
a rule of AWS's own list (README.md names each rule and how it was checked). SKUs are synthetic:
SYN, number of the place, number of the type, what runs on it and how it is billed.
"""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import polars as pl

from recording import aws_savings_plans
from support.encode_aws import (
    ALLOCATED_RESERVATION,
    CAPACITY_BLOCK,
    DEDICATED,
    LINUX,
    ON_DEMAND,
    ON_HOST,
    UNUSED_RESERVATION,
    WINDOWS,
    WINDOWS_BYOL,
    WINDOWS_UNLICENSED,
    Billing,
    Place,
    Row,
    Software,
    all_upfront_rows,
    capacity_block_product,
    compute_product,
    data_transfer_in_product,
    dedicated_host_product,
    describe,
    ebs_optimized_product,
    free_trial_row,
    on_demand_row,
    plain_text,
    reserved_host_product,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from recording.selection import AwsSelection

PRICES = "aws/prices/vantage_tidy_all-regions_all-os_2026-07-05.parquet"
DEDICATED_PRICES = "aws/prices/karpenter_ondemand_latest.csv"
IRELAND_2023 = "aws/prices/AmazonEC2_eu-west-1_ondemand_all-skus_2023-02-23.csv.gz"
TWELVE_TERMS = "aws/bulk/AmazonEC2_global_index_sample_20250912225308.csv"
TWELVE_TERMS_SKU = "2223B6PCG6QAUYY6"
PARIS_2020 = "aws/bulk/AmazonEC2_eu-west-3_ebs_slice_20201019204802.csv"

PUBLISHED_AT = "2026-07-05T00:00:00Z"
VERSION = "20260705000000"
EFFECTIVE_DATE = "2026-07-01"

HOURS_A_YEAR = 8760

_ACCELERATED = re.compile(r"(p|g|gr|inf|trn|dl|f|vt)\d")
# Priced per hour, yet what is priced is a fee for software on top of a Capacity Block.
_CAPACITY_BLOCK_ONLY = frozenset({"p5e", "trn2"})

_SOFTWARE = {
    "linux": LINUX,
    "mswin": WINDOWS,
    "rhel": Software("RHEL", "RunInstances:0010"),
    "rhelHA": Software("Red Hat Enterprise Linux with HA", "RunInstances:1010"),
    "sles": Software("SUSE", "RunInstances:000g"),
    "ubuntu": Software("Ubuntu Pro", "RunInstances:0g00"),
    "linuxSQLWeb": Software("Linux", "RunInstances:0200", "SQL Web"),
    "linuxSQL": Software("Linux", "RunInstances:0004", "SQL Std"),
    "linuxSQLEnterprise": Software("Linux", "RunInstances:0100", "SQL Ent"),
    "mswinSQLWeb": Software("Windows", "RunInstances:0202", "SQL Web"),
    "mswinSQL": Software("Windows", "RunInstances:0006", "SQL Std"),
    "mswinSQLEnterprise": Software("Windows", "RunInstances:0102", "SQL Ent"),
    "rhelSQLWeb": Software("RHEL", "RunInstances:0210", "SQL Web"),
    "rhelSQL": Software("RHEL", "RunInstances:0014", "SQL Std"),
    "rhelSQLEnterprise": Software("RHEL", "RunInstances:0110", "SQL Ent"),
    "rhelHASQL": Software("Red Hat Enterprise Linux with HA", "RunInstances:1014", "SQL Std"),
    "rhelHASQLEnterprise": Software(
        "Red Hat Enterprise Linux with HA", "RunInstances:1110", "SQL Ent"
    ),
}
_ACCELERATED_SYSTEMS = ("linux", "mswin", "rhel", "rhelHA", "sles", "ubuntu")
_GENERAL_SYSTEMS = ("linux", "mswin")

_SYSTEM_CODES = {
    "Linux": "LX",
    "Windows": "WN",
    "RHEL": "RH",
    "Red Hat Enterprise Linux with HA": "RA",
    "SUSE": "SU",
    "Ubuntu Pro": "UP",
}
_SQL_CODES = {"NA": "0", "SQL Web": "W", "SQL Std": "S", "SQL Ent": "E"}
_LICENSE_CODES = {
    LINUX.license_model: "N",
    WINDOWS_BYOL.license_model: "B",
    WINDOWS_UNLICENSED.license_model: "I",
}
_BILLING_CODES = {
    ON_DEMAND: "SU",
    UNUSED_RESERVATION: "SR",
    ALLOCATED_RESERVATION: "SA",
    DEDICATED: "DU",
    ON_HOST: "HU",
    CAPACITY_BLOCK: "SC",
}


@dataclass(frozen=True, slots=True)
class Offer:
    """Everything that is known of one instance type in one place."""

    machine: Mapping[str, str]
    family: str
    type_number: int
    prices: Mapping[str, Decimal]
    upfront: Mapping[str, Mapping[int, Decimal]]
    """By system, then by years: the fee of the standard reservation that is paid upfront."""
    dedicated_price: Decimal | None

    @property
    def instance_type(self) -> str:
        """As in p5.48xlarge."""
        return self.machine["Instance Type"]

    @property
    def is_accelerated(self) -> bool:
        """Whether the family is a p, g, gr, inf, trn, dl, f or vt."""
        return _ACCELERATED.match(self.family) is not None


@dataclass(frozen=True, slots=True)
class Location:
    """A place, its number, which is part of its SKUs, and what is wanted of it."""

    place: Place
    number: int
    is_in_full: bool
    has_all_reservations: bool
    known_skus: Mapping[tuple[str, str], str]
    """AWS's own SKUs, where they are known, by usage type and operation."""


@dataclass(frozen=True, slots=True)
class Curiosities:
    """Rows of real lists that no price table has, by place."""

    free_ebs_types: frozenset[str]
    paris_storage: tuple[Row, ...]
    tokyo_terms: tuple[Row, ...]


def read_offer_rows(
    data: Path, places: Path, selection: AwsSelection
) -> Iterator[tuple[str, list[Row]]]:
    """Yield (region id, rows of its offer file), ordered by region id; `data` is the data folder.

    Raises:
        LookupError: a region or zone of the price table is missing in `places`.
    """
    prices = pl.read_parquet(data / PRICES)
    locations = _read_locations(places, prices, selection, aws_savings_plans.read_skus(data))
    offers = _read_offers(prices, _read_dedicated_prices(data), selection)
    curiosities = Curiosities(
        _read_free_ebs_types(data), _read_paris_storage(data), _read_tokyo_terms(data)
    )
    for region_id, location in locations.items():
        rows = list(_place_rows(location, offers[region_id], curiosities))
        # AWS sorts its file by SKU.
        rows.sort(key=lambda row: (row["SKU"], row["OfferTermCode"], row["RateCode"]))
        yield region_id, rows


def _place_rows(location: Location, offers: list[Offer], curiosities: Curiosities) -> Iterator[Row]:
    region_id = location.place.region_id
    for offer in offers:
        if offer.family in _CAPACITY_BLOCK_ONLY:
            yield from _capacity_block_rows(location, offer, offer.prices)
            continue
        if (region_id, offer.instance_type) == ("us-east-1", "p5.48xlarge"):
            yield from _capacity_block_rows(location, offer, {})
        yield from _on_demand_rows(location, offer)
        yield from _reserved_rows(location, offer)
        yield from _dedicated_rows(location, offer)
        if region_id == "eu-west-1" and offer.instance_type in curiosities.free_ebs_types:
            yield _free_ebs_row(location, offer)
    yield from _host_rows(location, offers)
    if region_id == "ap-northeast-1":
        yield from curiosities.tokyo_terms
    yield _data_transfer_row(location)
    if location.place.location_type == "AWS Region":
        yield free_trial_row(EFFECTIVE_DATE)
    if region_id == "eu-west-3":
        yield from curiosities.paris_storage


def _on_demand_rows(location: Location, offer: Offer) -> Iterator[Row]:
    region_id = location.place.region_id
    for system in _systems(offer, location):
        price = offer.prices.get(system)
        if price is None:
            continue
        yield from _used_and_reserved_capacity(location, offer, _SOFTWARE[system], price)
    linux = offer.prices.get("linux")
    if linux is None or "mswin" not in offer.prices:
        return
    # Whoever brings the Windows licence pays the machine only.
    yield from _used_and_reserved_capacity(location, offer, WINDOWS_BYOL, linux)
    if (region_id, offer.instance_type) == ("us-east-1", "m5.xlarge"):
        yield _row(location, offer, WINDOWS_UNLICENSED, ON_DEMAND, linux)


def _systems(offer: Offer, location: Location) -> tuple[str, ...]:
    if location.is_in_full:
        return tuple(_SOFTWARE)
    return _ACCELERATED_SYSTEMS if offer.is_accelerated else _GENERAL_SYSTEMS


def _used_and_reserved_capacity(
    location: Location, offer: Offer, software: Software, price: Decimal
) -> Iterator[Row]:
    yield _row(location, offer, software, ON_DEMAND, price)
    if software not in (LINUX, WINDOWS):
        return
    used_sku = _sku(location, offer, software, ON_DEMAND)
    yield _row(location, offer, software, UNUSED_RESERVATION, price, used_sku=used_sku)
    yield _row(location, offer, software, ALLOCATED_RESERVATION, Decimal(0), used_sku=used_sku)


def _reserved_rows(location: Location, offer: Offer) -> Iterator[Row]:
    if not (offer.is_accelerated or location.is_in_full):
        return
    for system in _SOFTWARE if location.has_all_reservations else ("linux",):
        software = _SOFTWARE[system]
        product = compute_product(
            location.place,
            offer.machine,
            software,
            ON_DEMAND,
            sku=_sku(location, offer, software, ON_DEMAND),
        )
        for years, fee in offer.upfront.get(system, {}).items():
            yield from all_upfront_rows(product, fee, years=years, effective_date=EFFECTIVE_DATE)


def _dedicated_rows(location: Location, offer: Offer) -> Iterator[Row]:
    if offer.dedicated_price is not None:
        yield _row(location, offer, LINUX, DEDICATED, offer.dedicated_price)


def _capacity_block_rows(
    location: Location, offer: Offer, fees: Mapping[str, Decimal]
) -> Iterator[Row]:
    """The fees for software; the block itself is paid at the start, and is not in this list."""
    for system, fee in {"linux": Decimal(0), **fees}.items():
        software = _SOFTWARE[system]
        sku = _sku(location, offer, software, CAPACITY_BLOCK)
        yield on_demand_row(
            capacity_block_product(location.place, offer.machine, software, sku=sku),
            fee,
            describe(fee, software, CAPACITY_BLOCK, offer.instance_type),
            effective_date=EFFECTIVE_DATE,
        )


def _host_rows(location: Location, offers: list[Offer]) -> Iterator[Row]:
    """The host costs money, and what runs on it costs nothing."""
    families: dict[str, Offer] = {}
    for offer in offers:
        if "dedicated" not in offer.prices:
            continue
        families.setdefault(offer.family, offer)
        if offer.is_accelerated or location.is_in_full:
            yield _row(location, offer, LINUX, ON_HOST, Decimal(0))
    for family, offer in families.items():
        price = offer.prices["dedicated"]
        shared_by_family = {
            column: offer.machine[column]
            for column in ("Current Generation", "Instance Family", "Physical Processor")
            if column in offer.machine
        }
        usage_type = location.place.usage(f"HostUsage:{family}")
        sku = location.known_skus.get(
            (usage_type, LINUX.operation), f"SYN{location.number:03d}H{offer.type_number:04d}HOST0"
        )
        product = dedicated_host_product(location.place, shared_by_family, family, sku=sku)
        yield on_demand_row(
            product,
            price,
            f"${plain_text(price)} per {family} Dedicated Host Hour",
            effective_date=EFFECTIVE_DATE,
        )
        reserved = reserved_host_product(
            location.place,
            shared_by_family,
            family,
            sku=f"SYN{location.number:03d}H{offer.type_number:04d}HOSTR",
        )
        for years, fee in offer.upfront.get("dedicated", {}).items():
            yield from all_upfront_rows(reserved, fee, years=years, effective_date=EFFECTIVE_DATE)


def _free_ebs_row(location: Location, offer: Offer) -> Row:
    sku = f"SYN{location.number:03d}{offer.type_number:04d}EBSOPT"
    return on_demand_row(
        ebs_optimized_product(location.place, offer.machine, sku=sku),
        Decimal(0),
        f"$0.00 for {offer.instance_type} EBS-optimized instances",
        effective_date=EFFECTIVE_DATE,
    )


def _data_transfer_row(location: Location) -> Row:
    sku = f"SYN{location.number:03d}TRANSFERIN"
    return on_demand_row(
        data_transfer_in_product(location.place, sku=sku),
        Decimal(0),
        "$0.000 per GB - data transfer in per month",
        effective_date=EFFECTIVE_DATE,
        unit="GB",
    )


def _row(
    location: Location,
    offer: Offer,
    software: Software,
    billing: Billing,
    price: Decimal,
    *,
    used_sku: str = "",
) -> Row:
    product = compute_product(
        location.place,
        offer.machine,
        software,
        billing,
        sku=_sku(location, offer, software, billing),
        used_sku=used_sku,
    )
    return on_demand_row(
        product,
        price,
        describe(price, software, billing, offer.instance_type),
        effective_date=EFFECTIVE_DATE,
    )


def _sku(location: Location, offer: Offer, software: Software, billing: Billing) -> str:
    usage_type = location.place.usage(f"{billing.usage_kind}:{offer.instance_type}")
    known = location.known_skus.get((usage_type, software.operation))
    return known or (
        f"SYN{location.number:03d}{offer.type_number:04d}"
        f"{_SYSTEM_CODES[software.operating_system]}{_SQL_CODES[software.pre_installed]}"
        f"{_LICENSE_CODES[software.license_model]}{_BILLING_CODES[billing]}"
    )


def _read_locations(
    places: Path,
    prices: pl.DataFrame,
    selection: AwsSelection,
    known_skus: Mapping[tuple[str, str], str],
) -> dict[str, Location]:
    """Read the places to encode. Their numbers count all places of the price table."""
    numbers = {
        region_id: number
        for number, region_id in enumerate(prices["region_code"].unique().sort().to_list())
    }
    with places.open(encoding="utf-8", newline="") as file:
        known = {row["region_id"]: Place(**row) for row in csv.DictReader(file)}
    if numbers.keys() != known.keys():
        raise LookupError(
            f"the places of the price table and of {places.name} differ: "
            f"{sorted(numbers.keys() ^ known.keys())}. Bring {places.name} in line with the prices"
        )
    return {
        region_id: Location(
            known[region_id],
            number,
            region_id in selection.regions_in_full,
            region_id in selection.reservations_in_full,
            known_skus,
        )
        for region_id, number in numbers.items()
    }


def _read_offers(
    prices: pl.DataFrame,
    dedicated: Mapping[tuple[str, str], Decimal],
    selection: AwsSelection,
) -> dict[str, list[Offer]]:
    type_numbers = {
        instance_type: number
        for number, instance_type in enumerate(prices["instance_type"].unique().sort().to_list())
    }
    grouped: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in prices.sort("region_code", "instance_type", "operating_system").to_dicts():
        if is_selected(row["instance_type"], selection):
            grouped[row["region_code"], row["instance_type"]].append(row)
    offers: dict[str, list[Offer]] = defaultdict(list)
    for (region_id, instance_type), rows in grouped.items():
        offers[region_id].append(
            Offer(
                machine=_machine(rows[0]),
                family=instance_type.split(".")[0],
                type_number=type_numbers[instance_type],
                prices={
                    row["operating_system"]: _decimal(row["ondemand_usd_per_hour"])
                    for row in rows
                    if row["ondemand_usd_per_hour"]
                },
                upfront={row["operating_system"]: upfront_fees(row) for row in rows},
                dedicated_price=dedicated.get((region_id, instance_type)),
            )
        )
    return offers


def read_machines(data: Path) -> dict[str, Row]:
    """Read the columns that describe each type of the price table."""
    types = pl.read_parquet(data / PRICES).unique(
        "instance_type", keep="first", maintain_order=True
    )
    return {row["instance_type"]: _machine(row) for row in types.to_dicts()}


def is_selected(instance_type: str, selection: AwsSelection) -> bool:
    """Tell whether a type is accelerated or of a family that the recording holds."""
    family = instance_type.split(".", maxsplit=1)[0]
    return _ACCELERATED.match(family) is not None or family in selection.general_families


def upfront_fees(row: Mapping[str, Any]) -> dict[int, Decimal]:
    """Recover the whole-dollar fees, which the table divides by the hours of the term.

    Raises:
        ValueError: a fee is not a whole number of dollars within the table's six decimals.
    """
    fees: dict[int, Decimal] = {}
    for years in (1, 3):
        hourly = row[f"reserved_{years}yr_allupfront_usd_per_hour"]
        if hourly is None:
            continue
        hours = HOURS_A_YEAR * years
        fee = (_decimal(hourly) * hours).quantize(Decimal(1))
        if abs(fee / hours - _decimal(hourly)) > Decimal("0.0000005"):
            raise ValueError(f"{row['instance_type']}: {hourly} an hour is no whole-dollar fee")
        fees[years] = fee
    return fees


def _machine(row: Mapping[str, Any]) -> Row:
    """The columns that describe a type. What the table does not know stays empty."""
    gpus = row["gpu_count"]
    gpu_memory = row["gpu_memory_gib"]
    return {
        "Instance Type": row["instance_type"],
        "Current Generation": "Yes" if row["generation_label"] == "current" else "No",
        "Instance Family": row["family_label"],
        "vCPU": str(row["vcpu_count"]),
        "Physical Processor": row["physical_processor"] or "",
        "Clock Speed": row["clock_speed_ghz_text"] or "",
        "Memory": f"{plain_text(_decimal(row['memory_gib']))} GiB",
        "Network Performance": row["network_performance_text"] or "",
        "ECU": plain_text(_decimal(row["ecu"])) if row["ecu"] else "NA",
        "GPU": plain_text(_decimal(gpus)) if gpus else "",
        "GPU Memory": f"{gpu_memory} GB" if gpu_memory else "NA",
    }


def _read_dedicated_prices(data: Path) -> dict[tuple[str, str], Decimal]:
    """Read the prices of dedicated tenancy: that file's bare-metal rows, in USD regions."""
    with (data / DEDICATED_PRICES).open(encoding="utf-8", newline="") as file:
        return {
            (row["region"], row["instance_type"]): Decimal(row["price_per_hour"])
            for row in csv.DictReader(file)
            if row["currency"] == "USD" and ".metal" in row["instance_type"]
        }


def _read_free_ebs_types(data: Path) -> frozenset[str]:
    frame = pl.read_csv(
        data / IRELAND_2023, schema_overrides={"price": pl.String, "startingRange": pl.String}
    ).filter(
        pl.col("usagetype").str.starts_with("EU-EBSOptimized:"),
        pl.col("price").cast(pl.Decimal(18, 10)) == 0,
    )
    return frozenset(frame["instanceType"].to_list())


def _read_paris_storage(data: Path) -> tuple[Row, ...]:
    """Read the storage rows of 2020, with their own dates."""
    with (data / PARIS_2020).open(encoding="utf-8", newline="") as file:
        lines = list(csv.reader(file))
    header = lines[5]
    return tuple(
        {name: value for name, value in zip(header, line, strict=True) if value}
        | {"serviceCode": "AmazonEC2", "Region Code": "eu-west-3"}
        for line in lines[6:]
    )


def _read_tokyo_terms(data: Path) -> tuple[Row, ...]:
    """Read one SKU of the published file with all its terms, word by word, with their own dates."""
    with (data / TWELVE_TERMS).open(encoding="utf-8", newline="") as file:
        lines = list(csv.reader(file))
    header = lines[5]
    rows = (dict(zip(header, line, strict=True)) for line in lines[6:])
    return tuple(
        {name: value for name, value in row.items() if value}
        for row in rows
        if row["SKU"] == TWELVE_TERMS_SKU
    )


def _decimal(value: float) -> Decimal:
    """The decimal that a float was written as; never its binary value."""
    return Decimal(repr(value))
