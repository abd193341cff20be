"""What offer files say of instance types is read exactly, and merged independently of order."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from transforms.aws_instance_types import instance_facts, merge_instance_facts
from warehouse.schemas.catalog import INSTANCE_TYPES
from warehouse.schemas.parts import INSTANCE_FACTS
from warehouse.schemas.raw import AWS_OFFER_ROWS


def facts_of(**row: str | None) -> dict[str, object]:
    raw = pl.DataFrame([dict.fromkeys(AWS_OFFER_ROWS.columns) | row], schema=AWS_OFFER_ROWS.schema)
    return instance_facts(raw).row(0, named=True)


def test_a_type_is_described_and_what_the_file_does_not_know_is_null() -> None:
    facts = facts_of(
        instance_type="p5.48xlarge",
        current_generation="Yes",
        instance_family="GPU instance",
        vcpu="192",
        physical_processor="AMD EPYC 7R13 Processor",
        memory="2048 GiB",
        storage="8 x 3840 GB SSD",
        network_performance="3200 Gigabit",
        processor_architecture="64-bit",
        gpu="8",
        gpu_memory="640 GB HBM3",
    )

    assert facts == dict.fromkeys(INSTANCE_TYPES.columns) | {
        "provider": "aws",
        "instance_type": "p5.48xlarge",
        "family": "p5",
        "generation": 5,
        "category": "accelerated",
        "vcpu_count": 192,
        "memory_gib": 2048.0,
        "cpu_architecture": "x86_64",
        "cpu_model": "AMD EPYC 7R13 Processor",
        "network_gbps": 3200.0,
        "local_storage_gb": 30720.0,
        "is_burstable": False,
        "is_bare_metal": False,
        "lifecycle": "current",
        "sources": ["AWS Price List"],
    }


@pytest.mark.parametrize(
    ("text", "gib"),
    [("8 GiB", 8.0), ("1,952 GiB", 1952.0), ("0.5 GiB", 0.5), ("NA", None), (None, None)],
)
def test_memory(text: str | None, gib: float | None) -> None:
    assert facts_of(instance_type="x.y", memory=text)["memory_gib"] == gib


@pytest.mark.parametrize(
    ("text", "gb"),
    [
        ("EBS only", 0.0),
        ("8 x 3840 GB SSD", 30720.0),
        ("4 x 1900 NVMe SSD", 7600.0),
        ("1 x 450 GB NVMe SSD", 450.0),
        ("125 GB NVMe SSD", 125.0),
        ("8 x 1000 SSD", 8000.0),
        ("6 x 2000 HDD", 12000.0),
        ("1 x 160", 160.0),
        ("2 x 1.9 TB NVMe SSD", 3800.0),
        ("NA", None),
        ("2 x unknown", None),
        (None, None),
    ],
)
def test_local_storage(text: str | None, gb: float | None) -> None:
    assert facts_of(instance_type="x.y", storage=text)["local_storage_gb"] == gb


@pytest.mark.parametrize(
    ("text", "gbps"),
    [
        ("Up to 25 Gigabit", 25.0),
        ("3200 Gigabit", 3200.0),
        ("75000 Megabit", 75.0),
        ("Up to 12500 Megabit", 12.5),
        ("4x 100 Gigabit", 400.0),
        ("16x 200 Gigabit", 3200.0),
        ("18.75 Gigabit", 18.75),
        ("High", None),
        ("Low to Moderate", None),
        ("NA", None),
        (None, None),
    ],
)
def test_network(text: str | None, gbps: float | None) -> None:
    facts = facts_of(instance_type="x.y", network_performance=text)

    assert facts["network_gbps"] == gbps
    assert facts["network_baseline_gbps"] is None


@pytest.mark.parametrize(
    ("instance_type", "family", "generation"),
    [
        ("m5.xlarge", "m5", 5),
        ("g4dn.xlarge", "g4dn", 4),
        ("p6-b200.48xlarge", "p6-b200", 6),
        ("u-6tb1.metal", "u-6tb1", 1),
        ("u7i-12tb.224xlarge", "u7i-12tb", 7),
        ("mac2-m2pro.metal", "mac2-m2pro", 2),
        ("mac-m4.metal", "mac-m4", None),
        ("hpc7a.96xlarge", "hpc7a", 7),
    ],
)
def test_family_and_generation(instance_type: str, family: str, generation: int | None) -> None:
    facts = facts_of(instance_type=instance_type)

    assert (facts["family"], facts["generation"]) == (family, generation)


@pytest.mark.parametrize(
    ("processor", "architecture"),
    [
        ("AWS Graviton4 Processor", "arm64"),
        ("Apple silicon M4 pro", "arm64"),
        ("Intel Xeon Family", "x86_64"),
        ("AMD EPYC 9R14 Processor", "x86_64"),
        ("Variable", None),
        ("NA", None),
        (None, None),
    ],
)
def test_architecture(processor: str | None, architecture: str | None) -> None:
    facts = facts_of(instance_type="x.y", physical_processor=processor)

    assert facts["cpu_architecture"] == architecture


@pytest.mark.parametrize(
    ("instance_type", "family", "category"),
    [
        ("m5.large", "General purpose", "general"),
        ("t1.micro", "Micro instances", "general"),
        ("c5.large", "Compute optimized", "compute"),
        ("r5.large", "Memory optimized", "memory"),
        ("i3.large", "Storage optimized", "storage"),
        ("inf2.xlarge", "Machine Learning ASIC Instances", "accelerated"),
        ("f2.6xlarge", "FPGA Instances", "accelerated"),
        ("vt1.3xlarge", "Media Accelerator Instances", "accelerated"),
        ("hpc7g.4xlarge", "Compute optimized", "hpc"),
        ("q1.large", "Quantum instances", None),
        ("q1.large", None, None),
    ],
)
def test_category(instance_type: str, family: str | None, category: str | None) -> None:
    facts = facts_of(instance_type=instance_type, instance_family=family)

    assert facts["category"] == category


@pytest.mark.parametrize(
    ("instance_type", "is_burstable", "is_bare_metal"),
    [
        ("t3.nano", True, False),
        ("t4g.nano", True, False),
        ("t1.micro", False, False),
        ("trn1.32xlarge", False, False),
        ("i3en.metal", False, True),
        ("c8ib.metal-48xl", False, True),
    ],
)
def test_kinds_of_machine(instance_type: str, *, is_burstable: bool, is_bare_metal: bool) -> None:
    facts = facts_of(instance_type=instance_type)

    assert (facts["is_burstable"], facts["is_bare_metal"]) == (is_burstable, is_bare_metal)


@pytest.mark.parametrize(
    ("said", "lifecycle"), [("Yes", "current"), ("No", "previous"), ("", None)]
)
def test_lifecycle(said: str, lifecycle: str | None) -> None:
    assert facts_of(instance_type="x.y", current_generation=said)["lifecycle"] == lifecycle


def described(*rows: dict[str, object]) -> pl.DataFrame:
    base = dict.fromkeys(INSTANCE_FACTS.columns) | {"provider": "aws", "instance_type": "m5.large"}
    return pl.DataFrame([base | {"sources": ["a"]} | row for row in rows], INSTANCE_FACTS.schema)


def test_where_documents_differ_the_smallest_value_stands_and_any_before_none() -> None:
    merged = merge_instance_facts(
        described(
            {"vcpu_count": 4, "memory_gib": None, "lifecycle": "previous", "sources": ["b", "a"]},
            {"vcpu_count": 2, "memory_gib": 8.0, "lifecycle": "current", "sources": ["c"]},
            {"vcpu_count": None, "memory_gib": 16.0, "is_burstable": False},
        )
    )

    assert_frame_equal(
        merged,
        described(
            {
                "vcpu_count": 2,
                "memory_gib": 8.0,
                "lifecycle": "current",
                "is_burstable": False,
                "sources": ["a", "b", "c"],
            }
        ),
    )


def test_no_facts_merge_to_none() -> None:
    assert_frame_equal(merge_instance_facts(INSTANCE_FACTS.empty()), INSTANCE_FACTS.empty())


FACTS = st.fixed_dictionaries(
    {
        "instance_type": st.sampled_from(["a", "b"]),
        "vcpu_count": st.none() | st.integers(1, 3),
        "lifecycle": st.none() | st.sampled_from(["current", "previous"]),
        "is_bare_metal": st.none() | st.booleans(),
        "sources": st.lists(st.sampled_from(["x", "y"])),
    }
)


@given(rows=st.lists(FACTS, min_size=1, max_size=6), cut=st.integers(0, 6), data=st.data())
def test_merging_depends_neither_on_order_nor_on_how_documents_were_cut(
    rows: list[dict[str, object]], cut: int, data: st.DataObject
) -> None:
    whole = merge_instance_facts(described(*rows))
    shuffled = described(*data.draw(st.permutations(rows)))

    parts = [merge_instance_facts(part) for part in (shuffled[:cut], shuffled[cut:])]

    assert_frame_equal(merge_instance_facts(pl.concat(parts)), whole)
