import hashlib
import subprocess
import sys
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import duckdb
import polars as pl
import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal

from support.rows import price_rows, table_rows
from warehouse.errors import CandidateError
from warehouse.parquet_io import (
    FileFacts,
    check_schema,
    file_facts,
    sort_order,
    write_table,
)
from warehouse.schemas.catalog import CHEAPEST_REGION, OFFERS, PRICES, PURCHASE_ADVICE, REGIONS
from warehouse.schemas.parts import REJECTED
from warehouse.schemas.table import PRICE, TIMESTAMP, Field, Table

ROOT = Path(__file__).resolve().parents[2]

SMALL = Table(
    "small",
    "reference",
    "Many rows with the columns that matter here",
    (
        Field("provider", pl.String, "p"),
        Field("region_id", pl.String, "r"),
        Field("instance_type", pl.String, "i"),
        Field("hourly_rate", PRICE, "h"),
        Field("valid_from", TIMESTAMP, "v"),
        Field("rate_date", pl.Date, "d"),
        Field("zones", pl.List(pl.String), "z"),
        Field("ways", pl.List(pl.Struct({"way": pl.String, "price": PRICE})), "w"),
    ),
    key=("provider", "region_id", "instance_type"),
)


def many_rows(types: int, regions: int) -> pl.DataFrame:
    kinds = pl.select(
        instance_type=pl.format("t{}.large", pl.int_range(types).cast(pl.String).str.zfill(5))
    )
    places = pl.select(region_id=pl.format("region-{}", pl.int_range(regions)))
    rate = (pl.int_range(pl.len()) * 7919 % 100_003).cast(PRICE)
    ways = pl.concat_list(pl.struct(way="instance_type", price=rate).repeat_by(2))
    return kinds.join(places, how="cross").select(
        provider=pl.lit("aws"),
        region_id="region_id",
        instance_type="instance_type",
        hourly_rate=rate,
        valid_from=pl.lit(datetime(2026, 1, 1, tzinfo=UTC)).cast(TIMESTAMP),
        rate_date=pl.lit(date(2026, 1, 1)),
        zones=pl.concat_list("region_id"),
        ways=pl.when(pl.int_range(pl.len()) % 3 > 0).then(ways).otherwise([]),
    )


def test_rows_of_an_instance_type_lie_side_by_side():
    assert sort_order(PRICES)[:4] == [
        "provider",
        "instance_type",
        "region_id",
        "availability_zone_id",
    ]
    assert sort_order(OFFERS)[:3] == ["provider", "instance_type", "region_id"]
    assert sort_order(CHEAPEST_REGION)[:8] == list(CHEAPEST_REGION.key)
    assert sort_order(REGIONS)[:2] == ["provider", "region_id"]
    assert sort_order(REJECTED) == REJECTED.columns


@pytest.mark.parametrize(
    "table", [PRICES, OFFERS, CHEAPEST_REGION, PURCHASE_ADVICE, REGIONS, REJECTED]
)
def test_order_names_every_column_once(table):
    assert sorted(sort_order(table)) == sorted(table.columns)


def test_nulls_come_first(tmp_path):
    rows = price_rows(
        {"availability_zone_id": "use1-az1", "hourly_rate": "1"},
        {"availability_zone_id": None, "hourly_rate": "2"},
    )

    write_table(PRICES, rows, tmp_path / "prices.parquet")

    written = pl.read_parquet(tmp_path / "prices.parquet")
    assert written["availability_zone_id"].to_list() == [None, "use1-az1"]


def test_order_of_rows_does_not_matter_even_where_the_key_is_not_unique(tmp_path):
    rows = many_rows(50, 5)
    doubled = pl.concat([rows, rows.with_columns(pl.col("hourly_rate") + Decimal(1))])

    facts = write_table(SMALL, doubled, tmp_path / "a.parquet")
    shuffled = write_table(
        SMALL, doubled.sample(fraction=1, shuffle=True, seed=3).lazy(), tmp_path / "b.parquet"
    )

    assert shuffled == facts
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()


@pytest.mark.slow
def test_number_of_threads_does_not_matter(tmp_path):
    many_rows(2000, 70).write_parquet(tmp_path / "in.parquet")
    code = (
        "import sys, polars as pl; from pathlib import Path\n"
        "sys.path.insert(0, sys.argv[3])\n"
        "from test_parquet_io import SMALL; from warehouse.parquet_io import write_table\n"
        "write_table(SMALL, pl.scan_parquet(sys.argv[1]), Path(sys.argv[2]))"
    )
    for threads in ("1", "3"):
        subprocess.run(
            [
                sys.executable,
                "-c",
                code,
                tmp_path / "in.parquet",
                tmp_path / threads,
                Path(__file__).parent,
            ],
            env={"POLARS_MAX_THREADS": threads, "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}"},
            check=True,
        )

    assert (tmp_path / "1").read_bytes() == (tmp_path / "3").read_bytes()


def test_one_instance_type_is_in_one_row_group_or_two(tmp_path):
    write_table(SMALL, many_rows(3000, 70), tmp_path / "a.parquet")

    metadata = pq.ParquetFile(tmp_path / "a.parquet").metadata
    column = metadata.schema.names.index("instance_type")
    groups = [metadata.row_group(number).column(column) for number in range(13)]
    wanted = "t01500.large"
    hits = [g for g in groups if g.statistics.min <= wanted <= g.statistics.max]

    assert metadata.num_row_groups == 13
    assert 1 <= len(hits) <= 2
    assert all(group.compression == "ZSTD" for group in groups)
    assert all(group.has_column_index and group.has_offset_index for group in groups)


