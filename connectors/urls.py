"""URLs as they may be shown, stored and compared: without secrets, in one spelling."""

from collections.abc import Mapping
from urllib.parse import SplitResult, parse_qsl, quote, urlencode, urlsplit, urlunsplit

REDACTED = "REDACTED"

_SECRET_PARAMETERS = frozenset(
    {
        "access_token",
        "api-key",
        "api_key",
        "apikey",
        "awsaccesskeyid",
        "client_secret",
        "code",
        "key",
        "key-pair-id",
        "password",
        "policy",
        "secret",
        "sig",
        "signature",
        "subscription-key",
        "token",
        "x-amz-credential",
        "x-amz-security-token",
        "x-amz-signature",
    }
)
_DEFAULT_PORTS = {"http": 80, "https": 443}
# What RFC 3986 lets stand in a query; OData filters stay readable that way.
_QUERY_SAFE = "$'(),:/*!-._~"


def encode_query(parameters: Mapping[str, str]) -> str:
    """Encode query parameters: a space is %20 and never a plus, since OData reads it so."""
    return urlencode(parameters, safe=_QUERY_SAFE, quote_via=quote)


def with_query(url: str, parameters: Mapping[str, str]) -> str:
    """Append query parameters to a URL, which is otherwise left as it is (it may be signed)."""
    if not parameters:
        return url
    return f"{url}{'&' if '?' in url else '?'}{encode_query(parameters)}"


def query_parameters(url: str) -> dict[str, str]:
    """Give the query parameters of a URL, decoded; the last of several with one name wins."""
    return dict(parse_qsl(urlsplit(url).query, keep_blank_values=True))


def origin(url: str) -> tuple[str, str, int | None]:
    """Give scheme, host and port; a default port equals an absent one."""
    parts = urlsplit(url)
    scheme = parts.scheme.lower()
    return scheme, (parts.hostname or "").lower(), parts.port or _DEFAULT_PORTS.get(scheme)


def has_origin_of(url: str, other: str) -> bool:
    """Tell whether a url that came from outside leads to the same scheme, host and port."""
    try:
        return origin(url) == origin(other)
    except ValueError:  # a port that is no number
        return False


def canonical_url(url: str) -> str:
    """Give the one spelling of a URL that recordings and the landing store know it by.

    Host in lower case, no default port, query sorted and encoded in one way, no user info, no
    fragment, secrets replaced: a new signature does not make it another document.
    """
    parts = urlsplit(url)
    pairs = sorted(parse_qsl(parts.query, keep_blank_values=True))
    query = urlencode(
        [(name, _shown(name, value)) for name, value in pairs], safe=_QUERY_SAFE, quote_via=quote
    )
    return urlunsplit((parts.scheme.lower(), _netloc(parts), parts.path or "/", query, ""))


def redact_url(url: str) -> str:
    """Replace what must not be shown: user info and the values of secret query parameters."""
    parts = urlsplit(url)
    query = "&".join(_redact_pair(pair) for pair in parts.query.split("&"))
    netloc = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, netloc, parts.path, query, ""))


def _redact_pair(pair: str) -> str:
    name, equals, value = pair.partition("=")
    return f"{name}{equals}{_shown(name, value)}"


def _shown(name: str, value: str) -> str:
    return REDACTED if name.lower() in _SECRET_PARAMETERS else value


def _netloc(parts: SplitResult) -> str:
    scheme, host, port = origin(urlunsplit(parts))
    host = f"[{host}]" if ":" in host else host
    return host if port in (None, _DEFAULT_PORTS.get(scheme)) else f"{host}:{port}"
