"""Measure reading and normalising savings plans against a bare polars scan of them to parquet.

    python benchmarks/aws_savings_plan_file.py [--lines 1000000]

A file of us-east-1's size is generated: every plan discounts every SKU, half of them reserved
capacity that is unused. Each variant runs in a process of its own. CPU is user + system of all its
threads, without the imports; memory is its peak resident set. The last line says whether the
targets are met: at most 2.5 times the scan's CPU and at most 500 MiB.
"""

import argparse
import itertools
import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import polars as pl

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from connectors.aws.savings_plan_wire import (  # noqa: E402
    OPTIONAL_COLUMNS,
    REQUIRED_COLUMNS,
    read_savings_plan_rates,
)
from support.encode_savings_plans import COLUMNS, encode_savings_plan_csv  # noqa: E402
from transforms.aws_savings_plans import normalize_savings_plan_rates  # noqa: E402
from transforms.regions import parse_regions  # noqa: E402
from warehouse.schemas.parts import AWS_SKUS  # noqa: E402

MAX_CPU_RATIO = 2.5
MAX_RSS_MIB = 500

_SKU_LETTERS = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"
_SIZES = ("medium", "large", "xlarge", "2xlarge", "4xlarge", "8xlarge", "16xlarge", "metal")
_USES = {"BoxUsage": "shared", "UnusedBox": None, "DedicatedUsage": "dedicated", "UnusedDed": None}
_SYSTEMS = {
    "RunInstances": "linux",
    "RunInstances:0002": "windows",
    "RunInstances:0010": "rhel",
    "RunInstances:1010": "rhel_ha",
    "RunInstances:000g": "suse",
    "RunInstances:0g00": "ubuntu_pro",
}
_PLANS = tuple(
    itertools.product(
        ("ComputeSavingsPlans", "EC2InstanceSavingsPlans"),
        ("1", "3"),
        ("No Upfront", "Partial Upfront", "All Upfront"),
    )
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3, help="the best of so many is reported")
    parser.add_argument("--variant", choices=sorted(VARIANTS), help=argparse.SUPPRESS)
    parser.add_argument("--directory", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.variant:
        before = cpu_seconds()
        VARIANTS[arguments.variant](arguments.directory)
        peak_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(cpu_seconds() - before, peak_kib / 1024)
        return 0
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        print(write(directory, arguments.lines), "bytes")
        return compare(directory, arguments.rounds)


def write(directory: Path, lines: int) -> int:
    """Write index.csv of so many lines and skus.parquet, and return the bytes of the former."""
    rng = random.Random(0)
    products = list(itertools.islice(_products(rng), lines // len(_PLANS)))
    rows = itertools.chain.from_iterable(
        _rates(plan, products, rng, number) for number, plan in enumerate(_PLANS)
    )
    path = directory / "index.csv"
    with path.open("wb") as file:
        file.write(_encode(()))
        while some := list(itertools.islice(rows, 50_000)):
            file.write(_encode(some).split(b"\n", 6)[6])
    skus = [sku for sku, _ in products]
    pl.DataFrame(skus, schema=AWS_SKUS.schema, orient="row").write_parquet(
        directory / "skus.parquet"
    )
    return path.stat().st_size


def compare(directory: Path, rounds: int) -> int:
    """Run the variants in turn, so that a busy machine slows all of them, and compare."""
    runs = {name: [] for name in VARIANTS}
    for _ in range(rounds):
        for name, results in runs.items():
            results.append(measure(name, directory))
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


def measure(variant: str, directory: Path) -> tuple[float, float]:
    command = [sys.executable, __file__, "--variant", variant, "--directory", str(directory)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    cpu, rss = done.stdout.split()
    return float(cpu), float(rss)


def scan(directory: Path) -> None:
    """Sink the columns that are needed to parquet, as text: the least that a reader must do."""
    columns = [*REQUIRED_COLUMNS.values(), *OPTIONAL_COLUMNS.values()]
    lines = pl.scan_csv(directory / "index.csv", skip_rows=5, infer_schema=False)
    lines.select(columns).sink_parquet(directory / "scanned.parquet")


def read(directory: Path) -> None:
    """Read to raw tables only."""
    with (directory / "index.csv").open("rb") as stream:
        for _ in read_savings_plan_rates(stream, source_id="benchmark"):
            pass


def normalize(directory: Path) -> None:
    """Read, normalise and put together: what a region costs before it is stored."""
    with (directory / "index.csv").open("rb") as stream:
        normalized = normalize_savings_plan_rates(
            read_savings_plan_rates(stream, source_id="benchmark"),
            skus=pl.read_parquet(directory / "skus.parquet"),
            source_id="aws_savings_plans/us-east-1",
            region_id="us-east-1",
            regions=parse_regions((ROOT / "transforms/reference/regions.csv").read_bytes()),
        )
    kept = normalized.prices.height
    assert kept == normalized.counts["rows"].sum() - _filtered(normalized.counts) > 0


def _filtered(counts: pl.DataFrame) -> int:
    return counts.filter(pl.col("outcome") == "filtered")["rows"].sum()


def _encode(rows: list[dict[str, str]] | tuple[()]) -> bytes:
    return encode_savings_plan_csv(
        rows, version="20260705130000", published_at="2026-07-05T13:00:00Z", columns=COLUMNS
    )


def _products(rng: random.Random) -> Iterator[tuple[tuple[str | None, ...], str]]:
    """Give SKUs as rows of AWS_SKUS, each with its instance type."""
    for family in itertools.count():
        for size, (use, tenancy), (operation, system) in itertools.product(
            _SIZES, _USES.items(), _SYSTEMS.items()
        ):
            sku = "".join(rng.choices(_SKU_LETTERS, k=16))
            instance_type = f"m{family}i.{size}"
            is_price = tenancy is not None
            words = (instance_type, system, "included", "none", tenancy)
            yield (
                (
                    sku,
                    f"{use}:{instance_type}",
                    operation,
                    None if is_price else "aws_capacity_reservation",
                    *(words if is_price else (None,) * 5),
                ),
                instance_type,
            )


def _rates(
    plan: tuple[str, str, str],
    products: list[tuple[tuple[str | None, ...], str]],
    rng: random.Random,
    number: int,
) -> Iterator[dict[str, str]]:
    family, years, payment = plan
    plan_sku = f"PLAN{number:012d}"
    for (sku, usage_type, operation, *_), instance_type in products:
        yield {
            "SKU": plan_sku,
            "RateCode": f"{plan_sku}.{sku}",
            "Unit": "Hrs",
            "EffectiveDate": "2026-07-01T00:00:00Z",
            "DiscountedRate": f"{rng.uniform(0.01, 90):.4f}",
            "Currency": "USD",
            "DiscountedSKU": str(sku),
            "DiscountedServiceCode": "AmazonEC2",
            "DiscountedUsageType": str(usage_type),
            "DiscountedOperation": str(operation),
            "PurchaseOption": payment,
            "LeaseContractLength": years,
            "LeaseContractLengthUnit": "year",
            "ServiceCode": "ComputeSavingsPlans",
            "UsageType": f"ComputeSP:{years}yr{payment.replace(' ', '')}",
            "Description": f"{years} year {payment} Compute Savings Plan",
            "Location": "Any",
            "Location Type": "AWS Region",
            "Granularity": "hourly",
            "Product Family": family,
            "DiscountedRegionCode": "us-east-1",
            "DiscountedInstanceType": instance_type,
        }


VARIANTS = {"scan": scan, "read": read, "normalize": normalize}

if __name__ == "__main__":
    sys.exit(main())
