"""The curated reference files beside the transforms, read as their tables."""

from functools import lru_cache
from importlib.resources import files

import polars as pl

from transforms.azure_instance_types import parse_vm_sizes
from transforms.lifecycle import parse_lifecycle
from transforms.regions import parse_regions

_FOLDER = files("transforms") / "reference"

_PUBLISHED_TOGETHER = {"aws": ("aws", "aws-us-gov"), "azure": ("azure", "azure-us-gov")}
"""Partitions whose prices a provider publishes on one host; those of China are on another."""

_NOT_LISTED = ("usdodcentral", "usdodeast")
"""Regions of the Department of Defense: the public Retail Prices API lists nothing for them."""


@lru_cache(maxsize=1)
def azure_vm_sizes() -> pl.DataFrame:
    """Return the curated Azure size table."""
    return parse_vm_sizes((_FOLDER / "azure_vm_sizes.csv").read_bytes())


@lru_cache(maxsize=1)
def lifecycle() -> pl.DataFrame:
    """Return what is curated of the `lifecycle` table."""
    return parse_lifecycle((_FOLDER / "lifecycle.csv").read_bytes())


@lru_cache(maxsize=1)
def regions() -> pl.DataFrame:
    """Return the `regions` table."""
    return parse_regions((_FOLDER / "regions.csv").read_bytes())


def region_ids(provider: str, *partitions: str) -> tuple[str, ...]:
    """Return the regions and zones of a provider's partitions, sorted.

    By default the partitions that a run asks for unless it is told otherwise.
    """
    ours = regions().filter(
        pl.col("provider") == provider,
        pl.col("partition").is_in(partitions or _PUBLISHED_TOGETHER[provider]),
        ~pl.col("region_id").is_in(_NOT_LISTED),
    )
    return tuple(ours["region_id"].sort())
