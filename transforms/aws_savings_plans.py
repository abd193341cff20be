"""AWS savings plan rates to list prices, with an account of every rate that is none.

A rate says which SKU it discounts, and how that SKU's use is billed; it does not say which system
runs on which tenancy. That is known of the SKU, from the region's offer file. So a rate is a price
only if the offer file has its SKU, with the same usage type and operation, as a price of its own.
Nothing is derived from another price: the rate is what an hour costs under the plan, whatever part
of it was paid upfront.

Source: AWS Price List, savings plan price lists; Savings Plans API reference,
SavingsPlanOfferingRate (service codes).
"""

from collections.abc import Iterable

import polars as pl

from transforms.aws_offer_checks import currency_of
from transforms.checks import (
    Check,
    exact_price,
    is_none_of,
    moment,
    no_price,
    refused_rows,
    rule_of,
)
from transforms.normalized import Normalized, combine, count_rows, rejected_frame
from transforms.regions import partition_of
from warehouse.schemas.parts import PRICE_CANDIDATES, ROW_COUNTS
from warehouse.schemas.raw import AWS_SAVINGS_PLAN_RATES
from warehouse.schemas.rules import aws_savings_plans as plans
from warehouse.schemas.rules import shared
from warehouse.schemas.table import PRICE, TIMESTAMP

PLANS = {"ComputeSavingsPlans": "compute", "EC2InstanceSavingsPlans": "ec2_instance"}
"""AWS's product family of a plan (its service code is the same for both) and our commitment."""

PAYMENT_OPTIONS = {
    "No Upfront": "no_upfront",
    "Partial Upfront": "partial_upfront",
    "All Upfront": "all_upfront",
}

_TERM_YEARS = {"1": 1, "3": 3}
_OTHER_SERVICES = (
    "AmazonECS",  # Fargate
    "AmazonEKS",  # Fargate
    "AWSLambda",
    "AmazonSageMaker",
    "AmazonRDS",
    "AuroraDSQL",
    "AmazonDynamoDB",
    "AmazonElastiCache",
    "AmazonDocDB",
    "AmazonNeptune",
    "AmazonTimestream",
    "AmazonMCS",
    "AWSDatabaseMigrationSvc",
)

# The region's prefix may be missing (us-east-1), the type too (m1.small).
_UNUSED_CAPACITY = r"(^|-)(UnusedBox|UnusedDed|Reservation|DedicatedRes)(:|$)"


def normalize_savings_plan_rates(
    blocks: Iterable[pl.DataFrame],
    *,
    skus: pl.DataFrame,
    source_id: str,
    region_id: str,
    regions: pl.DataFrame,
) -> Normalized:
    """Turn a region's AWS_SAVINGS_PLAN_RATES into prices of Compute and EC2 Instance plans.

    Row-local: blocks may be cut anywhere and come in any order. One block is held at a time,
    besides the prices and refused rows of those before it.

    Args:
        blocks: AWS_SAVINGS_PLAN_RATES of one file.
        skus: AWS_SKUS of the same region's offer file.
        source_id: document that the rates came in.
        region_id: region that the document is of. A rate without a region code is of that region.
        regions: REGIONS; says in which currency the region's partition is priced.

    Returns:
        Prices, refused rows and counts. A plan that is dearer than on-demand is a price too.

    Raises:
        polars.exceptions.ComputeError: a SKU is in `skus` twice.
    """
    known_skus = _known_skus(skus)
    others = _not_an_instance()
    checks = _not_a_price(region_id=region_id, partition=partition_of(regions, "aws", region_id))

    def normalize(rates: pl.DataFrame) -> Normalized:
        rule = rates.select(rule=rule_of(others))["rule"]
        instances = rates.filter(rule.is_null()).join(
            known_skus,
            on="discounted_sku",
            how="left",
            validate="m:1",
            maintain_order="left",
        )
        judged = instances.with_columns(rule=rule_of(checks))
        taken = rule.drop_nulls().to_frame()
        return Normalized(
            prices=_prices(judged.filter(pl.col("rule").is_null()), source_id, region_id),
            rejected=_rejected(judged, checks, source_id, region_id),
            counts=pl.concat(
                [count_rows(rows, source_id=source_id) for rows in (taken, judged)]
            ).sort(ROW_COUNTS.key),
        )

    return combine(normalize(rates) for rates in blocks)


def _known_skus(skus: pl.DataFrame) -> pl.DataFrame:
    """Name the columns of AWS_SKUS so that they can stand beside those of a rate."""
    return skus.select(
        pl.col("sku").alias("discounted_sku"),
        pl.col("usage_type", "operation", "rule").name.prefix("sku_"),
        "instance_type",
        "operating_system",
        "license_model",
        "pre_installed_software",
        "tenancy",
        is_listed=pl.lit(value=True),
    )


def _not_an_instance() -> tuple[Check, ...]:
    """Take what plans discount besides instances and hosts in use: half of the file."""
    return (
        Check(plans.OTHER_SERVICE, pl.col("discounted_service_code").is_in(_OTHER_SERVICES)),
        Check(
            plans.UNUSED_CAPACITY, pl.col("discounted_usage_type").str.contains(_UNUSED_CAPACITY)
        ),
    )


