"""EC2 offer files (index.csv) to raw rows; the only code that knows their columns.

One line for each rate of each term of each SKU, in the CSV that `connectors.aws.bulk_csv` reads.

Source: AWS Price List, "Reading the offer files" (CSV), format version 1.
"""

from collections.abc import Iterator
from typing import BinaryIO

import polars as pl

from connectors.aws.bulk_csv import Columns, read_rows
from warehouse.schemas.raw import AWS_OFFER_ROWS

REQUIRED_COLUMNS = {
    "sku": "SKU",
    "offer_term_code": "OfferTermCode",
    "rate_code": "RateCode",
    "term_type": "TermType",
    "effective_date": "EffectiveDate",
    "starting_range": "StartingRange",
    "ending_range": "EndingRange",
    "unit": "Unit",
    "price_per_unit": "PricePerUnit",
    "currency": "Currency",
    "product_family": "Product Family",
    "instance_type": "Instance Type",
    "tenancy": "Tenancy",
    "operating_system": "Operating System",
    "license_model": "License Model",
    "pre_installed_sw": "Pre Installed S/W",
    "usage_type": "usageType",
    "operation": "operation",
}
"""Without one of these no price can be told from another: a file that lacks it is refused."""

OPTIONAL_COLUMNS = {
    "lease_contract_length": "LeaseContractLength",
    "purchase_option": "PurchaseOption",
    "offering_class": "OfferingClass",
    "region_code": "Region Code",
    "location": "Location",
    "location_type": "Location Type",
    "current_generation": "Current Generation",
    "instance_family": "Instance Family",
    "vcpu": "vCPU",
    "physical_processor": "Physical Processor",
    "memory": "Memory",
    "storage": "Storage",
    "network_performance": "Network Performance",
    "processor_architecture": "Processor Architecture",
    "gpu": "GPU",
    "gpu_memory": "GPU Memory",
    "capacity_status": "CapacityStatus",
    "market_option": "MarketOption",
}
"""Null where the file has no such column; older files have no region code or market option."""

_COLUMNS = Columns(
    AWS_OFFER_ROWS, REQUIRED_COLUMNS, OPTIONAL_COLUMNS, module="connectors/aws/wire.py"
)


def read_offer_rows(
    stream: BinaryIO, *, source_id: str, block_bytes: int = 8 << 20
) -> Iterator[pl.DataFrame]:
    """Read an offer file's lines as AWS_OFFER_ROWS frames, one for each block of the file.

    Memory is bounded by a few times `block_bytes`. Every field is text; an empty one is null.

    Args:
        stream: decoded index.csv, at its beginning.
        source_id: document, for the errors.
        block_bytes: how much is parsed at a time.

    Raises:
        WireFormatError: see `connectors.aws.bulk_csv.read_rows`.
    """
    return read_rows(stream, _COLUMNS, source_id=source_id, block_bytes=block_bytes)
