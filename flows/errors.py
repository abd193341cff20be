"""Errors of the flows.

FlowError
├── SettingsError         a setting has a value that cannot be used
├── UnknownNameError      no instance type or table of that name
├── ServerNotStartedError the Prefect server that `serve` needs did not start
└── RefusedByGateError    the gate refused the release; the last good one stays
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flows.verdict import Refreshed


class FlowError(Exception):
    """Root of this folder's errors."""


class SettingsError(FlowError):
    """A setting has a value that cannot be used."""


class UnknownNameError(FlowError):
    """No instance type or table of that name."""


class ServerNotStartedError(FlowError):
    """The Prefect server that `serve` needs did not start."""


class RefusedByGateError(FlowError):
    """The gate refused the release; the last good one stays.

    Attributes:
        refreshed: what came of the run, with the gate's report.
    """

    def __init__(self, refreshed: "Refreshed") -> None:
        """Name the release, the rules and the page that shows the failing rows."""
        self.refreshed = refreshed
        super().__init__(refreshed)

    def __repr__(self) -> str:
        """Say the same: Prefect logs this, and the whole report would fill pages."""
        return f"{type(self).__name__}({str(self)!r})"

    def __str__(self) -> str:
        """Say why, and where to look."""
        rules = ", ".join(self.refreshed.report.refused_because)
        return f"{self.refreshed.headline} Critical: {rules}. Failing rows: {self.refreshed.page}"
