"""The published tables, as `catalog-contract` fixes them.

Names, types, keys and meanings here are the contract with every reader of the catalog. A change
to any of them is a new SCHEMA_VERSION and a line in CHANGELOG.md.
"""

import polars as pl

from warehouse.schemas import vocabulary as v
from warehouse.schemas.table import PRICE, TIMESTAMP, Field, Table, by_name

_STRINGS = pl.List(pl.String)

_PROVIDER = Field(
    "provider",
    pl.String,
    "Cloud provider",
    nullable=False,
    vocabulary=v.PROVIDERS,
    focus="ProviderName",
)
_REGION_ID = Field(
    "region_id",
    pl.String,
    "Region, zone or edge site, spelled as the provider's API does; compare without case",
    nullable=False,
    focus="RegionId",
)
_INSTANCE_TYPE = Field(
    "instance_type",
    pl.String,
    "AWS instance type or Azure VM size (armSkuName), spelled as the provider does",
    nullable=False,
)
_OPERATING_SYSTEM = Field(
    "operating_system",
    pl.String,
    "Operating system whose licence the price covers",
    nullable=False,
    vocabulary=v.OPERATING_SYSTEMS,
)
_PURCHASE_OPTION = Field(
    "purchase_option", pl.String, "Way to pay", nullable=False, vocabulary=v.PURCHASE_OPTIONS
)
_COMMITMENT_TYPE = Field(
    "commitment_type",
    pl.String,
    "Kind of commitment; null where nothing is committed",
    vocabulary=v.COMMITMENT_TYPES,
    focus="CommitmentDiscountType",
)
_TERM_YEARS = Field(
    "term_years",
    pl.Int32,
    "Length of the commitment; null where nothing is committed",
    unit="years",
)
_PAYMENT_OPTION = Field(
    "payment_option",
    pl.String,
    "How a commitment is paid; null where nothing is committed",
    vocabulary=v.PAYMENT_OPTIONS,
)

PRICE_KEY_NOW = (
    "provider",
    "region_id",
    "availability_zone_id",
    "instance_type",
    "operating_system",
    "license_model",
    "pre_installed_software",
    "tenancy",
    "purchase_option",
    "commitment_type",
    "term_years",
    "payment_option",
    "currency",
)
"""The price key without valid_from: `prices` holds exactly one row for it."""

_PRICE_FIELDS = (
    _PROVIDER,
    _REGION_ID,
    Field(
        "availability_zone_id",
        pl.String,
        "Zone id (never the account-specific zone name); null where the price holds region-wide",
        focus="AvailabilityZone",
    ),
    _INSTANCE_TYPE,
    _OPERATING_SYSTEM,
    Field(
        "license_model",
        pl.String,
        "included, or byol: AWS bring-your-own-licence, Azure Hybrid Benefit (from DevTest meters)",
        nullable=False,
        vocabulary=v.LICENSE_MODELS,
    ),
    Field(
        "pre_installed_software",
        pl.String,
        "Licensed software in the image whose licence the price covers",
        nullable=False,
        vocabulary=v.PRE_INSTALLED_SOFTWARE,
    ),
    Field("tenancy", pl.String, "Hardware tenancy", nullable=False, vocabulary=v.TENANCIES),
    _PURCHASE_OPTION,
    _COMMITMENT_TYPE,
    _TERM_YEARS,
    _PAYMENT_OPTION,
    Field(
        "hourly_rate",
        PRICE,
        "What each hour costs, as listed",
        unit="currency per hour",
        nullable=False,
    ),
    Field(
        "upfront_fee",
        PRICE,
        "What is paid at the start, as listed; null where there is none",
        unit="currency",
    ),
    Field(
        "effective_hourly_price",
        PRICE,
        "hourly_rate + upfront_fee / (8760 x term_years)",
        unit="currency per hour",
        nullable=False,
    ),
    Field(
        "pricing_category",
        pl.String,
        "FOCUS pricing category: Standard, Dynamic (spot, low priority), Committed, Other",
        nullable=False,
        vocabulary=v.PRICING_CATEGORIES,
        focus="PricingCategory",
    ),
    Field(
        "currency",
        pl.String,
        "ISO 4217 code, as listed by the provider",
        nullable=False,
        focus="PricingCurrency",
    ),
    Field(
        "pricing_unit",
        pl.String,
        "FOCUS unit of the price",
        nullable=False,
        vocabulary=("Hours",),
        focus="PricingUnit",
    ),
    Field(
        "valid_from",
        TIMESTAMP,
        "Since when the provider says that the price holds",
        nullable=False,
    ),
    Field(
        "valid_to",
        TIMESTAMP,
        "Until when the provider says that the price holds; null where it names no end",
    ),
    Field("sku_id", pl.String, "AWS: SKU. Azure: skuId", nullable=False, focus="SkuId"),
    Field(
        "sku_price_id",
        pl.String,
        "AWS: rate code. Azure: meterId, with the term where there is one",
        nullable=False,
        focus="SkuPriceId",
    ),
    Field(
        "price_quality",
        pl.String,
        "ok, or a comma list of flags in alphabetical order: "
        + ", ".join(v.PRICE_QUALITY_FLAGS[1:]),
        nullable=False,
    ),
    Field("source_id", pl.String, "Document that the price came from", nullable=False),
)

