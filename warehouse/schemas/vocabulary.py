"""Closed lists of the catalog, in FOCUS's, AWS's and Azure's own terms."""

PROVIDERS = ("aws", "azure")

PARTITIONS = ("aws", "aws-us-gov", "aws-cn", "azure", "azure-us-gov", "azure-cn")
"""Whose account system a region belongs to; `aws` and `azure` are open to any customer."""

PUBLIC_PARTITIONS = ("aws", "azure")

REGION_KINDS = ("region", "local_zone", "wavelength_zone", "edge_zone")

CONTINENTS = ("africa", "asia", "europe", "north_america", "oceania", "south_america")

OPERATING_SYSTEMS = ("linux", "windows", "rhel", "rhel_ha", "suse", "ubuntu_pro", "other")

LICENSE_MODELS = ("included", "byol")

PRE_INSTALLED_SOFTWARE = ("none", "sql_web", "sql_standard", "sql_enterprise")

TENANCIES = ("shared", "dedicated", "host")

PURCHASE_OPTIONS = (
    "on_demand",
    "spot",
    "low_priority",
    "reserved",
    "savings_plan",
    "capacity_block",
)

COMMITMENT_TYPES = ("standard", "convertible", "azure", "compute", "ec2_instance", "azure_compute")

PAYMENT_OPTIONS = ("no_upfront", "partial_upfront", "all_upfront")

PRICING_CATEGORIES = ("Standard", "Dynamic", "Committed", "Other")

PRICE_QUALITY_FLAGS = (
    "ok",
    "carried_over",
    "commitment_above_on_demand",
    "indicative",
    "reference",
    "spot_above_on_demand",
)
"""carried_over: an earlier release knew it. commitment_above_on_demand, spot_above_on_demand: it is
listed dearer than the same machine on demand. indicative: not what is charged now (AWS's public
spot feed). reference: of a list that Azure gives for reference in another currency than dollars."""

TONIGHT_ONLY_SOURCES = (
    "aws_spot_price_history",
    "aws_spot_feed",
    "aws_instance_type_offerings",
)
"""Documents that say how things are at the moment; one of an earlier night says nothing of this."""

PRICE_STATUSES = ("priced", "capacity_block_only", "not_published", "restricted")

CATEGORIES = ("general", "compute", "memory", "storage", "accelerated", "hpc")

CPU_ARCHITECTURES = ("x86_64", "arm64")

ACCELERATOR_KINDS = ("gpu", "neuron", "fpga", "media", "other")

LIFECYCLE_STATUSES = ("preview", "current", "previous", "retiring", "retired")

SPOT_ADVICE = ("not_listed", "never", "if_little_is_lost", "if_interruptible")
"""not_listed: no spot price. never: spot costs as much as on demand, or more. if_little_is_lost:
cheaper only if less work is lost than is assumed. if_interruptible: cheaper even so."""

SCOPES = ("world", "eu", "eea", "de", *CONTINENTS, "us_gov", "zones")
"""Where a `cheapest_region` row looks. All but the last two see only regions of kind `region`
in the public partitions: what any customer can order."""
