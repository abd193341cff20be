"""The cheapest price of everything in every scope, found again from prices.

Written apart from the transform on purpose: what both get wrong must be wrong twice.
"""

from collections.abc import Sequence

import polars as pl

from warehouse.schemas.vocabulary import CONTINENTS, PUBLIC_PARTITIONS

WAY_KEY = (
    "provider",
    "type_key",
    "operating_system",
    "purchase_option",
    "commitment_type",
    "term_years",
    "payment_option",
)
"""The key of `cheapest_region` without its scope, with one spelling for each type."""


def comparable_prices(prices: pl.DataFrame, instance_types: pl.LazyFrame) -> pl.DataFrame:
    """Return prices that views compare: shared, licence included, no software, not retired.

    In the currencies in which providers charge: lists for reference are no second price. Views that
    compare regions see US dollars only.
    """
    retired = (
        instance_types.filter(pl.col("lifecycle") == "retired")
        .select(
            pl.col("provider").cast(pl.Categorical),
            type_key=pl.col("instance_type").str.to_lowercase().cast(pl.Categorical),
        )
        .collect(engine="in-memory")
    )
    return prices.filter(
        ~pl.col("price_quality").cast(pl.String).str.contains("reference", literal=True),
        pl.col("tenancy") == "shared",
        pl.col("license_model") == "included",
        pl.col("pre_installed_software") == "none",
    ).join(retired, on=["provider", "type_key"], how="anti")


def scopes_of_regions(regions: pl.DataFrame) -> pl.DataFrame:
    """Return provider, region_key, scope: one row for each scope that a region belongs to."""
    is_region = pl.col("region_kind") == "region"
    is_public = pl.col("partition").is_in(PUBLIC_PARTITIONS)
    is_open = is_region & is_public
    scopes = pl.concat_list(
        pl.when(is_open).then(pl.lit("world")),
        pl.when(is_open & pl.col("is_eu")).then(pl.lit("eu")),
        pl.when(is_open & pl.col("is_eea")).then(pl.lit("eea")),
        pl.when(is_open & (pl.col("country_code") == "DE")).then(pl.lit("de")),
        pl.when(is_open & pl.col("geography").is_in(CONTINENTS)).then("geography"),
        pl.when(is_region & pl.col("partition").cast(pl.String).str.ends_with("-us-gov")).then(
            pl.lit("us_gov")
        ),
        pl.when(~is_region & is_public).then(pl.lit("zones")),
    )
    return (
        regions.unique(["provider", "region_key"], keep="any")
        .select("provider", "region_key", scope=scopes)
        .explode("scope", empty_as_null=False)
        .drop_nulls("scope")
        .with_columns(pl.col("scope").cast(pl.Categorical))
    )


def cheapest_by_scope(prices: pl.DataFrame, regions: pl.DataFrame) -> pl.DataFrame:
    """Return the lowest comparable price of every way to pay and scope, and where it is."""
    price = pl.col("effective_hourly_price")
    key = [*WAY_KEY, "scope"]
    return (
        prices.join(scopes_of_regions(regions), on=["provider", "region_key"])
        .filter(price == price.min().over(key))
        .with_columns(pl.col("region_id").cast(pl.String))
        .group_by(key)
        .agg(lowest_price=price.first(), lowest_region_id=pl.col("region_id").min())
    )


def zones_of_regions(prices: pl.DataFrame, way_key: Sequence[str]) -> pl.DataFrame:
    """Return the lowest price of each way to pay in each zone, and how many zones list one.

    Args:
        prices: columns way_key, region_key, availability_zone_id, effective_hourly_price.
        way_key: what is one thing in one region, without the region.

    Returns:
        way_key, region_key, availability_zone_id (null: region-wide), zone_price, zones_listed.
    """
    region = [*way_key, "region_key"]
    return (
        prices.group_by(*region, "availability_zone_id")
        .agg(zone_price=pl.col("effective_hourly_price").min())
        .with_columns(zones_listed=pl.col("availability_zone_id").count().over(region))
    )
