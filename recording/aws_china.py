"""Collected list prices of AWS China -> the rows of its one offer file: Linux, in CNY.

Only Beijing's prices were collected, and of bare metal only those of dedicated tenancy. SKUs are
synthetic: SYN, CN, number of the type.
"""

from __future__ import annotations

import csv
from decimal import Decimal
from typing import TYPE_CHECKING

from recording.aws_facts import DEDICATED_PRICES, is_selected, read_machines
from support.encode_aws import (
    CHINA,
    DEDICATED,
    LINUX,
    ON_DEMAND,
    Place,
    compute_product,
    on_demand_row,
    plain_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from recording.selection import AwsSelection
    from support.encode_aws import Row

BEIJING = Place("cn-north-1", "China (Beijing)", "AWS Region", "CNN1")
VERSION = "20241106010011"
PUBLISHED_AT = "2024-11-06T01:00:11Z"
EFFECTIVE_DATE = "2024-11-01"


def read_offer_rows(data: Path, selection: AwsSelection) -> Iterator[Row]:
    """Yield the rows of Beijing's offer file; `data` is the folder of collected facts."""
    machines = read_machines(data)
    with (data / DEDICATED_PRICES).open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["region"] == BEIJING.region_id]
    for number, row in enumerate(sorted(rows, key=lambda row: row["instance_type"])):
        instance_type, price = row["instance_type"], Decimal(row["price_per_hour"])
        if not is_selected(instance_type, selection) or instance_type not in machines:
            continue
        billing = DEDICATED if ".metal" in instance_type else ON_DEMAND
        product = compute_product(
            BEIJING, machines[instance_type], LINUX, billing, sku=f"SYNCN{number:04d}LX0NSU"
        )
        said = f"{plain_text(price)} CNY per {billing.spoken} Linux {instance_type} Instance Hour"
        yield on_demand_row(product, price, said, effective_date=EFFECTIVE_DATE, codes=CHINA)
