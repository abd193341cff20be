"""The five folders are the packages that are imported, wherever Python is started."""

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ["flows", "connectors", "transforms", "expectations", "warehouse"]


def test_each_package_resolves_to_this_project_from_another_folder(tmp_path):
    code = (
        "from importlib.util import find_spec\n"
        f"for name in {PACKAGES}: print(find_spec(name).origin)"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout.split()
    assert found == [str(ROOT / name / "__init__.py") for name in PACKAGES]


def test_the_wheel_holds_the_five_packages_and_nothing_else():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == PACKAGES


def test_no_module_is_named_after_another_top_level_module():
    own = {path.stem for name in PACKAGES for path in (ROOT / name).glob("*.py")} - {"__init__"}
    assert own & set(sys.stdlib_module_names) == set()


def test_the_lock_file_names_no_host_and_pins_every_package_with_a_hash():
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    pinned = [line for line in lines if "==" in line]
    assert len(pinned) > 100
    assert not [line for line in lines if "://" in line or line.startswith("--index")]
    assert all("\\" in line for line in pinned), "a package without a hash"
