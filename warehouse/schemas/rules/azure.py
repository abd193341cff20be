"""Filters and rejects of Azure retail items, in the order in which they are tried.

The filters come first: they name what an item is when it is no on-demand price of a virtual
machine. Whatever none of them knows must then prove to be one, or is refused.
"""

from warehouse.schemas.rules.rule import Rule, filter_rule, reject_rule

OTHER_SERVICE = filter_rule(
    "azure_other_service",
    "Other services price the same sizes (Managed Instance for Apache Cassandra, licences); only "
    "the service Virtual Machines is the machine itself",
)
RESERVATION = filter_rule(
    "azure_reservation",
    "The sum for a whole reserved term, though its unit says 1 Hour; not an on-demand price",
)
DEDICATED_HOST = filter_rule(
    "azure_dedicated_host", "A whole host (size names like Dsv5_Type1), not a virtual machine"
)
CLOUD_SERVICES = filter_rule(
    "azure_cloud_services", "Azure Cloud Services, a platform that reuses the names of VM sizes"
)
SPOT = filter_rule("azure_spot", "Spot meters are not on-demand prices")
LOW_PRIORITY = filter_rule(
    "azure_low_priority",
    "Low-priority meters (Batch, Azure Machine Learning) are not on-demand prices",
)
EXPIRED_METER = filter_rule(
    "azure_expired_meter", "Azure itself calls the meter expired (the Dv2 and DSv2 promotions)"
)
NEVER_IN_FORCE = filter_rule(
    "azure_never_in_force",
    "The price ends no later than it begins: it was taken back, and its successor is listed beside "
    "it with the same start",
)

UNKNOWN_PRICE_TYPE = reject_rule(
    "azure_unknown_price_type",
    "The type is none of Consumption, DevTestConsumption and Reservation. Find out what it prices "
    "and teach transforms/azure_prices.py",
)
UNKNOWN_RESERVATION_TERM = reject_rule(
    "azure_unknown_reservation_term",
    "A reservation names its term as a number of years known to us, and nothing else has a term",
)
UNKNOWN_METER = reject_rule(
    "azure_unknown_meter",
    "skuName and meterName do not say in one voice and in the usual words whether this is spot, "
    "low priority or neither",
)
UNKNOWN_OPERATING_SYSTEM = reject_rule(
    "azure_unknown_operating_system",
    "The product is neither an ordinary Linux nor a Windows product by its name; no system is "
    "guessed",
)
DEV_TEST_NOT_WINDOWS = reject_rule(
    "azure_dev_test_not_windows",
    "Dev/Test prices are what Windows costs without its licence; another system has none",
)
PROMO_ON_ORDINARY_SIZE = reject_rule(
    "azure_promo_on_ordinary_size",
    "A promotion has a size of its own (Standard_NC6_Promo). Under the ordinary name it would "
    "pass for the ordinary price",
)
NO_INSTANCE_TYPE = reject_rule(
    "azure_no_instance_type", "armSkuName is empty: a price of a virtual machine names its size"
)
VOLUME_TIER = reject_rule(
    "azure_volume_tier",
    "tierMinimumUnits is not 0: virtual machines have no volume tiers, so we do not know what "
    "this price holds for",
)

AZURE: tuple[Rule, ...] = (
    OTHER_SERVICE,
    RESERVATION,
    DEDICATED_HOST,
    CLOUD_SERVICES,
    SPOT,
    LOW_PRIORITY,
    EXPIRED_METER,
    NEVER_IN_FORCE,
    UNKNOWN_PRICE_TYPE,
    UNKNOWN_RESERVATION_TERM,
    UNKNOWN_METER,
    UNKNOWN_OPERATING_SYSTEM,
    DEV_TEST_NOT_WINDOWS,
    PROMO_ON_ORDINARY_SIZE,
    NO_INSTANCE_TYPE,
    VOLUME_TIER,
)
