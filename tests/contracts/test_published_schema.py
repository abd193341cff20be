"""The published schema against its snapshot: a change of the contract is seen, and meant.

After a meant change, raise SCHEMA_VERSION (major: a name, type, key or meaning; minor: something
new), write it into CHANGELOG.md, and renew the snapshot:

    pytest tests/contracts --rewrite-published-schema
"""

from pathlib import Path

from warehouse.dictionary import Column, describe
from warehouse.schemas.catalog import TABLES
from warehouse.schemas.version import SCHEMA_VERSION

SNAPSHOT = Path(__file__).resolve().parents[1] / "golden" / "published_schema.txt"


def spell(column: Column) -> str:
    marks = [
        f"key {column.key_position}" if column.key_position else "",
        "" if column.is_nullable else "not null",
        f"[{column.unit}]" if column.unit else "",
        f"FOCUS {column.focus_column}" if column.focus_column else "",
        f"one of {', '.join(column.vocabulary)}" if column.vocabulary else "",
    ]
    return f"  {column.name:<24} {column.type:<25} {'; '.join(filter(None, marks))}".rstrip()


def render_schema() -> str:
    dictionary = describe(TABLES, schema_version=SCHEMA_VERSION)
    lines = [f"schema_version {dictionary.schema_version}"]
    for table in dictionary.tables:
        lines += ["", f"{table.name} ({table.kind})"]
        lines += [spell(column) for column in table.columns]
    return "\n".join(lines) + "\n"


def test_published_schema_is_the_snapshot(rewrites_published_schema):
    if rewrites_published_schema:
        SNAPSHOT.write_text(render_schema(), encoding="utf-8")

    assert render_schema() == SNAPSHOT.read_text(encoding="utf-8"), (
        "the published schema changed; if that is meant, see this file's docstring"
    )


def test_every_column_is_described_and_every_key_is_of_columns():
    for table in TABLES:
        assert table.key, table.name
        assert set(table.key) <= set(table.columns), table.name
        for field in table.fields:
            assert field.description.strip(), f"{table.name}.{field.name}"


def test_names_follow_the_conventions():
    for table in TABLES:
        for field in table.fields:
            dtype = str(field.dtype)
            where = f"{table.name}.{field.name}"
            assert field.name == field.name.lower(), where
            assert field.name.endswith("_at") <= dtype.startswith("Datetime"), where
            assert field.name.endswith("_date") <= (dtype == "Date"), where
            assert field.name.startswith(("is_", "has_")) <= (dtype == "Boolean"), where
            suffixes = ("_gib", "_gb", "_gbps", "_gb_s", "_pct", "_usd", "_eur")
            # cheapest_at_60_pct is a name: the percentage is in it, not of it.
            if "_per_" not in field.name and dtype != "String":
                assert field.name.endswith(suffixes) <= (field.unit is not None), where
