"""Collected Azure list prices -> the items of one region and price type.

Only prices that are facts are written. Names and product ids are Microsoft's where a collected
list has them; meters and SKUs have Microsoft's ids in five European regions and in a few items of
East US, and elsewhere synthetic ones: SYN, number of the region, number of the size, kind of meter.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import defaultdict
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import polars as pl

from support.encode_azure import LINUX, WINDOWS, Item, Meter, retail_item

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from recording.selection import AzureSelection

PRICES = "azure/retail_all_regions_2026-08.parquet"
SPECS = "azure/resource_sku_specs_2026-08-22.parquet"
INDEX = "azure/azurehub_index_2026-08-22.json"
METER_NAMES = "azure/retail_vm_meter_names_58regions_2026-08.parquet"
EUROPEAN_METERS = "azure/retail_vm_consumption_5eu_2026-08-20.parquet"
EUROPEAN_CHANGES = "azure/retail_vm_changes_5eu_2026-07_08.parquet"
FRANCE_2021 = "azure/retail_vm_francecentral_2021-12.json.gz"
WIRE_SAMPLES = (
    "azure/wire/retail_eastus_nd_2026-07-27.json",
    "azure/wire/retail_eastus_d2als_v7_preview_savingsplan.json",
    "azure/wire/retail_eastus_d2s_v3_preview_nofilter.json",
)
FUTURE_SAMPLE = "azure/wire/retail_reservation_page1_excerpt.json"

SNAPSHOT = "2026-08-22"
EFFECTIVE_START_DATE = "2026-08-01T00:00:00Z"
PREVIOUS_START_DATE = "2026-07-01T00:00:00Z"
PREVIOUS_END_DATE = "2026-07-31T23:59:00Z"

HOURS_A_YEAR = 8760
PRICE_TYPES = ("Consumption", "DevTestConsumption", "Reservation")

_GPU_SIZE = re.compile(r"(standard_)?n[a-z]*\d", re.IGNORECASE)

_HOST_OR_CLOUD_SERVICE = re.compile(r"dedicated ?host|cloud ?services", re.IGNORECASE)
_CLOUD_SERVICE = re.compile(r"cloud ?services", re.IGNORECASE)
_PROMO = re.compile(r"\bpromo\b", re.IGNORECASE)
_IS_WINDOWS = re.compile(r"\bwin(dows)?$", re.IGNORECASE)
_TIER = re.compile(r" (Spot|Low Priority)$")

# What Microsoft writes shorter in skuName than in armSkuName.
_ABBREVIATIONS = (
    ("rtxpro6000bse", "rtx6k"),
    ("v620v1", "v620"),
    ("nd96asrv4", "nd96asra100v4"),
    ("isnoibh100", "isnibh100"),
    ("isflexh100", "isflh100"),
)


@dataclass(frozen=True, slots=True)
class Slot:
    """One price column of the table: which meter it is the price of."""

    column: str
    system: str
    tier: str
    code: str


# The table's columns, without DevTest, reservations and savings plans, which share these meters.
_METERED = (
    Slot("lpayg", LINUX, "", "LP"),
    Slot("lspot", LINUX, " Spot", "LS"),
    Slot("llow", LINUX, " Low Priority", "LL"),
    Slot("wpayg", WINDOWS, "", "WP"),
    Slot("wspot", WINDOWS, " Spot", "WS"),
    Slot("wlow", WINDOWS, " Low Priority", "WL"),
)
_PAYG = {LINUX: _METERED[0], WINDOWS: _METERED[3]}


@dataclass(frozen=True, slots=True)
class MeterName:
    """Microsoft's names of a meter."""

    product_id: str
    product_name: str
    sku_name: str
    meter_name: str


