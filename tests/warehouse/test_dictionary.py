import json
from pathlib import Path

import duckdb
import polars as pl
import pyarrow.parquet as pq
import pytest

from support.release_candidates import release_facts, write_candidate
from warehouse import canonical_json
from warehouse.dictionary import describe, parquet_type, sql_type
from warehouse.publishing import publish
from warehouse.schemas.catalog import PRICES, TABLES
from warehouse.schemas.version import SCHEMA_VERSION
from warehouse.storage import LocalStorage


def columns(dictionary: dict, table: str) -> dict[str, dict]:
    described = next(entry for entry in dictionary["tables"] if entry["name"] == table)
    return {column["name"]: column for column in described["columns"]}


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    directory = tmp_path_factory.mktemp("catalog")
    candidate = write_candidate(directory / "candidate")
    return publish(LocalStorage(directory / "root"), candidate, release_facts()).release


def test_column_is_described_whole():
    dictionary = json.loads(canonical_json.encode(describe([PRICES], schema_version="1.0.0")))

    assert dictionary["schema_version"] == "1.0.0"
    assert columns(dictionary, "prices")["pricing_category"] == {
        "name": "pricing_category",
        "type": "VARCHAR",
        "parquet_type": "STRING",
        "description": (
            "FOCUS pricing category: Standard, Dynamic (spot, low priority), Committed, Other"
        ),
        "unit": None,
        "is_nullable": False,
        "key_position": None,
        "vocabulary": ["Standard", "Dynamic", "Committed", "Other"],
        "focus_column": "PricingCategory",
    }
    assert columns(dictionary, "prices")["region_id"]["key_position"] == 2
    assert columns(dictionary, "prices")["hourly_rate"]["unit"] == "currency per hour"


def test_release_describes_every_table_in_order(release):
    dictionary = json.loads(release.read("dictionary.json"))

    assert dictionary["schema_version"] == SCHEMA_VERSION
    assert [entry["name"] for entry in dictionary["tables"]] == [table.name for table in TABLES]
    for table in TABLES:
        assert list(columns(dictionary, table.name)) == table.columns


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_types_are_those_that_readers_find(release, table):
    described = columns(json.loads(release.read("dictionary.json")), table.name)
    path = release.table(table.name)

    in_duckdb = duckdb.sql(f"DESCRIBE FROM read_parquet('{path}')").fetchall()
    assert {name: kind for name, kind, *_ in in_duckdb} == {
        name: column["type"] for name, column in described.items()
    }
    assert parquet_types(Path(path)) == {
        name: column["parquet_type"] for name, column in described.items()
    }


def parquet_types(path: Path) -> dict[str, str]:
    """Read the types of a file from its parquet schema, with the names of the format's spec."""
    schema = pq.ParquetFile(path).schema
    found = {}
    for number in range(len(schema.names)):
        column = schema.column(number)
        logical = json.loads(column.logical_type.to_json())
        name = {
            "String": "STRING",
            "Date": "DATE",
            "Decimal": f"DECIMAL({logical.get('precision')},{logical.get('scale')})",
            "Timestamp": "TIMESTAMP(MICROS,UTC)",
            "None": column.physical_type,
        }[logical["Type"]]
        if logical["Type"] == "Timestamp":
            assert (logical["timeUnit"], logical["isAdjustedToUTC"]) == ("microseconds", True)
        top, _, below = column.path.partition(".")
        found[top] = f"LIST<{name}>" if below == "list.element" else name
    return found


@pytest.mark.parametrize("dtype", [pl.Int64, pl.Int64()])
def test_type_may_be_a_class_or_an_instance(dtype):
    assert sql_type(dtype) == "BIGINT"
    assert parquet_type(dtype) == "INT64"


@pytest.mark.parametrize(
    "dtype", [pl.Categorical(), pl.Datetime("ns", "UTC"), pl.Datetime("us"), pl.Object]
)
def test_type_that_is_not_plain_is_refused(dtype):
    with pytest.raises(TypeError, match="none of the published types"):
        sql_type(dtype)
