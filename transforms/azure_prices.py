"""Azure retail items to list prices: what each of a size's many meters is the price of.

A size has meters for Linux and Windows, each plain, as spot and as low priority, each of them once
more as Dev/Test, and its Linux meter also as reservations. A plain item quotes the savings plans
of its price. Host groups and Cloud Services go under the same service and partly under the same
size names. An item of a kind that is known to be no machine's price is filtered by name; the rest
must prove to be one of these kinds, for guessing publishes a wrong price.

What the names say (all 436 products and 331,232 meters of 58 regions, August 2026):
- The system is in productName alone: Windows products end in " Windows" (one in " Win"), the others
  are Linux, whether they end in " Linux" or not. No other system is priced here. Families are
  open-ended, but what follows their name is not: Series or Srs, once Basic, then the system.
- Spot and low priority are the endings " Spot" and " Low Priority" of both skuName and meterName.
- A promotion says so in productName, and the newest also in skuName and meterName.
- Reservations are listed under Linux products only (820 items of 2021 to 2026).
- isPrimaryMeterRegion says nothing about a price: where it is false is often the only Linux row.
- Neither meterId nor skuId is a key, and skuName is free text: armSkuName is the size.

Source: Azure Retail Prices API, item fields; Azure Hybrid Benefit and Dev/Test pricing; Azure
Reservations (retailPrice is the sum of the term, whatever the unit says).
"""

from collections.abc import Collection, Iterable
from typing import NamedTuple

import polars as pl

from transforms.fx_rates import divide_money
from transforms.normalized import Normalized, first_rule, rejected_frame
from transforms.regions import partition_of
from warehouse.schemas.parts import (
    INSTANCE_FACTS,
    LISTINGS,
    PRICE_CANDIDATES,
    REJECTED,
    ROW_COUNTS,
)
from warehouse.schemas.raw import AZURE_RETAIL_ITEMS
from warehouse.schemas.rules import azure, shared
from warehouse.schemas.rules.rule import Rule
from warehouse.schemas.table import PRICE

_USD = "USD"
_RESERVATION_YEARS = {"1 Year": 1, "3 Years": 3, "5 Years": 5}
_SAVINGS_PLAN_YEARS = {"1 Year": 1, "3 Years": 3}
_HOURS_A_YEAR = 8760
_SPOT = " Spot"
_LOW_PRIORITY = " Low Priority"
_TIER_WORDS = ["spot", "priority"]
_HOST_PRODUCT = r"(?i)dedicated ?host"
_HOST_SIZE = r"[-_]Type[0-9]+$"
"""Dsv5_Type1, Mmsv2MedMem-Type1; but Standard_E4ds_v4_ADHType1 is a machine, with its own price."""
_CLOUD_SERVICES_PRODUCT = r"(?i)cloud ?services"
_PLAIN_PRODUCT = (
    r"^(?:Virtual Machines )?"
    r"(?:.+[ -](?:[Ss]eries|Srs)(?: Basic)?|[^ ]+)"
    r"(?: Linux| Windows| Win)?$"
)
"""Where the word Series is missing (HBrsv5 Linux), only a family of one word can be told."""
_OTHER_PRODUCT = (
    r"(?i)(?-u:\b)(?:windows|win|rhel|red hat|suse|sles|ubuntu|sql|oracle|centos|debian|"
    r"hybrid|benefit|licen[cs]es?|byol|ahu?b|dev ?/? ?test|reserved|reservations?)(?-u:\b)"
)
_NO_AMOUNT = [shared.ZERO_PRICE.id, azure.SUM_BEYOND_MONEY.id]
_FILTERS = [rule.id for rule in (*shared.SHARED, *azure.AZURE) if rule.kind == "filter"]
_TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


class _Check(NamedTuple):
    """A rule, the rows that it takes, and the column that shows why.

    A rule with several reasons to take a row has a check for each.
    """

    rule: Rule
    takes: pl.Expr
    shows: str


