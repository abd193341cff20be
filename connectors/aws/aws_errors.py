"""What boto3 raises, as this folder's errors."""

from collections.abc import Iterator
from contextlib import contextmanager

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    NoCredentialsError,
    PartialCredentialsError,
)
from botocore.parsers import ResponseParserError

from connectors.errors import (
    ConnectorError,
    RateLimitedError,
    SourceRejectedError,
    SourceUnavailableError,
)

_THROTTLED = frozenset(
    {
        "RequestLimitExceeded",
        "RequestThrottled",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)
# A region that the account has not opted into does not know its credentials.
_NOT_FOR_THIS_ACCOUNT = frozenset(
    {"AuthFailure", "InvalidClientTokenId", "OptInRequired", "UnauthorizedOperation"}
)
_FIRST_SERVER_ERROR = 500


class RegionNotUsableError(SourceRejectedError):
    """This account cannot ask the region: it is not opted into, or rights are missing.

    That is a fact about the account, not a failure of the source: other regions may well answer.
    """

    def __init__(
        self,
        message: str,
        *,
        source: str | None = None,
        region_id: str | None = None,
        status: int | None = None,
    ) -> None:
        """Name the region."""
        super().__init__(message, status=status)
        self.source = source
        self.region_id = region_id


@contextmanager
def translated_errors(api: str, *, source: str, region_id: str | None = None) -> Iterator[None]:
    """Raise what boto3 raises as a ConnectorError.

    Args:
        api: name of the API, for people.
        source: source_id of the document that is asked for.
        region_id: region whose own API is asked; None where one API serves all regions.

    Raises:
        RateLimitedError: asked too often, to the client's last attempt.
        SourceUnavailableError: no whole answer, or a server error, to the client's last attempt.
        RegionNotUsableError: the region's API does not know this account, or refuses it.
        SourceRejectedError: refused for another reason, or there are no credentials.
    """
    try:
        yield
    except ClientError as exc:
        raise _refusal(exc, api, source, region_id) from exc
    except (NoCredentialsError, PartialCredentialsError) as exc:
        raise SourceRejectedError(
            f"expected credentials for {api} ({exc}); give some, or run without them"
        ) from exc
    except BotoCoreError as exc:
        raise SourceUnavailableError(
            f"no answer from {api} ({type(exc).__name__}: {exc})",
            source=source,
            region_id=region_id,
        ) from exc
    except ResponseParserError as exc:
        # boto3 does not notice that a body is shorter than announced, only that it does not end.
        raise SourceUnavailableError(
            f"no whole answer from {api} ({exc})", source=source, region_id=region_id
        ) from exc


def _refusal(exc: ClientError, api: str, source: str, region_id: str | None) -> ConnectorError:
    code = exc.response.get("Error", {}).get("Code", "")
    status = exc.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    if code in _THROTTLED:
        return RateLimitedError(f"{api} says {exc}", source=source, region_id=region_id)
    if status >= _FIRST_SERVER_ERROR:
        return SourceUnavailableError(f"{api} says {exc}", source=source, region_id=region_id)
    if region_id is not None and code in _NOT_FOR_THIS_ACCOUNT:
        return RegionNotUsableError(
            f"{api} says {exc}; opt the account into the region and allow the call, or go without",
            source=source,
            region_id=region_id,
            status=status,
        )
    return SourceRejectedError(
        f"{api} says {exc}; check credentials and rights, or run without them", status=status
    )
