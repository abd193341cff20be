from datetime import UTC, date, datetime
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from transforms.azure_instance_types import (
    AZURE_VM_SIZES,
    SOURCES,
    UNCURATED,
    azure_instance_types,
    parse_vm_sizes,
)
from transforms.errors import ReferenceTableError
from warehouse.schemas.catalog import INSTANCE_TYPES

REPOSITORY = Path(__file__).resolve().parents[2]
CURATED = REPOSITORY / "transforms" / "reference" / "azure_vm_sizes.csv"
PRICED = REPOSITORY.parent / "shared" / "data" / "azure" / "retail_all_regions_2026-08.parquet"
AS_OF = datetime(2026, 11, 30, tzinfo=UTC)


@pytest.fixture(scope="module")
def sizes():
    return parse_vm_sizes(CURATED.read_bytes())


def listed(*instance_types, provider="azure"):
    return pl.DataFrame(
        {"provider": provider, "instance_type": instance_types},
        schema={"provider": pl.String, "instance_type": pl.String},
    )


def facts(sizes, instance_type, *names):
    row = sizes.row(by_predicate=pl.col("instance_type") == instance_type, named=True)
    return tuple(row[name] for name in names)


def table(*rows):
    ordinary = {"source": "arm", "source_date": date(2026, 8, 22)}
    return pl.DataFrame([ordinary | row for row in rows], schema=AZURE_VM_SIZES.schema)


def described(sizes, *instance_types, as_of=AS_OF):
    return azure_instance_types(sizes, listed(*instance_types), as_of=as_of)


@pytest.mark.parametrize(
    ("instance_type", "vcpu_count", "memory_gib"),
    [
        ("Standard_D2s_v3", 2, 8.0),
        ("Standard_B1s", 1, 1.0),
        ("Standard_NC40ads_H100_v5", 40, 320.0),
        ("Standard_ND96isr_H100_v5", 96, 1900.0),
        ("Standard_HB120rs_v3", 120, 456.0),
        ("Standard_D64-16s_v3", 16, 256.0),
        ("Standard_M8-2ms", 2, 218.75),
        ("Standard_D192vds_v7", None, None),
    ],
)
def test_vcpus_are_those_the_guest_may_use_and_what_is_not_known_is_null(
    sizes, instance_type, vcpu_count, memory_gib
):
    assert facts(sizes, instance_type, "vcpu_count", "memory_gib") == (vcpu_count, memory_gib)


@pytest.mark.parametrize(
    ("instance_type", "accelerator", "kind", "count", "memory_gib"),
    [
        ("Standard_ND96isr_H100_v5", "NVIDIA H100 SXM 80GB", "gpu", 8.0, 640.0),
        ("Standard_NC40ads_H100_v5", "NVIDIA H100 NVL 94GB", "gpu", 1.0, 94.0),
        ("Standard_ND96amsr_A100_v4", "NVIDIA A100 SXM 80GB", "gpu", 8.0, 640.0),
        ("Standard_NV6ads_A10_v5", "NVIDIA A10", "gpu", 0.166667, 4.0),
        ("Standard_NP20s", "AMD/Xilinx Alveo U250", "fpga", 2.0, 128.0),
        (
            "Standard_NC36ds_xl_RTXPRO6000BSE_v6",
            "NVIDIA RTX PRO 6000 Blackwell SE 96GB",
            "gpu",
            None,
            None,
        ),
        ("Standard_D2s_v3", None, None, None, None),
    ],
)
def test_accelerators_are_counted_in_fractions_and_only_where_it_is_stated(
    sizes, instance_type, accelerator, kind, count, memory_gib
):
    assert facts(
        sizes,
        instance_type,
        "accelerator",
        "accelerator_kind",
        "accelerator_count",
        "accelerator_memory_gib",
    ) == (accelerator, kind, count, memory_gib)


@pytest.mark.parametrize(
    ("instance_type", "family", "generation"),
    [
        ("Standard_D64-16s_v3", "Ds_v3", 3),
        ("Standard_NC40ads_H100_v5", "NCads_H100_v5", 5),
        ("Standard_B1s", "Bs", None),
        ("Standard_NC6_Promo", "NC", None),
    ],
)
def test_the_family_is_the_name_without_its_numbers(sizes, instance_type, family, generation):
    assert facts(sizes, instance_type, "family", "generation") == (family, generation)


def test_only_machines_with_rdma_have_a_kind_of_it(sizes):
    has_rdma = sizes.filter(pl.col("is_rdma"))

    assert has_rdma["rdma_kind"].unique().to_list() == ["infiniband"]
    assert sizes.filter(~pl.col("is_rdma").fill_null(value=False))["rdma_kind"].null_count() == (
        sizes.height - has_rdma.height
    )
    assert facts(sizes, "Standard_ND96isr_H100_v5", "is_rdma", "rdma_gbps") == (True, 3200.0)
    assert facts(sizes, "Standard_NC40ads_H100_v5", "is_rdma", "rdma_gbps") == (False, None)


def test_every_source_code_is_explained(sizes):
    codes = set(sizes["source"].str.split("+").explode())

    assert codes == set(SOURCES)