PRICES = Table(
    "prices",
    "prices",
    "One row per price that a provider lists and that is in force at the run's as-of time",
    _PRICE_FIELDS,
    key=(*PRICE_KEY_NOW, "valid_from"),
)

ANNOUNCED_PRICES = Table(
    "announced_prices",
    "prices",
    "Prices that a provider already lists, to be in force after the run's as-of time",
    _PRICE_FIELDS,
    key=(*PRICE_KEY_NOW, "valid_from"),
)

REGIONS = Table(
    "regions",
    "reference",
    "Regions, local zones, wavelength zones and edge zones",
    (
        _PROVIDER,
        _REGION_ID,
        Field("region_name", pl.String, "Name for people", nullable=False, focus="RegionName"),
        Field("region_kind", pl.String, "What it is", nullable=False, vocabulary=v.REGION_KINDS),
        Field(
            "partition",
            pl.String,
            "Account system it belongs to",
            nullable=False,
            vocabulary=v.PARTITIONS,
        ),
        Field("parent_region_id", pl.String, "Region that a zone belongs to; null for a region"),
        Field("country_code", pl.String, "ISO 3166-1 alpha-2"),
        Field("geography", pl.String, "Continent", vocabulary=v.CONTINENTS),
        Field("is_eu", pl.Boolean, "In the European Union"),
        Field("is_eea", pl.Boolean, "In the European Economic Area"),
        Field("latitude", pl.Float64, "Of the site or its city", unit="degrees north"),
        Field("longitude", pl.Float64, "Of the site or its city", unit="degrees east"),
        Field("availability_zone_count", pl.Int32, "Availability zones; null where not known"),
        Field("source", pl.String, "Where these facts are from", nullable=False),
    ),
    key=("provider", "region_id"),
)

