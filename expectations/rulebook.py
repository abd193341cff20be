"""Every rule of the gate, bound to what checks it."""

from functools import cache

from expectations.table_checks.advice import advice_checks
from expectations.table_checks.cheapest import cheapest_checks
from expectations.table_checks.consistency import consistency_checks
from expectations.table_checks.coverage import coverage_checks
from expectations.table_checks.drift import drift_checks
from expectations.table_checks.measured import TableCheck
from expectations.table_checks.outliers import outlier_checks
from expectations.table_checks.provenance import provenance_checks
from expectations.table_checks.references import reference_checks
from expectations.table_checks.shape import key_checks
from expectations.table_checks.ways_to_pay import way_checks

ACCEPTABLE = {
    "prices.family_in_line": "accept_jumps",
    "prices.few_jumps": "accept_jumps",
    "prices.regions_kept": "accept_losses",
    "prices.most_rows_kept": "accept_losses",
    "prices.most_types_kept": "accept_losses",
}
"""Critical rules that a person may accept for one run, and the word of the request that does so:
the world does change, and a rule that nobody can pass would hold the catalog up for ever."""


@cache
def table_checks() -> tuple[TableCheck, ...]:
    """Return every table check but that of columns, which comes first and alone."""
    return (
        *key_checks(),
        *reference_checks(),
        *consistency_checks(),
        *way_checks(),
        *outlier_checks(),
        *cheapest_checks(),
        *advice_checks(),
        *coverage_checks(),
        *drift_checks(),
        *provenance_checks(),
    )
