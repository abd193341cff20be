"""Filters and rejects of Azure retail items, in the order in which they are tried.

The filters come first: they name what an item is when it is no price of a virtual machine.
Whatever none of them knows must then prove to be one, of a known kind, or is refused.
A rate of a savings plan is quoted in an item: it goes where its item goes, and has rules of its own
where the item is a price.
"""

from decimal import Decimal

from warehouse.schemas.rules.rule import Rule, filter_rule, reject_rule
from warehouse.schemas.table import PRICE

LARGEST_AMOUNT = Decimal(10**PRICE.precision - 1).scaleb(-PRICE.scale)
"""99999999.9999999999: stands in a raw item for any number that is too large for money.

So it can be told from a number with too many decimals, which is null there.
"""

OTHER_SERVICE = filter_rule(
    "azure_other_service",
    "Other services price the same sizes (Managed Instance for Apache Cassandra, licences); only "
    "the service Virtual Machines is the machine itself",
)
DEDICATED_HOST = filter_rule(
    "azure_dedicated_host",
    "A whole host (size names like Dsv5_Type1) or its reservation, not a virtual machine",
)
CLOUD_SERVICES = filter_rule(
    "azure_cloud_services", "Azure Cloud Services, a platform that reuses the names of VM sizes"
)
EXPIRED_METER = filter_rule(
    "azure_expired_meter", "Azure itself calls the meter expired (the Dv2 and DSv2 promotions)"
)
NEVER_IN_FORCE = filter_rule(
    "azure_never_in_force",
    "The price ends no later than it begins: it was taken back, and its successor is listed beside "
    "it with the same start",
)
SUM_BEYOND_MONEY = filter_rule(
    "azure_sum_beyond_money",
    "A sum of 10^8 or more in a currency that is listed for reference (a reservation in rupiah) is "
    "beyond what the catalog's money holds; the price in US dollars is there",
)

UNKNOWN_PRICE_TYPE = reject_rule(
    "azure_unknown_price_type",
    "The type is none of Consumption, DevTestConsumption and Reservation. Find out what it prices "
    "and teach transforms/azure_prices.py",
)
UNKNOWN_RESERVATION_TERM = reject_rule(
    "azure_unknown_reservation_term",
    "A reservation names its term as 1 Year, 3 Years or 5 Years, and nothing else has a term",
)
UNKNOWN_METER = reject_rule(
    "azure_unknown_meter",
    "skuName and meterName do not say in one voice and in the usual words whether this is spot, "
    "low priority or neither; and a reservation is neither",
)
UNKNOWN_OPERATING_SYSTEM = reject_rule(
    "azure_unknown_operating_system",
    "productName is not that of an ordinary Linux or Windows product: a family, the word Series, "
    "then nothing, Linux or Windows, and no word of another system or of a licence. Nothing is "
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
RESERVATION_OF_WINDOWS = reject_rule(
    "azure_reservation_of_windows",
    "A reservation covers the machine whatever runs on it, and is listed under the Linux product. "
    "What one of a Windows product would cover is not known",
)
NO_INSTANCE_TYPE = reject_rule(
    "azure_no_instance_type", "armSkuName is empty: a price of a virtual machine names its size"
)
PRICE_BEYOND_MONEY = reject_rule(
    "azure_price_beyond_money",
    "The price is 100,000,000 US dollars or more: no machine costs that, and the catalog's money "
    "does not hold it. The document has the number",
)
VOLUME_TIER = reject_rule(
    "azure_volume_tier",
    "tierMinimumUnits is not 0: virtual machines have no volume tiers, so we do not know what "
    "this price holds for",
)
UNKNOWN_SAVINGS_PLAN = reject_rule(
    "azure_unknown_savings_plan",
    "A savings plan discounts the pay-as-you-go price and is quoted in its item. What a plan on "
    "spot, low priority, Dev/Test or a reservation would mean is not known",
)
UNKNOWN_SAVINGS_PLAN_TERM = reject_rule(
    "azure_unknown_savings_plan_term", "A savings plan names its term as 1 Year or 3 Years"
)

AZURE: tuple[Rule, ...] = (
    OTHER_SERVICE,
    DEDICATED_HOST,
    CLOUD_SERVICES,
    EXPIRED_METER,
    NEVER_IN_FORCE,
    SUM_BEYOND_MONEY,
    UNKNOWN_PRICE_TYPE,
    UNKNOWN_RESERVATION_TERM,
    UNKNOWN_METER,
    UNKNOWN_OPERATING_SYSTEM,
    DEV_TEST_NOT_WINDOWS,
    RESERVATION_OF_WINDOWS,
    NO_INSTANCE_TYPE,
    PROMO_ON_ORDINARY_SIZE,
    VOLUME_TIER,
    PRICE_BEYOND_MONEY,
    UNKNOWN_SAVINGS_PLAN,
    UNKNOWN_SAVINGS_PLAN_TERM,
)