def normalize_retail_pages(
    pages: Iterable[tuple[str, pl.DataFrame]],
    *,
    region_id: str,
    regions: pl.DataFrame,
    currencies: Collection[str] = ("USD",),
) -> Normalized:
    """Turn AZURE_RETAIL_ITEMS into list prices, and account for every item and savings plan rate.

    Kept are the meters of Linux and of Windows (licence included), plain, spot and low priority;
    the Dev/Test meters of Windows: what the machine costs with a licence of one's own (Azure
    Hybrid Benefit, byol); reservations; and the savings plans that plain items quote. A
    reservation covers the machine and never a Windows licence, so its system is Linux; its one sum
    is the upfront fee. Prices of every date are kept, superseded, ended and announced ones too.

    A rate of a savings plan is a row of its own: rows are items + rates. It goes the way of its
    item where that is filtered or refused; it is judged by itself where the item is a price, which
    stays one whatever is wrong with the rate.

    In a currency for reference, a price that Azure rounds to zero, or that is too large for money,
    is no price, and yet it replaces the one before it: that one gets its start as its end.

    Row-local but for that: pages in US dollars may be given together or one at a time, in any
    order, with the same result. Together is a third of the work, for a page is so small that most
    of it is spent on starting. Pages in other currencies are given together, a region at a time.
    Items that are equal, or contradict each other, are settled later, over the whole region.

    Args:
        pages: pairs of source_id and AZURE_RETAIL_ITEMS.
        region_id: region that the pages are of. The items' armRegionName must be it, in whatever
            case; prices have it as it is spelled here.
        regions: REGIONS.
        currencies: codes (ISO 4217) that were asked for. Prices in another one than US dollars are
            flagged `reference`: Microsoft sells by dollars and lists those for orientation.

    Returns:
        Prices, refused rows and counts. Items say nothing of a size beyond its price, nor that a
        size is listed without one for a reason, so there are no facts and no listings. The `row`
        of a refused rate is its item, with that rate alone in `savings_plan`.
    """
    is_known = partition_of(regions, "azure", region_id) is not None
    references = [currency for currency in currencies if currency != _USD]
    raw = _of_one_frame(list(pages))
    products = raw.select(pl.col("product_name").unique())
    checks = [
        *_filters(products, references),
        *_rejects(products, region_id, is_known=is_known, currencies=currencies),
    ]
    items = _with_replaced_at(_judged(raw, checks), references)
    rate_checks = [*_rate_filters(references), *_rate_rejects()]
    rates = _judged_rates(items, rate_checks)
    return Normalized(
        prices=pl.concat(
            [_item_prices(items.lazy(), region_id), _rate_prices(rates.lazy(), region_id)]
        ).collect(engine="in-memory"),
        rejected=pl.concat(
            [
                _rejected(items, checks, region_id),
                _rejected(rates, [*checks, *rate_checks], region_id),
            ]
        ),
        counts=_counts(items, rates),
        instance_facts=INSTANCE_FACTS.empty(),
        listings=LISTINGS.empty(),
    )


def _of_one_frame(pages: list[tuple[str, pl.DataFrame]]) -> pl.DataFrame:
    """Stack pages, each row with its source_id as an Enum: a code a row is counted fast.

    In one chunk, for an expression starts anew for each chunk of its column.
    """
    sources = pl.Enum(list(dict.fromkeys(source_id for source_id, _ in pages)))
    stacked = pl.concat(
        (
            page.lazy().with_columns(source_id=pl.lit(source_id, dtype=sources))
            for source_id, page in [*pages, (None, AZURE_RETAIL_ITEMS.empty())]
        ),
        rechunk=True,
    )
    return stacked.collect(engine="in-memory")


def _judged(rows: pl.DataFrame, checks: list[_Check]) -> pl.DataFrame:
    # Lazily, because most checks share their parts with others.
    return rows.lazy().with_columns(rule=_first_rule(checks)).collect(engine="in-memory")


