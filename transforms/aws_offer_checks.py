"""Which rule takes an EC2 offer row, or that none does: then the row is a price, or half of one.

An offer file lists an instance type once for every operating system, software, licence, tenancy
and state of a capacity reservation: 120 SKUs a type, and 40 % of them say $0. So a row is a price
only if every word of it is known to mean so. What is known to mean something else is filtered by
name; what is not known is rejected, because guessing it would publish a wrong price.

`PRODUCT_TABLE` and `RATE_TABLE` hold every combination of words that is known, and what the catalog
calls it; a row that is not in them is refused. A check then names the word that is to blame.

Operating system, software, licence model and operation say the same thing in several vocabularies,
one to one in every offer file and GetProducts answer at hand (2016 to 2026), so all must agree. A
prefix of the operation is not enough: `RunInstances:0004` is Linux with SQL Server and
`RunInstances:CB` a capacity block.

Source: AWS Price List, attributes of AmazonEC2; Amazon EC2 user guide, "AMI billing information
fields" (usage operations). A reserved term is known by its words, never by its code: China has
codes of its own.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from itertools import product
from typing import Any

import polars as pl

from transforms.checks import Check, exact_price, is_none_of, moment, no_price
from warehouse.schemas.rules import aws, shared

_NO_LICENSE = "No License required"
_OWN_LICENSE = "Bring your own license"
_RHEL_HA = "Red Hat Enterprise Linux with HA"

OPERATIONS = {
    "RunInstances": ("Linux", "NA", _NO_LICENSE),
    "RunInstances:0200": ("Linux", "SQL Web", _NO_LICENSE),
    "RunInstances:0004": ("Linux", "SQL Std", _NO_LICENSE),
    "RunInstances:0100": ("Linux", "SQL Ent", _NO_LICENSE),
    "RunInstances:0002": ("Windows", "NA", _NO_LICENSE),
    "RunInstances:0202": ("Windows", "SQL Web", _NO_LICENSE),
    "RunInstances:0006": ("Windows", "SQL Std", _NO_LICENSE),
    "RunInstances:0102": ("Windows", "SQL Ent", _NO_LICENSE),
    "RunInstances:0800": ("Windows", "NA", _OWN_LICENSE),
    "RunInstances:0010": ("RHEL", "NA", _NO_LICENSE),
    "RunInstances:0210": ("RHEL", "SQL Web", _NO_LICENSE),
    "RunInstances:0014": ("RHEL", "SQL Std", _NO_LICENSE),
    "RunInstances:0110": ("RHEL", "SQL Ent", _NO_LICENSE),
    "RunInstances:00g0": ("RHEL", "NA", _OWN_LICENSE),
    "RunInstances:1010": (_RHEL_HA, "NA", _NO_LICENSE),
    "RunInstances:1014": (_RHEL_HA, "SQL Std", _NO_LICENSE),
    "RunInstances:1110": (_RHEL_HA, "SQL Ent", _NO_LICENSE),
    "RunInstances:000g": ("SUSE", "NA", _NO_LICENSE),
    "RunInstances:0g00": ("Ubuntu Pro", "NA", _NO_LICENSE),
}
"""Usage operation; AWS's operating system, pre-installed software and licence model for it.

