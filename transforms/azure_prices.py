"""Azure retail items to list prices: which of a size's many meters is the on-demand price.

A size has meters for Linux and Windows, each plain, as spot and as low priority, each of them once
more as Dev/Test, and its Linux meter also as reservations. Host groups and Cloud Services go under
the same service and partly under the same size names. An item of a kind that is known to be no
on-demand price is filtered by name; the rest must prove to be one, for guessing publishes a wrong
price.

What the names say (all 436 products and 331,232 meters of 58 regions, August 2026):
- The system is in productName alone: Windows products end in " Windows" (one in " Win"), the others
  are Linux, whether they end in " Linux" or not. No other system is priced here.
- Spot and low priority are the endings " Spot" and " Low Priority" of both skuName and meterName.
- isPrimaryMeterRegion says nothing about a price: where it is false is often the only Linux row.
- Neither meterId nor skuId is a key, and skuName is free text: armSkuName is the size.

Source: Azure Retail Prices API, item fields; Azure Hybrid Benefit and Dev/Test pricing.
"""

from collections.abc import Iterable
from typing import NamedTuple

import polars as pl

from transforms.normalized import (
    Normalized,
    final_counts,
    first_rule,
    rejected_frame,
)
from transforms.regions import partition_of
from warehouse.schemas.parts import INSTANCE_FACTS, LISTINGS, PRICE_CANDIDATES, REJECTED
from warehouse.schemas.raw import AZURE_RETAIL_ITEMS
from warehouse.schemas.rules import azure, shared
from warehouse.schemas.rules.rule import Rule
from warehouse.schemas.table import PRICE

_RESERVATION_TERMS = ("1 Year", "3 Years", "5 Years", "10 Years")
_SPOT = " Spot"
_LOW_PRIORITY = " Low Priority"
_SPOT_OR_LOW_PRIORITY = r"(?i)\bspot\b|\blow ?priority\b"
_HOST_PRODUCT = r"(?i)dedicated ?host"
_HOST_SIZE = r"[-_]Type[0-9]+$"
"""Dsv5_Type1, Mmsv2MedMem-Type1; but Standard_E4ds_v4_ADHType1 is a machine, with its own price."""
_CLOUD_SERVICES_PRODUCT = r"(?i)cloud ?services"
_WINDOWS_PRODUCT = r" Win(?:dows)?$"
_OTHER_SYSTEM = r"(?i)\b(?:windows|win|rhel|red hat|suse|sles|ubuntu|sql|oracle|centos|debian)\b"
_TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


class _Check(NamedTuple):
    """A rule, the rows that it takes, and the column that shows why.

    A rule with several reasons to take a row has a check for each.
    """

    rule: Rule
    takes: pl.Expr
    shows: str


def normalize_retail_pages(
    pages: Iterable[tuple[str, pl.DataFrame]], *, region_id: str, regions: pl.DataFrame
) -> Normalized:
    """Turn AZURE_RETAIL_ITEMS into on-demand prices, and account for every row.

    Kept are the plain meters of Linux and of Windows (licence included), and the Dev/Test meters
    of Windows: what the machine costs with a licence of one's own (Azure Hybrid Benefit, byol).
    Prices of every date are kept, superseded, ended and announced ones too.

    Row-local: pages may be given together or one at a time, in any order, with the same result.
    Together is a third of the work, for a page is so small that most of it is spent on starting.
    Items that are equal, or contradict each other, are settled later, over the whole region.

    Args:
        pages: pairs of source_id and AZURE_RETAIL_ITEMS.
        region_id: region that the pages are of. The items' armRegionName must be it, in whatever
            case; prices have it as it is spelled here.
        regions: REGIONS.

    Returns:
        Prices, refused rows and counts. Items say nothing of a size beyond its price, nor that a
        size is listed without one for a reason, so there are no facts and no listings.
    """
    items = _of_one_frame(list(pages))
    rejects = _rejects(region_id, is_known=partition_of(regions, "azure", region_id) is not None)
    filtered = items.with_columns(rule=_first_rule(_filters()))
    judged = filtered.filter(pl.col("rule").is_null()).with_columns(rule=_first_rule(rejects))
    kept = judged.filter(pl.col("rule").is_null())
    refused = judged.filter(pl.col("rule").is_not_null())
    return Normalized(
        prices=_prices(kept, region_id),
        rejected=_rejected(refused, rejects, region_id),
        counts=final_counts(
            [
                _counts(filtered.filter(pl.col("rule").is_not_null()), "filtered"),
                _counts(refused, "rejected"),
                _counts(kept, "kept"),
            ]
        ),
        instance_facts=INSTANCE_FACTS.empty(),
        listings=LISTINGS.empty(),
    )


