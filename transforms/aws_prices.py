"""EC2 offer files to list prices, with an account of every row that is none.

A row is judged by itself, block after block, except that the rates of a reserved term wait for
each other until the end of the file (`transforms.aws_reserved_terms`).
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import polars as pl

from transforms.aws_instance_types import FACT_WORDS, host_facts, instance_facts
from transforms.aws_offer_checks import (
    NO_MACHINE,
    PRODUCT_WORDS,
    RATE_WORDS,
    blamed_words,
    currency_of,
    describes_a_machine,
    doubts,
    filters,
    is_capacity_block,
    is_host,
    read_words,
)
from transforms.aws_reserved_terms import RATE_COLUMNS, TERM, pair_rates
from transforms.checks import Check, judge, refused_rows, rule_of
from transforms.normalized import Normalized, count_rows, rejected_frame
from transforms.regions import partition_of
from warehouse.schemas.parts import AWS_SKUS, INSTANCE_FACTS, LISTINGS, PRICE_CANDIDATES
from warehouse.schemas.raw import AWS_OFFER_ROWS
from warehouse.schemas.rules import aws
from warehouse.schemas.table import PRICE, TIMESTAMP

_TEXTS = pl.Schema(dict.fromkeys(("usage_type", "operation", "rule"), pl.String))

_JUDGED_BY = (
    "sku",
    "offer_term_code",
    "rate_code",
    *RATE_WORDS,
    *PRODUCT_WORDS,
    "instance_type",
    "usage_type",
    "region_code",
    "currency",
    "price_per_unit",
    "effective_date",
)
"""The columns that decide what a row is; the others only describe the machine."""

_FILTERED_BY = rule_of(filters())

_SKU_WORDS = ("sku", "usage_type", "operation")

_SOLD_AS = {
    "instance_type": "instance_type",
    "operating_system": "product_system",
    "license_model": "product_license",
    "pre_installed_software": "product_software",
    "tenancy": "product_tenancy",
}
"""Columns of AWS_SKUS and PRICES, and of `read_words`, which holds what they say."""


class OfferFilePart(NamedTuple):
    """An offer file after normalisation. skus: AWS_SKUS, sorted by key."""

    normalized: Normalized
    skus: pl.DataFrame


class _Document(NamedTuple):
    source_id: str
    region_id: str
    currency: str


class _Block(NamedTuple):
    """A block's rows, each in one of the first three.

    filtered: `_SKU_WORDS`, `is_on_demand` and the `rule` that took them. rates: RATE_COLUMNS.
    doubtful: AWS_OFFER_ROWS and what `read_words` adds. machines: FACT_WORDS of the rows of any of
    them that describe a machine, each once, with `region_code`, `is_host` and `is_block` (capacity
    block).
    """

    filtered: pl.DataFrame
    rates: pl.DataFrame
    doubtful: pl.DataFrame
    machines: pl.DataFrame


def normalize_offer_file(
    blocks: Iterable[pl.DataFrame], *, source_id: str, region_id: str, regions: pl.DataFrame
) -> OfferFilePart:
    """Turn an offer file into every price that it holds, on demand and reserved.

    On demand, a row is a price. Reserved, a term is: its hourly row is kept, and its upfront fee is
    part of that price. Rows, and cuts between blocks, may come in any order. Rows that are equal,
    or contradict each other, are settled later, over the whole region.

    Memory grows with the prices, the SKUs and the narrow rates of reserved terms, not with what the
    file says of the machines.

    Args:
        blocks: AWS_OFFER_ROWS; together the whole file.
        source_id: document that they came in.
        region_id: region that the document is of. A row without a region code (older files have no
            such column) is of that region.
        regions: REGIONS; says in which currency the region's partition is priced.

    Returns:
        Prices, refused rows, counts, what the rows say of instance types and of hosts, and the
        types that are listed as capacity blocks; what each SKU of an instance or host is. A rate
        that is refused because its term is not whole is written with the columns that were kept
        of it, any other refused row with all of them.
    """
    partition = partition_of(regions, "aws", region_id)
    document = _Document(source_id, region_id, currency_of(partition))
    checks = doubts(region_id=region_id, partition=partition)
    filtered, rates, doubtful, machines = _read_blocks(blocks, checks)
    reasons = (*blamed_words(), *checks)
    doubtful = judge(doubtful, reasons)
    refused = refused_rows(doubtful, reasons)
    on_demand = rates.filter(pl.col("rate") == "on_demand").with_columns(
        upfront_fee=pl.lit(None, dtype=PRICE), effective_hourly_price="price"
    )
    terms = pair_rates(rates, refused.select(TERM))
    priced = pl.concat([on_demand, terms.priced])
    taken = pl.concat(
        [
            filtered.cast(_TEXTS),
            _taken(doubtful, is_on_demand=_is_on_demand()),
            _taken(terms.refused, is_on_demand=pl.lit(value=False)),
        ]
    )
    normalized = Normalized(
        prices=_prices(priced, document),
        rejected=pl.concat(
            [
                _rejected(refused, AWS_OFFER_ROWS.columns, document),
                _rejected(terms.refused, RATE_COLUMNS, document),
            ]
        ),
        counts=_counts(taken, priced, document),
        instance_facts=_facts(machines),
        listings=_capacity_blocks(machines, region_id),
    )
    return OfferFilePart(normalized, _skus(priced, taken))


def _read_blocks(blocks: Iterable[pl.DataFrame], checks: Sequence[Check]) -> _Block:
    """Sort the rows of all blocks by what they are, and keep of each what is needed of it."""
    is_doubtful = pl.any_horizontal(check.takes for check in checks).fill_null(value=False)
    found = [_read_block(block, is_doubtful) for block in blocks]
    if not found:
        found = [_read_block(AWS_OFFER_ROWS.empty(), is_doubtful)]
    return _Block(*map(pl.concat, zip(*found, strict=True)))


def _read_block(raw: pl.DataFrame, is_doubtful: pl.Expr) -> _Block:
    taken = raw.select(*_SKU_WORDS, is_on_demand=_is_on_demand(), rule=_FILTERED_BY)
    rule = taken["rule"]
    words = (
        raw.lazy()
        .select(_JUDGED_BY)
        .with_row_index("row")
        .filter(rule.is_null())
        .pipe(read_words)
        .with_columns(is_doubtful=is_doubtful)
        .collect(engine="in-memory")
    )
    doubtful = words.filter("is_doubtful")
    described = raw[doubtful["row"]].select(pl.exclude(_JUDGED_BY))
    machines = raw.lazy().filter(~rule.is_in(NO_MACHINE).fill_null(value=False))
    return _Block(
        filtered=taken.filter(rule.is_not_null()),
        rates=words.filter(~pl.col("is_doubtful"))
        .select(RATE_COLUMNS)
        .cast({"usage_type": pl.Categorical, "operation": pl.Categorical}),
        doubtful=pl.concat([doubtful, described], how="horizontal").drop("row", "is_doubtful"),
        machines=(
            machines.filter(describes_a_machine())
            .select(
                *FACT_WORDS,
                "region_code",
                is_host=is_host().fill_null(value=False),
                is_block=is_capacity_block().fill_null(value=False),
            )
            .unique()
            .collect(engine="in-memory")
        ),
    )


def _is_on_demand() -> pl.Expr:
    return pl.col("term_type").eq_missing(pl.lit("OnDemand"))


def _taken(rows: pl.DataFrame, *, is_on_demand: pl.Expr) -> pl.DataFrame:
    return rows.select(*_SKU_WORDS, is_on_demand=is_on_demand, rule="rule").cast(_TEXTS)


def _rejected(
    refused: pl.DataFrame, row_columns: Sequence[str], document: _Document
) -> pl.DataFrame:
    return rejected_frame(
        refused,
        source_id=document.source_id,
        provider="aws",
        region_id=document.region_id,
        rule=pl.col("rule"),
        reason=pl.col("reason"),
        row_columns=row_columns,
    )


def _counts(taken: pl.DataFrame, priced: pl.DataFrame, document: _Document) -> pl.DataFrame:
    """Count the rows that rules took, those that are prices, and the fees that are part of one."""
    rules = pl.concat(
        [
            taken["rule"],
            pl.repeat(None, priced.height, dtype=pl.String, eager=True),
            pl.repeat(aws.AWS_UPFRONT_FEE.id, priced["upfront_fee"].count(), eager=True),
        ]
    )
    return count_rows(rules.alias("rule").to_frame(), source_id=document.source_id)


def _prices(rates: pl.DataFrame, document: _Document) -> pl.DataFrame:
    """Spell rates as PRICE_CANDIDATES: RATE_COLUMNS with their fee and effective price."""
    is_reserved = pl.col("years").is_not_null()
    return (
        rates.lazy()
        .select(
            "upfront_fee",
            "effective_hourly_price",
            provider=pl.lit("aws"),
            region_id=pl.lit(document.region_id),
            availability_zone_id=pl.lit(None, dtype=pl.String),
            **_sold_as(),
            purchase_option=pl.when(is_reserved)
            .then(pl.lit("reserved"))
            .otherwise(pl.lit("on_demand")),
            commitment_type=pl.col("commitment").cast(pl.String),
            term_years="years",
            payment_option=pl.col("payment").cast(pl.String),
            hourly_rate="price",
            pricing_category=pl.when(is_reserved)
            .then(pl.lit("Committed"))
            .otherwise(pl.lit("Standard")),
            currency=pl.lit(document.currency),
            pricing_unit=pl.lit("Hours"),
            valid_from="effective_at",
            valid_to=pl.lit(None, dtype=TIMESTAMP),
            sku_id="sku",
            sku_price_id="rate_code",
            price_quality=pl.lit("ok"),
            source_id=pl.lit(document.source_id),
        )
        .pipe(PRICE_CANDIDATES.conform)
        .collect(engine="in-memory")
    )


def _sold_as() -> dict[str, pl.Expr]:
    return {name: pl.col(words).cast(pl.String) for name, words in _SOLD_AS.items()}


def _skus(priced: pl.DataFrame, taken: pl.DataFrame) -> pl.DataFrame:
    """Say of each SKU what it is, or else which rule took its rows: on demand before reserved.

    Should rows of one SKU differ, the first when sorted stands, so that their order does not
    matter; a price list that joins by SKU compares usage type and operation too.
    """
    sold = (
        priced.lazy()
        .select(*_SKU_WORDS, *_SOLD_AS.values())
        .unique()
        .sort(pl.all())
        .unique("sku", keep="first", maintain_order=True)
        .select(*_SKU_WORDS, rule=pl.lit(None, dtype=pl.String), **_sold_as())
        .cast(_TEXTS)
    )
    others = (
        taken.lazy()
        .filter(pl.col("rule") != aws.AWS_NOT_COMPUTE.id, pl.col("sku").is_not_null())
        .join(sold, on="sku", how="anti")
        .sort(~pl.col("is_on_demand"), "rule", "usage_type", "operation")
        .unique("sku", keep="first", maintain_order=True)
        .drop("is_on_demand")
    )
    return (
        pl.concat([sold, others], how="diagonal")
        .pipe(AWS_SKUS.conform)
        .sort(AWS_SKUS.key)
        .collect(engine="in-memory")
    )


def _facts(machines: pl.DataFrame) -> pl.DataFrame:
    """Read what is said of instance types and, apart from them, of hosts: INSTANCE_FACTS."""
    if not machines["is_host"].any():
        return instance_facts(machines)
    instances = instance_facts(machines.filter(~pl.col("is_host")))
    hosts = host_facts(machines.filter("is_host"))
    return pl.concat([instances, hosts]).sort(INSTANCE_FACTS.key)


def _capacity_blocks(machines: pl.DataFrame, region_id: str) -> pl.DataFrame:
    """List the types that the region sells as capacity blocks: LISTINGS, sorted by key."""
    is_foreign = pl.col("region_code").str.to_lowercase() != region_id.lower()
    return (
        machines.lazy()
        .filter("is_block", ~is_foreign.fill_null(value=False))
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
