"""Errors of the transforms.

TransformError
├── ReferenceTableError       a curated reference file is not what its table says
├── MissingRateError          a day has exchange rates, but not the one that others go by
├── UnregisteredRuleError     rows were taken by a rule that is not in the registry
└── RowsNotConservedError     rows in are not rows kept + rejected + filtered
"""


class TransformError(Exception):
    """Root of this folder's errors."""


class ReferenceTableError(TransformError):
    """A curated reference file is not what its table says.

    Attributes:
        table: name of the table that the file should hold.
        found: what was found instead.
    """

    def __init__(self, table: str, found: str) -> None:
        """Name the table and what is wrong with its file."""
        self.table = table
        self.found = found
        super().__init__(table, found)

    def __str__(self) -> str:
        """Say what was expected, what came and what to do."""
        return (
            f"reference table {self.table}: {self.found}. Expected a CSV whose header names the "
            f"table's columns and whose every field has the column's type: correct the file"
        )


class MissingRateError(TransformError):
    """A day has exchange rates, but not the one that the others go by.

    Attributes:
        currency: currency whose rate is missing.
        days: days without it.
    """

    def __init__(self, currency: str, days: tuple[str, ...]) -> None:
        """Name the currency and the days."""
        self.currency = currency
        self.days = days
        super().__init__(currency, days)

    def __str__(self) -> str:
        """Say what was expected, what came and what to do."""
        return (
            f"expected a rate of {self.currency} on every day that has rates, got none on "
            + ", ".join(self.days)
            + ": check the fetched reference rates; the last release's rates may be kept instead"
        )


class UnregisteredRuleError(TransformError):
    """Rows were taken by a rule that is not in the registry, or that takes no rows.

    Attributes:
        rules: the ids that came.
    """

    def __init__(self, rules: tuple[str, ...]) -> None:
        """Name the rules."""
        self.rules = rules
        super().__init__(rules)

    def __str__(self) -> str:
        """Say what was expected, what came and what to do."""
        return (
            "expected ids of filters, rejects or row checks in warehouse/schemas/rules, got "
            + ", ".join(self.rules)
            + ": register the rule there"
        )


class RowsNotConservedError(TransformError):
    """Rows in are not rows kept + rejected + filtered: a row was lost or counted twice.

    Attributes:
        sample: source ids with the counts that disagree.
    """

    def __init__(self, sample: tuple[str, ...]) -> None:
        """Name the documents whose rows do not add up."""
        self.sample = sample
        super().__init__(sample)

    def __str__(self) -> str:
        """Say what was expected, what came and what to do."""
        return (
            "expected rows kept, rejected and filtered to add up for every document, got "
            + "; ".join(self.sample)
            + ": a transform lost or doubled rows, which is a defect in its code"
        )
