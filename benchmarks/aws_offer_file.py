"""Measure reading and normalising an offer file against a bare polars scan of it to parquet.

    python benchmarks/aws_offer_file.py [--file index.csv] [--instance-types 1050]

Each variant runs in a process of its own. CPU is user + system of all its threads, without the
imports; memory is its peak resident set. Without --file an offer file of us-east-1's size (about
300 MB) is generated first. The last line says whether the targets are met: at most 2.5 times the
scan's CPU and at most 500 MiB.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import polars as pl
from offer_file import ROOT, write_offer_file

from connectors.aws.wire import OPTIONAL_COLUMNS, REQUIRED_COLUMNS, read_offer_rows
from transforms.aws_prices import normalize_offer_file
from transforms.regions import parse_regions

MAX_CPU_RATIO = 2.5
MAX_RSS_MIB = 500


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--file", type=Path, help="an EC2 index.csv; generated if not given")
    parser.add_argument("--instance-types", type=int, default=1050)
    parser.add_argument("--rounds", type=int, default=3, help="the best of so many is reported")
    parser.add_argument("--variant", choices=sorted(VARIANTS), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.variant:
        before = cpu_seconds()
        VARIANTS[arguments.variant](arguments.file)
        peak_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(cpu_seconds() - before, peak_kib / 1024)
        return 0
    with tempfile.TemporaryDirectory() as directory:
        path = arguments.file or Path(directory) / "index.csv"
        if not arguments.file:
            print(write_offer_file(path, instance_types=arguments.instance_types))
        return compare(path, arguments.rounds)


def compare(path: Path, rounds: int) -> int:
    """Run the variants in turn, so that a busy machine slows all of them, and compare."""
    runs = {name: [] for name in VARIANTS}
    for _ in range(rounds):
        for name, results in runs.items():
            results.append(measure(name, path))
    best = {name: min(results) for name, results in runs.items()}
    for name, (cpu, rss) in best.items():
        print(f"{name:10} {cpu:6.2f} CPU s  {rss:6.0f} MiB")
    cpu, rss = best["normalize"]
    ratio = cpu / best["scan"][0]
    is_met = ratio <= MAX_CPU_RATIO and rss <= MAX_RSS_MIB
    print(f"{'met' if is_met else 'MISSED'}: {ratio:.2f} x the scan's CPU, {rss:.0f} MiB")
    return 0 if is_met else 1


def cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def measure(variant: str, path: Path) -> tuple[float, float]:
    command = [sys.executable, __file__, "--variant", variant, "--file", str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    cpu, rss = done.stdout.split()
    return float(cpu), float(rss)


def scan(path: Path) -> None:
    """Sink the columns that are needed to parquet, as text: the least that a reader must do."""
    columns = list((REQUIRED_COLUMNS | OPTIONAL_COLUMNS).values())
    with tempfile.NamedTemporaryFile(suffix=".parquet") as sink:
        lines = pl.scan_csv(path, skip_rows=5, infer_schema=False)
        lines.select(columns).sink_parquet(sink.name)


def read(path: Path) -> None:
    """Read to raw tables only."""
    with path.open("rb") as stream:
        for _ in read_offer_rows(stream, source_id="benchmark"):
            pass


def normalize(path: Path) -> None:
    """Read, normalise and put together: what a region costs before it is stored."""
    regions = parse_regions((ROOT / "transforms/reference/regions.csv").read_bytes())
    with path.open("rb") as stream:
        normalize_offer_file(
            read_offer_rows(stream, source_id="benchmark"),
            source_id="benchmark",
            region_id="us-east-1",
            regions=regions,
        )


VARIANTS = {"scan": scan, "read": read, "normalize": normalize}

if __name__ == "__main__":
    sys.exit(main())
