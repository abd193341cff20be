"""Who may import whom: the contracts of pyproject.toml hold, and importing stays cheap."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_import_contracts_are_kept():
    answer = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "5 kept, 0 broken" in answer.stdout


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("warehouse.schemas.catalog", {"requests", "prefect", "pandas", "great_expectations"}),
        ("expectations.rows", {"pandas", "great_expectations"}),
        ("flows.cli", {"prefect", "pandas", "great_expectations", "boto3"}),
    ],
)
def test_importing_a_module_does_not_load_heavy_libraries(module, heavy):
    code = f"import sys, {module}; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    assert heavy & set(loaded) == set()
