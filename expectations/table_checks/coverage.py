"""Is everything there that the run was asked for?"""

import polars as pl

from expectations.canaries import Canary
from expectations.evidence import Evidence, is_carried_over, is_listed
from expectations.table_checks.measured import (
    Measured,
    TableCheck,
    count_failures,
    judge_each,
    no_limit,
    not_applicable,
)
from warehouse.schemas.rules import RULE

_DAY_HOURS = 24


def coverage_checks() -> tuple[TableCheck, ...]:
    """Return the checks of this module."""
    return (
        TableCheck(RULE["prices.canaries"], _canaries, no_limit, "none"),
        TableCheck(
            RULE["prices.canary_breadth"],
            _canary_breadth,
            lambda limits: limits.canary_breadth_missing_pct,
            "% of the asked regions",
        ),
        TableCheck(RULE["prices.region_present"], _region_present, no_limit, "none"),
        TableCheck(RULE["prices.carried_over"], _carried_over, no_limit, "none"),
        TableCheck(
            RULE["prices.regions_fetched"],
            _regions_fetched,
            lambda limits: limits.regions_missing_pct,
            "% of the asked regions",
        ),
        TableCheck(
            RULE["prices.carried_over_recent"],
            _carried_over_recent,
            lambda limits: limits.carried_over_days,
            "days",
        ),
    )


def _canaries(evidence: Evidence) -> Measured:
    named = [canary for canary in evidence.canaries if canary.region_ids is not None]
    expected = _expected(evidence, named)
    if expected.is_empty():
        return not_applicable("no canary lives in the regions that the run was asked for")
    missing = expected.join(
        _ordinary_prices(evidence), on=["provider", "region_key", "type_key"], how="anti"
    ).drop("region_key", "type_key")
    return count_failures(missing, of="prices", checked=expected.height, counted="canaries")


def _expected(evidence: Evidence, canaries: list[Canary]) -> pl.DataFrame:
    """Return the places where a canary must be: where it is known to live and was asked for.

    A run for all regions of a provider was asked for every region that a canary names, even when
    nothing at all came from there.
    """
    asked = evidence.request.regions
    places = [
        (canary.provider, region_id, canary.instance_type, canary.reason)
        for canary in canaries
        for region_id in canary.region_ids or ()
        if canary.provider in asked and _is_asked(asked[canary.provider], region_id)
    ]
    columns = ["provider", "region_id", "instance_type", "reason"]
    return pl.DataFrame(
        places, schema=dict.fromkeys(columns, pl.String), orient="row"
    ).with_columns(
        region_key=pl.col("region_id").str.to_lowercase(),
        type_key=pl.col("instance_type").str.to_lowercase(),
    )


def _is_asked(regions: tuple[str, ...] | None, region_id: str) -> bool:
    return regions is None or region_id.lower() in {region.lower() for region in regions}


def _canary_breadth(evidence: Evidence) -> Measured:
    """Count the asked regions, zones apart, in which a nearly ubiquitous type has no price."""
    kinds = evidence.regions.filter(pl.col("region_kind") == "region")
    asked = _words(evidence.asked).join(
        _words(kinds).select("provider", "region_key"), on=["provider", "region_key"], how="semi"
    )
    rows = [
        (canary.provider, canary.instance_type)
        for canary in evidence.canaries
        if canary.region_ids is None and canary.provider in evidence.request.regions
    ]
    canaries = pl.DataFrame(
        rows, schema={"provider": pl.String, "instance_type": pl.String}, orient="row"
    ).with_columns(type_key=pl.col("instance_type").str.to_lowercase())
    places = canaries.join(asked, on="provider")
    if places.is_empty():
        return not_applicable("no canary lives in the regions that the run was asked for")
    priced = _ordinary_prices(evidence).with_columns(is_priced=True)
    breadth = (
        places.join(priced, on=["provider", "region_key", "type_key"], how="left", validate="m:1")
        .group_by("provider", "instance_type")
        .agg(
            regions_asked=pl.len(),
            missing_pct=100 * pl.col("is_priced").is_null().mean(),
            missing=pl.col("region_id").filter(pl.col("is_priced").is_null()).sort().str.join(", "),
        )
        .with_columns(pl.col("missing_pct").round(2))
    )
    return judge_each(
        breadth,
        subject=pl.format("{} {}", "provider", "instance_type"),
        measured="missing_pct",
        counted="canaries",
    )


