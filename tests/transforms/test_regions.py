"""The curated table of regions is whole, and a table that contradicts itself is refused."""

import json
from pathlib import Path

import polars as pl
import pytest

from transforms.errors import ReferenceTableError
from transforms.regions import parse_regions, partition_of
from warehouse.schemas.catalog import REGIONS

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared/data"
CONTENT = (ROOT / "transforms/reference/regions.csv").read_bytes()

needs_shared_data = pytest.mark.skipif(not SHARED.exists(), reason="shared sample data is absent")

EU_MEMBERS = "AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IT LT LU LV MT NL PL PT RO SE SI SK"
EU = frozenset(EU_MEMBERS.split())
EEA = EU | {"IS", "LI", "NO"}


@pytest.fixture(scope="module")
def regions() -> pl.DataFrame:
    return parse_regions(CONTENT)


def ids(regions: pl.DataFrame, **equals: str) -> set[str]:
    return set(regions.filter(**equals)["region_id"])


def test_the_table_has_its_schema_and_order(regions: pl.DataFrame) -> None:
    assert regions.schema == REGIONS.schema
    assert CONTENT.decode().splitlines()[0] == ",".join(REGIONS.columns)
    assert regions.select("provider", "region_id").equals(
        pl.read_csv(CONTENT).select("provider", "region_id")
    )


def test_how_many_of_each_kind_there_are(regions: pl.DataFrame) -> None:
    counts = regions.group_by("provider", "region_kind", "partition").len()

    assert {row[:3]: row[3] for row in counts.iter_rows()} == {
        ("aws", "region", "aws"): 34,
        ("aws", "region", "aws-us-gov"): 2,
        ("aws", "region", "aws-cn"): 2,
        ("aws", "local_zone", "aws"): 35,
        ("aws", "wavelength_zone", "aws"): 33,
        ("azure", "region", "azure"): 61,
        ("azure", "edge_zone", "azure"): 5,
        ("azure", "region", "azure-us-gov"): 5,
        ("azure", "region", "azure-cn"): 6,
    }


def test_the_european_union_is_its_27_members_and_the_eea_three_more(regions: pl.DataFrame) -> None:
    countries = regions.select("country_code", "is_eu", "is_eea")

    assert countries.null_count().sum_horizontal().item() == 0
    for country, is_eu, is_eea in countries.iter_rows():
        assert (country, is_eu, is_eea) == (country, country in EU, country in EEA)


@pytest.mark.parametrize(
    ("provider", "region_id", "facts"),
    [
        ("aws", "eu-central-1", ("DE", "europe", True, True)),
        ("aws", "eu-central-2", ("CH", "europe", False, False)),
        ("aws", "eu-west-2", ("GB", "europe", False, False)),
        ("aws", "eu-central-1-ist-1", ("TR", "asia", False, False)),
        ("aws", "eu-west-3-wl1-cmn1", ("MA", "africa", False, False)),
        ("aws", "us-east-1-lim-1", ("PE", "south_america", False, False)),
        ("aws", "mx-central-1", ("MX", "north_america", False, False)),
        ("aws", "il-central-1", ("IL", "asia", False, False)),
        ("azure", "norwayeast", ("NO", "europe", False, True)),
        ("azure", "switzerlandnorth", ("CH", "europe", False, False)),
        ("azure", "westeurope", ("NL", "europe", True, True)),
        ("azure", "mexicocentral", ("MX", "north_america", False, False)),
        ("azure", "newzealandnorth", ("NZ", "oceania", False, False)),
    ],
)
def test_where_the_outermost_cases_belong(
    regions: pl.DataFrame, provider: str, region_id: str, facts: tuple[str, str, bool, bool]
) -> None:
    row = regions.filter(provider=provider, region_id=region_id)

    assert row.select("country_code", "geography", "is_eu", "is_eea").row(0) == facts


def test_germany_has_three_regions_and_four_zones(regions: pl.DataFrame) -> None:
    assert ids(regions, country_code="DE") == {
        "eu-central-1",
        "eu-central-1-ham-1",
        "eu-central-1-wl1-ber1",
        "eu-central-1-wl1-dtm1",
        "eu-central-1-wl1-muc1",
        "germanynorth",
        "germanywestcentral",
    }


def test_a_zones_id_begins_with_its_region(regions: pl.DataFrame) -> None:
    zones = regions.filter(pl.col("region_kind").is_in(["local_zone", "wavelength_zone"]))

    assert zones.filter(
        ~pl.col("region_id").str.starts_with(pl.col("parent_region_id") + "-")
    ).is_empty()


@needs_shared_data
def test_every_region_that_either_provider_prices_is_there(regions: pl.DataFrame) -> None:
    vantage = SHARED / "aws/prices/vantage_tidy_all-regions_all-os_2026-07-05.parquet"
    index = SHARED / "aws/index/AmazonEC2_region_index_20250523232744.json"
    retail = SHARED / "azure/retail_all_regions_2026-08.parquet"

    aws = set(pl.read_parquet(vantage)["region_code"]) | set(
        json.loads(index.read_text())["regions"]
    )
    azure = set(pl.read_parquet(retail)["arm_region"])

    assert (len(aws), len(azure)) == (104, 69)
    assert aws - ids(regions, provider="aws") == set()
    assert azure - ids(regions, provider="azure") == set()


def test_the_partition_of_a_region_is_found_without_case(regions: pl.DataFrame) -> None:
    assert partition_of(regions, "aws", "us-gov-west-1") == "aws-us-gov"
    assert partition_of(regions, "azure", "WestUS3") == "azure"
    assert partition_of(regions, "aws", "westus3") is None


LINES = {
    "region": "aws,r,R,region,aws,,DE,europe,true,true,50.1,8.7,3,s",
    "zone": "aws,r-z,Z,local_zone,aws,r,DE,europe,true,true,50.1,8.7,,s",
}


@pytest.mark.parametrize(
    ("line", "old", "new", "message"),
    [
        ("zone", "aws,r,DE", "aws,,DE", "a zone without its region: aws r-z"),
        ("zone", "aws,r,DE", "aws,q,DE", "a parent that is no region: aws r-z"),
        ("region", "aws,,DE", "aws,r,DE", "a region with a parent: aws r"),
        ("zone", "50.1", "91", "coordinates that are none: aws r-z"),
        ("zone", "8.7", "-181", "coordinates that are none: aws r-z"),
        ("zone", "8.7", "", "half of a position: aws r-z"),
        ("zone", "europe", "asia", "two values of geography: aws r, aws r-z"),
        ("zone", "true,true", "false,true", "two values of is_eu: aws r, aws r-z"),
        ("zone", "true,true", "true,false", "an EU country outside the EEA: aws r-z"),
        ("zone", "local_zone", "moon", "region_kind"),
        ("zone", "aws,r-z", "aws,R", "more than once"),
    ],
)
def test_a_table_that_contradicts_itself_is_refused(
    line: str, old: str, new: str, message: str
) -> None:
    header = ",".join(REGIONS.columns)
    good = "\n".join([header, *LINES.values()])
    bad = "\n".join([header, *(LINES | {line: LINES[line].replace(old, new, 1)}).values()])

    assert parse_regions(good.encode()).height == 2
    with pytest.raises(ReferenceTableError, match=message):
        parse_regions(bad.encode())