def _with_replaced_at(items: pl.DataFrame, references: list[str]) -> pl.DataFrame:
    """Add `replaced_at`: when a later item of the same meter gives no amount; null where none does.

    Such an item is filtered and cannot supersede those before it. In US dollars it need not: 0
    says there that nothing is listed. In the others it may as well be a price that was rounded.

    Args:
        items: AZURE_RETAIL_ITEMS with rule.
        references: currencies in which prices are for reference.
    """
    never = pl.lit(None, dtype=pl.Datetime("us"))
    # Nearly always there are only US dollars, and nothing to look for.
    if not references:
        return items.with_columns(replaced_at=never)
    slot = ["currency_code", "size", "type", "reservation_term", "windows", "spot", "low_priority"]
    numbered = items.lazy().with_row_index("item")
    listed = numbered.filter(pl.col("currency_code").is_in(references)).select(
        "item",
        "currency_code",
        "type",
        "reservation_term",
        "rule",
        size=_size().str.to_lowercase(),
        windows=_is_windows(),
        spot=_is_spot(),
        low_priority=_is_low_priority(),
        since=_time("effective_start_date"),
    )
    without_amount = listed.filter(pl.col("rule").cast(pl.String).is_in(_NO_AMOUNT)).select(
        *slot, replaced_at="since"
    )
    replaced = (
        listed.join(without_amount, on=slot, how="inner", nulls_equal=True)
        .filter(pl.col("since") < pl.col("replaced_at"))
        .group_by("item")
        .agg(pl.col("replaced_at").min())
    )
    return (
        numbered.join(replaced, on="item", how="left", maintain_order="left")
        .drop("item")
        .collect(engine="in-memory")
    )


def _judged_rates(items: pl.DataFrame, checks: list[_Check]) -> pl.DataFrame:
    """Give each savings plan rate a row: its item with that rate alone, and the rule for it.

    Args:
        items: AZURE_RETAIL_ITEMS with source_id, rule and replaced_at.
        checks: what a rate must stand where its item is a price.

    Returns:
        The same columns, with plan_term and plan_rate.
    """
    quoted = items.lazy().filter(pl.col("savings_plan").list.len() > 0).explode("savings_plan")
    rates = quoted.with_columns(
        pl.concat_list("savings_plan"),
        plan_term=pl.col("savings_plan").struct.field("term"),
        plan_rate=pl.col("savings_plan").struct.field("retail_price"),
        rule=pl.col("rule").cast(pl.String),
    )
    own_rule = _first_rule(checks).cast(pl.String)
    return rates.with_columns(pl.coalesce("rule", own_rule)).collect(engine="in-memory")


def _counts(*judged: pl.DataFrame) -> pl.DataFrame:
    """Count rows by document and rule: ROW_COUNTS, sorted by key."""
    taken = pl.concat(
        rows.lazy().select("source_id", pl.col("rule").cast(pl.String)) for rows in judged
    )
    counted = taken.group_by("source_id", "rule").len("rows")
    counts = counted.select(
        pl.col("source_id").cast(pl.String),
        pl.when(pl.col("rule").is_null())
        .then(pl.lit("kept"))
        .when(pl.col("rule").is_in(_FILTERS))
        .then(pl.lit("filtered"))
        .otherwise(pl.lit("rejected"))
        .alias("outcome"),
        "rule",
        pl.col("rows").cast(pl.Int64),
    )
    return counts.sort(ROW_COUNTS.key).collect(engine="in-memory")


def _rejected(judged: pl.DataFrame, checks: list[_Check], region_id: str) -> pl.DataFrame:
    refused = judged.filter(~pl.col("rule").cast(pl.String).is_in(_FILTERS))
    if refused.is_empty():
        return REJECTED.empty()
    return rejected_frame(
        refused,
        source_id=pl.col("source_id").cast(pl.String),
        provider="azure",
        region_id=region_id,
        rule=pl.col("rule"),
        reason=_reason(checks),
        row_columns=AZURE_RETAIL_ITEMS.columns,
    )