def _of_one_frame(pages: list[tuple[str, pl.DataFrame]]) -> pl.DataFrame:
    """Stack pages, each row with its source_id as an Enum: a code a row is counted fast."""
    sources = pl.Enum(list(dict.fromkeys(source_id for source_id, _ in pages)))
    return pl.concat(
        page.with_columns(source_id=pl.lit(source_id, dtype=sources))
        for source_id, page in [*pages, (None, AZURE_RETAIL_ITEMS.empty())]
    )


def _counts(rows: pl.DataFrame, outcome: str) -> pl.DataFrame:
    return (
        rows.group_by("source_id", "rule")
        .len("rows")
        .select(
            pl.col("source_id").cast(pl.String),
            pl.lit(outcome).alias("outcome"),
            pl.col("rule").cast(pl.String),
            pl.col("rows").cast(pl.Int64),
        )
    )


def _rejected(refused: pl.DataFrame, rejects: list[_Check], region_id: str) -> pl.DataFrame:
    if refused.is_empty():
        return REJECTED.empty()
    return rejected_frame(
        refused,
        source_id=pl.col("source_id").cast(pl.String),
        provider="azure",
        region_id=region_id,
        rule=pl.col("rule"),
        reason=_reason(rejects),
        row_columns=AZURE_RETAIL_ITEMS.columns,
    )


def _first_rule(checks: list[_Check]) -> pl.Expr:
    return first_rule([(check.rule, check.takes) for check in checks])


def _filters() -> list[_Check]:
    """Items that are known to be no on-demand price of a machine."""
    product, meter = pl.col("product_name"), pl.col("meter_name")
    is_reservation = pl.col("type") == "Reservation"
    is_host = product.str.contains(_HOST_PRODUCT) | _size().str.contains(_HOST_SIZE)
    return [
        _Check(azure.OTHER_SERVICE, pl.col("service_name") != "Virtual Machines", "service_name"),
        _Check(
            azure.RESERVATION,
            is_reservation & pl.col("reservation_term").is_in(_RESERVATION_TERMS),
            "reservation_term",
        ),
        _Check(azure.DEDICATED_HOST, is_host, "product_name"),
        _Check(azure.CLOUD_SERVICES, product.str.contains(_CLOUD_SERVICES_PRODUCT), "product_name"),
        _Check(azure.SPOT, _both_names_end(_SPOT), "meter_name"),
        _Check(azure.LOW_PRIORITY, _both_names_end(_LOW_PRIORITY), "meter_name"),
        _Check(azure.EXPIRED_METER, meter.str.ends_with(" - Expired"), "meter_name"),
        _Check(
            azure.NEVER_IN_FORCE,
            _time("effective_end_date") <= _time("effective_start_date"),
            "effective_end_date",
        ),
        _Check(shared.ZERO_PRICE, pl.col("retail_price") == 0, "retail_price"),
    ]