INSTANCE_TYPES = Table(
    "instance_types",
    "reference",
    "What a machine is. What is not known is null",
    (
        _PROVIDER,
        _INSTANCE_TYPE,
        Field(
            "family", pl.String, "AWS: part before the dot. Azure: size name without its numbers"
        ),
        Field("series", pl.String, "Series as the provider markets it"),
        Field("generation", pl.Int32, "Generation number within the series"),
        Field("category", pl.String, "Main purpose", vocabulary=v.CATEGORIES),
        Field("vcpu_count", pl.Int32, "Virtual CPUs that the guest may use", unit="vCPU"),
        Field("memory_gib", pl.Float64, "Memory", unit="GiB"),
        Field("cpu_architecture", pl.String, "Instruction set", vocabulary=v.CPU_ARCHITECTURES),
        Field("cpu_model", pl.String, "Processor as the provider names it"),
        Field("accelerator", pl.String, "Key into accelerators"),
        Field("accelerator_kind", pl.String, "Kind of accelerator", vocabulary=v.ACCELERATOR_KINDS),
        Field("accelerator_count", pl.Float64, "Accelerators; fractions are real (1/6 of an A10)"),
        Field(
            "accelerator_memory_gib",
            pl.Float64,
            "Accelerator memory that the guest sees, in all",
            unit="GiB",
        ),
        Field(
            "gpu_link",
            pl.String,
            "What joins the accelerators inside the machine",
            vocabulary=("none", "pcie", "nvlink", "nvswitch", "infinity_fabric", "neuronlink"),
        ),
        Field("gpu_link_gb_s", pl.Float64, "Bandwidth of that link per accelerator", unit="GB/s"),
        Field("network_gbps", pl.Float64, "Network bandwidth, burst included", unit="Gbit/s"),
        Field("network_baseline_gbps", pl.Float64, "Sustained network bandwidth", unit="Gbit/s"),
        Field("is_rdma", pl.Boolean, "Has RDMA between machines"),
        Field("rdma_kind", pl.String, "Kind of RDMA", vocabulary=("efa", "infiniband")),
        Field("rdma_gbps", pl.Float64, "RDMA bandwidth of the machine", unit="Gbit/s"),
        Field("local_storage_gb", pl.Float64, "Local disk, in all", unit="GB"),
        Field("is_burstable", pl.Boolean, "CPU credits limit sustained use"),
        Field("is_bare_metal", pl.Boolean, "No hypervisor"),
        Field(
            "workload_fit",
            pl.String,
            "What the accelerator is for",
            vocabulary=("ml", "graphics", "both", "none"),
        ),
        Field(
            "lifecycle",
            pl.String,
            "Where the type stands in its life",
            vocabulary=("preview", "current", "previous", "retiring", "retired"),
        ),
        Field("retirement_date", pl.Date, "When the provider retires it"),
        Field("successor", pl.String, "What the provider recommends instead"),
        Field("sources", _STRINGS, "Where these facts are from", nullable=False),
    ),
    key=("provider", "instance_type"),
)

OFFERS = Table(
    "offers",
    "reference",
    "Every instance type in every region: is it priced there? A type with no price is not a zero",
    (
        _PROVIDER,
        _REGION_ID,
        _INSTANCE_TYPE,
        Field(
            "price_status",
            pl.String,
            "Whether the provider publishes a price",
            nullable=False,
            vocabulary=v.PRICE_STATUSES,
        ),
        Field("offered", pl.Boolean, "Whether it can be ordered there; null where not known"),
        Field("zones", _STRINGS, "Zone ids that offer it; null where not known"),
    ),
    key=("provider", "region_id", "instance_type"),
)

FX_RATES = Table(
    "fx_rates",
    "reference",
    "Euro reference rates of the European Central Bank",
    (
        Field("currency", pl.String, "ISO 4217", nullable=False),
        Field("rate_date", pl.Date, "Day that the rate is of", nullable=False),
        Field("units_per_eur", PRICE, "Units of the currency for one euro", nullable=False),
        Field(
            "units_per_usd",
            PRICE,
            "Units of the currency for one US dollar, by way of the euro",
            nullable=False,
        ),
        Field("source", pl.String, "Who publishes the rate", nullable=False),
    ),
    key=("currency", "rate_date"),
)

SOURCES = Table(
    "sources",
    "provenance",
    "Every document that the release was made from",
    (
        Field(
            "source_id",
            pl.String,
            "source/scope, with the page where there are several",
            nullable=False,
        ),
        Field("source", pl.String, "Which of the providers' publications", nullable=False),
        Field(
            "provider", pl.String, "Cloud provider; null for exchange rates", vocabulary=v.PROVIDERS
        ),
        Field("region_id", pl.String, "Region that it covers; null where it covers none or all"),
        Field("url", pl.String, "Where it was fetched, without secrets", nullable=False),
        Field("fetched_at", TIMESTAMP, "When its bytes were fetched", nullable=False),
        Field(
            "confirmed_at",
            TIMESTAMP,
            "When the provider last said that these are its bytes: by sending them, or later by "
            "saying that they are unchanged",
            nullable=False,
        ),
        Field("published_at", TIMESTAMP, "When the provider says it was published"),
        Field("version", pl.String, "The provider's own version"),
        Field("sha256", pl.String, "Digest of the decoded document", nullable=False),
        Field("bytes", pl.Int64, "Size of the decoded document", unit="bytes", nullable=False),
        Field("rows", pl.Int64, "Rows read from it; null for an index", unit="rows"),
        Field(
            "is_recorded",
            pl.Boolean,
            "Replayed from a recording, not fetched this night",
            nullable=False,
        ),
        Field("note", pl.String, "What a reader must know about it"),
    ),
    key=("source_id",),
)

