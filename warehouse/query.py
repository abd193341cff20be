"""Asking a release with SQL: DuckDB, every table a view, and nothing else within reach.

A connection sees the parquet files of one release. Other files, the network, extensions and
settings are locked; a query can neither read nor write anything else.
"""

import duckdb
import polars as pl

from warehouse.errors import QueryError
from warehouse.releases import Release

_QUESTIONS = {
    duckdb.StatementType.SELECT,
    duckdb.StatementType.EXPLAIN,
    # PIVOT is read as several statements.
    duckdb.StatementType.MULTI,
}


def connect(release: Release) -> duckdb.DuckDBPyConnection:
    """Return a connection with every table of a release as a view; raises QueryError.

    The caller closes it. Times are shown in UTC, whatever the machine's zone is.
    """
    files = {name: release.table(name) for name in sorted(release.manifest.tables)}
    connection = duckdb.connect(":memory:", config={"autoinstall_known_extensions": False})
    try:
        connection.execute("SET TimeZone = 'UTC'")
        for name, path in files.items():
            connection.execute(
                f"CREATE VIEW {_identifier(name)} AS FROM read_parquet({_literal(path)})"
            )
        allowed = ", ".join(_literal(path) for path in files.values())
        connection.execute(f"SET allowed_paths = [{allowed}]")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
    except duckdb.Error as exc:
        connection.close()
        raise QueryError(f"cannot open release {release.id} for queries: {exc}") from exc
    return connection


def run_sql(release: Release, sql: str) -> pl.DataFrame:
    """Answer one SELECT (or DESCRIBE, EXPLAIN, PIVOT...) over a release's tables.

    Raises QueryError where the text is not one question, or where DuckDB refuses it.
    """
    with connect(release) as connection:
        try:
            _require_question(connection, sql)
            answer: pl.DataFrame = connection.sql(sql).pl()
        except (duckdb.Error, pl.exceptions.PolarsError) as exc:
            raise QueryError(f"the query failed on release {release.id}: {exc}") from exc
    return answer


def _require_question(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    kinds = [statement.type for statement in connection.extract_statements(sql)]
    if len(kinds) != 1 or kinds[0] not in _QUESTIONS:
        said = ", ".join(kind.name for kind in kinds) or "nothing"
        raise QueryError(f"expected one SELECT statement, got {said}")


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
