"""AWS spot prices, of the EC2 API or of the public feed, and what the EC2 API says is offered.

AWS has no SKU for a spot price, so ids are composed of what tells one from another:

- sku_id: `spot/<region_id>/<instance type>/<product>`;
- sku_price_id: `spot/<zone id>/<instance type>/<product>`; for the feed, which tells no zones
  apart, the sku_id.

Type and product are in AWS's words: the product description, or the feed's column.

Zones go by id. In a region's answers there may be Local and Wavelength Zones, which are regions of
their own in the price list and so here: `usw2-lax1-az1` is of us-west-2-lax-1, `use1-wl1-atl-wlz1`
of us-east-1-wl1-atl1.

A price is in force from its change until the next one. All changes that a document lists are kept;
which one holds at a moment is decided later.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

import polars as pl

from transforms.aws_offer_checks import currency_of
from transforms.checks import Check, exact_price, no_price, refused_rows, rule_of
from transforms.normalized import Normalized, count_rows, rejected_frame
from transforms.regions import partition_of
from warehouse.schemas.parts import OFFERINGS, PRICE_CANDIDATES
from warehouse.schemas.raw import (
    AWS_INSTANCE_TYPE_OFFERINGS,
    AWS_SPOT_FEED_PRICES,
    AWS_SPOT_PRICES,
)
from warehouse.schemas.rules import aws_spot as rules
from warehouse.schemas.rules import shared
from warehouse.schemas.table import PRICE, TIMESTAMP

SYSTEMS = {
    "Linux/UNIX": "linux",
    "Windows": "windows",
    "SUSE Linux": "suse",
    "Red Hat Enterprise Linux": "rhel",
}
"""Product descriptions without ` (Amazon VPC)`, and what the catalog calls the system."""

FEED_SYSTEMS = {"linux": "linux", "mswin": "windows"}

FEED_REGIONS = {
    "us-east": "us-east-1",
    "us-west": "us-west-1",
    "eu-ireland": "eu-west-1",
    "apac-sin": "ap-southeast-1",
    "apac-syd": "ap-southeast-2",
    "apac-tokyo": "ap-northeast-1",
}
"""Regions that the feed calls by names from before they had ids; it calls all others by id."""

_IN_VPC = " (Amazon VPC)"
_NOT_OFFERED = "N/A"
_BY_ZONE_ID = "availability-zone-id"

_ZONE = r"^[a-z]+[0-9]+-az[0-9]+$"
_LOCAL_ZONE = r"^[a-z]+[0-9]+-([a-z]+)([0-9]+)-az[0-9]+$"
_WAVELENGTH_ZONE = r"^[a-z]+[0-9]+-(wl[0-9]+)-([a-z]+)-wlz([0-9]+)$"

_DATE_TIME = "%Y-%m-%dT%H:%M:%S%.f%z"

# The name of a zone is the asking account's own, so it is not published with a refused row.
_SHOWN_SPOT_COLUMNS = [name for name in AWS_SPOT_PRICES.columns if name != "availability_zone"]


def normalize_spot_prices(
    raw: pl.DataFrame,
    *,
    source_id: str,
    region_id: str,
    regions: pl.DataFrame,
    region_ids: Collection[str],
) -> Normalized:
    """Turn a region's spot price history into prices by zone.

    `Linux/UNIX` and `Linux/UNIX (Amazon VPC)` are one machine and system. They stem from the time
    when instances could run outside of a VPC, and change at different moments, so where a zone has
    both, two prices could seem to hold at once. All instances run in a VPC today: where a document
    has prices of both, that of the VPC counts and the other is filtered.

    Args:
        raw: AWS_SPOT_PRICES.
        source_id: document that they came in.
        region_id: region whose EC2 API was asked.
        regions: REGIONS; says in which currency the region's partition is priced, and which Local
            and Wavelength Zones there are.
        region_ids: regions and zones that are asked for, compared without case.
    """
    partition = partition_of(regions, "aws", region_id)
    instance_type, product = pl.col("instance_type"), pl.col("product_description")
    rows = raw.with_columns(
        region_id=_region_of_zone("availability_zone_id", region_id),
        operating_system=_named(product.str.strip_suffix(_IN_VPC), SYSTEMS),
        hourly_rate=exact_price("spot_price"),
        valid_from=_moment("timestamp"),
    )
    checks = [
        Check(shared.UNKNOWN_REGION, pl.lit(partition is None)),
        Check(shared.FOREIGN_REGION, ~pl.col("availability_zone").str.starts_with(region_id)),
        Check(rules.AWS_SPOT_UNKNOWN_TYPE, _is_missing("instance_type"), ("instance_type",)),
        Check(
            rules.AWS_SPOT_UNKNOWN_ZONE, pl.col("region_id").is_null(), ("availability_zone_id",)
        ),
        Check(shared.UNKNOWN_REGION, ~_is_known("region_id", regions), ("availability_zone_id",)),
        Check(rules.AWS_SPOT_REGION_NOT_ASKED, ~_is_asked(region_ids)),
        Check(
            rules.AWS_SPOT_UNKNOWN_SYSTEM,
            pl.col("operating_system").is_null(),
            ("product_description",),
        ),
        *no_price(pl.col("hourly_rate"), "spot_price"),
        Check(shared.UNPARSEABLE_DATE, pl.col("valid_from").is_null(), ("timestamp",)),
        Check(shared.ZERO_PRICE, pl.col("hourly_rate") == 0),
    ]
    judged = _judged(rows, checks).with_columns(_or_outside_vpc())
    prices = judged.filter(pl.col("rule").is_null()).with_columns(
        currency=pl.lit(currency_of(partition)),
        sku_id=_composed(pl.col("region_id"), instance_type, product),
        sku_price_id=_composed(pl.col("availability_zone_id"), instance_type, product),
        price_quality=pl.lit("ok"),
    )
    return Normalized(
        prices=_candidates(prices, source_id),
        rejected=_rejected(
            judged,
            checks,
            source_id=source_id,
            region_id=region_id,
            row_columns=_SHOWN_SPOT_COLUMNS,
        ),
        counts=count_rows(judged, source_id=source_id),
    )


def normalize_spot_feed(
    raw: pl.DataFrame,
    *,
    source_id: str,
    valid_from: datetime,
    regions: pl.DataFrame,
    region_ids: Collection[str],
) -> Normalized:
    """Turn the public spot feed into prices without a zone, flagged `indicative`.

    Args:
        raw: AWS_SPOT_FEED_PRICES.
        source_id: document that they came in.
        valid_from: since when they hold, with a time zone: when the feed was last changed.
        regions: REGIONS.
        region_ids: regions that are asked for, compared without case.
    """
    is_not_offered = pl.col("price").str.strip_chars_end("*") == _NOT_OFFERED
    rows = raw.with_columns(
        region_id=pl.col("region").str.to_lowercase().replace(FEED_REGIONS),
        operating_system=_named(pl.col("system"), FEED_SYSTEMS),
        hourly_rate=exact_price("price"),
    )
    checks = [
        # A new name for a region must not pass for one that nobody asked for.
        Check(shared.UNKNOWN_REGION, ~_is_known("region_id", regions), ("region",)),
        Check(rules.AWS_SPOT_REGION_NOT_ASKED, ~_is_asked(region_ids)),
        Check(rules.AWS_SPOT_UNKNOWN_TYPE, _is_missing("instance_type"), ("instance_type",)),
        Check(rules.AWS_SPOT_UNKNOWN_SYSTEM, pl.col("operating_system").is_null(), ("system",)),
        Check(shared.UNKNOWN_CURRENCY, pl.col("currency") != "USD", ("currency",)),
        Check(rules.AWS_SPOT_NOT_OFFERED, is_not_offered),
        *no_price(pl.col("hourly_rate"), "price"),
        Check(shared.ZERO_PRICE, pl.col("hourly_rate") == 0),
    ]
    judged = _judged(rows, checks)
    sku = _composed(pl.col("region_id"), pl.col("instance_type"), pl.col("system"))
    prices = judged.filter(pl.col("rule").is_null()).with_columns(
        availability_zone_id=pl.lit(None, dtype=pl.String),
        valid_from=pl.lit(valid_from, dtype=TIMESTAMP),
        sku_id=sku,
        sku_price_id=sku,
        price_quality=pl.lit("indicative"),
    )
    return Normalized(
        prices=_candidates(prices, source_id),
        rejected=_rejected(
            judged,
            checks,
            source_id=source_id,
            region_id=pl.col("region_id"),
            row_columns=AWS_SPOT_FEED_PRICES.columns,
        ),
        counts=count_rows(judged, source_id=source_id),
    )


def normalize_offerings(raw: pl.DataFrame, *, source_id: str, region_id: str) -> Normalized:
    """Turn what a region offers into OFFERINGS: one row a type and region, its zones sorted.

    An offering is no price, so no row is kept: those that are understood are filtered as
    `aws_offering`.

    Args:
        raw: AWS_INSTANCE_TYPE_OFFERINGS.
        source_id: document that they came in.
        region_id: region whose EC2 API was asked. A Local or Wavelength Zone among the answers is
            a region of its own.
    """
    # A location of another type may be a zone's name, which is not published (see above).
    is_by_id = pl.col("location_type") == _BY_ZONE_ID
    rows = raw.with_columns(location=pl.when(is_by_id).then("location")).with_columns(
        region_id=_region_of_zone("location", region_id)
    )
    checks = [
        Check(rules.AWS_OFFERING_UNKNOWN_TYPE, _is_missing("instance_type"), ("instance_type",)),
        Check(rules.AWS_OFFERING_UNKNOWN_ZONE, pl.col("region_id").is_null(), ("location_type",)),
        Check(rules.AWS_OFFERING, pl.lit(value=True)),
    ]
    judged = _judged(rows, checks)
    offerings = (
        judged.lazy()
        .filter(pl.col("rule") == rules.AWS_OFFERING.id)
        .group_by("region_id", "instance_type")
        .agg(zones=pl.col("location").unique().sort())
        .with_columns(provider=pl.lit("aws"), is_restricted=pl.lit(value=False))
        .pipe(OFFERINGS.conform)
        .sort(OFFERINGS.key)
        .collect(engine="in-memory")
    )
    return Normalized(
        prices=PRICE_CANDIDATES.empty(),
        rejected=_rejected(
            judged,
            checks,
            source_id=source_id,
            region_id=region_id,
            row_columns=AWS_INSTANCE_TYPE_OFFERINGS.columns,
            table="offers",
        ),
        counts=count_rows(judged, source_id=source_id),
        offerings=offerings,
    )


def _judged(rows: pl.DataFrame, checks: Sequence[Check]) -> pl.DataFrame:
    return rows.with_columns(rule=rule_of(checks).cast(pl.String))


def _or_outside_vpc() -> pl.Expr:
    """Take prices outside of a VPC where the document has one of the same in a VPC."""
    is_price = pl.col("rule").is_null()
    is_in_vpc = pl.col("product_description").str.ends_with(_IN_VPC)
    same = (
        "availability_zone_id",
        pl.col("instance_type").str.to_lowercase(),
        "operating_system",
    )
    has_both = (is_price & is_in_vpc).any().over(*same)
    outside = pl.lit(rules.AWS_SPOT_OUTSIDE_VPC.id)
    return pl.when(is_price & ~is_in_vpc & has_both).then(outside).otherwise("rule").alias("rule")


def _candidates(rows: pl.DataFrame, source_id: str) -> pl.DataFrame:
    """Spell rows that are prices as PRICE_CANDIDATES, in the order they came."""
    nothing = pl.lit(None, dtype=pl.String)
    return (
        rows.lazy()
        .with_columns(
            provider=pl.lit("aws"),
            license_model=pl.lit("included"),
            pre_installed_software=pl.lit("none"),
            tenancy=pl.lit("shared"),
            purchase_option=pl.lit("spot"),
            commitment_type=nothing,
            term_years=pl.lit(None, dtype=pl.Int32),
            payment_option=nothing,
            upfront_fee=pl.lit(None, dtype=PRICE),
            effective_hourly_price="hourly_rate",
            pricing_category=pl.lit("Dynamic"),
            pricing_unit=pl.lit("Hours"),
            valid_to=pl.lit(None, dtype=TIMESTAMP),
            source_id=pl.lit(source_id),
        )
        .pipe(PRICE_CANDIDATES.conform)
        .collect(engine="in-memory")
    )


def _rejected(
    judged: pl.DataFrame,
    checks: Sequence[Check],
    *,
    source_id: str,
    region_id: str | pl.Expr,
    row_columns: Sequence[str],
    table: str = "prices",
) -> pl.DataFrame:
    return rejected_frame(
        refused_rows(judged, checks),
        source_id=source_id,
        provider="aws",
        region_id=region_id,
        rule=pl.col("rule"),
        reason=pl.col("reason"),
        row_columns=row_columns,
        table=table,
    )


def _region_of_zone(column: str, region_id: str) -> pl.Expr:
    """Name the region that a zone id is of; null where it is no zone id."""
    zone, region = pl.col(column), pl.lit(region_id)
    local = [zone.str.extract(_LOCAL_ZONE, group) for group in (1, 2)]
    carrier, city, number = (zone.str.extract(_WAVELENGTH_ZONE, group) for group in (1, 2, 3))
    return (
        pl.when(zone.str.contains(_ZONE))
        .then(region)
        .otherwise(
            pl.coalesce(
                pl.format("{}-{}-{}", region, *local),
                pl.format("{}-{}-{}{}", region, carrier, city, number),
            )
        )
    )


def _is_known(column: str, regions: pl.DataFrame) -> pl.Expr:
    ours = regions.filter(pl.col("provider") == "aws")["region_id"].str.to_lowercase()
    return pl.col(column).str.to_lowercase().is_in(ours.implode()).fill_null(value=False)


def _is_asked(region_ids: Collection[str]) -> pl.Expr:
    asked = [region_id.lower() for region_id in region_ids]
    return pl.col("region_id").str.to_lowercase().is_in(asked)


def _is_missing(column: str) -> pl.Expr:
    return (pl.col(column).str.strip_chars() == "").fill_null(value=True)


def _named(words: pl.Expr, names: Mapping[str, str]) -> pl.Expr:
    return words.replace_strict(names, default=None, return_dtype=pl.String)


def _moment(column: str) -> pl.Expr:
    """Read a time with its offset, in UTC; null where it has none."""
    with_offset = pl.col(column).str.replace("Z$", "+00:00")
    return with_offset.str.to_datetime(_DATE_TIME, time_unit="us", time_zone="UTC", strict=False)


def _composed(*parts: pl.Expr) -> pl.Expr:
    return pl.concat_str([pl.lit("spot"), *parts], separator="/")
