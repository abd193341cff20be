"""Which rule takes an EC2 offer row, or that none does: then the row is a price.

An offer file lists an instance type once for every operating system, licence, tenancy and state of
a capacity reservation: 120 SKUs a type, and 40 % of them say $0. So a row is a price only if every
attribute has a value that is known to mean so. What is known to mean something else is filtered by
name; what is not known is rejected, because guessing it would publish a wrong price.

Operating system, licence model and operation say the same thing in three vocabularies, one to one
in every offer file and GetProducts answer at hand (2019 to 2026, `PRODUCTS`), so all three must
agree. A prefix of the operation is not enough: `RunInstances:0004` is Linux with SQL Server and
`RunInstances:CB` a capacity block.

Source: AWS Price List, attributes of AmazonEC2; Amazon EC2 user guide, "AMI billing information
fields" (usage operations).
"""

from collections.abc import Iterable
from typing import NamedTuple

import polars as pl

from warehouse.schemas.rules import aws, shared
from warehouse.schemas.rules.rule import Rule
from warehouse.schemas.table import PRICE

PRODUCTS = {
    ("Linux", "No License required", "RunInstances"): ("linux", "included"),
    ("Windows", "No License required", "RunInstances:0002"): ("windows", "included"),
    ("Windows", "Bring your own license", "RunInstances:0800"): ("windows", "byol"),
}
"""AWS's operating system, licence model and operation, and what the catalog calls them."""

TENANCIES = {"Shared": "shared", "Dedicated": "dedicated"}

_SYSTEMS = ("Linux", "Windows")
_LICENSE_MODELS = ("No License required", "Bring your own license")
_OTHER_SYSTEMS = ("RHEL", "Red Hat Enterprise Linux with HA", "SUSE", "Ubuntu Pro")
_SQL_SERVER = ("SQL Std", "SQL Web", "SQL Ent")
_RESERVED_CAPACITY = ("UnusedCapacityReservation", "AllocatedCapacityReservation")
_INFRASTRUCTURE_ONLY = "License Included - Infrastructure"
_OPERATIONS = (
    "RunInstances",  # Linux/UNIX
    "RunInstances:00g0",  # Red Hat BYOL Linux
    "RunInstances:0010",  # Red Hat Enterprise Linux
    "RunInstances:1010",  # RHEL with HA
    "RunInstances:1014",  # RHEL with HA and SQL Server Standard
    "RunInstances:1110",  # RHEL with HA and SQL Server Enterprise
    "RunInstances:0014",  # RHEL with SQL Server Standard
    "RunInstances:0210",  # RHEL with SQL Server Web
    "RunInstances:0110",  # RHEL with SQL Server Enterprise
    "RunInstances:0004",  # SQL Server Standard
    "RunInstances:0200",  # SQL Server Web
    "RunInstances:0100",  # SQL Server Enterprise
    "RunInstances:000g",  # SUSE Linux
    "RunInstances:0g00",  # Ubuntu Pro
    "RunInstances:0002",  # Windows
    "RunInstances:0800",  # Windows BYOL
    "RunInstances:0006",  # Windows with SQL Server Standard
    "RunInstances:0202",  # Windows with SQL Server Web
    "RunInstances:0102",  # Windows with SQL Server Enterprise
)

# The region's prefix may be missing (us-east-1), the type too (m1.small).
_BOX_USAGE = r"(^|-)BoxUsage(:|$)"
_DEDICATED_USAGE = r"(^|-)DedicatedUsage(:|$)"
_EBS_OPTIMIZED_USAGE = r"(^|-)EBSOptimized(:|$)"

# What Decimal(18,10) holds exactly: a digit beyond the tenth decimal would be rounded away.
_EXACT_PRICE = r"^-?\d{1,8}(\.\d{0,10}0*)?$"
_DATE_TIME = "%Y-%m-%dT%H:%M:%SZ"


class Check(NamedTuple):
    """A rule, the condition under which it takes a row, and the columns that show why."""

    rule: Rule
    takes: pl.Expr
    shown: tuple[str, ...] = ()


