"""Filters and rejects of AWS offer rows.

A row goes to the first rule that takes it, in the order of `transforms.aws_offer_checks`: products
that are no instance and no host first, then instances that are out of scope, then what is unknown.
The two rates of a reserved term are judged once more together, over the whole file.
"""

from warehouse.schemas.rules.rule import Rule, filter_rule, reject_rule

AWS_NOT_COMPUTE = filter_rule(
    "aws_not_compute", "Storage, data transfer and other products that are no instance and no host"
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
AWS_INFRASTRUCTURE_PART = filter_rule(
    "aws_infrastructure_part",
    "The machine's part of a Windows price ('License Included - Infrastructure'); the licence is "
    "listed elsewhere, so this is not what Windows costs",
)
AWS_UPFRONT_FEE = filter_rule(
    "aws_upfront_fee",
    "The fee of a reserved term is not a price of its own: it is upfront_fee of the term's price, "
    "which the hourly row gives",
)

AWS_UNKNOWN_TERM = reject_rule(
    "aws_unknown_term",
    "Expected term OnDemand without a lease, purchase option or offering class, or term Reserved",
)
AWS_UNKNOWN_LEASE = reject_rule(
    "aws_unknown_lease", "Expected a reserved term to last 1yr or 3yr: the fee is spread over it"
)
AWS_UNKNOWN_PURCHASE_OPTION = reject_rule(
    "aws_unknown_purchase_option",
    "Expected a reserved term with No Upfront, Partial Upfront or All Upfront",
)
AWS_UNKNOWN_OFFERING_CLASS = reject_rule(
    "aws_unknown_offering_class", "Expected a reserved term of class standard or convertible"
)
AWS_INCOMPLETE_TERM = reject_rule(
    "aws_incomplete_term",
    "The rates of a reserved term do not make one price. Expected No Upfront as one hourly rate "
    "above 0, Partial Upfront as one hourly rate and one fee above 0, All Upfront as one hourly "
    "rate of 0 and one fee above 0; all of one product, length, class and date, and none refused",
)
AWS_UNKNOWN_PRODUCT_FAMILY = reject_rule(
    "aws_unknown_product_family",
    "Expected Compute Instance, Compute Instance (bare metal) or Dedicated Host for a row with an "
    "instance type",
)
AWS_UNKNOWN_HOST = reject_rule(
    "aws_unknown_host",
    "Expected a dedicated host of tenancy Host or Reserved, whose capacity is AllocatedHost, Used "
    "or NA, with operation RunInstances and no software: its price covers the machine only",
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
    "Operating system, pre-installed software, licence model and operation contradict each other, "
    "so it cannot be told which of them the price is for. Expected a combination of OPERATIONS in "
    "transforms/aws_offer_checks.py, as Linux, NA, 'No License required' and RunInstances",
)
AWS_INCONSISTENT_USAGE = reject_rule(
    "aws_inconsistent_usage",
    "Usage type and tenancy contradict each other. Expected BoxUsage for Shared, DedicatedUsage "
    "for Dedicated, HostUsage for Host; ReservedHostUsage for a host with a reserved term",
)
AWS_TIERED_PRICE = reject_rule(
    "aws_tiered_price",
    "Expected one price for any amount (range 0 to Inf); a price of one tier is not the price",
)
AWS_MISSING_IDENTIFIER = reject_rule(
    "aws_missing_identifier",
    "Expected a SKU, a rate code and, for a reserved term, its term code: without them no price is "
    "traceable",
)

AWS: tuple[Rule, ...] = (
    AWS_NOT_COMPUTE,
    AWS_FREE_TIER,
    AWS_NO_INSTANCE_TYPE,
    AWS_EBS_OPTIMIZED_FEE,
    AWS_CAPACITY_BLOCK,
    AWS_CAPACITY_RESERVATION,
    AWS_HOST_TENANCY,
    AWS_INFRASTRUCTURE_PART,
    AWS_UPFRONT_FEE,
    AWS_UNKNOWN_TERM,
    AWS_UNKNOWN_LEASE,
    AWS_UNKNOWN_PURCHASE_OPTION,
    AWS_UNKNOWN_OFFERING_CLASS,
    AWS_INCOMPLETE_TERM,
    AWS_UNKNOWN_PRODUCT_FAMILY,
    AWS_UNKNOWN_HOST,
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
