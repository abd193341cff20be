"""What a measured column may hold, said once and without Great Expectations.

A bound becomes one expectation in `expectations.checkpoint`. Nulls are never judged: a null is
`not_null`'s business alone.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Between:
    """A number from minimum to maximum, each included unless it is strict; None is unbounded."""

    minimum: float | None = None
    maximum: float | None = None
    is_minimum_strict: bool = False
    is_maximum_strict: bool = False


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of a closed list of words."""

    words: tuple[str, ...]


Bound = Between | OneOf

NONE_ALLOWED = Between(maximum=0)
"""A count of what is wrong: none is allowed."""