def _not_a_price(*, region_id: str, partition: str | None) -> tuple[Check, ...]:
    return (*_unknown_product(region_id, partition), *_unknown_rate(partition))


def _unknown_product(region_id: str, partition: str | None) -> tuple[Check, ...]:
    """Take rates of which it cannot be told what they are for, and those of what has no price."""
    is_foreign = pl.col("discounted_region_code").str.to_lowercase() != region_id.lower()
    identifiers = ("rate_code", "sku", "discounted_sku")
    product_agrees = (pl.col("discounted_usage_type") == pl.col("sku_usage_type")) & (
        pl.col("discounted_operation") == pl.col("sku_operation")
    )
    return (
        Check(shared.UNKNOWN_REGION, pl.lit(partition is None), ("discounted_region_code",)),
        Check(shared.FOREIGN_REGION, is_foreign, ("discounted_region_code",)),
        Check(
            plans.MISSING_IDENTIFIER,
            pl.any_horizontal(pl.col(identifiers).is_null()),
            identifiers,
        ),
        Check(
            plans.UNKNOWN_SERVICE,
            is_none_of("discounted_service_code", ["AmazonEC2"]),
            ("discounted_service_code",),
        ),
        Check(
            plans.UNKNOWN_SKU,
            pl.col("is_listed").is_null(),
            ("discounted_sku", "discounted_usage_type", "discounted_operation"),
        ),
        Check(
            plans.OTHER_PRODUCT,
            ~product_agrees.fill_null(value=False),
            ("discounted_usage_type", "sku_usage_type", "discounted_operation", "sku_operation"),
        ),
        Check(plans.SKU_WITHOUT_PRICE, pl.col("sku_rule").is_not_null()),
        Check(
            plans.OTHER_INSTANCE_TYPE,
            # What AWS names here for a host, which is a family, no list at hand shows.
            (pl.col("discounted_instance_type") != pl.col("instance_type"))
            & (pl.col("tenancy") != "host"),
            ("discounted_instance_type", "instance_type"),
        ),
    )


def _unknown_rate(partition: str | None) -> tuple[Check, ...]:
    """Take rates whose terms are not understood, and 0, which is known to be no price."""
    currency = currency_of(partition)
    lease = ("lease_contract_length", "lease_contract_length_unit")
    return (
        Check(plans.UNKNOWN_PLAN, is_none_of("product_family", PLANS), ("product_family",)),
        Check(
            plans.UNKNOWN_PAYMENT_OPTION,
            is_none_of("purchase_option", PAYMENT_OPTIONS),
            ("purchase_option",),
        ),
        Check(
            plans.UNKNOWN_LEASE,
            is_none_of(lease[0], _TERM_YEARS) | is_none_of(lease[1], ["year"]),
            lease,
        ),
        Check(shared.UNKNOWN_UNIT, is_none_of("unit", ["Hrs"]), ("unit",)),
        Check(shared.UNKNOWN_CURRENCY, is_none_of("currency", [currency]), ("currency",)),
        *no_price(_rate(), "discounted_rate"),
        Check(shared.UNPARSEABLE_DATE, _valid_from().is_null(), ("effective_date",)),
        Check(shared.ZERO_PRICE, _rate() == 0),
    )


def _rate() -> pl.Expr:
    return exact_price("discounted_rate")


def _valid_from() -> pl.Expr:
    return moment(pl.col("effective_date"))


def _prices(rows: pl.DataFrame, source_id: str, region_id: str) -> pl.DataFrame:
    """Spell the rates that are prices as PRICE_CANDIDATES, in the order they came."""
    rate = _rate()
    return (
        rows.lazy()
        .select(
            "instance_type",
            "operating_system",
            "license_model",
            "pre_installed_software",
            "tenancy",
            "currency",
            provider=pl.lit("aws"),
            region_id=pl.lit(region_id),
            availability_zone_id=pl.lit(None, dtype=pl.String),
            purchase_option=pl.lit("savings_plan"),
            commitment_type=pl.col("product_family").replace_strict(PLANS, return_dtype=pl.String),
            term_years=pl.col("lease_contract_length").replace_strict(
                _TERM_YEARS, return_dtype=pl.Int32
            ),
            payment_option=pl.col("purchase_option").replace_strict(
                PAYMENT_OPTIONS, return_dtype=pl.String
            ),
            hourly_rate=rate,
            upfront_fee=pl.lit(None, dtype=PRICE),
            effective_hourly_price=rate,
            pricing_category=pl.lit("Committed"),
            pricing_unit=pl.lit("Hours"),
            valid_from=_valid_from(),
            valid_to=pl.lit(None, dtype=TIMESTAMP),
            sku_id="discounted_sku",
            sku_price_id="rate_code",
            price_quality=pl.lit("ok"),
            source_id=pl.lit(source_id),
        )
        .pipe(PRICE_CANDIDATES.conform)
        .collect(engine="in-memory")
    )


def _rejected(
    judged: pl.DataFrame, checks: tuple[Check, ...], source_id: str, region_id: str
) -> pl.DataFrame:
    return rejected_frame(
        refused_rows(judged, checks),
        source_id=source_id,
        provider="aws",
        region_id=region_id,
        rule=pl.col("rule"),
        reason=pl.col("reason"),
        row_columns=AWS_SAVINGS_PLAN_RATES.columns,
    )
