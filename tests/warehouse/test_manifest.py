from datetime import UTC, datetime

from support.rows import price_rows
from warehouse import canonical_json
from warehouse.manifest import (
    Coverage,
    Input,
    Manifest,
    OtherFile,
    QualitySummary,
    content_digest,
    coverage_of,
    table_file,
)
from warehouse.parquet_io import FileFacts

AT = datetime(2026, 8, 22, 3, 30, tzinfo=UTC)

INPUT = Input(
    source_id="ecb_reference_rates",
    source="ecb_reference_rates",
    provider=None,
    region_id=None,
    url="https://rates.example/daily.xml",
    fetched_at=AT,
    confirmed_at=datetime(2026, 8, 23, 3, 30, tzinfo=UTC),
    published_at=None,
    version=None,
    sha256="ab" * 32,
    bytes=1700,
    rows=31,
    is_recorded=False,
    note=None,
)

MANIFEST = Manifest(
    release="20260822T033000Z-0123abcd",
    created_at=AT,
    as_of=AT,
    schema_version="1.0.0",
    code_version="c0de",
    content_digest="0123abcd" + "0" * 56,
    previous_release=None,
    previous_manifest_sha256=None,
    inputs=(INPUT,),
    tables={"prices": table_file("prices", FileFacts(2, 900, "cd" * 32))},
    files={"quality/quality.json": OtherFile(3, "ef" * 32)},
    quality=QualitySummary("publish_with_warnings", critical=0, warning=1, rows_rejected=2),
    coverage={"aws": Coverage(regions=36, instance_types=800)},
)

TEXT = """\
{
  "as_of": "2026-08-22T03:30:00Z",
  "code_version": "c0de",
  "content_digest": "0123abcd00000000000000000000000000000000000000000000000000000000",
  "coverage": {
    "aws": {
      "instance_types": 800,
      "regions": 36
    }
  },
  "created_at": "2026-08-22T03:30:00Z",
  "files": {
    "quality/quality.json": {
      "bytes": 3,
      "sha256": "efefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefef"
    }
  },
  "inputs": [
    {
      "bytes": 1700,
      "confirmed_at": "2026-08-23T03:30:00Z",
      "fetched_at": "2026-08-22T03:30:00Z",
      "is_recorded": false,
      "note": null,
      "provider": null,
      "published_at": null,
      "region_id": null,
      "rows": 31,
      "sha256": "abababababababababababababababababababababababababababababababab",
      "source": "ecb_reference_rates",
      "source_id": "ecb_reference_rates",
      "url": "https://rates.example/daily.xml",
      "version": null
    }
  ],
  "previous_manifest_sha256": null,
  "previous_release": null,
  "quality": {
    "critical": 0,
    "rows_rejected": 2,
    "verdict": "publish_with_warnings",
    "warning": 1
  },
  "release": "20260822T033000Z-0123abcd",
  "schema_version": "1.0.0",
  "tables": {
    "prices": {
      "bytes": 900,
      "file": "prices.parquet",
      "rows": 2,
      "sha256": "cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd"
    }
  }
}
"""


def test_manifest_reads_as_the_contract_says():
    assert canonical_json.encode(MANIFEST).decode() == TEXT


def test_manifest_survives_writing_and_reading():
    assert canonical_json.decode(TEXT.encode(), Manifest) == MANIFEST


def facts(digit: str) -> FileFacts:
    return FileFacts(1, 1, digit * 64)


def test_content_digest_is_of_all_tables_but_sources_and_of_the_schema():
    tables = {"prices": facts("1"), "regions": facts("2"), "sources": facts("3")}
    digest = content_digest(tables, schema_version="1.0.0")

    assert content_digest({**tables, "sources": facts("9")}, schema_version="1.0.0") == digest
    assert content_digest(dict(reversed(tables.items())), schema_version="1.0.0") == digest
    assert content_digest({**tables, "regions": facts("9")}, schema_version="1.0.0") != digest
    swapped = {**tables, "prices": facts("2"), "regions": facts("1")}
    assert content_digest(swapped, schema_version="1.0.0") != digest
    assert content_digest(tables, schema_version="1.1.0") != digest


def test_coverage_counts_regions_and_types_per_provider():
    prices = price_rows(
        {"provider": "aws", "region_id": "us-east-1", "instance_type": "m5.large"},
        {"provider": "aws", "region_id": "us-east-2", "instance_type": "m5.large"},
        {"provider": "azure", "region_id": "eastus", "instance_type": "Standard_D2s_v5"},
        {"provider": "azure", "region_id": "eastus", "instance_type": "Standard_D4s_v5"},
    )

    assert coverage_of(prices.lazy()) == {
        "aws": Coverage(regions=2, instance_types=1),
        "azure": Coverage(regions=1, instance_types=2),
    }