def _first_rule(checks: list[_Check]) -> pl.Expr:
    return first_rule([(check.rule, check.takes) for check in checks])


def _filters(products: pl.DataFrame, references: list[str]) -> list[_Check]:
    """Items that are known to be no price of a machine, or none that can be held."""
    product, meter = pl.col("product_name"), pl.col("meter_name")
    is_host = _by_product(products, product.str.contains(_HOST_PRODUCT)) | _size().str.contains(
        _HOST_SIZE
    )
    is_cloud_service = _by_product(products, product.str.contains(_CLOUD_SERVICES_PRODUCT))
    return [
        _Check(azure.OTHER_SERVICE, pl.col("service_name") != "Virtual Machines", "service_name"),
        _Check(azure.DEDICATED_HOST, is_host, "product_name"),
        _Check(azure.CLOUD_SERVICES, is_cloud_service, "product_name"),
        _Check(azure.EXPIRED_METER, meter.str.ends_with(" - Expired"), "meter_name"),
        _Check(
            azure.NEVER_IN_FORCE,
            _time("effective_end_date") <= _time("effective_start_date"),
            "effective_end_date",
        ),
        *_amount_filters("retail_price", references),
    ]


def _amount_filters(column: str, references: list[str]) -> list[_Check]:
    amount, is_reference = pl.col(column), pl.col("currency_code").is_in(references)
    return [
        _Check(shared.ZERO_PRICE, amount == 0, column),
        _Check(azure.SUM_BEYOND_MONEY, is_reference & _is_beyond_money(amount), column),
    ]


def _amount_rejects(column: str) -> list[_Check]:
    amount = pl.col(column)
    return [
        _Check(azure.PRICE_BEYOND_MONEY, _is_beyond_money(amount), column),
        _Check(shared.UNPARSEABLE_PRICE, amount.is_null(), column),
        _Check(shared.NEGATIVE_PRICE, amount < 0, column),
    ]


def _is_beyond_money(amount: pl.Expr) -> pl.Expr:
    return amount == pl.lit(azure.LARGEST_AMOUNT, dtype=PRICE)


def _rejects(
    products: pl.DataFrame, region_id: str, *, is_known: bool, currencies: Collection[str]
) -> list[_Check]:
    """Items that should be a price of a machine and do not prove to be one."""
    is_foreign = pl.col("arm_region_name").str.to_lowercase() != region_id.lower()
    is_other_product = _by_product(products, _is_other_product())
    is_promo = (
        _by_product(products, _speaks_of("promo", "product_name"))
        | _speaks_of("promo", "sku_name")
        | _speaks_of("promo", "meter_name")
    )
    has_own_size = _speaks_of("_promo", "arm_sku_name")
    end = "effective_end_date"
    has_bad_end = _time(end).is_null() & pl.col(end).is_not_null()
    return [
        _Check(shared.FOREIGN_REGION, is_foreign, "arm_region_name"),
        _Check(shared.UNKNOWN_REGION, pl.lit(not is_known), "arm_region_name"),
        _Check(azure.UNKNOWN_RESERVATION_TERM, _has_unknown_term(), "reservation_term"),
        _Check(
            azure.UNKNOWN_PRICE_TYPE,
            ~pl.col("type").is_in(["Consumption", "DevTestConsumption", "Reservation"]),
            "type",
        ),
        _Check(azure.UNKNOWN_METER, _names_are_unclear(), "meter_name"),
        _Check(azure.UNKNOWN_OPERATING_SYSTEM, is_other_product, "product_name"),
        _Check(azure.DEV_TEST_NOT_WINDOWS, _is_dev_test() & ~_is_windows(), "product_name"),
        _Check(azure.RESERVATION_OF_WINDOWS, _is_reservation() & _is_windows(), "product_name"),
        _Check(azure.NO_INSTANCE_TYPE, _size() == "", "arm_sku_name"),
        _Check(azure.PROMO_ON_ORDINARY_SIZE, is_promo & ~has_own_size, "arm_sku_name"),
        _Check(shared.UNKNOWN_UNIT, pl.col("unit_of_measure") != "1 Hour", "unit_of_measure"),
        _Check(
            azure.VOLUME_TIER,
            (pl.col("tier_minimum_units") != 0).fill_null(value=True),
            "tier_minimum_units",
        ),
        _Check(
            shared.UNKNOWN_CURRENCY,
            ~pl.col("currency_code").is_in(list(currencies)),
            "currency_code",
        ),
        *_amount_rejects("retail_price"),
        _Check(
            shared.UNPARSEABLE_DATE,
            _time("effective_start_date").is_null(),
            "effective_start_date",
        ),
        _Check(shared.UNPARSEABLE_DATE, has_bad_end, end),
    ]


