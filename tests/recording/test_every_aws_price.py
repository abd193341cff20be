"""Every price of a full AWS list of 2026-07-05, encoded as AWS sends it and ingested again.

The table has 318,604 rows of region, type and system, each with the price on demand, as spot, and
of the two standard reservations that are paid upfront. What the catalog says must be the table:
the same prices to its last digit, none missing, none beside them. What it must not say of the
table is listed here with why.
"""

import io
from collections import Counter
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest

from connectors.aws.spot_feed import read_spot_feed
from connectors.aws.wire import read_offer_rows
from recording import aws_facts, aws_spot
from recording.selection import AwsSelection
from support.encode_aws import encode_offer_csv
from support.encode_spot import encode_spot_feed
from transforms.aws_prices import normalize_offer_file
from transforms.aws_spot_prices import normalize_spot_feed
from transforms.list_prices import in_force, settle
from transforms.regions import parse_regions
from warehouse.schemas.parts import REJECTED
from warehouse.schemas.table import PRICE

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not DATA.is_dir(), reason="the collected prices are not beside this repository"
    ),
]

AS_OF = datetime(2026, 8, 22, tzinfo=UTC)

# The table's systems and how the catalog says the same: system, software.
SYSTEMS = {
    "linux": ("linux", "none"),
    "mswin": ("windows", "none"),
    "rhel": ("rhel", "none"),
    "rhelHA": ("rhel_ha", "none"),
    "sles": ("suse", "none"),
    "ubuntu": ("ubuntu_pro", "none"),
    "linuxSQLWeb": ("linux", "sql_web"),
    "linuxSQL": ("linux", "sql_standard"),
    "linuxSQLEnterprise": ("linux", "sql_enterprise"),
    "mswinSQLWeb": ("windows", "sql_web"),
    "mswinSQL": ("windows", "sql_standard"),
    "mswinSQLEnterprise": ("windows", "sql_enterprise"),
    "rhelSQLWeb": ("rhel", "sql_web"),
    "rhelSQL": ("rhel", "sql_standard"),
    "rhelSQLEnterprise": ("rhel", "sql_enterprise"),
    "rhelHASQL": ("rhel_ha", "sql_standard"),
    "rhelHASQLEnterprise": ("rhel_ha", "sql_enterprise"),
    # The table gives the price of the host to every type that fits on it.
    "dedicated": ("linux", "none"),
}
FEED_SYSTEMS = ("linux", "mswin")
# What these rows of the table price is a fee for software on top of a Capacity Block.
CAPACITY_BLOCK_ONLY = ("p5e", "trn2")
# One SKU with real terms in the recording, which is not of this table.
TOKYO_SKU = aws_facts.TWELVE_TERMS_SKU

COMPARED = {
    ("shared", "on_demand", None): 286_347,
    ("shared", "reserved", 1): 138_185,
    ("shared", "reserved", 3): 138_313,
    ("host", "on_demand", None): 3_783,
    ("host", "reserved", 1): 2_502,
    ("host", "reserved", 3): 2_501,
}
"""How many prices are equal, by tenancy, way to pay and years."""

KEY = [
    "region_id",
    "instance_type",
    "operating_system",
    "pre_installed_software",
    "tenancy",
    "purchase_option",
    "term_years",
]


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    """What the catalog must say of the table: KEY and the price, rounded as the table is."""
    listed = pl.read_parquet(DATA / aws_facts.PRICES)
    family = pl.col("instance_type").str.split(".").list.first()
    is_host = pl.col("operating_system") == "dedicated"
    systems = {name: system for name, (system, _) in SYSTEMS.items()}
    software = {name: software for name, (_, software) in SYSTEMS.items()}
    named = listed.filter(~family.is_in(CAPACITY_BLOCK_ONLY)).select(
        "ondemand_usd_per_hour",
        "reserved_1yr_allupfront_usd_per_hour",
        "reserved_3yr_allupfront_usd_per_hour",
        region_id="region_code",
        instance_type=pl.when(is_host).then(family).otherwise("instance_type"),
        operating_system=pl.col("operating_system").replace_strict(systems),
        pre_installed_software=pl.col("operating_system").replace_strict(software),
        tenancy=pl.when(is_host).then(pl.lit("host")).otherwise(pl.lit("shared")),
    )
    ways = {
        "ondemand_usd_per_hour": ("on_demand", None),
        "reserved_1yr_allupfront_usd_per_hour": ("reserved", 1),
        "reserved_3yr_allupfront_usd_per_hour": ("reserved", 3),
    }
    prices = pl.concat(
        named.select(
            *KEY[:5],
            pl.lit(option).alias("purchase_option"),
            pl.lit(years, dtype=pl.Int32).alias("term_years"),
            # By way of text: a float's own digits, never its binary value.
            pl.col(column).cast(pl.String).cast(PRICE).alias("price"),
        )
        for column, (option, years) in ways.items()
    )
    # 13 rows of u-6tb1.metal and its like are listed at 0: they are sold on hosts only.
    return prices.drop_nulls("price").filter(pl.col("price") > 0).unique()


