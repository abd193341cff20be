"""Answers that a person would ask a release for. Frames in, frames out; nothing is printed here."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches

import polars as pl

from connectors.ecb import SOURCE as RATES_SOURCE
from flows.errors import UnknownNameError
from warehouse.publishing import DICTIONARY
from warehouse.releases import Release
from warehouse.schemas.catalog import PRICES, TABLE
from warehouse.schemas.table import TIMESTAMP
from warehouse.schemas.vocabulary import PURCHASE_OPTIONS, SCOPES

CURRENCIES = ("USD", "EUR")

_ON_DEMAND = pl.col("purchase_option") == "on_demand"
_NAMES_OFFERED = 5

_SPOKEN = {
    "aws_price_list": "list prices",
    "aws_savings_plans": "savings plan rates",
    "aws_spot_feed": "indicative spot prices",
    "aws_spot_price_history": "spot prices",
    "azure_retail_prices": "list prices",
}
"""The publications that hold prices, as people call them."""


@dataclass(frozen=True, slots=True)
class HomeGap:
    """What a type costs at home, measured against the cheapest region of the world."""

    instance_type: str
    cheapest: tuple[str, ...]
    """Every region of the lowest price."""
    price_usd: Decimal
    home_region_id: str
    home_price_usd: Decimal | None
    """None where the home region lists no price."""

    @property
    def gap_pct(self) -> Decimal | None:
        """How much home costs above the cheapest region, in percent."""
        if self.home_price_usd is None:
            return None
        return (self.home_price_usd / self.price_usd - 1) * 100


def table(release: Release, name: str) -> pl.LazyFrame:
    """Open a table of a release; columns that came after the release are null."""
    frame = pl.scan_parquet(release.table(name))
    there = frame.collect_schema().names()
    later = [field for field in TABLE[name].fields if field.name not in there]
    return frame.with_columns(pl.lit(None, dtype=field.dtype).alias(field.name) for field in later)


def find_instance_type(release: Release, asked: str) -> pl.DataFrame:
    """Find a type by name, without case: provider and instance_type as they are spelled.

    Raises UnknownNameError with the nearest names.
    """
    known = table(release, "instance_types").select("provider", "instance_type").collect()
    name = pl.col("instance_type").str.to_lowercase()
    found = known.filter(name == asked.strip().lower())
    if not found.is_empty():
        return found
    near = ", ".join(_nearest(asked.strip().lower(), known["instance_type"].to_list()))
    hint = f"Did you mean {near}?" if near else "`price-catalog sql` lists them all."
    raise UnknownNameError(f"release {release.id} has no instance type {asked!r}. {hint}")


def cheapest(
    release: Release,
    asked: str,
    *,
    scope: str | None,
    operating_system: str,
    purchase_option: str | None,
) -> pl.DataFrame:
    """Return the rows of cheapest_region of a type; of all scopes and ways to pay where None."""
    found = find_instance_type(release, asked)
    rows = (
        table(release, "cheapest_region")
        .join(found.lazy(), on=["provider", "instance_type"], how="semi")
        .filter(pl.col("operating_system") == operating_system)
    )
    if scope is not None:
        rows = rows.filter(pl.col("scope") == scope)
    if purchase_option is not None:
        rows = rows.filter(pl.col("purchase_option") == purchase_option)
    in_order = (
        pl.col("purchase_option").cast(pl.Enum(PURCHASE_OPTIONS)),
        *("commitment_type", "term_years", "payment_option"),
        pl.col("scope").cast(pl.Enum(SCOPES)),
    )
    return rows.sort(in_order).collect()


def prices(
    release: Release,
    asked: str,
    *,
    region_id: str | None,
    operating_system: str | None,
    purchase_option: str | None,
) -> pl.DataFrame:
    """Return the prices of a type, cheapest first; what is None does not narrow them."""
    found = find_instance_type(release, asked)
    rows = table(release, "prices").join(found.lazy(), on=["provider", "instance_type"], how="semi")
    if region_id is not None:
        rows = rows.filter(pl.col("region_id").str.to_lowercase() == region_id.lower())
    for name, value in (
        ("operating_system", operating_system),
        ("purchase_option", purchase_option),
    ):
        if value is not None:
            rows = rows.filter(pl.col(name) == value)
    return rows.sort("effective_hourly_price", *PRICES.key).collect()


def home_gap(release: Release, instance_type: str, home_region_id: str) -> HomeGap | None:
    """Compare home with the cheapest region of the world; None where nothing is priced."""
    world = (
        table(release, "cheapest_region")
        .filter(
            _ON_DEMAND,
            pl.col("instance_type") == instance_type,
            pl.col("scope") == "world",
            pl.col("operating_system") == "linux",
        )
        .collect()
    )
    if world.is_empty():
        return None
    row = world.row(0, named=True)
    home = (
        table(release, "prices")
        .filter(
            _ON_DEMAND,
            pl.col("instance_type") == instance_type,
            pl.col("region_id") == home_region_id,
            pl.col("operating_system") == "linux",
            pl.col("license_model") == "included",
            pl.col("tenancy") == "shared",
            pl.col("pre_installed_software") == "none",
            pl.col("currency") == "USD",
        )
        .collect()["effective_hourly_price"]
    )
    return HomeGap(
        instance_type=instance_type,
        cheapest=(row["region_id"], *row["tied_region_ids"]),
        price_usd=row["price_usd"],
        home_region_id=home_region_id,
        home_price_usd=None if home.is_empty() else home.item(),
    )


def price_dates(release: Release) -> pl.DataFrame:
    """Return, for each of a provider's publications, of when it is and whether it is recorded.

    Columns: provider, source, is_recorded, first_date, last_date (UTC): when it was published, or
    fetched where it does not say.
    """
    when = pl.coalesce("published_at", "fetched_at")
    return (
        table(release, "sources")
        .filter(pl.col("source").is_in(_SPOKEN))
        .group_by("provider", "source", "is_recorded")
        .agg(first_date=when.min(), last_date=when.max())
        .sort("provider", "source", "is_recorded")
        .collect()
    )


def rate_provenance(release: Release) -> str:
    """Say of which day the exchange rate of the views is, and what is to be known about it."""
    newest = table(release, "fx_rates").select(pl.col("rate_date").max()).collect().item()
    if newest is None:
        return "No exchange rate: prices in euro are not known."
    notes = (
        table(release, "sources")
        .filter(pl.col("source") == RATES_SOURCE, pl.col("note").is_not_null())
        .collect()["note"]
    )
    return " ".join([f"Exchange rate of {newest:%Y-%m-%d}.", *notes])


def _nearest(asked: str, known: list[str]) -> list[str]:
    lowered = {name.lower(): name for name in sorted(known)}
    parts = [name for name in lowered if asked in name][:_NAMES_OFFERED]
    close = get_close_matches(asked, lowered, n=_NAMES_OFFERED, cutoff=0.6)
    return [lowered[name] for name in dict.fromkeys([*close, *parts])][:_NAMES_OFFERED]


def release_list(releases: Sequence[Release]) -> pl.DataFrame:
    """Return one row a release."""
    return pl.DataFrame(
        {
            "release": [release.id for release in releases],
            "as_of": [release.manifest.as_of for release in releases],
            "prices": [release.manifest.tables["prices"].rows for release in releases],
            "verdict": [release.manifest.quality.verdict for release in releases],
            "warnings": [release.manifest.quality.warning for release in releases],
            "rows_rejected": [release.manifest.quality.rows_rejected for release in releases],
            "schema_version": [release.manifest.schema_version for release in releases],
        },
        schema_overrides={"as_of": TIMESTAMP},
    )


def dictionary(release: Release, name: str | None) -> pl.DataFrame:
    """Return the data dictionary that a release was published with: all tables, or one's columns.

    Raises UnknownNameError where there is no such table.
    """
    described = json.loads(release.read(DICTIONARY))["tables"]
    if name is None:
        return pl.DataFrame(
            [
                {
                    "table": entry["name"],
                    "rows": release.manifest.tables[entry["name"]].rows,
                    "key": ", ".join(entry["key"]),
                    "description": entry["description"],
                }
                for entry in described
            ]
        )
    for entry in described:
        if entry["name"] == name:
            columns = [
                {**column, "vocabulary": ", ".join(column["vocabulary"] or ()) or None}
                for column in entry["columns"]
            ]
            return pl.DataFrame(columns, infer_schema_length=None).drop("parquet_type")
    known = ", ".join(entry["name"] for entry in described)
    raise UnknownNameError(f"release {release.id} has no table {name!r}; it has {known}")


def provenance(release: Release) -> list[str]:
    """Say which release an answer is from and of which day its prices are."""
    lines = [f"Release {release.id}."]
    for provider, source, is_recorded, first, last in price_dates(release).iter_rows():
        days = (
            f"{first:%Y-%m-%d}"
            if first.date() == last.date()
            else f"{first:%Y-%m-%d} to {last:%Y-%m-%d}"
        )
        name = {"aws": "AWS", "azure": "Azure"}[provider]
        lines.append(
            f"{name}: recorded {_SPOKEN[source]} of {days}, not today's."
            if is_recorded
            else f"{name}: {_SPOKEN[source]} of {days}."
        )
    return lines
