"""Prices that stand out: over regions, and over the sizes of a family."""

import polars as pl

from expectations.evidence import PRICE_KEY, Evidence, is_reference, machine_prices
from expectations.known_prices import OUT_OF_LINE, PRICED_OTHERWISE
from expectations.table_checks.measured import Measured, TableCheck, count_failures, no_limit
from expectations.thresholds import GateThresholds
from warehouse.schemas.rules import RULE

_WHERE = ("region_key", "availability_zone_id")

_THING = tuple(name for name in PRICE_KEY if name not in _WHERE)

_FAMILY = ("provider", "region_key", "family")


def outlier_checks() -> tuple[TableCheck, ...]:
    """Return the checks of this module."""
    return (
        TableCheck(RULE["prices.in_line"], _in_line, no_limit, "none"),
        TableCheck(RULE["prices.region_spread"], _region_spread, no_limit, "none"),
        TableCheck(RULE["prices.family_in_line"], _family_in_line, no_limit, "none"),
        TableCheck(RULE["prices.vcpu_price_constant"], _vcpu_price_constant, no_limit, "none"),
    )


def _in_line(evidence: Evidence) -> Measured:
    """Hold each price against the median of all regions that list the same thing.

    Commitments that cover a licence are left out: AWS discounts Windows by up to 80 % in some
    regions and not at all in others, in hundreds of rows.
    """
    is_machine = (pl.col("operating_system") == "linux") & (
        pl.col("pre_installed_software") == "none"
    )
    steady = evidence.prices.filter(
        (pl.col("purchase_option") == "on_demand") | is_machine,
        pl.col("pricing_category") != "Dynamic",
        ~is_reference(),
    )
    compared = _beside_the_median(steady, evidence.thresholds)
    factor = evidence.thresholds.out_of_line_factor
    failing = compared.filter(
        (pl.col("times_median") > factor) | (pl.col("times_median") < 1 / factor)
    )
    return count_failures(
        failing.select(
            "provider",
            "region_id",
            "instance_type",
            "operating_system",
            "license_model",
            "purchase_option",
            "effective_hourly_price",
            pl.col("median_price").round(6),
            pl.col("times_median").round(3),
            "regions",
        ).rename({"regions": "regions_compared"}),
        of="prices",
        checked=compared.height,
        counted="rows",
    )


def _region_spread(evidence: Evidence) -> Measured:
    """Divide the dearest region's on-demand price of each machine by the cheapest one's."""
    limits = evidence.thresholds
    price = pl.col("effective_hourly_price")
    by_price = pl.col("region_id").cast(pl.String)
    things = (
        evidence.machine_prices.filter(pl.col("purchase_option") == "on_demand", price > 0)
        .group_by("provider", "type_key", "tenancy", "currency")
        .agg(
            instance_type=pl.col("instance_type").cast(pl.String).min(),
            regions=pl.len(),
            lowest_price=price.min(),
            lowest_region_id=by_price.sort_by(price, by_price).first(),
            dearest_price=price.max(),
            dearest_region_id=by_price.sort_by(price, by_price).last(),
        )
        .filter(pl.col("regions") > 1)
        .with_columns(
            times=pl.col("dearest_price").cast(pl.Float64)
            / pl.col("lowest_price").cast(pl.Float64),
            limit=pl.when(pl.col("provider") == "aws")
            .then(limits.aws_region_spread)
            .otherwise(limits.azure_region_spread),
        )
    )
    failing = things.filter(pl.col("times") > pl.col("limit")).with_columns(
        pl.col("times").round(3)
    )
    return count_failures(
        failing.drop("type_key", "regions"), of="prices", checked=things.height, counted="machines"
    )


