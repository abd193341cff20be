"""Measure that normalising more regions takes no more memory.

    python benchmarks/regions_memory.py [--few 8] [--many 64]

Replays AWS's and Azure's regions of the bundled recording, few of them and many, each in a process
of its own with an empty landing store, through fetching, landing and normalising. Reported is the
peak resident set; the last line says whether many take at most a tenth more than few. (Putting the
regions together afterwards does grow with the number of prices: the table is sorted as a whole.)
"""

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from flows import reference
from flows.extract import fetch_aws_region, fetch_azure_region, list_offer_files
from flows.normalize import normalize_region
from flows.planning import plan_run, read_settings

ROOT = Path(__file__).resolve().parents[1]
MAX_GROWTH = 1.1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--few", type=int, default=8)
    parser.add_argument("--many", type=int, default=64)
    parser.add_argument("--regions", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.regions:
        normalise(arguments.regions)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        return 0
    few, many = measure(arguments.few), measure(arguments.many)
    print(f"{arguments.few:3} regions a cloud  {few:6.0f} MiB")
    print(f"{arguments.many:3} regions a cloud  {many:6.0f} MiB")
    is_met = many <= MAX_GROWTH * few
    print(f"{'met' if is_met else 'MISSED'}: {many / few:.2f} x the memory")
    return 0 if is_met else 1


def measure(regions: int) -> float:
    command = [sys.executable, __file__, "--regions", str(regions)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    return float(done.stdout)


def normalise(regions: int) -> None:
    with tempfile.TemporaryDirectory() as landing:
        run = plan_run(read_settings({"source": "recorded", "landing": landing}))
        _, offer_files = list_offer_files(run)
        # The largest first, so that few and many have the largest in common.
        by_size = sorted(offer_files, key=lambda file: file.region_id != "us-east-1")
        for offer_file in by_size[:regions]:
            normalize_region(run, fetch_aws_region(run, offer_file))
        azure = sorted(reference.region_ids("azure"), key=lambda region: region != "eastus")
        for region_id in azure[:regions]:
            normalize_region(run, fetch_azure_region(run, region_id))


if __name__ == "__main__":
    sys.exit(main())