def not_an_instance() -> tuple[Check, ...]:
    """Take what is no on-demand row of an instance. That is most of the file, so it goes first.

    A product family that is missing or resembles an instance's stays in, to be rejected later
    instead of lost here.
    """
    family, instance_type = pl.col("product_family"), pl.col("instance_type")
    may_be_instance = (
        pl.when(family.is_null())
        .then(instance_type.is_not_null())
        .otherwise(family.str.starts_with("Compute Instance"))
    )
    is_free_tier = pl.col("usage_type").str.ends_with(":freetrial")
    return (
        Check(aws.AWS_RESERVED_TERM, pl.col("term_type") == "Reserved"),
        Check(aws.AWS_DEDICATED_HOST, family == "Dedicated Host"),
        Check(aws.AWS_NOT_COMPUTE, ~may_be_instance),
        Check(aws.AWS_FREE_TIER, instance_type.is_null() & is_free_tier),
        Check(aws.AWS_NO_INSTANCE_TYPE, instance_type.is_null()),
        Check(aws.AWS_EBS_OPTIMIZED_FEE, pl.col("usage_type").str.contains(_EBS_OPTIMIZED_USAGE)),
    )


def out_of_scope() -> tuple[Check, ...]:
    """Take instances that are known to be something other than what is published."""
    return (
        Check(aws.AWS_CAPACITY_BLOCK, is_capacity_block()),
        Check(aws.AWS_CAPACITY_RESERVATION, pl.col("capacity_status").is_in(_RESERVED_CAPACITY)),
        Check(aws.AWS_HOST_TENANCY, pl.col("tenancy") == "Host"),
        Check(aws.AWS_OTHER_OPERATING_SYSTEM, pl.col("operating_system").is_in(_OTHER_SYSTEMS)),
        Check(aws.AWS_SQL_SERVER, pl.col("pre_installed_sw").is_in(_SQL_SERVER)),
        Check(aws.AWS_INFRASTRUCTURE_PART, pl.col("license_model") == _INFRASTRUCTURE_ONLY),
    )


def is_capacity_block() -> pl.Expr:
    """Tell by the market option or, in files without that column, by the operation."""
    return (pl.col("market_option") == "CapacityBlock") | pl.col("operation").str.ends_with(":CB")


def describes_a_machine() -> pl.Expr:
    """Hold for a sixth of the instances' rows, in which every type that is published occurs.

    The others repeat the same facts for other systems and software, at the cost of reading them.
    """
    is_plain = pl.col("operating_system").is_in(_SYSTEMS) & (pl.col("pre_installed_sw") == "NA")
    return is_plain | is_capacity_block()


def not_a_price(*, region_id: str, partition: str | None) -> tuple[Check, ...]:
    """Take what cannot be trusted to be a price, and 0, which is known to be none.

    A capacity status or market option that is missing means used and on demand: files from before
    there were reservations and capacity blocks have no such column.

    Args:
        region_id: region that the document is of.
        partition: partition of that region; null where the region is not known.
    """
    return (*_unknown_product(), *_unknown_rate(region_id, partition))


def hourly_price() -> pl.Expr:
    """Read the price, exactly; null where it has more decimals or digits than money has here."""
    price = pl.col("price_per_unit")
    return pl.when(price.str.contains(_EXACT_PRICE)).then(price).cast(PRICE)


def effective_at() -> pl.Expr:
    """Read the date (or, as in JSON, date and time) since when the price holds, in UTC."""
    text = pl.col("effective_date")
    is_date = text.str.len_bytes() == len("2026-07-01")
    return (
        pl.when(is_date)
        .then(text + "T00:00:00Z")
        .otherwise(text)
        .str.to_datetime(_DATE_TIME, time_unit="us", time_zone="UTC", strict=False, exact=True)
    )