def _rate_filters(references: list[str]) -> list[_Check]:
    """Savings plan rates that are known to be no price, though their item is one."""
    return _amount_filters("plan_rate", references)


def _rate_rejects() -> list[_Check]:
    """Savings plan rates that should be a price and do not prove to be one."""
    term = pl.col("plan_term")
    is_plain = (pl.col("type") == "Consumption") & ~_is_spot() & ~_is_low_priority()
    return [
        _Check(azure.UNKNOWN_SAVINGS_PLAN, ~is_plain, "meter_name"),
        _Check(
            azure.UNKNOWN_SAVINGS_PLAN_TERM, ~term.is_in(list(_SAVINGS_PLAN_YEARS)), "plan_term"
        ),
        *_amount_rejects("plan_rate"),
    ]


def _has_unknown_term() -> pl.Expr:
    term = pl.col("reservation_term")
    has_known_term = term.is_in(list(_RESERVATION_YEARS)).fill_null(value=False)
    return pl.when(_is_reservation()).then(~has_known_term).otherwise(term.is_not_null())


def _names_are_unclear() -> pl.Expr:
    """Tell names that speak of spot or low priority elsewhere than in their one common ending."""
    has_ending = _is_spot() | _is_low_priority()
    name = pl.col("sku_name", "meter_name")
    rest = (
        pl.when(_is_spot())
        .then(name.str.strip_suffix(_SPOT))
        .when(_is_low_priority())
        .then(name.str.strip_suffix(_LOW_PRIORITY))
        .otherwise(name)
    )
    speaks = pl.any_horizontal(rest.str.contains_any(_TIER_WORDS, ascii_case_insensitive=True))
    return speaks | (_is_reservation() & has_ending)


def _by_product(products: pl.DataFrame, condition: pl.Expr) -> pl.Expr:
    """Tell items by a condition on product_name, tried once a name: a region has few of them."""
    return pl.col("product_name").is_in(products.filter(condition).to_series().implode())


def _is_other_product() -> pl.Expr:
    """Tell names that are not plainly those of a Linux or a Windows machine."""
    product = pl.col("product_name")
    family = product.str.strip_suffix(" Windows").str.strip_suffix(" Win")
    return ~product.str.contains(_PLAIN_PRODUCT) | family.str.contains(_OTHER_PRODUCT)


def _speaks_of(word: str, column: str) -> pl.Expr:
    return pl.col(column).str.contains_any([word], ascii_case_insensitive=True)


def _is_reservation() -> pl.Expr:
    return pl.col("type") == "Reservation"


def _is_dev_test() -> pl.Expr:
    return pl.col("type") == "DevTestConsumption"


def _is_spot() -> pl.Expr:
    return _both_names_end(_SPOT)


def _is_low_priority() -> pl.Expr:
    return _both_names_end(_LOW_PRIORITY)


def _size() -> pl.Expr:
    return pl.col("arm_sku_name").str.strip_chars()


def _both_names_end(ending: str) -> pl.Expr:
    return pl.col("sku_name").str.ends_with(ending) & pl.col("meter_name").str.ends_with(ending)


def _is_windows() -> pl.Expr:
    product = pl.col("product_name")
    return product.str.ends_with(" Windows") | product.str.ends_with(" Win")


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


