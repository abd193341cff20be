"""What a release says against what a provider says: the prices in which they differ."""

import polars as pl

from transforms.list_prices import price_key
from warehouse.schemas.catalog import PRICE_KEY_NOW

ONLY_IN_RELEASE = "only_in_release"
ONLY_AT_PROVIDER = "only_at_provider"
PRICE_DIFFERS = "price_differs"

_AMOUNTS = ("hourly_rate", "upfront_fee", "effective_hourly_price")
_SHOWN = (*_AMOUNTS, "valid_from")
_PERCENT_DECIMALS = 6


def compare_prices(published: pl.DataFrame, listed: pl.DataFrame) -> pl.DataFrame:
    """Compare prices key by key, regions and instance types without case.

    Equal amounts are no difference, whatever the dates are from which they hold: AWS dates a price
    by its publication.

    Args:
        published: PRICES of the release, one row a key.
        listed: PRICES that the provider lists, in force at one moment, one row a key.

    Returns:
        One row a difference, sorted by key: `kind` (only_in_release, only_at_provider,
        price_differs), the key without valid_from (spelled as in the release, where it has it),
        then hourly_rate, upfront_fee, effective_hourly_price and valid_from of either side, as
        `published_*` and `listed_*`, and `difference_pct`: how much dearer the provider's effective
        price is (Float64, percent of the published one, to 6 decimals; null where one side has no
        price or the published one is 0).

    Raises:
        polars.exceptions.ComputeError: a key is there twice on one side.
    """
    key = price_key(PRICE_KEY_NOW)
    sides = published.join(
        listed,
        left_on=key,
        right_on=key,
        how="full",
        nulls_equal=True,
        validate="1:1",
        coalesce=False,
        suffix="_listed",
    )
    return (
        sides.select(
            _kind().alias("kind"),
            *(pl.coalesce(name, f"{name}_listed") for name in PRICE_KEY_NOW),
            *(pl.col(name).alias(f"published_{name}") for name in _SHOWN),
            *(pl.col(f"{name}_listed").alias(f"listed_{name}") for name in _SHOWN),
            _difference().alias("difference_pct"),
        )
        .filter(pl.col("kind").is_not_null())
        .sort(PRICE_KEY_NOW)
    )


def _kind() -> pl.Expr:
    """Name the difference; null where there is none."""
    differs = pl.any_horizontal(
        pl.col(name).ne_missing(pl.col(f"{name}_listed")) for name in _AMOUNTS
    )
    return (
        pl.when(pl.col("provider_listed").is_null())
        .then(pl.lit(ONLY_IN_RELEASE))
        .when(pl.col("provider").is_null())
        .then(pl.lit(ONLY_AT_PROVIDER))
        .when(differs)
        .then(pl.lit(PRICE_DIFFERS))
    )


def _difference() -> pl.Expr:
    price = "effective_hourly_price"
    before, now = (pl.col(name).cast(pl.Float64) for name in (price, f"{price}_listed"))
    return pl.when(before != 0).then(((now / before - 1) * 100).round(_PERCENT_DECIMALS))