0200, 0100, 0014, 0110, 00g0 and 1110 are taken from AWS's table of usage operations; the others
are in offer files at hand too, with these words."""

SYSTEMS = {
    "Linux": "linux",
    "Windows": "windows",
    "RHEL": "rhel",
    _RHEL_HA: "rhel_ha",
    "SUSE": "suse",
    "Ubuntu Pro": "ubuntu_pro",
}
SOFTWARE = {
    "NA": "none",
    "SQL Web": "sql_web",
    "SQL Std": "sql_standard",
    "SQL Ent": "sql_enterprise",
}
LICENSES = {_NO_LICENSE: "included", _OWN_LICENSE: "byol"}

_PLAIN_SYSTEMS = ("Linux", "Windows")
_RESERVED_CAPACITY = ("UnusedCapacityReservation", "AllocatedCapacityReservation")
_INFRASTRUCTURE_ONLY = "License Included - Infrastructure"
_INSTANCE = "Compute Instance"
_BARE_METAL = "Compute Instance (bare metal)"
_HOST = "Dedicated Host"

# Files from before there were capacity blocks and reservations have no such column.
_MARKET_OPTIONS = ("OnDemand", None)
_CAPACITY_STATUSES = ("Used", None)

_INSTANCE_TENANCIES = {
    "Shared": ("shared", "BoxUsage"),
    "Dedicated": ("dedicated", "DedicatedUsage"),
}
_HOST_TENANCIES = ("Host", "Reserved")
_HOST_CAPACITIES = ("AllocatedHost", "Used", "NA", None)
_HOST_SYSTEMS = ("Linux", "NA", None)
_HOST_SOFTWARE = ("NA", None)
_HOST_LICENSES = (_NO_LICENSE, "NA", None)
_HOST_OPERATION = "RunInstances"

_COMMITMENTS = ("standard", "convertible")
_PAYMENTS = {
    "No Upfront": "no_upfront",
    "Partial Upfront": "partial_upfront",
    "All Upfront": "all_upfront",
}
_LEASES = {"1yr": 1, "3yr": 3}
_RATES = {"Hrs": "hour", "Quantity": "fee"}
_STARTS = ("0", None)
_ENDS = ("Inf", None)

_SYSTEM = pl.Enum(list(SYSTEMS.values()))
_SOFTWARE = pl.Enum(list(SOFTWARE.values()))
_LICENSE = pl.Enum(list(LICENSES.values()))
_TENANCY = pl.Enum(["shared", "dedicated", "host"])
_USAGE = pl.Enum(["BoxUsage", "DedicatedUsage", "HostUsage", "ReservedHostUsage"])
_RATE = pl.Enum(["on_demand", "hour", "fee"])
_COMMITMENT = pl.Enum(_COMMITMENTS)
_PAYMENT = pl.Enum(list(_PAYMENTS.values()))

PRODUCT_WORDS = (
    "product_family",
    "market_option",
    "capacity_status",
    "tenancy",
    "operating_system",
    "pre_installed_sw",
    "license_model",
    "operation",
)
RATE_WORDS = (
    "term_type",
    "lease_contract_length",
    "purchase_option",
    "offering_class",
    "unit",
    "starting_range",
    "ending_range",
)

# A region's prefix may be missing (us-east-1), the type too (m1.small).
_USAGE_KIND = r"(?:^|-)(BoxUsage|DedicatedUsage|(?:Reserved)?HostUsage)(?::|$)"
_EBS_OPTIMIZED_USAGE = r"(^|-)EBSOptimized(:|$)"


def _known(words: Iterable[str], meanings: Mapping[str, Any], rows: Iterable[Any]) -> pl.DataFrame:
    schema = dict.fromkeys(words, pl.String) | dict(meanings)
    return pl.DataFrame(list(rows), schema=schema, orient="row")


PRODUCT_TABLE = _known(
    PRODUCT_WORDS,
    {
        "product_system": _SYSTEM,
        "product_software": _SOFTWARE,
        "product_license": _LICENSE,
        "product_tenancy": _TENANCY,
        "product_usage": _USAGE,
    },
    [
        *(
            (
                *(family, market, capacity, tenancy, system, software, license_model, operation),
                *(SYSTEMS[system], SOFTWARE[software], LICENSES[license_model], *sold),
            )
            for operation, (system, software, license_model) in OPERATIONS.items()
            for family, market, capacity, (tenancy, sold) in product(
                (_INSTANCE, _BARE_METAL),
                _MARKET_OPTIONS,
                _CAPACITY_STATUSES,
                _INSTANCE_TENANCIES.items(),
            )
        ),
        *(
            (_HOST, *words, _HOST_OPERATION, "linux", "none", "included", "host", "HostUsage")
            for words in product(
                _MARKET_OPTIONS,
                _HOST_CAPACITIES,
                _HOST_TENANCIES,
                _HOST_SYSTEMS,
                _HOST_SOFTWARE,
                _HOST_LICENSES,
            )
        ),
    ],
)
"""Every combination of `PRODUCT_WORDS` that is an instance or a host, and what it is.

