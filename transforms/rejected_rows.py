"""Number refused rows, so that each has a name within its release."""

import polars as pl

from warehouse.schemas.catalog import REJECTED_ROWS
from warehouse.schemas.parts import REJECTED

_DIGITS = 7


def number_rejected_rows(rejected: pl.DataFrame) -> pl.DataFrame:
    """Turn REJECTED rows of a whole release into REJECTED_ROWS, sorted by row_id.

    row_id is `<source_id>#<rule>#<number>`, where the number counts the document's rows of that
    rule in the order of their text. It depends on the set of rows alone: the same rows in another
    order get the same ids, and of rows that are equal word for word each has its own. It names a
    row within one release; across releases compare source_id, rule and row. (A digest of the row
    would hold across releases, but polars has none that is stable between its versions.)
    """
    ordered = rejected.sort(REJECTED.columns)
    number = pl.int_range(1, pl.len() + 1).over("source_id", "rule")
    padded = number.cast(pl.String).str.zfill(_DIGITS)
    return (
        ordered.with_columns(row_id=pl.format("{}#{}#{}", "source_id", "rule", padded))
        .select(REJECTED_ROWS.columns)
        .sort(REJECTED_ROWS.key)
    )
