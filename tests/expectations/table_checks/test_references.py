import pytest

from expectations.table_checks.references import REFERENCES
from support.candidates import AS_OF, judge, prices, release
from warehouse.schemas.catalog import ANNOUNCED_PRICES

_LATER = prices({"valid_from": AS_OF.replace(year=2027)}, table=ANNOUNCED_PRICES)
_GOOD = release(prices({}, {"region_id": "us-east-1-bos-1"}), announced=_LATER).with_rows(
    "rejected_rows",
    {"row_id": "1", "table": "prices", "source_id": "aws/us-east-1", "rule": "unknown_unit"},
)


@pytest.mark.parametrize("reference", REFERENCES, ids=lambda reference: reference.rule_id)
def test_what_is_named_is_there_and_without_it_every_row_that_names_it_fails(reference):
    assert judge(reference.rule_id, _GOOD).failed == 0
    empty = _GOOD.with_table(reference.target, _GOOD.tables[reference.target].clear())
    if reference.table == reference.target:
        empty = _GOOD.with_values(reference.table, parent_region_id="nowhere")
    found = judge(reference.rule_id, empty)
    assert found.failed == _GOOD.tables[reference.table].height


def test_regions_are_compared_without_case():
    odd = _GOOD.with_values("prices", region_id="US-East-1")
    assert judge("prices.region_known", odd).failed == 0


def test_an_orphan_is_shown_once_with_its_rows():
    odd = _GOOD.with_values("prices", source_id="nowhere")
    assert judge("prices.source_known", odd).rows == [{"source_id": "nowhere", "rows": 2}]
