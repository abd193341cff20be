"""What Azure's VM sizes are: the curated size table, and a row for every size that is priced.

Retail items say nothing of a size but its name and price, and the Resource SKUs API needs a
subscription and hides sizes from it. So the facts are curated in reference/azure_vm_sizes.csv:

- vCPUs are those that the guest may use (16 of Standard_E64-16ds_v4's 64).
- Sizes are matched without case, but never guessed from a similar name: retail's
  Standard_NG32adms_V620 and Resource Manager's Standard_NG32adms_V620_v1 stay two.
- Accelerator counts are fractions where a size has part of one; the Resource SKUs API says 1 for
  each. Where only the price hints at the fraction, count and memory are left out.
- What the sources do not say is empty: `name` rows have only what their name says.
"""

from datetime import datetime

import polars as pl

from transforms.reference import parse_reference
from warehouse.schemas.catalog import INSTANCE_TYPES
from warehouse.schemas.table import Field, Table

_CURATED = (
    "instance_type",
    "family",
    "series",
    "generation",
    "category",
    "vcpu_count",
    "memory_gib",
    "cpu_architecture",
    "accelerator",
    "accelerator_kind",
    "accelerator_count",
    "accelerator_memory_gib",
    "is_rdma",
    "rdma_kind",
    "rdma_gbps",
    "is_burstable",
    "retirement_date",
)

SOURCES = {
    "arm": "Azure Resource SKUs 2021-07-01, by way of endgor/azure-hub@eeeb25e4 skus.json (MIT)",
    "arm_parent": "endgor/azure-hub@eeeb25e4 skus.json (MIT): a constrained size's facts, derived "
    "from its parent's",
    "name": "endgor/azure-hub@eeeb25e4 skus.json (MIT): priced, but not in Azure Resource SKUs; "
    "only what the name says",
    "docs": "MicrosoftDocs/azure-compute-docs, GPU and FPGA size pages (CC BY 4.0), and Azure's "
    "retirement notices",
    "eol": "Azure/EOL@c5af085b service_list.json and Azure's retirement notices",
}
"""What the codes in the size table's `source` stand for; several are joined by +."""

UNCURATED = "Azure Retail Prices API: listed with a price, not in transforms/reference"

AZURE_VM_SIZES = Table(
    "azure_vm_sizes",
    "reference",
    "Curated facts of Azure VM sizes; columns as in instance_types",
    (
        *(INSTANCE_TYPES.field(name) for name in _CURATED),
        Field("source", pl.String, "Codes of SOURCES, joined by +", nullable=False),
        Field("source_date", pl.Date, "Day that the facts are of", nullable=False),
    ),
    key=("instance_type",),
)


def parse_vm_sizes(content: bytes) -> pl.DataFrame:
    """Turn transforms/reference/azure_vm_sizes.csv into AZURE_VM_SIZES, sorted by key.

    Raises:
        ReferenceTableError: see `parse_reference`.
    """
    return parse_reference(content, AZURE_VM_SIZES)


def azure_instance_types(
    sizes: pl.DataFrame, listed: pl.DataFrame, *, as_of: datetime
) -> pl.DataFrame:
    """Describe every curated size and every listed one: INSTANCE_TYPES, sorted by key.

    A listed size that is not in the size table, in whatever case, gets a row that says only that.
    Of several spellings of such a size the first in the alphabet names it.

    Args:
        sizes: AZURE_VM_SIZES.
        listed: prices of one or more providers, with the columns provider and instance_type.
        as_of: moment at which a size is or is not yet retired.
    """
    return (
        pl.concat([_curated(sizes), _uncurated(sizes, listed)], how="diagonal")
        .with_columns(provider=pl.lit("azure"), lifecycle=_lifecycle(as_of))
        .with_columns(
            pl.lit(None, dtype=field.dtype).alias(field.name)
            for field in INSTANCE_TYPES.fields
            if field.name not in {*_CURATED, "provider", "lifecycle", "sources"}
        )
        .pipe(INSTANCE_TYPES.conform)
        .sort(INSTANCE_TYPES.key)
        .collect(engine="in-memory")
    )


def _curated(sizes: pl.DataFrame) -> pl.LazyFrame:
    day = pl.col("source_date").dt.to_string("%Y-%m-%d")
    sources = (
        sizes.lazy()
        .select("instance_type", pl.col("source").str.split("+"), day=day)
        .explode("source")
        .select(
            "instance_type",
            sources=pl.format("{}, {}", pl.col("source").replace_strict(SOURCES), "day"),
        )
        .group_by("instance_type")
        .agg(pl.col("sources").sort())
    )
    return (
        sizes.lazy().select(_CURATED).join(sources, on="instance_type", how="left", validate="1:1")
    )


def _uncurated(sizes: pl.DataFrame, listed: pl.DataFrame) -> pl.LazyFrame:
    type_key = pl.col("instance_type").str.to_lowercase()
    return (
        listed.lazy()
        .filter(pl.col("provider") == "azure")
        .select("instance_type", type_key=type_key)
        .join(sizes.lazy().select(type_key=type_key), on="type_key", how="anti")
        .group_by("type_key")
        .agg(pl.col("instance_type").min())
        .select("instance_type", sources=pl.concat_list(pl.lit(UNCURATED)))
    )


def _lifecycle(as_of: datetime) -> pl.Expr:
    """Say where a size with a retirement date stands; null where none is announced.

    A size is retired from its retirement date on. Without a date it may be current, previous or in
    preview: the sources do not say, so neither do we.
    """
    is_retired = pl.col("retirement_date") <= pl.lit(as_of.date())
    return (
        pl.when(is_retired)
        .then(pl.lit("retired"))
        .when(~is_retired)
        .then(pl.lit("retiring"))
        .otherwise(pl.lit(None, dtype=pl.String))
    )
