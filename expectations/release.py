"""What the gate judges: the candidate, the last release, and what the run was asked for."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import polars as pl

Tables = Mapping[str, pl.LazyFrame]
"""Published tables by name."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A whole release that is not published yet.

    tables: every table of `warehouse.schemas.catalog`. row_counts: ROW_COUNTS over all documents.
    """

    tables: Tables
    row_counts: pl.LazyFrame


@dataclass(frozen=True, slots=True)
class Request:
    """What a run was asked for.

    regions: by provider, the regions asked for; None means all that the provider has. Providers
    that are not named were not asked for and are not judged.
    as_of: the run's clock; ages are counted up to it.
    accept_jumps: a person has seen the price jumps; they are published with a warning.
    accept_losses: a person has seen what is gone since the last release; the same.
    """

    regions: Mapping[str, tuple[str, ...] | None]
    as_of: datetime
    accept_jumps: bool = False
    accept_losses: bool = False
