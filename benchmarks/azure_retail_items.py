"""What a night of Azure retail items costs: CPU time and peak memory against bare polars.

    python benchmarks/azure_retail_items.py [--items 650000] [--repeat 3]

Writes listings of made-up items in the real proportions (69 regions, price types, meter kinds,
about 610 bytes an item, pages of 1,000), then runs every variant in a process of its own:

polars   each page by pl.read_json with a schema (prices as floats), a parquet file a region.
         The yardstick: it is wrong in the 16th digit and takes any type for text
parse    each page by read_retail_page, exact and checked, a parquet file a region
catalog  parse, then normalize_retail_pages a region, a parquet file of its prices: nearly every
         item, and a row for each savings plan rate that it quotes

The limit: catalog takes at most twice the CPU time of polars for each row that it writes. For each
row, because a savings plan rate costs as much as an item does: it is judged, becomes a price and is
written, in as many columns. polars leaves the rates in the item that quotes them, and writes fewer
rows than catalog from the same pages.
"""

import argparse
import io
import json
import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import polars as pl  # noqa: E402

from connectors.azure.wire import read_retail_page  # noqa: E402
from transforms.azure_prices import normalize_retail_pages  # noqa: E402
from warehouse.schemas.catalog import REGIONS  # noqa: E402
from warehouse.schemas.raw import AZURE_RETAIL_ITEMS  # noqa: E402

LIMIT = 2.0
PAGE_ITEMS = 1_000
REGION_COUNT = 69
ITEMS_A_SIZE = 11
_HEX = "0123456789ABCDEF"


class Cost(NamedTuple):
    """What a variant used, starting Python and importing left out of the CPU time."""

    cpu_seconds: float
    peak_mib: float
    rows: int

    @property
    def row_microseconds(self) -> float:
        """CPU time of a row that was written."""
        return 1e6 * self.cpu_seconds / self.rows


class _Meter(NamedTuple):
    price_type: str
    system: str
    kind: str
    share: float


_METERS = (
    _Meter("Consumption", "", "", 1.0),
    _Meter("Consumption", "", " Spot", 0.2),
    _Meter("Consumption", "", " Low Priority", 0.2),
    _Meter("Consumption", " Windows", "", 1.4),
    _Meter("Consumption", " Windows", " Spot", 0.3),
    _Meter("Consumption", " Windows", " Low Priority", 0.3),
    _Meter("DevTestConsumption", " Windows", "", 1.0),
    _Meter("DevTestConsumption", " Windows", " Spot", 0.2),
    _Meter("DevTestConsumption", " Windows", " Low Priority", 0.2),
)
_TERMS = (("1 Year", 5_000), ("3 Years", 9_000))


def write_listings(directory: Path, *, items: int, seed: int = 0) -> None:
    """Write listings of about that many items: directory/region/priceType/page.json."""
    rng = random.Random(seed)
    sizes = max(1, round(items / REGION_COUNT / ITEMS_A_SIZE))
    for region in range(REGION_COUNT):
        listed: dict[str, list[dict[str, Any]]] = {}
        for size in range(sizes):
            for item in _items(f"region{region:02d}", size, rng):
                listed.setdefault(item["type"], []).append(item)
        for price_type, of_type in listed.items():
            target = directory / f"region{region:02d}" / price_type
            target.mkdir(parents=True)
            for page, first in enumerate(range(0, len(of_type), PAGE_ITEMS)):
                body = _page(of_type[first : first + PAGE_ITEMS])
                (target / f"{page:03d}.json").write_bytes(body)


def _page(items: list[dict[str, Any]]) -> bytes:
    envelope = {
        "BillingCurrency": "USD",
        "CustomerEntityId": "Default",
        "CustomerEntityType": "Retail",
        "Items": items,
        "NextPageLink": None,
        "Count": len(items),
    }
    return json.dumps(envelope, separators=(",", ":")).encode()


def _items(region_id: str, size: int, rng: random.Random) -> Iterator[dict[str, Any]]:
    vcpus, series = 2 ** (size % 7 + 1), size // 7 % 9 + 1
    name = f"D{vcpus}ads v{series}"
    base = round(vcpus * rng.uniform(0.04, 0.06), 4)
    for meter in _METERS:
        item = _item(region_id, name, meter, round(base * meter.share, 6), rng)
        if meter.price_type == "Consumption" and not meter.system and not meter.kind:
            item["savingsPlan"] = [
                {"unitPrice": plan, "retailPrice": plan, "term": term}
                for term, plan in (
                    ("3 Years", round(base * 0.45, 6)),
                    ("1 Year", round(base * 0.7, 6)),
                )
            ]
        yield item
    for term, hours in _TERMS:
        reservation = _Meter("Reservation", "", "", float(hours))
        item = _item(region_id, name, reservation, float(round(base * hours)), rng)
        yield {"reservationTerm": term, **item}


