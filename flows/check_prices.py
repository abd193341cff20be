"""Ask the providers for single types again, and compare with a release row by row.

What a provider lists goes through the same normalising as in a refresh, so a difference is one
of prices and not of reading them. A refresh is not needed for it, nor is anything written.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches

import polars as pl

from connectors.azure.retail_items import fetch_size_items
from connectors.azure.retail_prices import SOURCE
from connectors.http_client import HttpClient, HttpPolicy
from expectations.rows import split_rows
from flows import answers, reference
from flows.errors import UnknownNameError
from flows.planning import now
from flows.settings import CatalogSettings
from transforms.aws_prices import normalize_offer_file
from transforms.azure_prices import normalize_retail_pages
from transforms.list_prices import in_force, price_key, settle
from transforms.normalized import Normalized, combine
from transforms.reconciliation import compare_prices
from warehouse.releases import Release
from warehouse.schemas.catalog import PRICE_KEY_NOW, PRICES

PROVIDER_NAMES = {"aws": "AWS", "azure": "Azure"}

_REGIONS_OFFERED = 3
_IN_CHINA = "of China, which is another endpoint"
_FOR_REFERENCE = "for reference in other currencies"
_SAVINGS_PLANS = "savings plans, which GetProducts does not list"
_SPOT = "spot, which GetProducts does not list"
_OTHER_REGIONS = "listed in regions that are not in the release"
_NO_REGION = "listed without a region"
_REFUSED = "listed and refused, as a refresh does"


@dataclass(frozen=True, slots=True)
class CheckedType:
    """How one type of a release compares with what its provider lists now.

    differences: see `compare_prices`. compared: keys that either side has. not_compared: rows that
    were left out, by the reason why.
    """

    provider: str
    instance_type: str
    differences: pl.DataFrame
    compared: int
    not_compared: dict[str, int]

    @property
    def agrees(self) -> bool:
        """Tell whether there was something to compare, and all of it is equal."""
        return self.compared > 0 and self.differences.is_empty()

    @property
    def headline(self) -> str:
        """Say it in one line, with what was left out and why."""
        differing = self.differences.height
        name = f"{self.instance_type} ({PROVIDER_NAMES[self.provider]})"
        said = (
            f"{name}: {self.compared} rows compared, {self.compared - differing} equal, "
            f"{differing} differ."
            if self.compared
            else f"{name}: nothing to compare, so nothing is checked."
        )
        left_out = "; ".join(f"{rows} {reason}" for reason, rows in self.not_compared.items())
        return f"{said} Not compared: {left_out}." if left_out else said


@dataclass(frozen=True, slots=True)
class _Scope:
    """Where a provider is asked, and the release compared: its regions as the release spells them.

    asked: the same regions, or only None where all are asked for at once.
    """

    regions: tuple[str, ...]
    asked: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class _Listed:
    """Prices that a provider lists now, one a key, and how many of its rows are none for us."""

    prices: pl.DataFrame
    refused: int
    without_region: int


def check_prices(
    release: Release,
    types: Sequence[str],
    *,
    region_ids: Sequence[str],
    settings: CatalogSettings,
    as_of: datetime,
) -> tuple[CheckedType, ...]:
    """Compare what a release says of instance types with what their providers list at `as_of`.

    Compared are the regions that the release was made for. AWS is asked with GetProducts, at
    botocore's endpoint (AWS_ENDPOINT_URL_PRICING), Azure at `settings.azure_retail_prices_url`.

    Args:
        release: what was published.
        types: names of instance types, in any case.
        region_ids: only these regions, in any case; none means all.
        settings: endpoints, and how often a request is tried.
        as_of: moment of the comparison, with a time zone.

    Returns:
        One result a type, in the order asked.

    Raises:
        UnknownNameError: the release has no such type, or nothing in a region for it.
        ConnectorError: a provider gives no answer or refuses, as AWS does without credentials.
            Then no type is compared: half an answer could be taken for a whole one.
    """
    found = pl.concat([answers.find_instance_type(release, name) for name in types])
    # Spellings of one type are one type.
    named = {(provider, name.lower()): name for provider, name in found.iter_rows()}
    if any(provider == "aws" for provider, _ in named):
        # boto3 takes half a second to import, which no other command should pay.
        from connectors.aws.products import require_credentials  # noqa: PLC0415

        require_credentials()
    scopes = _scopes(release, {provider for provider, _ in named}, region_ids)
    return tuple(
        _check(release, provider, name, scopes[provider], settings=settings, as_of=as_of)
        for (provider, _), name in named.items()
    )


def _scopes(
    release: Release, providers: Iterable[str], region_ids: Sequence[str]
) -> dict[str, _Scope]:
    """Find each provider's regions among those asked for; each region and provider must be met."""
    covered = {provider: _regions_of(release, provider) for provider in sorted(providers)}
    if not region_ids:
        return {provider: _Scope(regions, (None,)) for provider, regions in covered.items()}
    wanted = {name.strip().lower() for name in region_ids}
    chosen = {
        provider: tuple(name for name in regions if name.lower() in wanted)
        for provider, regions in covered.items()
    }
    unmet = wanted - {name.lower() for regions in chosen.values() for name in regions}
    if unmet:
        raise UnknownNameError(
            f"release {release.id} has nothing of these types' providers in "
            f"{', '.join(sorted(unmet))}.{_hint(unmet, covered)}"
        )
    for provider, regions in chosen.items():
        if not regions:
            raise UnknownNameError(
                f"none of the regions {', '.join(sorted(wanted))} is one of "
                f"{PROVIDER_NAMES[provider]}'s, of which a type is asked for: name one"
            )
    return {provider: _Scope(regions, regions) for provider, regions in chosen.items()}