def _ordinary_prices(evidence: Evidence) -> pl.DataFrame:
    """Return where which type has a plain price: Linux alone, on demand, shared: three keys."""
    ordinary = evidence.prices.filter(
        pl.col("purchase_option") == "on_demand",
        pl.col("operating_system") == "linux",
        pl.col("license_model") == "included",
        pl.col("pre_installed_software") == "none",
        pl.col("tenancy") == "shared",
    )
    return _words(ordinary.select("provider", "region_key", "type_key").unique())


def _region_present(evidence: Evidence) -> Measured:
    regions = _asked_regions(evidence)
    missing = regions.filter(~pl.col("has_price")).select("provider", "region_id")
    return count_failures(missing, of="prices", checked=regions.height, counted="regions")


def _carried_over(evidence: Evidence) -> Measured:
    regions = _asked_regions(evidence)
    carried = regions.filter("is_carried_over").select("provider", "region_id", "prices")
    return count_failures(carried, of="prices", checked=regions.height, counted="regions")


def _regions_fetched(evidence: Evidence) -> Measured:
    providers = pl.DataFrame(
        {"provider": list(evidence.request.regions)}, schema={"provider": pl.String}
    )
    bad = ~pl.col("has_price") | pl.col("is_all_carried_over")
    shares = (
        providers.join(_asked_regions(evidence), on="provider", how="left", validate="1:m")
        .group_by("provider")
        .agg(
            regions_asked=pl.col("region_id").count(),
            missing=(~pl.col("has_price")).sum(),
            carried_over=pl.col("is_all_carried_over").sum(),
            # A provider of which nothing at all is known is missing as a whole.
            missing_or_carried_over_pct=(100 * bad.mean()).fill_null(100.0).round(2),
        )
    )
    return judge_each(
        shares,
        subject=pl.col("provider"),
        measured="missing_or_carried_over_pct",
        counted="providers",
    )


def _asked_regions(evidence: Evidence) -> pl.DataFrame:
    """Return the asked regions with has_price, prices, is_carried_over and is_all_carried_over.

    Any price of a region is carried over, or all of its price list: savings plans of AWS are
    published apart, and can be missing alone. AWS's spot prices stand in for no price list.
    """
    found = (
        evidence.prices.filter(is_listed())
        .group_by("provider", "region_key")
        .agg(
            is_carried_over=is_carried_over().any(),
            is_all_carried_over=is_carried_over().all(),
            prices=pl.len(),
        )
    )
    return (
        _words(evidence.asked)
        .join(_words(found), on=["provider", "region_key"], how="left", validate="1:1")
        .with_columns(
            pl.col("is_carried_over", "is_all_carried_over").fill_null(value=False),
            has_price=pl.col("prices").is_not_null(),
        )
    )


def _carried_over_recent(evidence: Evidence) -> Measured:
    """Measure how long ago the live documents of carried-over prices were last confirmed."""
    carried = evidence.sources.filter(pl.col("is_carried_over") & ~pl.col("is_recorded"))
    age = (pl.lit(evidence.request.as_of) - pl.col("confirmed_at")).dt.total_minutes()
    aged = carried.select(
        "source_id", "fetched_at", "confirmed_at", age_days=(age / (60 * _DAY_HOURS)).round(2)
    )
    return judge_each(aged, subject=pl.col("source_id"), measured="age_days", counted="documents")


def _words(frame: pl.DataFrame) -> pl.DataFrame:
    """Turn the keys from Categorical to String, for joins with what is written in code."""
    keys = [name for name in ("provider", "region_key", "type_key") if name in frame.columns]
    return frame.with_columns(pl.col(keys).cast(pl.String))
