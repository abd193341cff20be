"""Savings plan offer files (index.csv) to raw rows; the only code that knows their columns.

One line for each SKU that a plan discounts, of every plan there is: kind, lease, payment and, for
EC2 Instance plans, instance family. The CSV is that of EC2 offer files with bare fields, so a comma
inside of one would shift the rest: a line of another width is refused.

Source: AWS Price List, savings plan price lists (CSV), format version 1.
"""

from collections.abc import Iterator
from typing import BinaryIO

import polars as pl

from connectors.aws.bulk_csv import Columns, read_rows
from warehouse.schemas.raw import AWS_SAVINGS_PLAN_RATES

REQUIRED_COLUMNS = {
    "sku": "SKU",
    "rate_code": "RateCode",
    "unit": "Unit",
    "effective_date": "EffectiveDate",
    "discounted_rate": "DiscountedRate",
    "currency": "Currency",
    "discounted_sku": "DiscountedSKU",
    "discounted_service_code": "DiscountedServiceCode",
    "discounted_usage_type": "DiscountedUsageType",
    "discounted_operation": "DiscountedOperation",
    "purchase_option": "PurchaseOption",
    "lease_contract_length": "LeaseContractLength",
    "lease_contract_length_unit": "LeaseContractLengthUnit",
    "product_family": "Product Family",
}
"""Without one of these no rate can be told from another: a file that lacks it is refused."""

OPTIONAL_COLUMNS = {
    "discounted_region_code": "DiscountedRegionCode",
    "discounted_instance_type": "DiscountedInstanceType",
}
"""They repeat what file and SKU say, and serve to check it; null where the file lacks them."""

_COLUMNS = Columns(
    AWS_SAVINGS_PLAN_RATES,
    REQUIRED_COLUMNS,
    OPTIONAL_COLUMNS,
    module="connectors/aws/savings_plan_wire.py",
)


def read_savings_plan_rates(
    stream: BinaryIO, *, source_id: str, block_bytes: int = 8 << 20
) -> Iterator[pl.DataFrame]:
    """Read a file's lines as AWS_SAVINGS_PLAN_RATES frames, one for each block of the file.

    Memory is bounded by a few times `block_bytes`. Every field is text; an empty one is null.

    Args:
        stream: decoded index.csv, at its beginning.
        source_id: document, for the errors.
        block_bytes: how much is parsed at a time.

    Raises:
        WireFormatError: see `connectors.aws.bulk_csv.read_rows`.
    """
    return read_rows(stream, _COLUMNS, source_id=source_id, block_bytes=block_bytes)