def _unknown_product() -> tuple[Check, ...]:
    columns = ("operating_system", "license_model", "operation")
    is_product = pl.any_horizontal(
        pl.all_horizontal(
            pl.col(name).eq_missing(pl.lit(value)) for name, value in zip(columns, row, strict=True)
        )
        for row in PRODUCTS
    )
    usage = pl.col("usage_type")
    usage_agrees = (
        pl.when(pl.col("tenancy") == "Shared")
        .then(usage.str.contains(_BOX_USAGE))
        .otherwise(usage.str.contains(_DEDICATED_USAGE))
    )
    return (
        Check(
            aws.AWS_UNKNOWN_TERM,
            _is_none_of("term_type", ["OnDemand"])
            | pl.col("lease_contract_length").is_not_null()
            | pl.col("purchase_option").is_not_null(),
            ("term_type", "lease_contract_length", "purchase_option"),
        ),
        Check(
            aws.AWS_UNKNOWN_PRODUCT_FAMILY,
            _is_none_of("product_family", ["Compute Instance", "Compute Instance (bare metal)"]),
            ("product_family",),
        ),
        Check(
            aws.AWS_UNKNOWN_MARKET_OPTION,
            _is_none_of("market_option", ["OnDemand", None]),
            ("market_option",),
        ),
        Check(
            aws.AWS_UNKNOWN_CAPACITY_STATUS,
            _is_none_of("capacity_status", ["Used", None]),
            ("capacity_status",),
        ),
        Check(aws.AWS_UNKNOWN_TENANCY, _is_none_of("tenancy", TENANCIES), ("tenancy",)),
        Check(
            aws.AWS_UNKNOWN_OPERATING_SYSTEM,
            _is_none_of("operating_system", _SYSTEMS),
            ("operating_system",),
        ),
        Check(
            aws.AWS_UNKNOWN_SOFTWARE, _is_none_of("pre_installed_sw", ["NA"]), ("pre_installed_sw",)
        ),
        Check(
            aws.AWS_UNKNOWN_LICENSE_MODEL,
            _is_none_of("license_model", _LICENSE_MODELS),
            ("license_model",),
        ),
        Check(aws.AWS_UNKNOWN_OPERATION, _is_none_of("operation", _OPERATIONS), ("operation",)),
        Check(aws.AWS_INCONSISTENT_PRODUCT, ~is_product, columns),
        Check(
            aws.AWS_INCONSISTENT_USAGE,
            ~usage_agrees.fill_null(value=False),
            ("usage_type", "tenancy"),
        ),
    )


def _unknown_rate(region_id: str, partition: str | None) -> tuple[Check, ...]:
    currency = "CNY" if partition == "aws-cn" else "USD"
    is_foreign = pl.col("region_code").str.to_lowercase() != region_id.lower()
    return (
        Check(shared.UNKNOWN_REGION, pl.lit(partition is None), ("region_code",)),
        Check(shared.FOREIGN_REGION, is_foreign, ("region_code",)),
        Check(
            aws.AWS_MISSING_IDENTIFIER,
            pl.col("sku").is_null() | pl.col("rate_code").is_null(),
            ("sku", "rate_code"),
        ),
        Check(shared.UNKNOWN_UNIT, _is_none_of("unit", ["Hrs"]), ("unit",)),
        Check(
            aws.AWS_TIERED_PRICE,
            _is_none_of("starting_range", ["0", None]) | _is_none_of("ending_range", ["Inf", None]),
            ("starting_range", "ending_range"),
        ),
        Check(shared.UNKNOWN_CURRENCY, _is_none_of("currency", [currency]), ("currency",)),
        Check(shared.UNPARSEABLE_PRICE, hourly_price().is_null(), ("price_per_unit",)),
        Check(shared.NEGATIVE_PRICE, hourly_price() < 0, ("price_per_unit",)),
        Check(shared.UNPARSEABLE_DATE, effective_at().is_null(), ("effective_date",)),
        Check(shared.ZERO_PRICE, hourly_price() == 0),
    )


def _is_none_of(column: str, known: Iterable[str | None]) -> pl.Expr:
    """Hold for every other value; for null too, unless null is among the known."""
    values = pl.Series(sorted(known, key=str), dtype=pl.String)
    return ~pl.col(column).is_in(values.implode(), nulls_equal=True)
