"""Transforms are pure, and no money passes through a float parser: what no linter can say."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

ROW_BY_ROW = {"map_elements", "map_batches", "map_rows", "iter_rows", "rows", "to_dicts"}
READS_OR_WRITES = {"open", "print", "to_pandas", "scan_csv", "scan_parquet", "read_parquet"}
LOSES_MONEY = {"to_decimal"}
"""str.to_decimal turns what it cannot read into null; cast raises."""


def _called_names(path: Path) -> set[str]:
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    return {
        call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        for call in calls
    }


def _modules(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


@pytest.mark.parametrize("path", _modules("transforms"), ids=lambda path: path.name)
def test_transforms_neither_loop_over_rows_nor_touch_files(path):
    assert _called_names(path) & (ROW_BY_ROW | READS_OR_WRITES) == set()


@pytest.mark.parametrize(
    "path",
    _modules("connectors", "transforms", "expectations", "warehouse", "flows"),
    ids=lambda path: "/".join(path.parts[-2:]),
)
def test_nothing_parses_money_leniently(path):
    assert _called_names(path) & LOSES_MONEY == set()