@dataclass(frozen=True, slots=True)
class MeterIds:
    """Microsoft's identifiers of a meter, and its dates where they are known."""

    meter_id: str
    sku_id: str
    effective_start_date: str = EFFECTIVE_START_DATE
    is_primary: bool = True


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything the items are made from."""

    names: Mapping[tuple[str, str, str], MeterName]
    ids: Mapping[tuple[str, str, str, str], MeterIds]
    locations: Mapping[str, str]
    region_numbers: Mapping[str, int]
    size_numbers: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Size:
    """One size in one region, and its row of the price table."""

    region_id: str
    arm_sku: str
    series: str
    prices: Mapping[str, Decimal]


def read_region_items(
    data: Path, selection: AzureSelection | None
) -> Iterator[tuple[str, dict[str, list[Item]]]]:
    """Yield (region id, price type -> items), ordered by region.

    Args:
        data: the data folder.
        selection: which general series to take beside the N-series; None takes every size.
    """
    table = read_table(data)
    series = dict(pl.read_parquet(data / SPECS).select("sku", "series").iter_rows())
    facts = _read_facts(data, table)
    extras = _read_extra_items(data, facts)
    for region_id in sorted(facts.locations):
        items: dict[str, list[Item]] = {price_type: [] for price_type in PRICE_TYPES}
        for size in _sizes(table, region_id, series):
            if not _is_selected(size, selection):
                continue
            for item in _size_items(size, facts):
                items[item["type"]].append(item)
        for item in extras.get(region_id, ()):
            items[item["type"]].append(item)
        yield region_id, items


def _size_items(size: Size, facts: Facts) -> Iterator[Item]:
    prices = size.prices
    if "ldev" in prices:
        # The source took these sizes' Windows meter ("... Srs Win") for the Linux one.
        yield from _windows_only_items(size, facts)
    else:
        yield from _metered_items(size, facts)
    for years in (1, 3):
        if (hourly := prices.get(f"lri{years}")) is not None:
            yield _reservation_item(size, facts, hourly, years)


def _metered_items(size: Size, facts: Facts) -> Iterator[Item]:
    for slot in _METERED:
        if (price := size.prices.get(slot.column)) is None:
            continue
        meter, sku_id = _meter(size, slot, facts)
        plans = _savings_plans(size, slot)
        yield retail_item(meter, price, sku_id=sku_id, savings_plan=plans)
    if (price := size.prices.get("wdev")) is not None:
        meter, sku_id = _meter(size, _PAYG[WINDOWS], facts)
        yield retail_item(meter, price, sku_id=sku_id, price_type="DevTestConsumption")


def _windows_only_items(size: Size, facts: Facts) -> Iterator[Item]:
    for slot in _METERED[:3]:
        if (price := size.prices.get(slot.column)) is not None:
            windows = replace(slot, system=WINDOWS, code=f"W{slot.code[1]}")
            meter, sku_id = _meter(size, windows, facts)
            yield retail_item(meter, price, sku_id=sku_id)
    meter, sku_id = _meter(size, _PAYG[WINDOWS], facts)
    yield retail_item(meter, size.prices["ldev"], sku_id=sku_id, price_type="DevTestConsumption")


def _savings_plans(size: Size, slot: Slot) -> list[tuple[str, Decimal]]:
    if slot.tier:
        return []
    letter = "w" if slot.system == WINDOWS else "l"
    plans = (("3 Years", f"{letter}sp3"), ("1 Year", f"{letter}sp1"))
    return [(term, size.prices[column]) for term, column in plans if column in size.prices]


def _reservation_item(size: Size, facts: Facts, hourly: Decimal, years: int) -> Item:
    meter, sku_id = _meter(size, _PAYG[LINUX], facts, known_ids=False)
    return retail_item(
        meter,
        term_sum(hourly, years),
        sku_id=f"{sku_id}-R{years}",
        price_type="Reservation",
        reservation_term="1 Year" if years == 1 else f"{years} Years",
    )


def term_sum(hourly: Decimal, years: int) -> Decimal:
    """Recover the whole-dollar sum of a term, which the table divides by the term's hours.

    Raises:
        ValueError: it is not a whole number of dollars within the table's six decimals.
    """
    hours = HOURS_A_YEAR * years
    total = (hourly * hours).quantize(Decimal(1))
    if abs(total / hours - hourly) > Decimal("0.0000005"):
        raise ValueError(f"{hourly} an hour is no whole-dollar sum over {years} years")
    return total


def _meter(size: Size, slot: Slot, facts: Facts, *, known_ids: bool = True) -> tuple[Meter, str]:
    """Return the meter of a price slot, and its skuId."""
    name = facts.names.get((short_name(size.arm_sku), slot.system, slot.tier))
    if name is None:
        name = _synthetic_name(size, slot)
    ids = facts.ids.get((size.region_id, name.product_name, name.sku_name, "Consumption"))
    numbers = f"{facts.region_numbers[size.region_id]:02d}-{facts.size_numbers[size.arm_sku]:04d}"
    if ids is None or not known_ids:
        ids = MeterIds(
            meter_id=ids.meter_id if ids else _synthetic_meter_id(numbers, slot),
            sku_id=f"{name.product_id}/SYN-{numbers}-{slot.code}",
        )
    meter = Meter(
        arm_region_name=size.region_id,
        location=facts.locations[size.region_id],
        arm_sku_name=size.arm_sku,
        meter_id=ids.meter_id,
        meter_name=name.meter_name,
        product_id=name.product_id,
        product_name=name.product_name,
        sku_name=name.sku_name,
        effective_start_date=ids.effective_start_date,
        is_primary_meter_region=ids.is_primary,
    )
    return meter, ids.sku_id


def _synthetic_meter_id(numbers: str, slot: Slot) -> str:
    region, size = numbers.split("-")
    code = 10 + _METERED.index(next(s for s in _METERED if s.code == slot.code))
    return f"00000000-0000-5000-8000-{region}{size}0000{code}"


def _synthetic_name(size: Size, slot: Slot) -> MeterName:
    short = size.arm_sku.removeprefix("Standard_").replace("_", " ")
    return MeterName(
        product_id=f"SYN{short_name(size.series).upper()}{'W' if slot.system else 'L'}",
        product_name=f"Virtual Machines {size.series} Series{slot.system}",
        sku_name=short + slot.tier,
        meter_name=short + slot.tier,
    )


def short_name(sku: str) -> str:
    """`Standard_NC4as_T4_v3`, `NC4as T4 v3` and `NC4asT4v3` -> `nc4ast4v3`."""
    short = re.sub(r"^(standard|basic)_", "", sku, flags=re.IGNORECASE)
    short = re.sub(r"[ _]", "", short).lower()
    for long, abbreviation in _ABBREVIATIONS:
        short = short.replace(long, abbreviation)
    return short


def _read_facts(data: Path, table: pl.DataFrame) -> Facts:
    index = json.loads((data / INDEX).read_text(encoding="utf-8"))
    locations = {region["name"]: region["label"] for region in index["regions"]}
    return Facts(
        names=_read_names(data),
        ids=_read_european_ids(data) | _read_wire_ids(data),
        locations=locations,
        region_numbers={name: number for number, name in enumerate(sorted(locations))},
        size_numbers={
            sku: number for number, sku in enumerate(table["arm_sku"].unique().sort().to_list())
        },
    )


def _read_names(data: Path) -> dict[tuple[str, str, str], MeterName]:
    """Read the names by (short name, system, tier). The A series has two of each; none is used."""
    names: dict[tuple[str, str, str], MeterName] = {}
    frame = (
        pl.read_parquet(data / METER_NAMES)
        .select("productId", "productName", "skuName", "meterName")
        .unique()
        .sort(pl.all())
    )
    for product_id, product_name, sku_name, meter_name in frame.iter_rows():
        if _HOST_OR_CLOUD_SERVICE.search(product_name):
            continue
        tier = match.group(0) if (match := _TIER.search(sku_name)) else ""
        short = short_name(sku_name.removesuffix(tier))
        if _PROMO.search(product_name) and not short.endswith("promo"):
            short += "promo"
        system = WINDOWS if _IS_WINDOWS.search(product_name) else LINUX
        # A meter that is renamed when it expires stays listed under both names.
        known = names.get((short, system, tier))
        if known is None or known.meter_name.endswith("Expired"):
            names[short, system, tier] = MeterName(product_id, product_name, sku_name, meter_name)
    return names


def _read_european_ids(data: Path) -> dict[tuple[str, str, str, str], MeterIds]:
    frame = pl.read_parquet(data / EUROPEAN_METERS)
    return {
        (row["armRegionName"], row["productName"], row["skuName"], row["type"]): MeterIds(
            row["meterId"], row["skuId"]
        )
        for row in frame.to_dicts()
    }


def _read_wire_ids(data: Path) -> dict[tuple[str, str, str, str], MeterIds]:
    ids = {}
    for sample in WIRE_SAMPLES:
        for item in _read_items(data / sample):
            key = (item["armRegionName"], item["productName"], item["skuName"], item["type"])
            ids[key] = MeterIds(
                item["meterId"],
                item["skuId"],
                item["effectiveStartDate"],
                is_primary=item["isPrimaryMeterRegion"],
            )
    return {key: value for key, value in ids.items() if key[3] == "Consumption"}


def _read_items(path: Path) -> list[Item]:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        document = json.load(file, parse_float=Decimal)
    items: list[Item] = document.get("Items") or document["items"]
    return items


def read_table(data: Path) -> pl.DataFrame:
    """Read the price table of the snapshot: a row a region and size, a column a price slot."""
    table = pl.read_parquet(data / PRICES).filter(pl.col("last_updated") == SNAPSHOT)
    return table.sort("arm_region", "arm_sku")


def _sizes(table: pl.DataFrame, region_id: str, series: Mapping[str, str]) -> Iterator[Size]:
    for row in table.filter(pl.col("arm_region") == region_id).to_dicts():
        prices = {
            column: Decimal(repr(value))
            for column, value in row.items()
            if isinstance(value, float)
        }
        yield Size(region_id, row["arm_sku"], series.get(row["arm_sku"], ""), prices)


def _is_selected(size: Size, selection: AzureSelection | None) -> bool:
    return (
        selection is None
        or _GPU_SIZE.match(size.arm_sku) is not None
        or size.series in selection.general_series
    )


def _read_extra_items(data: Path, facts: Facts) -> dict[str, list[Item]]:
    """Real items around the VM prices: hosts, Cloud Services, superseded, free and future ones."""
    extras: dict[str, list[Item]] = defaultdict(list)
    arm_skus = {short_name(sku): sku for sku in facts.size_numbers}
    meters = pl.read_parquet(data / EUROPEAN_METERS).sort("armRegionName", "productName", "skuName")
    for row in meters.to_dicts():
        if _HOST_OR_CLOUD_SERVICE.search(row["productName"]):
            meter = _european_meter(row, _extra_arm_sku(row, arm_skus), facts)
            price = Decimal(repr(row["retailPrice"]))
            extras[row["armRegionName"]].append(retail_item(meter, price, sku_id=row["skuId"]))
    for row in _read_superseded(data, meters).to_dicts():
        arm_sku = arm_skus.get(short_name(_TIER.sub("", row["skuName"])))
        if arm_sku is not None:
            extras[row["armRegionName"]].append(_superseded_item(row, arm_sku, facts))
    for item in (*_free_items(data), *_future_items(data)):
        extras[item["armRegionName"]].append(item)
    return extras


def _extra_arm_sku(row: Mapping[str, Any], arm_skus: Mapping[str, str]) -> str:
    """Cloud Services meters carry a VM's armSkuName; hosts have their own."""
    if not _CLOUD_SERVICE.search(row["productName"]):
        return str(row["skuName"]).replace(" ", "_")
    return arm_skus.get(short_name(_TIER.sub("", row["skuName"])), "")


