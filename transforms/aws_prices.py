"""EC2 offer rows to list prices, with an account of every row that is none."""

import polars as pl

from transforms.aws_instance_types import instance_facts
from transforms.aws_offer_checks import (
    PRODUCTS,
    TENANCIES,
    Check,
    describes_a_machine,
    effective_at,
    hourly_price,
    is_capacity_block,
    not_a_price,
    not_an_instance,
    out_of_scope,
)
from transforms.normalized import Normalized, count_rows, first_rule, rejected_frame
from transforms.regions import partition_of
from warehouse.schemas.parts import LISTINGS, PRICE_CANDIDATES, ROW_COUNTS
from warehouse.schemas.raw import AWS_OFFER_ROWS
from warehouse.schemas.table import PRICE, TIMESTAMP

_REJECT = "reject"


def normalize_offer_rows(
    raw: pl.DataFrame, *, source_id: str, region_id: str, regions: pl.DataFrame
) -> Normalized:
    """Turn AWS_OFFER_ROWS into on-demand prices of Linux and Windows.

    Shared and dedicated tenancy, licence included and brought along; no pre-installed software.
    Row-local: any part of a file may be given at a time, in any order. Rows that are equal, or
    contradict each other, are settled later, over the whole region.

    Args:
        raw: AWS_OFFER_ROWS.
        source_id: document that they came in.
        region_id: region that the document is of. A row without a region code (older files have no
            such column) is of that region.
        regions: REGIONS; says in which currency the region's partition is priced.

    Returns:
        Prices, refused rows, counts, what the rows say of instance types, and the types that are
        listed as capacity blocks.
    """
    instances, other_counts = _filtered(raw, not_an_instance(), source_id)
    in_scope, scope_counts = _filtered(instances, out_of_scope(), source_id)
    checks = not_a_price(region_id=region_id, partition=partition_of(regions, "aws", region_id))
    judged = in_scope.with_columns(rule=_rule(checks))
    refusals = [check for check in checks if check.rule.kind == _REJECT]
    return Normalized(
        prices=_prices(judged.filter(pl.col("rule").is_null()), source_id, region_id),
        rejected=rejected_frame(
            judged.filter(pl.col("rule").is_in([check.rule.id for check in refusals])),
            source_id=source_id,
            provider="aws",
            region_id=region_id,
            rule=pl.col("rule"),
            reason=pl.coalesce(_reason(check) for check in refusals),
            row_columns=AWS_OFFER_ROWS.columns,
        ),
        counts=pl.concat(
            [other_counts, scope_counts, count_rows(judged, source_id=source_id)]
        ).sort(ROW_COUNTS.key),
        instance_facts=instance_facts(instances.filter(describes_a_machine())),
        listings=_capacity_blocks(instances, region_id),
    )


def _rule(checks: tuple[Check, ...]) -> pl.Expr:
    return first_rule([(check.rule, check.takes) for check in checks])


def _filtered(
    rows: pl.DataFrame, filters: tuple[Check, ...], source_id: str
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the rows that no filter takes, and the ROW_COUNTS of those that one does."""
    judged = rows.select(rule=_rule(filters))
    is_left = judged["rule"].is_null()
    return rows.filter(is_left), count_rows(judged.filter(~is_left), source_id=source_id)


def _reason(check: Check) -> pl.Expr:
    """Say what the rule expects and what came instead, where the rule took the row."""
    came = pl.concat_str(
        [
            pl.format(f"{name} {{}}", ('"' + pl.col(name) + '"').fill_null("missing"))
            for name in check.shown
        ],
        separator=", ",
    )
    return pl.when(pl.col("rule") == check.rule.id).then(
        pl.format("{}. Got {}", pl.lit(check.rule.reason), came)
    )


def _prices(rows: pl.DataFrame, source_id: str, region_id: str) -> pl.DataFrame:
    """Spell the rows that are prices as PRICE_CANDIDATES, in the order they came."""
    systems = {operation: system for (_, _, operation), (system, _) in PRODUCTS.items()}
    licences = {operation: licence for (_, _, operation), (_, licence) in PRODUCTS.items()}
    nothing = pl.lit(None, dtype=pl.String)
    price = hourly_price()
    return (
        rows.lazy()
        .select(
            "instance_type",
            "currency",
            provider=pl.lit("aws"),
            region_id=pl.lit(region_id),
            availability_zone_id=nothing,
            operating_system=pl.col("operation").replace_strict(systems, return_dtype=pl.String),
            license_model=pl.col("operation").replace_strict(licences, return_dtype=pl.String),
            pre_installed_software=pl.lit("none"),
            tenancy=pl.col("tenancy").replace_strict(TENANCIES, return_dtype=pl.String),
            purchase_option=pl.lit("on_demand"),
            commitment_type=nothing,
            term_years=pl.lit(None, dtype=pl.Int32),
            payment_option=nothing,
            hourly_rate=price,
            upfront_fee=pl.lit(None, dtype=PRICE),
            effective_hourly_price=price,
            pricing_category=pl.lit("Standard"),
            pricing_unit=pl.lit("Hours"),
            valid_from=effective_at(),
            valid_to=pl.lit(None, dtype=TIMESTAMP),
            sku_id="sku",
            sku_price_id="rate_code",
            price_quality=pl.lit("ok"),
            source_id=pl.lit(source_id),
        )
        .pipe(PRICE_CANDIDATES.conform)
        .collect(engine="in-memory")
    )


def _capacity_blocks(instances: pl.DataFrame, region_id: str) -> pl.DataFrame:
    """List the types that the region sells as capacity blocks: LISTINGS, sorted by key."""
    is_foreign = pl.col("region_code").str.to_lowercase() != region_id.lower()
    return (
        instances.lazy()
        .filter(is_capacity_block(), ~is_foreign.fill_null(value=False))
        .select(
            "instance_type",
            provider=pl.lit("aws"),
            region_id=pl.lit(region_id),
            price_status=pl.lit("capacity_block_only"),
        )
        .pipe(LISTINGS.conform)
        .unique()
        .sort(LISTINGS.key)
        .collect(engine="in-memory")
    )
