"""Measure what putting a whole night together costs: time and memory by the number of prices.

    python benchmarks/assembly.py [--regions 32] [--types 600] [--systems 6]

Writes synthetic parts, one a region, with 25 ways to pay for every type and system (on demand, 12
reserved terms, 12 savings plan rates), as AWS lists them, and assembles them as a night does, in a
process of its own. Reported are the prices, the seconds, and the peak resident set for each million
prices; the last line compares it with a limit. A full list of both clouds is of the order of
fifteen million prices (318,604 machines and systems of AWS alone, July 2026).
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from flows import reference
from flows.candidate import assemble
from flows.normalize import write_part
from flows.planning import plan_run, read_settings
from flows.run import Base, Extract, Rates, RegionPart
from transforms.normalized import Normalized
from warehouse.schemas.documents import Document
from warehouse.schemas.parts import PRICE_CANDIDATES, REJECTED, ROW_COUNTS
from warehouse.schemas.table import PRICE, TIMESTAMP

MAX_MIB_PER_MILLION = 1_300
AS_OF = datetime(2026, 11, 30, tzinfo=UTC)

PAYMENTS = ("no_upfront", "partial_upfront", "all_upfront")
WAYS = pl.DataFrame(
    [
        ("on_demand", None, None, None, "Standard"),
        *(
            (option, kind, years, payment, "Committed")
            for option, kinds in (
                ("reserved", ("standard", "convertible")),
                ("savings_plan", ("compute", "ec2_instance")),
            )
            for kind in kinds
            for years in (1, 3)
            for payment in PAYMENTS
        ),
    ],
    schema={
        "purchase_option": pl.String,
        "commitment_type": pl.String,
        "term_years": pl.Int32,
        "payment_option": pl.String,
        "pricing_category": pl.String,
    },
    orient="row",
)
SYSTEMS = ("linux", "windows", "rhel", "rhel_ha", "suse", "ubuntu_pro")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--regions", type=int, default=32)
    parser.add_argument("--types", type=int, default=600)
    parser.add_argument("--systems", type=int, default=6)
    parser.add_argument("--parts", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.parts is not None:
        put_together(arguments.parts)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        prices = write_parts(Path(folder), arguments)
        command = [sys.executable, __file__, "--parts", folder]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds, peak = map(float, done.stdout.split())
    per_million = peak / prices * 1_000_000
    print(
        f"{prices:,} prices   {seconds:.1f} s   {peak:,.0f} MiB   {per_million:,.0f} MiB a million"
    )
    is_met = per_million <= MAX_MIB_PER_MILLION
    print(f"{'met' if is_met else 'MISSED'}: limit {MAX_MIB_PER_MILLION:,} MiB a million prices")
    return 0 if is_met else 1


def write_parts(folder: Path, arguments: argparse.Namespace) -> int:
    machines = pl.DataFrame(
        {"instance_type": [f"x{number}.large" for number in range(arguments.types)]}
    ).join(pl.DataFrame({"operating_system": SYSTEMS[: arguments.systems]}), how="cross")
    listed = machines.join(WAYS, how="cross").with_row_index("number")
    for region_id in reference.region_ids("aws")[: arguments.regions]:
        source_id = f"aws_price_list/{region_id}"
        price = (pl.col("number") + 1).cast(pl.Decimal(18, 4)) / 1000
        prices = listed.lazy().with_columns(
            provider=pl.lit("aws"),
            region_id=pl.lit(region_id),
            availability_zone_id=pl.lit(None, dtype=pl.String),
            license_model=pl.lit("included"),
            pre_installed_software=pl.lit("none"),
            tenancy=pl.lit("shared"),
            hourly_rate=price.cast(PRICE),
            upfront_fee=pl.lit(None, dtype=PRICE),
            effective_hourly_price=price.cast(PRICE),
            currency=pl.lit("USD"),
            pricing_unit=pl.lit("Hours"),
            valid_from=pl.lit(datetime(2026, 11, 1, tzinfo=UTC), dtype=TIMESTAMP),
            valid_to=pl.lit(None, dtype=TIMESTAMP),
            sku_id=pl.format("SKU{}{}", pl.lit(region_id), "number"),
            sku_price_id=pl.format("SKU{}{}.TERM.RATE", pl.lit(region_id), "number"),
            price_quality=pl.lit("ok"),
            source_id=pl.lit(source_id),
        )
        counts = pl.DataFrame(
            [(source_id, "kept", None, listed.height)], schema=ROW_COUNTS.schema, orient="row"
        )
        part = Normalized(PRICE_CANDIDATES.conform(prices).collect(), REJECTED.empty(), counts)
        (folder / region_id).mkdir()
        write_part(part, folder / region_id)
    return listed.height * arguments.regions


def put_together(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as landing:
        settings = {"landing": landing, "root": landing, "as_of": AS_OF.isoformat()}
        run = plan_run(read_settings(settings))
        parts = tuple(part_in(path) for path in sorted(folder.iterdir()))
        asked = tuple(str(part.region_id) for part in parts)
        started = time.perf_counter()
        assemble(run, Base(None, None), (Extract("aws", asked, (), parts, ()),), Rates(None, None))
        seconds = time.perf_counter() - started
    print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def part_in(path: Path) -> RegionPart:
    document = Document(
        source_id=f"aws_price_list/{path.name}",
        source="aws_price_list",
        provider="aws",
        region_id=path.name,
        url="synthetic",
        fetched_at=AS_OF,
        confirmed_at=AS_OF,
        published_at=AS_OF,
        version=None,
        media_type="text/csv",
        sha256="0" * 64,
        bytes=1,
    )
    rows = pl.scan_parquet(path / "prices.parquet").select(pl.len()).collect().item()
    region_id = path.name
    return RegionPart("aws", region_id, (document,), region_id, path, rows, rows, 0.0, True)  # noqa: FBT003


if __name__ == "__main__":
    sys.exit(main())