def _item(
    region_id: str, name: str, meter: _Meter, price: float, rng: random.Random
) -> dict[str, Any]:
    series = name.split()[1]
    product_id = "DZH318Z0" + "".join(rng.choices(_HEX, k=4))
    return {
        "currencyCode": "USD",
        "tierMinimumUnits": 0.0,
        "retailPrice": price,
        "unitPrice": price,
        "armRegionName": region_id,
        "location": "US East",
        "effectiveStartDate": "2025-11-01T00:00:00Z",
        "meterId": f"{rng.getrandbits(32):08x}-ef9a-5c3e-8f5b-{rng.getrandbits(48):012x}",
        "meterName": name + meter.kind,
        "productId": product_id,
        "skuId": f"{product_id}/{''.join(rng.choices(_HEX, k=4))}",
        "productName": f"Virtual Machines Dads{series} Series{meter.system}",
        "skuName": name + meter.kind,
        "serviceName": "Virtual Machines",
        "serviceId": "DZH313Z7MMC8",
        "serviceFamily": "Compute",
        "unitOfMeasure": "1 Hour",
        "type": meter.price_type,
        "isPrimaryMeterRegion": True,
        "armSkuName": f"Standard_{name.replace(' ', '_')}",
    }


_Pages = list[tuple[str, bytes]]


def _run_polars(_: str, pages: _Pages) -> pl.DataFrame:
    number, text = pl.Float64, pl.String
    plan = pl.Struct({"term": text, "retailPrice": number, "unitPrice": number})
    special: dict[str, Any] = {
        "is_primary_meter_region": pl.Boolean,
        "savings_plan": pl.List(plan),
        "tier_minimum_units": number,
        "retail_price": number,
        "unit_price": number,
    }
    fields = {_wire_name(name): special.get(name, text) for name in AZURE_RETAIL_ITEMS.columns}
    schema = {"Items": pl.List(pl.Struct(fields))}
    return pl.concat(
        pl.read_json(io.BytesIO(body), schema=schema)["Items"].explode().struct.unnest()
        for _, body in pages
    )


def _wire_name(column: str) -> str:
    first, *others = column.split("_")
    return first + "".join(word.capitalize() for word in others)


def _run_parse(_: str, pages: _Pages) -> pl.DataFrame:
    return pl.concat(read_retail_page(body, source_id=page).items for page, body in pages)


def _run_catalog(region_id: str, pages: _Pages) -> pl.DataFrame:
    parsed = [(page, read_retail_page(body, source_id=page).items) for page, body in pages]
    return normalize_retail_pages(parsed, region_id=region_id, regions=_regions(region_id)).prices


def _regions(region_id: str) -> pl.DataFrame:
    row = {"provider": "azure", "region_id": region_id, "region_name": region_id}
    row |= {"region_kind": "region", "partition": "azure", "source": "made up"}
    return pl.DataFrame([row], schema=REGIONS.schema)


VARIANTS: dict[str, Callable[[str, _Pages], pl.DataFrame]] = {
    "polars": _run_polars,
    "parse": _run_parse,
    "catalog": _run_catalog,
}


def run_variant(variant: str, listings: Path) -> Cost:
    """Run one variant over all regions in this process."""
    make = VARIANTS[variant]
    before = _cpu_seconds()
    rows = 0
    with tempfile.TemporaryDirectory() as target:
        for number, region in enumerate(sorted(listings.iterdir())):
            pages = [(str(page), page.read_bytes()) for page in sorted(region.glob("*/*.json"))]
            frame = make(region.name, pages)
            frame.write_parquet(f"{target}/{number}.parquet", compression="zstd")
            rows += frame.height
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Cost(_cpu_seconds() - before, peak, rows)


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def measure(variant: str, listings: Path) -> Cost:
    """Run one variant over all regions in a process of its own."""
    command = [sys.executable, str(Path(__file__)), "--variant", variant, str(listings)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return Cost(*json.loads(done.stdout))


def main() -> None:
    """Generate, measure every variant in turn, print the cheapest run of each and the ratio."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--items", type=int, default=650_000)
    arguments.add_argument("--repeat", type=int, default=3)
    arguments.add_argument("--variant", choices=VARIANTS, help=argparse.SUPPRESS)
    arguments.add_argument("listings", nargs="?", type=Path, help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.variant:
        print(json.dumps(run_variant(given.variant, given.listings)))
        return
    with tempfile.TemporaryDirectory() as directory:
        listings = Path(directory)
        write_listings(listings, items=given.items)
        pages = list(listings.glob("*/*/*.json"))
        size = sum(page.stat().st_size for page in pages)
        print(f"{len(pages)} pages, {size / 1e6:.0f} MB")
        runs = [
            {variant: measure(variant, listings) for variant in VARIANTS}
            for _ in range(given.repeat)
        ]
    best = {name: min(run[name] for run in runs) for name in VARIANTS}
    yardstick = best["polars"]
    for name, cost in best.items():
        print(
            f"{name:8} {cost.cpu_seconds:6.2f} CPU s {cost.peak_mib:5.0f} MiB peak "
            f"{cost.rows:8,} rows {cost.cpu_seconds / yardstick.cpu_seconds:5.2f} x polars, "
            f"a row {cost.row_microseconds:5.2f} us "
            f"{cost.row_microseconds / yardstick.row_microseconds:5.2f} x polars"
        )
    print(f"limit    {LIMIT:.2f} x polars a row")


if __name__ == "__main__":
    main()