def _family_in_line(evidence: Evidence) -> Measured:
    """Find families of which no size in a region is anywhere near the other regions."""
    families = _families(evidence.machine_prices, evidence.thresholds)
    failing = families.filter(pl.col("times_off") > evidence.thresholds.family_factor)
    before = _families(
        machine_prices(evidence.previous_prices, evidence.types), evidence.thresholds
    ).filter(pl.col("times_off") > evidence.thresholds.family_factor)
    known = pl.DataFrame(
        [(known.provider, known.region_id, known.family) for known in OUT_OF_LINE],
        schema=dict.fromkeys(_FAMILY, pl.Categorical),
        orient="row",
    )
    unheard_of = failing.join(before, on=_FAMILY, how="anti").join(known, on=_FAMILY, how="anti")
    return count_failures(
        unheard_of.drop("region_key").with_columns(
            pl.col("lowest", "highest", "times_off").round(3)
        ),
        of="prices",
        checked=families.height,
        counted="families in a region",
    )


def _families(machines: pl.DataFrame, limits: GateThresholds) -> pl.DataFrame:
    """Return for each family, region and way to pay how far all of its sizes are off alike.

    times_off: how often the size that is nearest to the median of all regions holds it, or is held
    by it; 1 where sizes lie on both sides.
    """
    way = ("tenancy", "purchase_option", "commitment_type", "term_years", "payment_option")
    ratio = pl.col("times_median")
    return (
        _beside_the_median(machines, limits)
        .filter(ratio > 0)
        .group_by(*_FAMILY, *way, "currency")
        .agg(
            region_id=pl.col("region_id").cast(pl.String).min(),
            types=pl.len(),
            lowest=ratio.min(),
            highest=ratio.max(),
        )
        .with_columns(times_off=pl.max_horizontal("lowest", 1 / pl.col("highest"), 1.0))
    )


def _beside_the_median(prices: pl.DataFrame, limits: GateThresholds) -> pl.DataFrame:
    """Return prices of what enough regions list, with median_price, regions and times_median."""
    usual = (
        prices.group_by(_THING)
        .agg(regions=pl.len(), median_price=pl.col("effective_hourly_price").median())
        .filter((pl.col("regions") >= limits.out_of_line_regions) & (pl.col("median_price") > 0))
    )
    return prices.join(usual, on=_THING, nulls_equal=True, validate="m:1").with_columns(
        times_median=(pl.col("effective_hourly_price").cast(pl.Float64) / pl.col("median_price"))
    )


def _vcpu_price_constant(evidence: Evidence) -> Measured:
    """Compare what a vCPU costs in the sizes of each of AWS's families, region by region."""
    limit = 1 + evidence.thresholds.vcpu_spread_pct / 100
    vcpu_price = pl.col("effective_hourly_price").cast(pl.Float64) / pl.col("vcpu_count")
    per_vcpu, name = pl.col("vcpu_price"), pl.col("instance_type").cast(pl.String)
    off = (per_vcpu / per_vcpu.median() - 1).abs()
    families = (
        evidence.machine_prices.filter(
            pl.col("provider") == "aws",
            pl.col("purchase_option") == "on_demand",
            pl.col("tenancy") == "shared",
            ~pl.col("is_bare_metal"),
            pl.col("vcpu_count") > 0,
            ~pl.col("family").cast(pl.String).is_in(list(PRICED_OTHERWISE)),
        )
        .with_columns(vcpu_price=vcpu_price)
        .group_by(*_FAMILY, "currency")
        .agg(
            region_id=pl.col("region_id").cast(pl.String).min(),
            types=pl.len(),
            odd_instance_type=name.sort_by(off, name, descending=[True, False]).first(),
            usual_vcpu_price=per_vcpu.median(),
            lowest_vcpu_price=per_vcpu.min(),
            highest_vcpu_price=per_vcpu.max(),
        )
        .filter(pl.col("types") > 1, pl.col("lowest_vcpu_price") > 0)
    )
    failing = families.filter(
        pl.col("highest_vcpu_price") / pl.col("lowest_vcpu_price") > limit
    ).with_columns(pl.col("^.*_vcpu_price$").round(6))
    return count_failures(
        failing.drop("region_key"),
        of="prices",
        checked=families.height,
        counted="families in a region",
    )