def _item_prices(judged: pl.LazyFrame, region_id: str) -> pl.LazyFrame:
    """Items that no rule took as PRICE_CANDIDATES."""
    reserved = _is_reservation()
    years = pl.col("reservation_term").replace_strict(
        _RESERVATION_YEARS, default=None, return_dtype=pl.Int32
    )
    price = pl.col("retail_price")
    of_term = divide_money(price, _HOURS_A_YEAR * years)
    return _candidates(
        judged,
        region_id,
        license_model=pl.when(_is_dev_test()).then(pl.lit("byol")).otherwise(pl.lit("included")),
        purchase_option=pl.when(reserved)
        .then(pl.lit("reserved"))
        .when(_is_spot())
        .then(pl.lit("spot"))
        .when(_is_low_priority())
        .then(pl.lit("low_priority"))
        .otherwise(pl.lit("on_demand")),
        commitment_type=pl.when(reserved).then(pl.lit("azure")),
        term_years=years,
        payment_option=pl.when(reserved).then(pl.lit("all_upfront")),
        hourly_rate=pl.when(reserved).then(pl.lit(0, dtype=PRICE)).otherwise(price),
        upfront_fee=pl.when(reserved).then(price),
        effective_hourly_price=pl.when(reserved).then(of_term).otherwise(price),
        pricing_category=pl.when(reserved)
        .then(pl.lit("Committed"))
        .when(_is_spot() | _is_low_priority())
        .then(pl.lit("Dynamic"))
        .otherwise(pl.lit("Standard")),
        sku_price_id=pl.when(reserved)
        .then(pl.format("{}/Reservation/{}", "meter_id", "reservation_term"))
        .otherwise("meter_id"),
    )


def _rate_prices(judged: pl.LazyFrame, region_id: str) -> pl.LazyFrame:
    """Savings plan rates that no rule took as PRICE_CANDIDATES."""
    term = pl.col("plan_term")
    return _candidates(
        judged,
        region_id,
        license_model=pl.lit("included"),
        purchase_option=pl.lit("savings_plan"),
        commitment_type=pl.lit("azure_compute"),
        term_years=term.replace_strict(_SAVINGS_PLAN_YEARS, default=None, return_dtype=pl.Int32),
        payment_option=pl.lit("no_upfront"),
        hourly_rate=pl.col("plan_rate"),
        upfront_fee=pl.lit(None, dtype=PRICE),
        effective_hourly_price=pl.col("plan_rate"),
        pricing_category=pl.lit("Committed"),
        sku_price_id=pl.format("{}/SavingsPlan/{}", "meter_id", term),
    )


def _candidates(judged: pl.LazyFrame, region_id: str, **terms: pl.Expr) -> pl.LazyFrame:
    """PRICE_CANDIDATES of the rows without a rule: `terms` is what differs between the kinds."""
    return (
        judged.filter(pl.col("rule").is_null())
        .select(
            provider=pl.lit("azure"),
            region_id=pl.lit(region_id),
            availability_zone_id=pl.lit(None, dtype=pl.String),
            instance_type=_size(),
            operating_system=pl.when(_is_windows())
            .then(pl.lit("windows"))
            .otherwise(pl.lit("linux")),
            pre_installed_software=pl.lit("none"),
            tenancy=pl.lit("shared"),
            currency="currency_code",
            pricing_unit=pl.lit("Hours"),
            valid_from=_time("effective_start_date").dt.replace_time_zone("UTC"),
            valid_to=pl.min_horizontal(
                _time("effective_end_date"), "replaced_at"
            ).dt.replace_time_zone("UTC"),
            sku_id="sku_id",
            price_quality=pl.when(pl.col("currency_code") == _USD)
            .then(pl.lit("ok"))
            .otherwise(pl.lit("reference")),
            source_id=pl.col("source_id").cast(pl.String),
            **terms,
        )
        .select(PRICE_CANDIDATES.columns)
    )
