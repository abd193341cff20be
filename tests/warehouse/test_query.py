from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from support.release_candidates import release_facts, write_candidate
from warehouse.errors import QueryError
from warehouse.publishing import publish
from warehouse.query import connect, run_sql
from warehouse.schemas.catalog import TABLES
from warehouse.storage import LocalStorage


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    # A root that needs quoting, and whose brackets and star are no pattern.
    root = tmp_path_factory.mktemp("catalog") / "it's [a] *root*"
    candidate = write_candidate(root.parent / "candidate")
    return publish(LocalStorage(root), candidate, release_facts()).release


def test_every_table_of_the_release_is_a_view(release):
    names = run_sql(release, "SHOW TABLES")["name"].to_list()

    assert names == sorted(table.name for table in TABLES)


def test_money_and_times_come_out_exact(release):
    answer = run_sql(
        release,
        "SELECT region_id, hourly_rate, valid_from FROM prices ORDER BY hourly_rate",
    )

    valid_from = datetime(2026, 1, 1, tzinfo=UTC)
    expected = pl.DataFrame(
        {
            "region_id": ["us-east-1", "sa-east-1"],
            "hourly_rate": [Decimal("55.04"), Decimal("92.4672")],
            "valid_from": [valid_from, valid_from],
        },
        schema={
            "region_id": pl.String,
            "hourly_rate": pl.Decimal(18, 10),
            "valid_from": pl.Datetime("us", "UTC"),
        },
    )
    assert_frame_equal(answer, expected)


def test_answer_without_rows_keeps_its_columns(release):
    answer = run_sql(release, "SELECT region_id FROM prices WHERE region_id = 'nowhere'")

    assert answer.schema == {"region_id": pl.String}
    assert answer.height == 0


@pytest.mark.parametrize(
    "sql",
    [
        "FROM prices",
        "WITH p AS (SELECT * FROM prices) SELECT count(*) FROM p;",
        "DESCRIBE prices",
        "SUMMARIZE prices",
        "EXPLAIN SELECT * FROM prices",
        "PIVOT prices ON region_id USING max(hourly_rate)",
    ],
)
def test_any_kind_of_question_is_answered(release, sql):
    assert run_sql(release, sql).height > 0


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("", "expected one SELECT statement, got nothing"),
        ("-- a comment", "got nothing"),
        ("SELECT 1; SELECT 2", "got SELECT, SELECT"),
        ("CREATE TABLE t (a INT)", "got CREATE"),
        ("COPY prices TO 'out.csv'", "got COPY"),
        ("SET threads = 1", "got SET"),
        ("ATTACH 'other.db'", "got ATTACH"),
        ("INSTALL httpfs", "got LOAD"),
        ("SELEC 1", "syntax error"),
        ("SELECT * FROM price", 'Did you mean "prices"'),
        ("SELECT regionid FROM prices", "region_id"),
        ("SELECT INTERVAL 1 DAY", "interval"),
    ],
)
def test_what_is_no_question_or_has_no_answer_is_a_clear_error(release, sql, message):
    with pytest.raises(QueryError, match=message):
        run_sql(release, sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('{secret}')",
        "SELECT * FROM '{secret}'",
        "SELECT * FROM read_text('{secret}')",
        "SELECT * FROM glob('{folder}/*')",
        "SELECT * FROM read_parquet('https://example.com/x.parquet')",
        "EXPLAIN ANALYZE COPY prices TO '{secret}'",
        "EXPLAIN ANALYZE COPY (SELECT 1 AS one) TO '{own}'",
        "SELECT * FROM hidden",
    ],
)
def test_nothing_but_the_release_is_within_reach(release, tmp_path, sql):
    hidden = pl.DataFrame({"a": ["in python"]})
    secret = tmp_path / "secret.csv"
    secret.write_text("a\nsecret\n")
    own = Path(release.table("prices"))
    before = own.read_bytes()

    with pytest.raises(QueryError):
        run_sql(
            release, sql.format(secret=secret, folder=tmp_path, own=str(own).replace("'", "''"))
        )

    assert secret.read_text() == "a\nsecret\n"
    assert own.read_bytes() == before
    assert hidden.height == 1


def test_settings_cannot_be_opened_again(release):
    with connect(release) as connection, pytest.raises(Exception, match="locked"):
        connection.execute("SET enable_external_access = true")


def test_release_without_a_file_is_a_clear_error(tmp_path):
    candidate = write_candidate(tmp_path / "candidate")
    release = publish(LocalStorage(tmp_path / "root"), candidate, release_facts()).release
    Path(release.table("prices")).unlink()

    with pytest.raises(QueryError, match=f"cannot open release {release.id} for queries"):
        connect(release)