def test_a_size_that_only_its_name_describes_has_no_numbers(sizes):
    named = sizes.filter(pl.col("source").is_in(["name", "name+eol"]))

    assert named.height > 200
    assert (
        named.select("vcpu_count", "memory_gib", "cpu_architecture", "is_rdma").null_count().row(0)
        == (named.height,) * 4
    )


def test_the_file_stays_small():
    assert CURATED.stat().st_size < 250_000


def test_a_size_table_with_a_doubled_size_is_refused():
    header, first, *_ = CURATED.read_bytes().split(b"\n")

    with pytest.raises(ReferenceTableError):
        parse_vm_sizes(b"\n".join([header, first, first.upper().replace(b"GENERAL", b"general")]))


def test_instance_types_have_the_whole_schema_and_are_sorted(sizes):
    described_sizes = described(sizes, "Standard_B1s", "Ebdsv5")

    assert described_sizes.schema == INSTANCE_TYPES.schema
    assert described_sizes.height == sizes.height + 1
    assert_frame_equal(described_sizes, described_sizes.sort(INSTANCE_TYPES.key))
    assert described_sizes["provider"].unique().to_list() == ["azure"]


def test_a_curated_size_has_its_facts_and_dated_sources():
    curated = table(
        {"instance_type": "Standard_B1s", "vcpu_count": 1, "memory_gib": 1.0, "source": "arm+eol"}
    )

    row = described(curated).row(0, named=True)

    assert (row["vcpu_count"], row["memory_gib"], row["local_storage_gb"]) == (1, 1.0, None)
    assert row["sources"] == [f"{SOURCES['arm']}, 2026-08-22", f"{SOURCES['eol']}, 2026-08-22"]


def test_a_listed_size_that_is_not_curated_is_a_row_that_says_only_that():
    curated = table({"instance_type": "Standard_B1s"})

    row = described(curated, "Ebdsv5", "Ebdsv5").row(0, named=True)

    assert {name for name, value in row.items() if value is not None} == {
        "provider",
        "instance_type",
        "sources",
    }
    assert (row["instance_type"], row["sources"]) == ("Ebdsv5", [UNCURATED])


def test_listed_sizes_are_matched_without_case_but_never_by_likeness():
    curated = table({"instance_type": "Standard_NG32adms_V620_v1"})

    rows = described(curated, "standard_ng32adms_v620_V1", "Standard_NG32adms_V620")

    assert rows["instance_type"].to_list() == [
        "Standard_NG32adms_V620",
        "Standard_NG32adms_V620_v1",
    ]


def test_two_spellings_of_an_uncurated_size_are_one_row():
    rows = described(table({"instance_type": "Standard_B1s"}), "nc8dsxl", "NC8dsxl", "Nc8dsxl")

    assert rows["instance_type"].to_list() == ["NC8dsxl", "Standard_B1s"]


def test_other_providers_types_are_not_described():
    curated = table({"instance_type": "Standard_B1s"})

    rows = azure_instance_types(curated, listed("p5.48xlarge", provider="aws"), as_of=AS_OF)

    assert rows["instance_type"].to_list() == ["Standard_B1s"]


@pytest.mark.parametrize(
    ("as_of", "lifecycle"),
    [
        (datetime(2026, 9, 29, 23, 59, tzinfo=UTC), "retiring"),
        (datetime(2026, 9, 30, tzinfo=UTC), "retired"),
        (AS_OF, "retired"),
    ],
)
def test_a_size_is_retired_from_its_date_on(as_of, lifecycle):
    curated = table(
        {"instance_type": "Standard_NV12s_v3", "retirement_date": date(2026, 9, 30)},
        {"instance_type": "Standard_Unannounced"},
    )

    assert described(curated, as_of=as_of)["lifecycle"].to_list() == [lifecycle, None]


@pytest.mark.parametrize(
    ("instance_type", "retirement_date"),
    [
        ("Standard_NC24rs_v3", date(2025, 3, 31)),
        ("Standard_NV12s_v3", date(2026, 9, 30)),
        ("Standard_NP10s", date(2027, 5, 31)),
        ("Standard_DS11-1_v2", date(2028, 5, 1)),
        ("Standard_B1s", date(2028, 11, 15)),
        ("Standard_B2s_v2", None),
        ("Standard_M192ims_v2", date(2027, 3, 31)),
        ("Standard_A8", None),
    ],
)
def test_retirements_are_those_announced(sizes, instance_type, retirement_date):
    assert facts(sizes, instance_type, "retirement_date") == (retirement_date,)


@pytest.mark.skipif(not PRICED.is_file(), reason="recorded prices are not beside this repository")
def test_all_but_four_recorded_sizes_are_curated(sizes):
    priced = pl.read_parquet(PRICED, columns=["arm_sku"])["arm_sku"].unique()

    rows = described(sizes, *priced)

    assert rows.filter(pl.col("sources").list.contains(UNCURATED))["instance_type"].to_list() == [
        "Ebdsv5",
        "L192isv4",
        "NC16dsxlRTX6Kv6",
        "NC8dsxlRTX6Kv6",
    ]
