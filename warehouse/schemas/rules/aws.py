"""Filters and rejects of AWS offer rows.

A row goes to the first rule that takes it, in the order of `transforms.aws_prices`: terms and
products that are no instance first, then instances that are out of scope, then what is unknown.
"""

from warehouse.schemas.rules.rule import Rule, filter_rule, reject_rule

AWS_RESERVED_TERM = filter_rule(
    "aws_reserved_term", "Hourly rates and upfront fees of reserved terms are no on-demand price"
)
AWS_DEDICATED_HOST = filter_rule(
    "aws_dedicated_host", "A dedicated host is priced by the host, not by the instance on it"
)
AWS_NOT_COMPUTE = filter_rule(
    "aws_not_compute", "Storage, data transfer and other products that are no instance"
)
AWS_FREE_TIER = filter_rule(
    "aws_free_tier", "The free tier's pseudo product: a discount on usage, not a price"
)
AWS_NO_INSTANCE_TYPE = filter_rule(
    "aws_no_instance_type", "A compute product without an instance type is a fee or a discount"
)
AWS_EBS_OPTIMIZED_FEE = filter_rule(
    "aws_ebs_optimized_fee",
    "A surcharge for EBS-optimised use of an old instance type, listed as if it were an instance",
)
AWS_CAPACITY_BLOCK = filter_rule(
    "aws_capacity_block",
    "Capacity Blocks are bought upfront at a price that the offer file does not have; its rows "
    "hold 0 or the operating system's fee. The type is listed in offers instead",
)
AWS_CAPACITY_RESERVATION = filter_rule(
    "aws_capacity_reservation",
    "Capacity that is reserved: 0 while an instance uses it, the on-demand price while none does",
)
AWS_HOST_TENANCY = filter_rule(
    "aws_host_tenancy", "An instance on a dedicated host costs 0 by itself; the host is priced"
)
AWS_OTHER_OPERATING_SYSTEM = filter_rule(
    "aws_other_operating_system",
    "Operating systems other than Linux and Windows are not in the catalog yet",
)
AWS_SQL_SERVER = filter_rule(
    "aws_sql_server", "The price covers an SQL Server licence too, which is not in the catalog yet"
)
AWS_INFRASTRUCTURE_PART = filter_rule(
    "aws_infrastructure_part",
    "The machine's part of a Windows price ('License Included - Infrastructure'); the licence is "
    "listed elsewhere, so this is not what Windows costs",
)

AWS_UNKNOWN_TERM = reject_rule(
    "aws_unknown_term",
    "Expected term OnDemand without a lease or purchase option, or term Reserved",
)
AWS_UNKNOWN_PRODUCT_FAMILY = reject_rule(
    "aws_unknown_product_family",
    "Expected Compute Instance or Compute Instance (bare metal) for a row with an instance",
)
AWS_UNKNOWN_MARKET_OPTION = reject_rule(
    "aws_unknown_market_option", "Expected market option OnDemand or CapacityBlock"
)
AWS_UNKNOWN_CAPACITY_STATUS = reject_rule(
    "aws_unknown_capacity_status",
    "Expected capacity status Used, UnusedCapacityReservation or AllocatedCapacityReservation",
)
AWS_UNKNOWN_TENANCY = reject_rule(
    "aws_unknown_tenancy", "Expected tenancy Shared, Dedicated or Host"
)
AWS_UNKNOWN_OPERATING_SYSTEM = reject_rule(
    "aws_unknown_operating_system",
    "Expected Linux, Windows, RHEL, Red Hat Enterprise Linux with HA, SUSE or Ubuntu Pro",
)
AWS_UNKNOWN_SOFTWARE = reject_rule(
    "aws_unknown_software", "Expected pre-installed software NA, SQL Std, SQL Web or SQL Ent"
)
AWS_UNKNOWN_LICENSE_MODEL = reject_rule(
    "aws_unknown_license_model",
    "Expected licence model 'No License required', 'Bring your own license' or 'License Included "
    "- Infrastructure'",
)
AWS_UNKNOWN_OPERATION = reject_rule(
    "aws_unknown_operation",
    "Expected a usage operation that AWS documents (RunInstances with or without a code); what "
    "another one covers cannot be told",
)
AWS_INCONSISTENT_PRODUCT = reject_rule(
    "aws_inconsistent_product",
    "Operating system, licence model and operation contradict each other. Expected Linux with "
    "RunInstances, Windows with RunInstances:0002, or Windows 'Bring your own license' with "
    "RunInstances:0800",
)
AWS_INCONSISTENT_USAGE = reject_rule(
    "aws_inconsistent_usage",
    "Usage type and tenancy contradict each other. Expected BoxUsage for Shared, DedicatedUsage "
    "for Dedicated",
)
AWS_TIERED_PRICE = reject_rule(
    "aws_tiered_price",
    "Expected one price for any amount (range 0 to Inf); a price of one tier is not the price",
)
AWS_MISSING_IDENTIFIER = reject_rule(
    "aws_missing_identifier", "Expected a SKU and a rate code: without them no price is traceable"
)

AWS: tuple[Rule, ...] = (
    AWS_RESERVED_TERM,
    AWS_DEDICATED_HOST,
    AWS_NOT_COMPUTE,
    AWS_FREE_TIER,
    AWS_NO_INSTANCE_TYPE,
    AWS_EBS_OPTIMIZED_FEE,
    AWS_CAPACITY_BLOCK,
    AWS_CAPACITY_RESERVATION,
    AWS_HOST_TENANCY,
    AWS_OTHER_OPERATING_SYSTEM,
    AWS_SQL_SERVER,
    AWS_INFRASTRUCTURE_PART,
    AWS_UNKNOWN_TERM,
    AWS_UNKNOWN_PRODUCT_FAMILY,
    AWS_UNKNOWN_MARKET_OPTION,
    AWS_UNKNOWN_CAPACITY_STATUS,
    AWS_UNKNOWN_TENANCY,
    AWS_UNKNOWN_OPERATING_SYSTEM,
    AWS_UNKNOWN_SOFTWARE,
    AWS_UNKNOWN_LICENSE_MODEL,
    AWS_UNKNOWN_OPERATION,
    AWS_INCONSISTENT_PRODUCT,
    AWS_INCONSISTENT_USAGE,
    AWS_TIERED_PRICE,
    AWS_MISSING_IDENTIFIER,
)
