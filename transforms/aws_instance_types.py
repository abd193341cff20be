"""What offer files say of an instance type: size, processor, storage, network, age.

Not taken: accelerators (the file counts Neuron cores as GPUs, gives memory now per device and now
in all, and is silent on partitions) and baseline bandwidth ("Up to" is the burst). They stay null
until a better source fills them.

Source: AWS Price List, attributes of AmazonEC2 products.
"""

from functools import cache

import polars as pl

from warehouse.schemas.parts import INSTANCE_FACTS

_SOURCE = "AWS Price List"
_NAME_SOURCE = "the name alone"

FACT_WORDS = (
    "instance_type",
    "current_generation",
    "instance_family",
    "vcpu",
    "physical_processor",
    "memory",
    "storage",
    "network_performance",
    "processor_architecture",
)
"""The columns of AWS_OFFER_ROWS that facts are read from."""

_CATEGORIES = {
    "General purpose": "general",
    "Micro instances": "general",
    "Compute optimized": "compute",
    "Memory optimized": "memory",
    "Storage optimized": "storage",
    "GPU instance": "accelerated",
    "Machine Learning ASIC Instances": "accelerated",
    "FPGA Instances": "accelerated",
    "Media Accelerator Instances": "accelerated",
}

_OF_THE_HOST = (
    "vcpu_count",
    "memory_gib",
    "network_gbps",
    "local_storage_gb",
    "is_burstable",
    "is_bare_metal",
)

_LIFECYCLES = {"Yes": "current", "No": "previous"}

_NUMBER = r"([\d,]*\d(?:\.\d+)?)"
_MEMORY = rf"^{_NUMBER} GiB$"
_DISKS = rf"^(?:(\d+) x )?{_NUMBER}(?: ?(GB|TB))?(?: (?:NVMe )?(?:SSD|HDD))?$"
_NETWORK = rf"^(?:Up to )?(?:(\d+)x )?{_NUMBER} (Gigabit|Megabit)$"


def instance_facts(rows: pl.DataFrame) -> pl.DataFrame:
    """Return INSTANCE_FACTS of FACT_WORDS of instances: one row a type, sorted by key.

    What is not said, or not in a known form ("NA", "Low to Moderate"), is null.
    """
    said = rows.lazy().select(FACT_WORDS).filter(pl.col("instance_type").is_not_null()).unique()
    facts = INSTANCE_FACTS.conform(said.select(_facts()))
    return merge_instance_facts(facts.collect(engine="in-memory"))


def host_facts(rows: pl.DataFrame) -> pl.DataFrame:
    """Return INSTANCE_FACTS of FACT_WORDS of dedicated hosts: one row a family, sorted by key.

    A host's instance type is a family (`m5`, `mac1`). Its vCPUs, memory and disks are those of the
    whole host, and only sometimes said, so they are null here. A host that is named like an
    instance type says nothing of that type.
    """
    is_family = ~pl.col("instance_type").str.contains(".", literal=True)
    facts = instance_facts(rows.filter(is_family))
    of_the_host = [pl.lit(None, dtype=facts.schema[name]).alias(name) for name in _OF_THE_HOST]
    return facts.with_columns(of_the_host)


def facts_of_names(listed: pl.DataFrame, *, described: pl.DataFrame) -> pl.DataFrame:
    """Return INSTANCE_FACTS of AWS types that are priced and that no document describes, by key.

    Spot prices name types without a word of what they are, and so do price lists that only have a
    licence's or a commitment's price. Their names still say family, generation and bare metal.

    Args:
        listed: prices, with the columns provider and instance_type.
        described: INSTANCE_FACTS of all documents.
    """
    unsaid = {name: pl.lit(None, dtype=pl.String) for name in FACT_WORDS if name != "instance_type"}
    named = (
        listed.lazy()
        .filter(pl.col("provider") == "aws")
        .select("provider", "instance_type")
        .unique()
        .join(described.lazy(), on=INSTANCE_FACTS.key, how="anti")
        .with_columns(**unsaid)
        .collect(engine="in-memory")
    )
    sources = pl.lit([_NAME_SOURCE], dtype=pl.List(pl.String))
    return instance_facts(named).with_columns(sources=sources)