A host is listed as Linux or as nothing, by its price list of 2019 with tenancy Reserved where its
reservation is meant; its price covers the machine only."""

RATE_TABLE = _known(
    RATE_WORDS,
    {"rate": _RATE, "commitment": _COMMITMENT, "years": pl.Int32, "payment": _PAYMENT},
    [
        *(
            ("OnDemand", None, None, None, "Hrs", start, end, "on_demand", None, None, None)
            for start, end in product(_STARTS, _ENDS)
        ),
        *(
            (
                *("Reserved", lease, option, offering, unit, start, end),
                *(_RATES[unit], offering, _LEASES[lease], _PAYMENTS[option]),
            )
            for lease, option, offering, unit, start, end in product(
                _LEASES, _PAYMENTS, _COMMITMENTS, _RATES, _STARTS, _ENDS
            )
        ),
    ],
)
"""Every combination of `RATE_WORDS` that is an hour or a fee of a term, and which term that is."""


def filters() -> tuple[Check, ...]:
    """Take what is no instance and no host, then instances that are known to be no price.

    That is half of the file, so it goes first. A product family that is missing or resembles an
    instance's stays in, to be rejected later instead of lost here.
    """
    family, instance_type = pl.col("product_family"), pl.col("instance_type")
    may_be_instance = (
        pl.when(family.is_null())
        .then(instance_type.is_not_null())
        .otherwise(family.str.starts_with(_INSTANCE))
    )
    is_free_tier = pl.col("usage_type").str.ends_with(":freetrial")
    return (
        Check(aws.AWS_NOT_COMPUTE, ~(may_be_instance | is_host().fill_null(value=False))),
        Check(aws.AWS_FREE_TIER, instance_type.is_null() & is_free_tier),
        Check(aws.AWS_NO_INSTANCE_TYPE, instance_type.is_null()),
        Check(aws.AWS_EBS_OPTIMIZED_FEE, pl.col("usage_type").str.contains(_EBS_OPTIMIZED_USAGE)),
        Check(aws.AWS_CAPACITY_BLOCK, is_capacity_block()),
        Check(aws.AWS_CAPACITY_RESERVATION, pl.col("capacity_status").is_in(_RESERVED_CAPACITY)),
        Check(aws.AWS_HOST_TENANCY, (pl.col("tenancy") == "Host") & ~is_host()),
        Check(aws.AWS_INFRASTRUCTURE_PART, pl.col("license_model") == _INFRASTRUCTURE_ONLY),
    )


NO_MACHINE = (
    aws.AWS_NOT_COMPUTE.id,
    aws.AWS_FREE_TIER.id,
    aws.AWS_NO_INSTANCE_TYPE.id,
    aws.AWS_EBS_OPTIMIZED_FEE.id,
)
"""Rules whose rows say nothing of an instance type."""


def is_host() -> pl.Expr:
    """Tell a dedicated host, which is priced whole, from an instance; null where neither is."""
    return pl.col("product_family") == _HOST


def is_capacity_block() -> pl.Expr:
    """Tell by the market option or, in files without that column, by the operation."""
    return (pl.col("market_option") == "CapacityBlock") | pl.col("operation").str.ends_with(":CB")


def describes_a_machine() -> pl.Expr:
    """Hold for the part of the rows in which every type that is published occurs.

    The others repeat the same facts for other systems and software, at the cost of reading them.
    """
    is_plain = pl.col("operating_system").is_in(_PLAIN_SYSTEMS) & (
        pl.col("pre_installed_sw") == "NA"
    )
    return is_plain | is_capacity_block() | is_host()


def read_words(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Add what a row's words mean: those of `PRODUCT_TABLE` and `RATE_TABLE`, null where unknown.

    Also `usage` (kind of the usage type), `price` (exact, null where it has more decimals or digits
    than money has here) and `effective_at` (date or, as in JSON, date and time, in UTC).
    """
    return (
        rows.join(
            PRODUCT_TABLE.lazy(),
            on=PRODUCT_WORDS,
            how="left",
            nulls_equal=True,
            maintain_order="left",
        )
        .join(RATE_TABLE.lazy(), on=RATE_WORDS, how="left", nulls_equal=True, maintain_order="left")
        .with_columns(
            usage=pl.col("usage_type").str.extract(_USAGE_KIND).cast(_USAGE),
            price=exact_price("price_per_unit"),
            effective_at=_date_time(),
        )
    )