def ingested(region_id: str, rows: list[aws_facts.Row], regions: pl.DataFrame) -> pl.DataFrame:
    """Encode a region's rows, and give what the catalog holds of them."""
    body = encode_offer_csv(rows, version=aws_facts.VERSION, published_at=aws_facts.PUBLISHED_AT)
    source_id = f"aws_price_list/{region_id}"
    part = normalize_offer_file(
        read_offer_rows(io.BytesIO(body), source_id=source_id),
        source_id=source_id,
        region_id=region_id,
        regions=regions,
    ).normalized
    settled = settle(part.prices)
    force = in_force(settled.prices, rejected=settled.rejected, as_of=AS_OF)
    refused = pl.concat([REJECTED.empty(), part.rejected, settled.rejected, force.rejected])
    assert refused.is_empty()
    assert force.announced.is_empty()
    return force.prices.filter(
        pl.col("sku_id") != TOKYO_SKU,
        # Beside the table: bare metal with dedicated tenancy, and Windows with one's own licence.
        pl.col("tenancy") != "dedicated",
        pl.col("license_model") == "included",
    )


@pytest.fixture(scope="module")
def everything(table: pl.DataFrame) -> AwsSelection:
    places = frozenset(table["region_id"])
    families = table["instance_type"].str.split(".").list.first()
    return AwsSelection(frozenset(families), places, places)


def test_every_price_of_the_table_is_in_the_catalog_and_no_other(table, everything):
    regions = parse_regions((ROOT / "transforms/reference/regions.csv").read_bytes())
    facts = aws_facts.read_offer_rows(DATA, ROOT / "recording/aws_places.csv", everything)
    compared: Counter[tuple[str, str, int | None]] = Counter()
    for region_id, rows in facts:
        catalog = ingested(region_id, rows, regions)
        # The table divides a fee by the hours of its term, and keeps six decimals.
        said = catalog.select(*KEY, price="effective_hourly_price").with_columns(
            pl.when(pl.col("purchase_option") == "reserved")
            .then(pl.col("price").round(6).cast(PRICE))
            .otherwise("price")
        )
        wanted = table.filter(pl.col("region_id") == region_id)
        assert said.height == said.select(KEY).unique().height
        assert wanted.join(said, on=[*KEY, "price"], how="anti", nulls_equal=True).is_empty()
        assert said.join(wanted, on=[*KEY, "price"], how="anti", nulls_equal=True).is_empty()
        ways = catalog.group_by("tenancy", "purchase_option", "term_years").len().rows()
        compared.update({(tenancy, option, years): rows for tenancy, option, years, rows in ways})
    assert compared == COMPARED


def test_every_spot_price_of_the_table_is_in_the_catalog_and_no_other(everything):
    regions = parse_regions((ROOT / "transforms/reference/regions.csv").read_bytes())
    prices = list(aws_spot.read_feed_prices(DATA, everything))
    raw = read_spot_feed(encode_spot_feed(prices), source_id="aws_spot_feed")
    catalog = normalize_spot_feed(
        raw,
        source_id="aws_spot_feed",
        valid_from=AS_OF,
        regions=regions,
        region_ids=everything.regions_in_full,
    ).prices
    said = {
        (region_id, instance_type, system): price
        for region_id, instance_type, system, price in catalog.select(
            "region_id", "instance_type", "operating_system", "hourly_rate"
        ).iter_rows()
    }
    listed = {
        (region_id, instance_type, system): Decimal(price)
        for region_id, instance_type, *by_system in prices
        for system, price in zip(("linux", "windows"), by_system, strict=True)
        if price is not None
    }
    assert said == listed
    assert len(listed) == 33_422
