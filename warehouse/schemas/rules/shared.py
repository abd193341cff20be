"""Filters and rejects that both providers' rows go through."""

from warehouse.schemas.rules.rule import Rule, filter_rule, reject_rule

ZERO_PRICE = filter_rule(
    "zero_price",
    "A price of 0 marks a meter that is not released, is billed elsewhere or has a free tier. "
    "It is not free, so it is no price",
)
EQUAL_DUPLICATE = filter_rule(
    "equal_duplicate", "Another row says the same price for the same key; one of them is enough"
)
SUPERSEDED = filter_rule(
    "superseded", "A newer price for the same key is in force at the run's as-of time"
)
ENDED = filter_rule(
    "ended",
    "The provider says that the price holds until a time that is not after the run's as-of time",
)
LEFT_IN_LAST_RELEASE = filter_rule(
    "left_in_last_release",
    "The region is carried over from the last release. What became of those rows of its documents "
    "that gave no price in force is said in that release's quality.json",
)
UNPARSEABLE_PRICE = reject_rule(
    "unparseable_price", "The price is not a decimal number of at most 10 decimals"
)
NEGATIVE_PRICE = reject_rule("negative_price", "A list price is never below 0")
UNPARSEABLE_DATE = reject_rule(
    "unparseable_date", "The date since when, or until when, the price holds is unreadable"
)
UNKNOWN_UNIT = reject_rule(
    "unknown_unit", "Compute is priced by the hour; another unit is not converted by guessing"
)
UNKNOWN_REGION = reject_rule(
    "unknown_region",
    "The region is not in transforms/reference/regions.csv: add it there with its facts",
)
FOREIGN_REGION = reject_rule(
    "foreign_region", "The row names another region than the document that it came in"
)
UNKNOWN_CURRENCY = reject_rule("unknown_currency", "The currency is none that was asked for")
AMBIGUOUS_PRICE = reject_rule(
    "ambiguous_price",
    "Two rows give different prices for one key and date. Neither is published",
)

SHARED: tuple[Rule, ...] = (
    ZERO_PRICE,
    EQUAL_DUPLICATE,
    SUPERSEDED,
    ENDED,
    LEFT_IN_LAST_RELEASE,
    UNPARSEABLE_PRICE,
    NEGATIVE_PRICE,
    UNPARSEABLE_DATE,
    UNKNOWN_UNIT,
    UNKNOWN_REGION,
    FOREIGN_REGION,
    UNKNOWN_CURRENCY,
    AMBIGUOUS_PRICE,
)
