"""Filters and rejects of AWS savings plan rates.

A row goes to the first rule that takes it, in the order of `transforms.aws_savings_plans`: what a
plan discounts besides instances and hosts first, then whether the SKU is the one that the offer
file knows, then the rate itself.
"""

from warehouse.schemas.rules.rule import Rule, filter_rule, reject_rule

OTHER_SERVICE = filter_rule(
    "aws_savings_plan_other_service",
    "Savings plans discount other services too (Fargate, Lambda, SageMaker), which are no instance",
)
UNUSED_CAPACITY = filter_rule(
    "aws_savings_plan_unused_capacity",
    "What a plan charges for reserved capacity while no instance uses it; the instance is priced",
)
SKU_WITHOUT_PRICE = filter_rule(
    "aws_savings_plan_sku_without_price",
    "The offer file's own rows of this SKU are filtered or rejected, so no rate of it is a price",
)

MISSING_IDENTIFIER = reject_rule(
    "aws_savings_plan_missing_identifier",
    "Expected a rate code, the SKU of the plan and the SKU that it discounts: without them no rate "
    "is traceable",
)
UNKNOWN_SERVICE = reject_rule(
    "aws_savings_plan_unknown_service",
    "Expected AmazonEC2 or another service that AWS documents for savings plans. If the service is "
    "new, teach transforms/aws_savings_plans.py",
)
UNKNOWN_SKU = reject_rule(
    "aws_savings_plan_unknown_sku",
    "The discounted SKU is no instance or host of the region's offer file, so what the rate is for "
    "cannot be told. Expected while only one of the two files is published anew",
)
OTHER_PRODUCT = reject_rule(
    "aws_savings_plan_other_product",
    "Expected the usage type and operation that the offer file has for the discounted SKU",
)
OTHER_INSTANCE_TYPE = reject_rule(
    "aws_savings_plan_other_instance_type",
    "Expected the instance type that the offer file has for the discounted SKU",
)
UNKNOWN_PLAN = reject_rule(
    "aws_savings_plan_unknown_plan",
    "Expected product family ComputeSavingsPlans or EC2InstanceSavingsPlans",
)
UNKNOWN_PAYMENT_OPTION = reject_rule(
    "aws_savings_plan_unknown_payment_option",
    "Expected purchase option No Upfront, Partial Upfront or All Upfront",
)
UNKNOWN_LEASE = reject_rule(
    "aws_savings_plan_unknown_lease", "Expected a lease contract length of 1 or 3, in year"
)

AWS_SAVINGS_PLANS: tuple[Rule, ...] = (
    OTHER_SERVICE,
    UNUSED_CAPACITY,
    SKU_WITHOUT_PRICE,
    MISSING_IDENTIFIER,
    UNKNOWN_SERVICE,
    UNKNOWN_SKU,
    OTHER_PRODUCT,
    OTHER_INSTANCE_TYPE,
    UNKNOWN_PLAN,
    UNKNOWN_PAYMENT_OPTION,
    UNKNOWN_LEASE,
)
