"""Write EC2 offer files (index.csv) with whatever columns and values a test needs.

`support.encode_aws` writes only what AWS would; here any column may be missing, moved or wrong.
"""

from collections.abc import Iterable, Mapping, Sequence

from support.encode_aws import COLUMNS

OFFER_COLUMNS = COLUMNS

_PREAMBLE = (
    '"FormatVersion","v1.0"\n'
    '"Disclaimer","This pricing list is for informational purposes only, and its terms apply."\n'
    '"Publication Date","{published}"\n'
    '"Version","{version}"\n'
    '"OfferCode","AmazonEC2"\n'
)


def quoted(value: str | None) -> str:
    """Return a field as AWS writes it: quoted, but nothing at all where it is empty."""
    return '"' + value.replace('"', '""') + '"' if value else ""


def line(values: Iterable[str | None]) -> str:
    """Return one line of an offer file."""
    return ",".join(map(quoted, values)) + "\n"


def preamble(published: str = "2026-07-05T00:00:00Z") -> str:
    """Return the five lines before the header; the version is the digits of the date."""
    version = "".join(filter(str.isdigit, published))
    return _PREAMBLE.format(published=published, version=version)


def encode_offer_csv(
    rows: Iterable[Mapping[str, str | None]],
    *,
    columns: Sequence[str] = OFFER_COLUMNS,
    published: str = "2026-07-05T00:00:00Z",
) -> bytes:
    """Return an offer file with these rows; a column that a row does not name is empty."""
    lines = [line(row.get(column) for column in columns) for row in rows]
    return (preamble(published) + line(columns) + "".join(lines)).encode()
