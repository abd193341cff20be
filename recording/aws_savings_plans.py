"""Savings plan rates that were collected in public: one plan of one family in ap-east-2.

The rows are AWS's own, word by word. Left out are those of dedicated tenancy, because no list at
hand has the SKUs that they discount.
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from support.encode_aws import Row

RATES = "aws/savings_plan/AWSComputeSavingsPlan_20250911184447_ap-east-2_sample.csv"

REGION_ID = "ap-east-2"
VERSION = "20250911184447"
PUBLISHED_AT = "2025-09-11T18:44:47Z"

_LINES_BEFORE_ROWS = 6
_DEDICATED = ("DedicatedUsage", "UnusedDed")


def read_rate_rows(data: Path) -> list[Row]:
    """Read the rows of the region's savings plan file; `data` is the folder of collected facts."""
    with (data / RATES).open(encoding="utf-8", newline="") as file:
        lines = list(csv.reader(file))
    header = lines[_LINES_BEFORE_ROWS - 1]
    rows = [dict(zip(header, line, strict=True)) for line in lines[_LINES_BEFORE_ROWS:]]
    return [
        row for row in rows if not any(word in row["DiscountedUsageType"] for word in _DEDICATED)
    ]


def read_skus(data: Path) -> dict[tuple[str, str], str]:
    """Read AWS's own SKUs, by usage type and operation, which the offer file must have as well."""
    return {
        (row["DiscountedUsageType"], row["DiscountedOperation"]): row["DiscountedSKU"]
        for row in read_rate_rows(data)
    }