@cache
def blamed_words() -> tuple[Check, ...]:
    """Name the word for which a row is not in `PRODUCT_TABLE` or `RATE_TABLE`.

    They only say why: each takes rows that `doubts` would take too, as a contradiction.
    """
    is_unknown_product = pl.col("product_system").is_null()
    is_unknown_rate = pl.col("rate").is_null()
    is_unknown_host = is_unknown_product & is_host().fill_null(value=False)
    is_reserved = (pl.col("term_type") == "Reserved").fill_null(value=False)
    is_committed = pl.any_horizontal(
        pl.col("lease_contract_length", "purchase_option", "offering_class").is_not_null()
    )
    is_other_unit = is_none_of("unit", _RATES) | (~is_reserved & (pl.col("unit") != "Hrs"))
    by_rate = (
        (
            aws.AWS_UNKNOWN_TERM,
            ~is_reserved & (is_none_of("term_type", ["OnDemand"]) | is_committed),
            ("term_type", "lease_contract_length", "purchase_option", "offering_class"),
        ),
        (
            aws.AWS_UNKNOWN_LEASE,
            is_reserved & is_none_of("lease_contract_length", _LEASES),
            ("lease_contract_length",),
        ),
        (
            aws.AWS_UNKNOWN_PURCHASE_OPTION,
            is_reserved & is_none_of("purchase_option", _PAYMENTS),
            ("purchase_option",),
        ),
        (
            aws.AWS_UNKNOWN_OFFERING_CLASS,
            is_reserved & is_none_of("offering_class", _COMMITMENTS),
            ("offering_class",),
        ),
        (shared.UNKNOWN_UNIT, is_other_unit, ("unit",)),
    )
    by_product = (
        (aws.AWS_UNKNOWN_PRODUCT_FAMILY, "product_family", (_INSTANCE, _BARE_METAL)),
        (aws.AWS_UNKNOWN_MARKET_OPTION, "market_option", _MARKET_OPTIONS),
        (aws.AWS_UNKNOWN_CAPACITY_STATUS, "capacity_status", _CAPACITY_STATUSES),
        (aws.AWS_UNKNOWN_TENANCY, "tenancy", _INSTANCE_TENANCIES),
        (aws.AWS_UNKNOWN_OPERATING_SYSTEM, "operating_system", SYSTEMS),
        (aws.AWS_UNKNOWN_SOFTWARE, "pre_installed_sw", SOFTWARE),
        (aws.AWS_UNKNOWN_LICENSE_MODEL, "license_model", LICENSES),
        (aws.AWS_UNKNOWN_OPERATION, "operation", OPERATIONS),
    )
    return (
        *(Check(rule, is_unknown_rate & takes, shown) for rule, takes, shown in by_rate),
        Check(aws.AWS_UNKNOWN_HOST, is_unknown_host, PRODUCT_WORDS),
        *(
            Check(rule, is_unknown_product & is_none_of(column, known), (column,))
            for rule, column, known in by_product
        ),
    )


def doubts(*, region_id: str, partition: str | None) -> tuple[Check, ...]:
    """Take what cannot be trusted to be a price, and 0 on demand, which is known to be none.

    They are conditions on `read_words`. A capacity status or market option that is missing means
    used and on demand, and a region code that is missing the document's region: older files have
    no such columns.

    Args:
        region_id: region that the document is of.
        partition: partition of that region; null where the region is not known.
    """
    region = pl.col("region_code")
    is_foreign = (region != region_id) & (region.str.to_lowercase() != region_id.lower())
    is_of_a_term = pl.col("rate") != "on_demand"
    return (
        Check(aws.AWS_TIERED_PRICE, pl.col("rate").is_null(), ("starting_range", "ending_range")),
        Check(
            aws.AWS_INCONSISTENT_PRODUCT,
            pl.col("product_system").is_null(),
            ("operating_system", "pre_installed_sw", "license_model", "operation"),
        ),
        Check(
            aws.AWS_INCONSISTENT_USAGE,
            ~_usage_agrees().fill_null(value=False),
            ("usage_type", "tenancy", "term_type"),
        ),
        Check(shared.UNKNOWN_REGION, pl.lit(partition is None), ("region_code",)),
        Check(shared.FOREIGN_REGION, is_foreign, ("region_code",)),
        Check(
            aws.AWS_MISSING_IDENTIFIER,
            pl.col("sku").is_null()
            | pl.col("rate_code").is_null()
            | (is_of_a_term & pl.col("offer_term_code").is_null()),
            ("sku", "rate_code", "offer_term_code"),
        ),
        Check(
            shared.UNKNOWN_CURRENCY,
            pl.col("currency").ne_missing(pl.lit(currency_of(partition))),
            ("currency",),
        ),
        *no_price(pl.col("price"), "price_per_unit"),
        Check(shared.UNPARSEABLE_DATE, pl.col("effective_at").is_null(), ("effective_date",)),
        Check(shared.ZERO_PRICE, (pl.col("price") == 0) & ~is_of_a_term),
    )


def currency_of(partition: str | None) -> str:
    """Return the currency in which a partition's offer files are priced."""
    return "CNY" if partition == "aws-cn" else "USD"


def _usage_agrees() -> pl.Expr:
    """Compare the kind of usage with tenancy and term, which say the same in other words."""
    is_reserved_host = (pl.col("product_tenancy") == "host") & (pl.col("rate") != "on_demand")
    return (pl.col("usage") == pl.col("product_usage")) | (
        (pl.col("usage") == "ReservedHostUsage") & is_reserved_host
    )


def _date_time() -> pl.Expr:
    text = pl.col("effective_date")
    is_date = text.str.len_bytes() == len("2026-07-01")
    return moment(pl.when(is_date).then(text + "T00:00:00Z").otherwise(text))
