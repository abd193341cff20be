"""What can go wrong on the way from a provider to a raw table.

ConnectorError
├── TransientSourceError        asking again may help
│   ├── SourceUnavailableError  no whole answer: connection, timeout, 5xx, cut off, 404 for a while
│   ├── RateLimitedError        asked too often (429)
│   └── UnstableListingError    a listing changed while its pages were read
├── SourceRejectedError         the source understood and said no; asking again is pointless
├── WireFormatError             a document is not in the format that its provider documents
└── RecordingError              a recording is damaged, or does not hold what is asked of it
"""


class ConnectorError(Exception):
    """Root of every error that a connector raises.

    The coordinates say where it happened: `source` is the source_id of the document, `url` has no
    secrets in it, `field` is the provider's own name, `sample` the start of what came. All of them
    survive pickling, because errors cross processes.
    """

    def __init__(
        self,
        message: str,
        *,
        source: str | None = None,
        url: str | None = None,
        region_id: str | None = None,
        field: str | None = None,
        sample: str | None = None,
    ) -> None:
        """Say what was expected, what came and what to do; add the coordinates that are known."""
        super().__init__(message)
        self.source = source
        self.url = url
        self.region_id = region_id
        self.field = field
        self.sample = sample

    def __str__(self) -> str:
        """Give the message, then the coordinates in brackets."""
        known = {
            "source": self.source,
            "url": self.url,
            "region_id": self.region_id,
            "field": self.field,
            "sample": self.sample,
        }
        coordinates = ", ".join(f"{name}={value}" for name, value in known.items() if value)
        message = super().__str__()
        return f"{message} [{coordinates}]" if coordinates else message


class TransientSourceError(ConnectorError):
    """Asking again may help; `retry_after_seconds` is the wait that the source asked for."""

    def __init__(
        self,
        message: str,
        *,
        source: str | None = None,
        url: str | None = None,
        region_id: str | None = None,
        retry_after_seconds: float | None = None,
    ) -> None:
        """Add the wait that the source asked for, if it named one."""
        super().__init__(message, source=source, url=url, region_id=region_id)
        self.retry_after_seconds = retry_after_seconds


class SourceUnavailableError(TransientSourceError):
    """The source gave no whole answer: connection, timeout, 5xx, or a body that was cut off."""


class RateLimitedError(TransientSourceError):
    """The source was asked too often."""


class UnstableListingError(TransientSourceError):
    """A listing changed while its pages were read: read it again from its first page."""


class SourceRejectedError(ConnectorError):
    """The source understood and said no; `status` is the HTTP status, where there is one."""

    def __init__(self, message: str, *, url: str | None = None, status: int | None = None) -> None:
        """Add the HTTP status."""
        super().__init__(message, url=url)
        self.status = status


class WireFormatError(ConnectorError):
    """A document is not in the format that its provider documents."""


class RecordingError(ConnectorError):
    """A recording is damaged, or does not hold what is asked of it."""