def _rejects(region_id: str, *, is_known: bool) -> list[_Check]:
    """Items that should be an on-demand price of a machine and do not prove to be one."""
    product, price = pl.col("product_name"), pl.col("retail_price")
    is_foreign = pl.col("arm_region_name").str.to_lowercase() != region_id.lower()
    is_dev_test = pl.col("type") == "DevTestConsumption"
    is_promo = product.str.contains("(?i)promo") & ~_size().str.to_lowercase().str.ends_with(
        "_promo"
    )
    speaks_of_both = pl.any_horizontal(
        pl.col("sku_name", "meter_name").str.contains(_SPOT_OR_LOW_PRIORITY)
    )
    is_other_system = ~_is_windows() & product.str.contains(_OTHER_SYSTEM)
    end = "effective_end_date"
    has_bad_end = _time(end).is_null() & pl.col(end).is_not_null()
    return [
        _Check(shared.FOREIGN_REGION, is_foreign, "arm_region_name"),
        _Check(shared.UNKNOWN_REGION, pl.lit(not is_known), "arm_region_name"),
        _Check(
            azure.UNKNOWN_RESERVATION_TERM,
            (pl.col("type") == "Reservation") | pl.col("reservation_term").is_not_null(),
            "reservation_term",
        ),
        _Check(azure.UNKNOWN_PRICE_TYPE, ~is_dev_test & (pl.col("type") != "Consumption"), "type"),
        _Check(azure.UNKNOWN_METER, speaks_of_both, "meter_name"),
        _Check(azure.UNKNOWN_OPERATING_SYSTEM, is_other_system, "product_name"),
        _Check(azure.DEV_TEST_NOT_WINDOWS, is_dev_test & ~_is_windows(), "product_name"),
        _Check(azure.NO_INSTANCE_TYPE, _size() == "", "arm_sku_name"),
        _Check(azure.PROMO_ON_ORDINARY_SIZE, is_promo, "arm_sku_name"),
        _Check(shared.UNKNOWN_UNIT, pl.col("unit_of_measure") != "1 Hour", "unit_of_measure"),
        _Check(
            azure.VOLUME_TIER,
            (pl.col("tier_minimum_units") != 0).fill_null(value=True),
            "tier_minimum_units",
        ),
        _Check(shared.UNKNOWN_CURRENCY, pl.col("currency_code") != "USD", "currency_code"),
        _Check(shared.UNPARSEABLE_PRICE, price.is_null(), "retail_price"),
        _Check(shared.NEGATIVE_PRICE, price < 0, "retail_price"),
        _Check(
            shared.UNPARSEABLE_DATE,
            _time("effective_start_date").is_null(),
            "effective_start_date",
        ),
        _Check(shared.UNPARSEABLE_DATE, has_bad_end, end),
    ]


def _size() -> pl.Expr:
    return pl.col("arm_sku_name").str.strip_chars()


def _both_names_end(ending: str) -> pl.Expr:
    return pl.col("sku_name").str.ends_with(ending) & pl.col("meter_name").str.ends_with(ending)


def _is_windows() -> pl.Expr:
    return pl.col("product_name").str.contains(_WINDOWS_PRODUCT)


def _time(name: str) -> pl.Expr:
    """A time in UTC; null where there is none, or one in another form."""
    return pl.col(name).str.to_datetime(_TIME_FORMAT, time_unit="us", strict=False)


def _reason(checks: list[_Check]) -> pl.Expr:
    """The rule's reason with what the row says; null where the row says nothing."""
    return pl.coalesce(
        pl.when((pl.col("rule") == check.rule.id) & check.takes).then(
            pl.format("{} ({}: {})", pl.lit(check.rule.reason), pl.lit(check.shows), check.shows)
        )
        for check in checks
    )


def _prices(kept: pl.DataFrame, region_id: str) -> pl.DataFrame:
    """Plain meters and Windows Dev/Test meters as PRICE_CANDIDATES."""
    is_dev_test = pl.col("type") == "DevTestConsumption"
    return kept.select(
        provider=pl.lit("azure"),
        region_id=pl.lit(region_id),
        availability_zone_id=pl.lit(None, dtype=pl.String),
        instance_type=_size(),
        operating_system=pl.when(_is_windows()).then(pl.lit("windows")).otherwise(pl.lit("linux")),
        license_model=pl.when(is_dev_test).then(pl.lit("byol")).otherwise(pl.lit("included")),
        pre_installed_software=pl.lit("none"),
        tenancy=pl.lit("shared"),
        purchase_option=pl.lit("on_demand"),
        commitment_type=pl.lit(None, dtype=pl.String),
        term_years=pl.lit(None, dtype=pl.Int32),
        payment_option=pl.lit(None, dtype=pl.String),
        hourly_rate="retail_price",
        upfront_fee=pl.lit(None, dtype=PRICE),
        effective_hourly_price="retail_price",
        pricing_category=pl.lit("Standard"),
        currency="currency_code",
        pricing_unit=pl.lit("Hours"),
        valid_from=_time("effective_start_date").dt.replace_time_zone("UTC"),
        valid_to=_time("effective_end_date").dt.replace_time_zone("UTC"),
        sku_id="sku_id",
        sku_price_id="meter_id",
        price_quality=pl.lit("ok"),
        source_id=pl.col("source_id").cast(pl.String),
    ).select(PRICE_CANDIDATES.columns)
