"""Errors of the gate. A release that fails its checks is no error: it is a verdict.

GateError
├── UncheckableTableError     rows of this table cannot be split by the registry's rules
├── GateInputError            what the gate was given to judge cannot be read as asked for
├── GateDisagreementError     polars and Great Expectations counted differently
└── ExpectationCrashedError   Great Expectations could not evaluate an expectation
"""


class GateError(Exception):
    """Root of this folder's errors."""


class UncheckableTableError(GateError):
    """Rows of this table cannot be split: they do not name the document they came from."""


class GateInputError(GateError):
    """What the gate was given to judge cannot be read as asked for."""


class GateDisagreementError(GateError):
    """Polars and Great Expectations counted the failures of one rule differently."""

    def __init__(self, rule: str, polars_count: int, gx_count: int) -> None:
        """Name the rule and both counts."""
        self.rule = rule
        self.polars_count = polars_count
        self.gx_count = gx_count
        super().__init__(rule, polars_count, gx_count)

    def __str__(self) -> str:
        """Say what was counted and what to do."""
        return (
            f"rule {self.rule}: polars counts {self.polars_count} failures, Great Expectations "
            f"{self.gx_count}. One of the two is wrong, so neither is trusted: compare the rule's "
            "measured column with its predicate"
        )


class ExpectationCrashedError(GateError):
    """Great Expectations could not evaluate an expectation."""

    def __init__(self, rule: str, cause: str) -> None:
        """Name the rule, and what Great Expectations said."""
        self.rule = rule
        self.cause = cause
        super().__init__(rule, cause)

    def __str__(self) -> str:
        """Say what was expected and what came."""
        return (
            f"rule {self.rule}: expected a count of failures, Great Expectations said {self.cause}"
        )