REJECTED_ROWS = Table(
    "rejected_rows",
    "provenance",
    "Rows that a rule refused, whole, with the reason. Nothing is lost",
    (
        Field(
            "row_id",
            pl.String,
            "source_id, rule and the number of the row among these; names a row within one release",
            nullable=False,
        ),
        Field("table", pl.String, "Table that the row was meant for", nullable=False),
        Field("source_id", pl.String, "Document that it came from", nullable=False),
        Field("provider", pl.String, "Cloud provider", vocabulary=v.PROVIDERS),
        Field("region_id", pl.String, "Region of the document"),
        Field("rule", pl.String, "Rule that refused it", nullable=False),
        Field("reason", pl.String, "What was expected, what came, what to do", nullable=False),
        Field("row", pl.String, "The row, in the provider's own words, as JSON", nullable=False),
    ),
    key=("row_id",),
)

CHEAPEST_REGION = Table(
    "cheapest_region",
    "view",
    "Where each instance type is cheapest, for every way to pay and every scope. Shared tenancy, "
    "licence included, no pre-installed software. Ties: price, then region_id",
    (
        _PROVIDER,
        _INSTANCE_TYPE,
        _OPERATING_SYSTEM,
        _PURCHASE_OPTION,
        _COMMITMENT_TYPE,
        _TERM_YEARS,
        _PAYMENT_OPTION,
        Field("scope", pl.String, "Regions that are compared", nullable=False, vocabulary=v.SCOPES),
        Field("region_id", pl.String, "The cheapest region", nullable=False),
        Field(
            "availability_zone_id",
            pl.String,
            "Its cheapest zone, where prices are by zone (AWS spot); null where it has one price",
        ),
        Field(
            "zone_count",
            pl.Int32,
            "Zones of that region that list a price; null where it has one price for all",
        ),
        Field(
            "price_usd", PRICE, "Its effective hourly price", unit="USD per hour", nullable=False
        ),
        Field("price_eur", PRICE, "The same in euro; null without a rate", unit="EUR per hour"),
        Field(
            "tied_region_ids", _STRINGS, "Other regions of the same price, sorted", nullable=False
        ),
        Field(
            "second_price_usd",
            PRICE,
            "Next higher price; null where all are equal",
            unit="USD per hour",
        ),
        Field("region_count", pl.Int32, "Regions that list a price", nullable=False),
        Field(
            "dearest_region_id", pl.String, "The dearest region; ties: region_id", nullable=False
        ),
        Field("dearest_price_usd", PRICE, "Its price", unit="USD per hour", nullable=False),
        Field(
            "spread_pct",
            pl.Float64,
            "How much the dearest region costs above the cheapest",
            unit="percent",
            nullable=False,
        ),
        Field("fx_rate_date", pl.Date, "Day of the exchange rate; null without a rate"),
        Field(
            "price_quality",
            pl.String,
            "Flags of the cheapest region's price, as in prices; also carried_over where the price "
            "of any compared region has that flag",
            nullable=False,
        ),
    ),
    key=(
        "provider",
        "instance_type",
        "operating_system",
        "purchase_option",
        "commitment_type",
        "term_years",
        "payment_option",
        "scope",
    ),
)

