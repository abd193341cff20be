"""Every price of every size in every Azure region, encoded as the API does and ingested again.

The table has 72,350 rows of region and size, and a column for each way to pay. What the catalog
says must be the table: the same prices to its last digit, none missing, none beside them. What it
must not say of the table is listed here with why.
"""

import re
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest

from connectors.azure.wire import read_retail_page
from recording.azure_facts import read_region_items, read_table
from recording.build import AS_OF
from support.encode_azure import PAGE_SIZE, encode_page
from transforms.azure_prices import normalize_retail_pages
from transforms.list_prices import in_force, settle
from transforms.normalized import final_counts
from transforms.regions import parse_regions

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not DATA.is_dir(), reason="the collected prices are not beside this repository"
    ),
]

# The table's columns and how the catalog says the same: option, years, system, licence.
SLOTS = {
    ("on_demand", None, "linux", "included"): "lpayg",
    ("spot", None, "linux", "included"): "lspot",
    ("low_priority", None, "linux", "included"): "llow",
    ("reserved", 1, "linux", "included"): "lri1",
    ("reserved", 3, "linux", "included"): "lri3",
    ("savings_plan", 1, "linux", "included"): "lsp1",
    ("savings_plan", 3, "linux", "included"): "lsp3",
    ("on_demand", None, "windows", "included"): "wpayg",
    ("spot", None, "windows", "included"): "wspot",
    ("low_priority", None, "windows", "included"): "wlow",
    ("on_demand", None, "windows", "byol"): "wdev",
    ("savings_plan", 1, "windows", "included"): "wsp1",
    ("savings_plan", 3, "windows", "included"): "wsp3",
}
RESERVATIONS = ("lri1", "lri3")
SIX_DECIMALS = Decimal("0.000001")

# NCCads H100 v5: the table took "Virtual Machines NCCadsv5 Srs Win" for the Linux product, so the
# price of the Linux item is lost, and with it the item that its savings plans are quoted in.
TAKEN_FOR_LINUX = {"lpayg": "wpayg", "lspot": "wspot", "llow": "wlow", "ldev": "wdev"}
QUOTED_IN_THE_LOST_ITEM = ("lsp1", "lsp3")

# Azure calls these meters expired ("D2 v2/DS2 v2 - Expired"): listed, and not to be had.
EXPIRED_PROMOTION = re.compile(r"Standard_DS?[0-9]+_v2_Promo")


class Region(NamedTuple):
    """What became of one region: size and slot -> price in the table and in the catalog.

    Only what is not equal is kept, and how many prices of each slot are.
    """

    region_id: str
    differing: dict[tuple[str, str], tuple[Decimal | None, Decimal | None]]
    equal: Counter[str]
    expired: Counter[str]
    lost: Counter[str]
    counts: Counter[tuple[str, str | None]]


@pytest.fixture(scope="module")
def regions():
    """Ingest all regions, one after the other."""
    reference = parse_regions((ROOT / "transforms/reference/regions.csv").read_bytes())
    table = read_table(DATA)
    return [
        _compare(
            region_id,
            _listed(table.filter(pl.col("arm_region") == region_id)),
            _ingest(region_id, items, reference),
        )
        for region_id, items in read_region_items(DATA, selection=None)
    ]


def _compare(region_id, in_table, in_catalog):
    listed, expired, lost = in_table
    found, counts = in_catalog
    pairs = {key: (listed.get(key), found.get(key)) for key in listed | found}
    return Region(
        region_id,
        differing={key: pair for key, pair in pairs.items() if pair[0] != pair[1]},
        equal=Counter(slot for (_, slot), pair in pairs.items() if pair[0] == pair[1]),
        expired=expired,
        lost=lost,
        counts=counts,
    )


