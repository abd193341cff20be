"""What a run is, and the addresses that its tasks hand to each other.

Everything here pickles and is small: a task may run in another thread, process or machine.
"""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path

from warehouse.schemas.documents import Document


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Where the providers are asked."""

    aws_price_list: str
    aws_china_price_list: str
    aws_spot_feed: str
    azure_retail_prices: str
    ecb_rates: str


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """How the providers are asked."""

    workers: int
    max_attempts: int
    backoff_seconds: float
    walk_max_attempts: int


@dataclass(frozen=True, slots=True)
class Run:
    """One refresh: its clock, its sources and its folders. Every task gets it."""

    run_id: str
    as_of: datetime
    """Moment that the release is of: which prices are in force, how old documents are."""
    started_at: datetime
    recording: Path | None
    """Folder that is replayed in place of the network; None on a live run."""
    record_to: Path | None
    """Folder that a live run writes a recording to."""
    from_landed: str | None
    """Earlier run whose landed documents are taken in place of fetching."""
    root: str
    landing: Path
    endpoints: Endpoints
    limits: HttpLimits
    may_use_credentials: bool
    """Whether AWS may be asked through its API, if there are credentials: only for a live run
    against AWS itself, and not for a recording, which anybody must be able to renew."""
    providers: tuple[str, ...]
    aws_regions: tuple[str, ...] | None
    has_aws_china: bool
    """Whether AWS China is asked as well: other prices, another currency, another host."""
    azure_regions: tuple[str, ...] | None
    azure_currencies: tuple[str, ...]
    """Currencies that Azure is asked for beside US dollars."""
    spot_lost_work_pct: Decimal
    """Assumption of purchase_advice, in percent."""
    accept_jumps: bool
    accept_losses: bool
    code_version: str
    fingerprint: str
    """Digest of the code that turns documents into parts: a part of other code is not reused."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A document that a region goes without tonight, its price list apart, with the reason."""

    provider: str
    region_id: str | None
    """None where all regions go without."""
    source: str
    """Which of the provider's publications is missing."""
    error: str
    message: str
    documents: tuple[Document, ...] = ()
    """What was landed and could not be read."""


@dataclass(frozen=True, slots=True)
class RegionDocuments:
    """Landed documents that become one part: a region's price lists, or its spot prices."""

    provider: str
    region_id: str | None
    """None where one document covers all regions."""
    documents: tuple[Document, ...]
    wanted: tuple[str, ...] = ()
    """Regions that are read of documents which hold several."""
    gaps: tuple[Gap, ...] = ()
    """What could not be had beside the documents."""


@dataclass(frozen=True, slots=True)
class RegionPart:
    """One region's documents, normalised: where the part is and what it holds."""

    provider: str
    region_id: str | None
    documents: tuple[Document, ...]
    key: str
    path: Path
    rows_read: int
    rows_kept: int
    seconds: float
    from_cache: bool

    @property
    def bytes(self) -> int:
        """Size of its documents."""
        return sum(document.bytes for document in self.documents)


@dataclass(frozen=True, slots=True)
class RegionFailure:
    """One region that could not be fetched or read, with the reason."""

    provider: str
    region_id: str
    error: str
    message: str
    documents: tuple[Document, ...] = ()
    """What was landed of it before it failed: kept, so that the run can be repeated."""


@dataclass(frozen=True, slots=True)
class Extract:
    """What one provider gave this night."""

    provider: str
    asked: tuple[str, ...]
    """Regions that the run wanted."""
    indexes: tuple[Document, ...]
    """The documents that name the regions, where the provider has such."""
    parts: tuple[RegionPart, ...]
    failures: tuple[RegionFailure, ...]
    """Regions whose price lists could not be had: they are carried over as a whole."""
    gaps: tuple[Gap, ...] = ()
    """What regions go without tonight, their price lists apart. For savings plans those of the last
    release stand in; spot prices and offerings are of the moment, and nothing old stands in."""

    @property
    def problems(self) -> tuple[RegionFailure | Gap, ...]:
        """Everything that could not be had."""
        return (*self.failures, *self.gaps)

    @property
    def documents(self) -> tuple[Document, ...]:
        """Every document of this provider."""
        of_parts = tuple(document for part in self.parts for document in part.documents)
        return self.indexes + of_parts


@dataclass(frozen=True, slots=True)
class Rates:
    """The night's exchange rates, or why there are none."""

    document: Document | None
    failure: str | None


@dataclass(frozen=True, slots=True)
class Base:
    """The releases that a run builds on."""

    compared: str | None
    """Release that regions are carried over from and that prices are compared with."""
    latest: str | None
    """The latest release when the run began: nothing may be published in between."""
    regions: tuple[tuple[str, str], ...] = ()
    """(provider, region_id) of all that the compared release has a price of."""

    def regions_of(self, provider: str) -> tuple[str, ...]:
        """Return the regions of one provider."""
        return tuple(region for owner, region in self.regions if owner == provider)


@dataclass(frozen=True, slots=True)
class CandidateAddress:
    """A whole release before the gate: a folder with a parquet file a table."""

    folder: Path
    base: Base
    extracts: tuple[Extract, ...]
    rates: Rates
    carried_over: tuple[tuple[str, str], ...]
    """(provider, region_id) of regions that are shown as the last release knew them."""