def _european_meter(row: Mapping[str, Any], arm_sku: str, facts: Facts) -> Meter:
    return Meter(
        arm_region_name=row["armRegionName"],
        location=facts.locations[row["armRegionName"]],
        arm_sku_name=arm_sku,
        meter_id=row["meterId"],
        meter_name=row["meterName"],
        product_id=row["productId"],
        product_name=row["productName"],
        sku_name=row["skuName"],
        effective_start_date=EFFECTIVE_START_DATE,
    )


def _read_superseded(data: Path, meters: pl.DataFrame) -> pl.DataFrame:
    """Read the prices of July of meters whose price changed on 2026-08-01: GPU sizes and PAYG."""
    changes = (
        pl.read_parquet(data / EUROPEAN_CHANGES)
        .filter(pl.col("event") == "changed", pl.col("before_usd") != pl.col("after_usd"))
        .select("key", "before_usd", "sku_name")
        .filter(
            pl.col("sku_name").str.contains("(?i)^(standard_)?n[a-z]*[0-9]")
            | ~pl.col("sku_name").str.contains("Spot$")
        )
    )
    keyed = meters.with_columns(
        key=pl.format("{}|{}|Consumption|", pl.col("skuId"), pl.col("meterId"))
    )
    return keyed.join(changes, on="key", validate="1:m").sort("key")


def _superseded_item(row: Mapping[str, Any], arm_sku: str, facts: Facts) -> Item:
    meter = replace(_european_meter(row, arm_sku, facts), effective_start_date=PREVIOUS_START_DATE)
    return retail_item(
        meter,
        Decimal(repr(row["before_usd"])),
        sku_id=row["skuId"],
        effective_end_date=PREVIOUS_END_DATE,
    )


def _free_items(data: Path) -> Iterable[Item]:
    """The free-tier meters of B1s, listed at 0 since 2017."""
    for item in _read_items(data / FRANCE_2021):
        if item["retailPrice"] == 0 and item["armSkuName"] == "Standard_B1s":
            zero = Decimal(0)
            yield item | {"tierMinimumUnits": zero, "retailPrice": zero, "unitPrice": zero}


def _future_items(data: Path) -> Iterable[Item]:
    """A price that was announced for a day after the recording's."""
    for item in _read_items(data / FUTURE_SAMPLE):
        if item["serviceName"] == "Virtual Machines" and item["effectiveStartDate"] > SNAPSHOT:
            yield item
