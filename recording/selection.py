"""Which families and series the bundled recording holds beside the accelerated ones."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class AwsSelection:
    """EC2 families, and the regions where all that is known of them is wanted."""

    general_families: frozenset[str]
    regions_in_full: frozenset[str]
    reservations_in_full: frozenset[str]
    """Regions of these where every system has its reservations, not Linux alone."""


@dataclass(frozen=True, slots=True)
class AzureSelection:
    """Azure series."""

    general_series: frozenset[str]


@dataclass(frozen=True, slots=True)
class Selection:
    """The selection for both providers."""

    aws: AwsSelection
    azure: AzureSelection


def read_selection(path: Path) -> Selection:
    """Read selection.toml."""
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    return Selection(
        AwsSelection(
            frozenset(document["aws"]["general_families"]),
            frozenset(document["aws"]["regions_in_full"]),
            frozenset(document["aws"]["reservations_in_full"]),
        ),
        AzureSelection(frozenset(document["azure"]["general_series"])),
    )