def merge_instance_facts(facts: pl.DataFrame) -> pl.DataFrame:
    """Merge what several documents say of a type into one row of INSTANCE_TYPES, sorted by key.

    Where they differ, the smallest value stands (of numbers the lower, of texts the first in the
    alphabet, so `current` before `previous`), and a value before none. So the result does not
    depend on the order of documents or on how they were cut, and promises no more of a type than
    every region gives. `sources` are united.
    """
    values = [
        name for name in INSTANCE_FACTS.columns if name not in {*INSTANCE_FACTS.key, "sources"}
    ]
    return (
        facts.lazy()
        .group_by(INSTANCE_FACTS.key)
        .agg(
            pl.col(values).min(),
            pl.col("sources").explode(empty_as_null=False).unique().sort(),
        )
        .pipe(INSTANCE_FACTS.conform)
        .sort(INSTANCE_FACTS.key)
        .collect(engine="in-memory")
    )


@cache
def _facts() -> tuple[pl.Expr, ...]:
    """Return the columns of INSTANCE_FACTS, read off FACT_WORDS or, where these say nothing, null.

    Cached, because building them takes as long as reading a small region's facts with them.
    """
    parsed = _parsed()
    return tuple(
        parsed.get(field.name, pl.lit(None, dtype=field.dtype)).alias(field.name)
        for field in INSTANCE_FACTS.fields
    )


def _parsed() -> dict[str, pl.Expr]:
    instance_type = pl.col("instance_type")
    family = instance_type.str.extract(r"^([^.]+)")
    processor = pl.col("physical_processor")
    return {
        "provider": pl.lit("aws"),
        "instance_type": instance_type,
        "family": family,
        "generation": family.str.extract(r"^(?:u-\d+tb|[a-z]+)(\d+)").cast(pl.Int32),
        "category": pl.when(family.str.starts_with("hpc"))
        .then(pl.lit("hpc"))
        .otherwise(_renamed("instance_family", _CATEGORIES)),
        "vcpu_count": pl.col("vcpu").str.replace_all(",", "").cast(pl.Int32, strict=False),
        "memory_gib": _number(pl.col("memory").str.extract(_MEMORY)),
        "cpu_architecture": pl.when(processor.str.contains("Graviton|Apple"))
        .then(pl.lit("arm64"))
        .when(processor.str.contains("Intel|AMD"))
        .then(pl.lit("x86_64")),
        "cpu_model": pl.when(processor != "NA").then(processor),
        "network_gbps": _network_gbps(),
        "local_storage_gb": _local_storage_gb(),
        "is_burstable": family.str.contains(r"^t[2-9]"),
        "is_bare_metal": instance_type.str.contains(r"\.metal"),
        "lifecycle": _renamed("current_generation", _LIFECYCLES),
        "sources": pl.concat_list(pl.lit(_SOURCE)),
    }


def _network_gbps() -> pl.Expr:
    """Read `Up to 25 Gigabit`, `75000 Megabit`, `4x 100 Gigabit`: all cards, burst included."""
    text = pl.col("network_performance")
    cards = _number(text.str.extract(_NETWORK, 1)).fill_null(1)
    unit = text.str.extract(_NETWORK, 3).replace_strict(
        {"Gigabit": 1.0, "Megabit": 1000.0}, default=None, return_dtype=pl.Float64
    )
    return cards * _number(text.str.extract(_NETWORK, 2)) / unit


def _local_storage_gb() -> pl.Expr:
    """Read `EBS only` (none), `8 x 3840 GB SSD`, `4 x 1900 NVMe SSD`, `125 GB NVMe SSD`: in all."""
    text = pl.col("storage")
    disks = _number(text.str.extract(_DISKS, 1)).fill_null(1)
    unit = pl.when(text.str.extract(_DISKS, 3) == "TB").then(1000.0).otherwise(1.0)
    size = _number(text.str.extract(_DISKS, 2))
    return pl.when(text == "EBS only").then(0.0).otherwise(disks * size * unit)


def _number(text: pl.Expr) -> pl.Expr:
    return text.str.replace_all(",", "").cast(pl.Float64)


def _renamed(column: str, names: dict[str, str]) -> pl.Expr:
    return pl.col(column).replace_strict(names, default=None, return_dtype=pl.String)
