import json
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow.parquet as pq
import pytest

from support.release_candidates import release_facts, write_candidate
from warehouse import canonical_json
from warehouse.dictionary import describe, parquet_type, sql_type
from warehouse.publishing import publish
from warehouse.schemas.catalog import PRICES, TABLES
from warehouse.schemas.table import PRICE
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
    """Read the types of a file from its parquet schema, with the names of the format's spec.

    The schema lists leaves. A list's is `column.list.element`, a list of structs has one for each
    member below that.
    """
    schema = pq.ParquetFile(path).schema
    found: dict[str, str] = {}
    members: dict[str, list[str]] = {}
    for number in range(len(schema.names)):
        column = schema.column(number)
        top, _, below = column.path.partition(".")
        name = leaf_type(column)
        if below.startswith("list.element."):
            members.setdefault(top, []).append(f"{below.removeprefix('list.element.')} {name}")
            name = f"LIST<STRUCT<{', '.join(members[top])}>>"
        elif below:
            assert below == "list.element"
            name = f"LIST<{name}>"
        found[top] = name
    return found


def leaf_type(column: Any) -> str:
    logical = json.loads(column.logical_type.to_json())
    if logical["Type"] == "Timestamp":
        assert (logical["timeUnit"], logical["isAdjustedToUTC"]) == ("microseconds", True)
    names: dict[str, str] = {
        "String": "STRING",
        "Date": "DATE",
        "Decimal": f"DECIMAL({logical.get('precision')},{logical.get('scale')})",
        "Timestamp": "TIMESTAMP(MICROS,UTC)",
        "None": column.physical_type,
    }
    return names[logical["Type"]]


@pytest.mark.parametrize("dtype", [pl.Int64, pl.Int64()])
def test_type_may_be_a_class_or_an_instance(dtype):
    assert sql_type(dtype) == "BIGINT"
    assert parquet_type(dtype) == "INT64"


def test_list_of_structs_is_named_whole():
    ways = pl.List(pl.Struct({"way": pl.String, "price": PRICE, "zones": pl.List(pl.Int32)}))

    assert sql_type(ways) == "STRUCT(way VARCHAR, price DECIMAL(18,10), zones INTEGER[])[]"
    assert parquet_type(ways) == "LIST<STRUCT<way STRING, price DECIMAL(18,10), zones LIST<INT32>>>"


@pytest.mark.parametrize(
    "dtype",
    [
        pl.Categorical(),
        pl.Datetime("ns", "UTC"),
        pl.Datetime("us"),
        pl.Object,
        pl.List(pl.Struct({"at": pl.Datetime("ns", "UTC")})),
    ],
)
def test_type_that_is_not_plain_is_refused(dtype):
    with pytest.raises(TypeError, match="none of the published types"):
        sql_type(dtype)
