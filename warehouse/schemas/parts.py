"""What one region's documents become before they are put together: parts of a release."""

import polars as pl

from warehouse.schemas.catalog import INSTANCE_TYPES, OFFERS, PRICES, REJECTED_ROWS
from warehouse.schemas.table import Field, Table

PRICE_CANDIDATES = Table(
    "price_candidates",
    "raw",
    "Prices of every date that a document lists: in force, superseded and announced. "
    "Same columns as prices",
    PRICES.fields,
    key=PRICES.key,
)

REJECTED = Table(
    "rejected",
    "raw",
    "Refused rows before they are numbered: rejected_rows without row_id",
    tuple(field for field in REJECTED_ROWS.fields if field.name != "row_id"),
    key=(),
)

ROW_COUNTS = Table(
    "row_counts",
    "raw",
    "How many rows of a document went where: rows in = kept + rejected + filtered",
    (
        Field("source_id", pl.String, "Document", nullable=False),
        Field(
            "outcome",
            pl.String,
            "What became of them",
            nullable=False,
            vocabulary=("kept", "rejected", "filtered"),
        ),
        Field("rule", pl.String, "Rule that took them; null where they were kept"),
        Field("rows", pl.Int64, "Rows", nullable=False),
    ),
    key=("source_id", "outcome", "rule"),
)

INSTANCE_FACTS = Table(
    "instance_facts",
    "raw",
    "What a document says of an instance type: one row a type and document",
    INSTANCE_TYPES.fields,
    key=INSTANCE_TYPES.key,
)

LISTINGS = Table(
    "listings",
    "raw",
    "Instance types that a document lists without an ordinary price",
    tuple(field for field in OFFERS.fields if field.name in {*OFFERS.key, "price_status"}),
    key=OFFERS.key,
)

OFFERINGS = Table(
    "offerings",
    "raw",
    "Instance types that a provider says can be ordered in a region, or that it restricts there; "
    "one row a type",
    (
        *(field for field in OFFERS.fields if field.name in OFFERS.key),
        Field(
            "is_restricted",
            pl.Boolean,
            "Listed there, yet not to be ordered in any zone",
            nullable=False,
        ),
        Field("zones", pl.List(pl.String), "Zone ids that offer it, sorted; null where not known"),
    ),
    key=OFFERS.key,
)

AWS_SKUS = Table(
    "aws_skus",
    "raw",
    "What each SKU of an offer file's instances and hosts is: what other price lists join to",
    (
        Field("sku", pl.String, "SKU", nullable=False),
        Field("usage_type", pl.String, "As sent"),
        Field("operation", pl.String, "As sent"),
        Field(
            "rule",
            pl.String,
            "Filter or reject that took its rows; null where its on-demand or reserved rows are "
            "prices. The columns below are null where there is one",
        ),
        *(
            Field(field.name, field.dtype, field.description)
            for field in PRICES.fields
            if field.name
            in {
                "instance_type",
                "operating_system",
                "license_model",
                "pre_installed_software",
                "tenancy",
            }
        ),
    ),
    key=("sku",),
)