def test_facts_are_those_of_the_file(tmp_path):
    path = tmp_path / "a.parquet"

    facts = write_table(SMALL, many_rows(3, 2), path)

    body = path.read_bytes()
    assert facts == FileFacts(6, len(body), hashlib.sha256(body).hexdigest())
    assert file_facts(path) == facts


def test_other_readers_see_plain_types(tmp_path):
    write_table(SMALL, many_rows(3, 2), tmp_path / "a.parquet")

    schema = pq.ParquetFile(tmp_path / "a.parquet").schema
    logical = {
        column.name: str(column.logical_type) or column.physical_type
        for column in (schema.column(number) for number in range(len(schema.names)))
    }

    assert logical["provider"] == "String"
    assert logical["hourly_rate"] == "Decimal(precision=18, scale=10)"
    assert logical["valid_from"].startswith("Timestamp(isAdjustedToUTC=true, timeUnit=microseconds")
    assert logical["rate_date"] == "Date"


def test_reading_gives_back_what_was_written(tmp_path):
    directory = tmp_path / "a [folder] *"
    directory.mkdir()
    rows = many_rows(3, 2).sort(sort_order(SMALL))

    write_table(SMALL, rows, directory / "a.parquet")

    assert_frame_equal(pl.read_parquet(directory / "a.parquet", glob=False), rows)


ADVICE = table_rows(
    PURCHASE_ADVICE,
    *(
        {
            "provider": "aws",
            "instance_type": instance_type,
            "region_id": "us-east-1",
            "operating_system": "linux",
            "currency": "USD",
            "on_demand_usd": "0.096",
            "spot_lost_work_pct": 10.0,
            "spot_advice": "not_listed",
            "commitments": commitments,
            "price_quality": "ok",
        }
        for instance_type, commitments in (
            (
                "m5.large",
                [
                    {
                        "purchase_option": "reserved",
                        "commitment_type": "standard",
                        "term_years": 3,
                        "payment_option": "all_upfront",
                        "price_usd": Decimal("0.0366057839"),
                        "price_eur": None,
                        "saving_pct": 61.869,
                        "break_even_utilisation": 0.38131,
                    },
                    {
                        "purchase_option": "savings_plan",
                        "commitment_type": "compute",
                        "term_years": 1,
                        "payment_option": "no_upfront",
                        "price_usd": Decimal("0.07"),
                        "price_eur": Decimal("0.0604386116"),
                        "saving_pct": 27.0833,
                        "break_even_utilisation": 0.729167,
                    },
                ],
            ),
            ("m5.xlarge", []),
        )
    ),
)


def test_lists_of_structs_come_back_whole_in_every_reader(tmp_path):
    path = tmp_path / "purchase_advice.parquet"
    commitments = ADVICE["commitments"].to_list()

    write_table(PURCHASE_ADVICE, ADVICE.reverse(), path)

    check_schema(PURCHASE_ADVICE, path)
    assert_frame_equal(pl.read_parquet(path), ADVICE)
    assert pq.read_table(path)["commitments"].to_pylist() == commitments
    in_duckdb = duckdb.sql(f"SELECT commitments FROM '{path}' ORDER BY instance_type").fetchall()
    assert [row[0] for row in in_duckdb] == commitments


def test_an_analyst_unnests_the_commitments_with_sql(tmp_path):
    path = tmp_path / "purchase_advice.parquet"
    write_table(PURCHASE_ADVICE, ADVICE, path)

    rows = duckdb.sql(
        f"""
        SELECT instance_type, way.commitment_type, way.term_years, way.price_usd,
               on_demand_usd - way.price_usd AS saved_usd
        FROM (SELECT instance_type, on_demand_usd, unnest(commitments) AS way FROM '{path}')
        WHERE way.break_even_utilisation < 1
        ORDER BY way.price_usd
        """
    ).fetchall()

    assert rows == [
        ("m5.large", "standard", 3, Decimal("0.0366057839"), Decimal("0.0593942161")),
        ("m5.large", "compute", 1, Decimal("0.07"), Decimal("0.026")),
    ]


def test_frame_of_another_type_is_not_written(tmp_path):
    rows = many_rows(3, 2).with_columns(pl.col("hourly_rate").cast(pl.Float64))

    with pytest.raises(pl.exceptions.SchemaError, match="hourly_rate"):
        write_table(SMALL, rows, tmp_path / "a.parquet")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.drop("zones"), "missing zones$"),
        (lambda f: f.with_columns(colour=pl.lit("red")), "not in the schema: colour$"),
        (
            lambda f: f.with_columns(pl.col("hourly_rate").cast(pl.Float64)),
            r"hourly_rate is Float64 instead of Decimal\(precision=18, scale=10\)$",
        ),
        (lambda f: f.select(reversed(f.columns)), "its columns are in another order$"),
    ],
)
def test_file_of_another_schema_is_refused_with_what_differs(tmp_path, change, message):
    path = tmp_path / "a.parquet"
    change(many_rows(1, 1)).write_parquet(path)

    with pytest.raises(CandidateError, match=message):
        check_schema(SMALL, path)


@pytest.mark.parametrize("body", [b"", b"no parquet at all"])
def test_file_that_is_no_parquet_is_refused(tmp_path, body):
    (tmp_path / "a.parquet").write_bytes(body)

    with pytest.raises(CandidateError, match="expected parquet of table small"):
        check_schema(SMALL, tmp_path / "a.parquet")


def test_missing_file_is_refused(tmp_path):
    with pytest.raises(CandidateError, match="expected parquet of table small"):
        check_schema(SMALL, tmp_path / "nowhere.parquet")