def _hint(unmet: Iterable[str], covered: dict[str, tuple[str, ...]]) -> str:
    known = [name for regions in covered.values() for name in regions]
    near = {
        close: None
        for name in sorted(unmet)
        for close in get_close_matches(name, known, n=_REGIONS_OFFERED)
    }
    return f" Did you mean {', '.join(near)}?" if near else ""


def _regions_of(release: Release, provider: str) -> tuple[str, ...]:
    """Give the regions that a release was made for, sorted."""
    sources = answers.table(release, "sources").filter(
        pl.col("provider") == provider, pl.col("region_id").is_not_null()
    )
    return tuple(sources.select(pl.col("region_id").unique().sort()).collect()["region_id"])


def _check(
    release: Release,
    provider: str,
    instance_type: str,
    scope: _Scope,
    *,
    settings: CatalogSettings,
    as_of: datetime,
) -> CheckedType:
    in_scope = _without_case("region_id", scope.regions)
    published = (
        answers.table(release, PRICES.name)
        .filter(
            pl.col("provider") == provider,
            _without_case("instance_type", [instance_type]),
            in_scope,
        )
        .with_columns(left_out=_left_out())
        .collect()
    )
    spellings = sorted({instance_type, *published["instance_type"]})
    listed = _ASK[provider](spellings, scope.asked, settings, as_of)
    at_provider = listed.prices.filter(in_scope)
    of_release = published.filter(pl.col("left_out").is_null()).drop("left_out")
    left_out = published["left_out"].drop_nulls().value_counts(sort=True, name="rows")
    not_compared = {
        **dict(left_out.sort("left_out").iter_rows()),
        _OTHER_REGIONS: listed.prices.height - at_provider.height,
        _NO_REGION: listed.without_region,
        _REFUSED: listed.refused,
    }
    keys = pl.concat([of_release, at_provider]).select(price_key(PRICE_KEY_NOW))
    return CheckedType(
        provider=provider,
        instance_type=instance_type,
        differences=compare_prices(of_release, at_provider),
        compared=keys.n_unique(),
        not_compared={reason: rows for reason, rows in not_compared.items() if rows},
    )


def _without_case(column: str, values: Iterable[str]) -> pl.Expr:
    return pl.col(column).str.to_lowercase().is_in([value.lower() for value in values])


def _left_out() -> pl.Expr:
    """Say why a published row is not compared; null where it is."""
    is_aws = pl.col("provider") == "aws"
    return (
        pl.when(is_aws & pl.col("region_id").is_in(reference.region_ids("aws", "aws-cn")))
        .then(pl.lit(_IN_CHINA))
        .when(pl.col("price_quality").str.split(",").list.contains("reference"))
        .then(pl.lit(_FOR_REFERENCE))
        .when(is_aws & (pl.col("purchase_option") == "savings_plan"))
        .then(pl.lit(_SAVINGS_PLANS))
        .when(is_aws & (pl.col("purchase_option") == "spot"))
        .then(pl.lit(_SPOT))
    )


def _ask_aws(
    spellings: Sequence[str],
    region_ids: Sequence[str | None],
    settings: CatalogSettings,
    as_of: datetime,
) -> _Listed:
    from connectors.aws.pricing_api import create_pricing_client  # noqa: PLC0415
    from connectors.aws.products import SOURCE, fetch_products  # noqa: PLC0415

    with closing(create_pricing_client(max_attempts=settings.http_max_attempts)) as pricing:
        rows = pl.concat(
            fetch_products(pricing, name, region_id=region_id)
            for name in spellings
            for region_id in region_ids
        )
    named = rows.filter(pl.col("region_code").is_not_null())
    parts = [
        normalize_offer_file(
            [of_region], source_id=SOURCE, region_id=region_id, regions=reference.regions()
        ).normalized
        for region_id, of_region in _by_region(named, "region_code")
    ]
    return _in_force(parts, as_of, without_region=rows.height - named.height)


def _ask_azure(
    spellings: Sequence[str],
    region_ids: Sequence[str | None],
    settings: CatalogSettings,
    as_of: datetime,
) -> _Listed:
    policy = HttpPolicy(
        max_attempts=settings.http_max_attempts, backoff_seconds=settings.http_backoff_seconds
    )
    with HttpClient(policy, sleep=time.sleep, now=now) as client:
        items = pl.concat(
            fetch_size_items(client, settings.azure_retail_prices_url, name, region_id=region_id)
            for name in spellings
            for region_id in region_ids
        )
    named = items.filter(pl.col("arm_region_name") != "")
    parts = [
        normalize_retail_pages(
            [(SOURCE, of_region)], region_id=region_id, regions=reference.regions()
        )
        for region_id, of_region in _by_region(named, "arm_region_name")
    ]
    return _in_force(parts, as_of, without_region=items.height - named.height)


_ASK = {"aws": _ask_aws, "azure": _ask_azure}


def _by_region(rows: pl.DataFrame, column: str) -> Iterator[tuple[str, pl.DataFrame]]:
    region = pl.col(column).str.to_lowercase()
    for (region_id,), of_region in rows.sort(region).group_by(region, maintain_order=True):
        yield str(region_id), of_region


def _in_force(parts: Iterable[Normalized], as_of: datetime, *, without_region: int) -> _Listed:
    """Take the steps from a region's rows to published prices, as `flows.candidate` does."""
    whole = combine(parts)
    settled = settle(whole.prices)
    force = in_force(settled.prices, rejected=settled.rejected, as_of=as_of)
    split = split_rows(PRICES.name, force.prices)
    refused = (whole.rejected, settled.rejected, force.rejected, split.rejected)
    return _Listed(
        prices=split.kept,
        refused=sum(rows.height for rows in refused),
        without_region=without_region,
    )
