"""Which code is running: its version for the manifest, its digest for the part cache."""

import hashlib
import subprocess
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path

_PROJECT = Path(__file__).resolve().parent.parent

_READS_DOCUMENTS = (
    "connectors/aws/bulk_csv.py",
    "connectors/aws/ec2_api.py",
    "connectors/aws/savings_plan_wire.py",
    "connectors/aws/spot_feed.py",
    "connectors/aws/wire.py",
    "connectors/azure/wire.py",
    "flows/normalize.py",
)
_TURNS_THEM_INTO_PARTS = ("transforms", "warehouse/schemas")


@lru_cache(maxsize=1)
def code_version() -> str:
    """Return the package's version and, in a git checkout, its commit; `+dirty` where changed."""
    release = version("cloud-price-catalog")
    if not (_PROJECT / ".git").exists():
        return release
    commit = _git("rev-parse", "--verify", "HEAD") or "uncommitted"
    changed = _git("status", "--porcelain", "--untracked-files=no")
    return f"{release}+{commit}{'.dirty' if changed else ''}"


@lru_cache(maxsize=1)
def fingerprint() -> str:
    """Return the digest of all code and reference files that turn documents into parts."""
    paths = [_PROJECT / name for name in _READS_DOCUMENTS]
    for folder in _TURNS_THEM_INTO_PARTS:
        paths += [path for path in (_PROJECT / folder).rglob("*") if path.suffix in {".py", ".csv"}]
    digest = hashlib.sha256(f"polars {version('polars')}".encode())
    for path in sorted(paths):
        digest.update(str(path.relative_to(_PROJECT)).encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(_PROJECT), *arguments]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    return answer.stdout.strip()
