"""Facts -> the bytes that AWS sends of spot prices: the public feed, and answers of the EC2 API."""

import json
from collections.abc import Iterable, Mapping, Sequence
from xml.sax.saxutils import escape

Entry = Mapping[str, str]
"""One entry of an answer, under the keys that the AWS CLI shows (`AvailabilityZoneId`)."""

FEED_COLUMNS = ("linux", "mswin")


def encode_spot_feed(
    prices: Iterable[tuple[str, str, str | None, str | None]], *, rate: str = "perhr"
) -> bytes:
    """Encode (region as the feed spells it, type, price on Linux, on Windows); None is "N/A*"."""
    regions: dict[str, list[object]] = {}
    for region, instance_type, *of_systems in prices:
        columns = [
            {"name": name, "prices": {"USD": price or "N/A*"}}
            for name, price in zip(FEED_COLUMNS, of_systems, strict=True)
        ]
        regions.setdefault(region, []).append({"size": instance_type, "valueColumns": columns})
    feed = {
        "vers": 0.01,
        "config": {
            "rate": rate,
            "valueColumns": list(FEED_COLUMNS),
            "currencies": ["USD"],
            "regions": [
                {
                    "region": region,
                    "footnotes": {"*": "notAvailableForCCorCGPU"},
                    "instanceTypes": [{"type": "generalCurrentGen", "sizes": sizes}],
                }
                for region, sizes in regions.items()
            ],
        },
    }
    return json.dumps(feed, separators=(",", ":")).encode()


def as_script(feed: bytes) -> bytes:
    """Wrap a feed as the older address does."""
    return b"callback(" + feed + b");\n"


def encode_answer(
    action: str, element: str, entries: Sequence[Entry], *, next_token: str | None
) -> bytes:
    """Encode an answer of the EC2 API; a `next_token` of None is left out, as some actions do."""
    items = "".join(f"<item>{''.join(map(_element, entry.items()))}</item>" for entry in entries)
    more = "" if next_token is None else _element(("NextToken", next_token))
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<{action}Response xmlns="http://ec2.amazonaws.com/doc/2016-11-15/">'
        "<requestId>59dbff89-35bd-4eac-99ed-be587EXAMPLE</requestId>"
        f"<{element}>{items}</{element}>{more}</{action}Response>"
    ).encode()


def encode_error(code: str, message: str) -> bytes:
    """Encode the EC2 API's refusal."""
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f"<Response><Errors><Error><Code>{code}</Code><Message>{escape(message)}</Message></Error>"
        "</Errors><RequestID>ea966190-f9aa-478e-9ede-example</RequestID></Response>"
    ).encode()


def _element(named: tuple[str, str]) -> str:
    name, text = named
    tag = name[0].lower() + name[1:]
    return f"<{tag}>{escape(text)}</{tag}>"