def _listed(rows):
    listed, expired, lost = {}, Counter(), Counter()
    for row in rows.to_dicts():
        size = row["arm_sku"]
        prices = {slot: price for slot, price in row.items() if isinstance(price, float)}
        is_mistaken = "ldev" in prices
        for slot, price in prices.items():
            if EXPIRED_PROMOTION.fullmatch(size):
                expired[slot] += 1
            elif is_mistaken and slot in QUOTED_IN_THE_LOST_ITEM:
                lost[slot] += 1
            else:
                meant = TAKEN_FOR_LINUX.get(slot, slot) if is_mistaken else slot
                listed[size, meant] = Decimal(repr(price))
    return listed, expired, lost


def _ingest(region_id, items, reference):
    pages = [
        (
            f"{region_id}/{price_type}/{start}",
            read_retail_page(
                encode_page(of_type[start : start + PAGE_SIZE], next_page_link=None),
                source_id=price_type,
            ).items,
        )
        for price_type, of_type in items.items()
        for start in range(0, len(of_type), PAGE_SIZE)
    ]
    normalized = normalize_retail_pages(pages, region_id=region_id, regions=reference)
    settled = settle(normalized.prices)
    now = in_force(settled.prices, rejected=settled.rejected, as_of=AS_OF)
    counts = Counter()
    for outcome, rule, rows in (
        final_counts([normalized.counts, settled.counts, now.counts])
        .select("outcome", "rule", "rows")
        .rows()
    ):
        counts[outcome, rule] += rows
    counts["announced", None] = now.announced.height
    return _found(now.prices), counts


def _found(prices):
    found = {}
    for size, *kind, price in prices.select(
        "instance_type",
        "purchase_option",
        "term_years",
        "operating_system",
        "license_model",
        "effective_hourly_price",
    ).iter_rows():
        slot = SLOTS[tuple(kind)]
        assert (size, slot) not in found
        # Only what was divided has more decimals than the table.
        found[size, slot] = price.quantize(SIX_DECIMALS) if slot in RESERVATIONS else price
    return found


def test_the_catalog_is_the_table_price_by_price(regions):
    assert len(regions) == 69
    assert {region.region_id: region.differing for region in regions if region.differing} == {}


def test_every_slot_of_the_table_is_in_the_catalog_or_known_not_to_be(regions):
    equal = sum((region.equal for region in regions), Counter())
    expired = sum((region.expired for region in regions), Counter())
    lost = sum((region.lost for region in regions), Counter())

    assert expired == {"wpayg": 496, "wdev": 448, "lpayg": 24}
    assert lost == {"lsp1": 4, "lsp3": 4}
    assert equal == {
        "lpayg": 71_800,
        "lspot": 68_907,
        "llow": 39_628,
        "lri1": 55_786,
        "lri3": 55_781,
        "lsp1": 64_302,
        "lsp3": 64_302,
        "wpayg": 68_828,
        "wspot": 66_036,
        "wlow": 38_661,
        "wdev": 65_559,
        "wsp1": 218,
        "wsp3": 218,
    }
    filled = read_table(DATA).drop("last_updated", "arm_region", "arm_sku").count()
    assert filled.sum_horizontal().item() == 661_002
    assert sum((equal + expired + lost).values()) == 661_002


def test_every_row_is_accounted_for_and_none_is_refused(regions):
    total = sum((region.counts for region in regions), Counter())

    # Around the prices stand hosts, Cloud Services, July's prices, free meters and one of October.
    assert total == {
        ("kept", None): 660_027,
        ("announced", None): 1,
        ("filtered", "azure_expired_meter"): 968,
        ("filtered", "azure_cloud_services"): 808,
        ("filtered", "azure_dedicated_host"): 251,
        ("filtered", "ended"): 144,
        ("filtered", "zero_price"): 3,
    }


def test_the_table_takes_windows_for_linux_in_these_rows_and_no_others():
    mistaken = read_table(DATA).filter(pl.col("ldev").is_not_null())

    assert mistaken.select("arm_region", "arm_sku").rows() == [
        ("centralus", "Standard_NCC40ads_H100_v5"),
        ("eastus2", "Standard_NCC40ads_H100_v5"),
        ("southcentralus", "Standard_NCC40ads_H100_v5"),
        ("westeurope", "Standard_NCC40ads_H100_v5"),
    ]