PURCHASE_ADVICE = Table(
    "purchase_advice",
    "view",
    "What each way to pay costs for one type, region and system, and from which use on it pays. "
    "Shared tenancy, licence included, no pre-installed software. All prices of a row are listed "
    "in one currency; those in another than US dollars are converted at the rate of fx_rate_date",
    (
        _PROVIDER,
        _INSTANCE_TYPE,
        _REGION_ID,
        _OPERATING_SYSTEM,
        Field("currency", pl.String, "ISO 4217 code that the prices are listed in", nullable=False),
        Field(
            "on_demand_usd",
            PRICE,
            "On demand; null where not listed. All amounts in USD are null where the currency is "
            "another and has no rate",
            unit="USD per hour",
        ),
        Field("on_demand_eur", PRICE, "The same in euro; null without a rate", unit="EUR per hour"),
        Field(
            "spot_usd",
            PRICE,
            "Spot, in the cheapest zone; null if none is listed",
            unit="USD per hour",
        ),
        Field("spot_eur", PRICE, "The same in euro; null without a rate", unit="EUR per hour"),
        Field("spot_saving_pct", pl.Float64, "What spot saves on on-demand", unit="percent"),
        Field(
            "spot_availability_zone_id",
            pl.String,
            "Zone of the spot price; null where it holds region-wide",
        ),
        Field(
            "spot_zone_count",
            pl.Int32,
            "Zones that list a spot price; null where none does",
        ),
        Field(
            "spot_lost_work_pct",
            pl.Float64,
            "Assumption of this release: share of spot hours whose work is lost to interruptions",
            unit="percent",
            nullable=False,
        ),
        Field(
            "spot_useful_hour_usd",
            PRICE,
            "An estimate: spot price / (1 - lost share), what an hour costs whose work is kept",
            unit="USD per hour",
        ),
        Field(
            "spot_break_even_lost_work_pct",
            pl.Float64,
            "Share of lost work at which spot costs as much as on demand; at most 0 where it never "
            "pays. By arithmetic the same as spot_saving_pct",
            unit="percent",
        ),
        Field(
            "spot_advice",
            pl.String,
            "What follows for spot; null where there is no on-demand price to compare with",
            vocabulary=v.SPOT_ADVICE,
        ),
        Field(
            "commitments",
            pl.List(
                pl.Struct(
                    {
                        "purchase_option": pl.String,
                        "commitment_type": pl.String,
                        "term_years": pl.Int32,
                        "payment_option": pl.String,
                        "price_usd": PRICE,
                        "price_eur": PRICE,
                        "saving_pct": pl.Float64,
                        "break_even_utilisation": pl.Float64,
                    }
                )
            ),
            "Every reservation and savings plan, cheapest first: effective hourly price, saving on "
            "on-demand in percent, and the share of hours (1 = all) from which on it pays; above 1 "
            "it never does. The last two are null without an on-demand price. Ties: shorter term, "
            "less upfront, name",
            nullable=False,
        ),
        *(
            field
            for use in (100, 60, 30)
            for field in (
                Field(
                    f"cheapest_at_{use}_pct",
                    pl.String,
                    f"Cheapest way to pay, spot aside, for {use} % of all hours: on_demand (also "
                    "where a commitment costs the same), or "
                    "purchase_option/commitment_type/term_years/payment_option; null where only "
                    "spot is listed",
                ),
                Field(
                    f"cost_at_{use}_pct_usd",
                    PRICE,
                    f"What it costs for each hour of the calendar at {use} % use",
                    unit="USD per hour",
                ),
            )
        ),
        Field("fx_rate_date", pl.Date, "Day of the exchange rates; null without one"),
        Field(
            "price_quality",
            pl.String,
            "ok, or the flags of the prices that the row rests on, as in prices",
            nullable=False,
        ),
    ),
    key=("provider", "instance_type", "region_id", "operating_system"),
)

LIFECYCLE = Table(
    "lifecycle",
    "reference",
    "Where instance series, services and ways to pay stand in their lives, and what follows them",
    (
        _PROVIDER,
        Field("subject", pl.String, "What it is about", nullable=False),
        Field(
            "subject_kind",
            pl.String,
            "What kind of thing that is",
            nullable=False,
            vocabulary=("series", "service", "purchase_option"),
        ),
        Field(
            "status",
            pl.String,
            "Where it stands at the release's as-of time",
            nullable=False,
            vocabulary=v.LIFECYCLE_STATUSES,
        ),
        Field("announced_date", pl.Date, "When the provider announced its end"),
        Field("end_date", pl.Date, "When it ends, or ended"),
        Field("successor", pl.String, "What the provider recommends instead"),
        Field("evidence", pl.String, "Where this is from", nullable=False),
    ),
    key=("provider", "subject"),
)

TABLES: tuple[Table, ...] = (
    REGIONS,
    INSTANCE_TYPES,
    OFFERS,
    PRICES,
    ANNOUNCED_PRICES,
    FX_RATES,
    LIFECYCLE,
    CHEAPEST_REGION,
    PURCHASE_ADVICE,
    SOURCES,
    REJECTED_ROWS,
)
"""Every published table, references first."""

TABLE = by_name(TABLES)
