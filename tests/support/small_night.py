"""The bundled night, cut down to a few regions and machines: real rows, quick to refresh."""

import csv
import io
import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from connectors.recording import ReplayTransport
from support.clients import client_without_waits

RECORDING = Path(__file__).resolve().parents[2] / "recording" / "bundled"

AWS_REGIONS = (
    "ap-east-2",
    "ap-northeast-1",
    "ap-southeast-1",
    "eu-central-1",
    "eu-north-1",
    "eu-west-1",
    "eu-west-2",
    "sa-east-1",
    "us-east-1",
    "us-east-2",
    "us-gov-west-1",
    "us-west-1",
    "us-west-2",
)
AZURE_REGIONS = (
    "brazilsouth",
    "eastus",
    "eastus2",
    "germanynorth",
    "germanywestcentral",
    "japaneast",
    "northeurope",
    "uksouth",
    "westeurope",
    "westus",
    "westus2",
    "westus3",
)
PAGE_SIZE = 5
"""Items a page of a listing, so that every listing of Consumption has several."""

_PRICE_TYPES = ("Consumption", "DevTestConsumption", "Reservation")
_PLAN_REGION = "ap-east-2"
_AWS_TYPES = {
    *("m5.large", "c5.large", "g5.xlarge", "g6.xlarge", "p4d.24xlarge", "p5.48xlarge"),
    # With savings plans, in ap-east-2.
    *("r7g", "r7g.large", "r7g.2xlarge", "r7g.12xlarge"),
}
_AZURE_TYPES = {
    "Standard_D2s_v5",
    "Standard_NC24ads_A100_v4",
    "Standard_NC40ads_H100_v5",
    "Standard_ND96amsr_A100_v4",
}
_PREAMBLE_LINES = 6
_INSTANCE_TYPE_COLUMN = 19
_PLAN_TYPE_COLUMN = 23

Item = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SmallNight:
    """What the providers send: offer files, savings plans, the spot feed, listings, rates."""

    aws: dict[str, bytes]
    plans: dict[str, bytes]
    spot: bytes
    azure: dict[tuple[str, str], list[Item]]
    ecb: bytes

    def shuffled(self, seed: int) -> "SmallNight":
        """Give the same night with every row of every document in another place."""
        chance = random.Random(seed)
        return replace(
            self,
            aws={region: _shuffled_lines(body, chance) for region, body in self.aws.items()},
            plans={region: _shuffled_lines(body, chance) for region, body in self.plans.items()},
            azure={
                key: [item for page in _pages_of(items) for item in chance.sample(page, len(page))]
                for key, items in self.azure.items()
            },
        )

    def with_aws_lines(self, region: str, change: Callable[[str], str]) -> "SmallNight":
        """Give the night with every line of one region's offer file changed."""
        lines = self.aws[region].decode().splitlines()
        changed = [*lines[:_PREAMBLE_LINES], *map(change, lines[_PREAMBLE_LINES:])]
        return replace(self, aws={**self.aws, region: ("\n".join(changed) + "\n").encode()})


def load_small_night() -> SmallNight:
    """Read the small night from the bundled recording."""
    transport = ReplayTransport(RECORDING)
    urls = [interaction.url for interaction in transport.recording.interactions]
    with client_without_waits(transport=transport) as client:
        return SmallNight(
            aws={
                region: _few_types(
                    client.get(_only(urls, f"AmazonEC2/[0-9]+/{region}/index.csv")).body,
                    _INSTANCE_TYPE_COLUMN,
                )
                for region in AWS_REGIONS
            },
            plans={
                _PLAN_REGION: _few_types(
                    client.get(_only(urls, f"SavingsPlan/[0-9]+/{_PLAN_REGION}/index.csv")).body,
                    _PLAN_TYPE_COLUMN,
                )
            },
            spot=_few_spot_prices(client.get(_only(urls, "spot.json")).body),
            azure={
                (region, price_type): [
                    item
                    for url in _pages(urls, region, price_type)
                    for item in json.loads(client.get(url).body)["Items"]
                    if item["armSkuName"] in _AZURE_TYPES
                ]
                for region in AZURE_REGIONS
                for price_type in _PRICE_TYPES
            },
            ecb=client.get(_only(urls, "eurofxref-daily[.]xml")).body,
        )


def _only(urls: list[str], ending: str) -> str:
    (url,) = (url for url in urls if re.search(f"{ending}$", url))
    return url


def _pages(urls: list[str], region: str, price_type: str) -> list[str]:
    return [
        url
        for url in urls
        if f"armRegionName%20eq%20'{region}'" in url and f"priceType%20eq%20'{price_type}'" in url
    ]


def _pages_of(items: list[Item]) -> list[list[Item]]:
    return [items[start : start + PAGE_SIZE] for start in range(0, len(items), PAGE_SIZE)]


def _few_spot_prices(body: bytes) -> bytes:
    feed = json.loads(body)
    for region in feed["config"]["regions"]:
        for group in region["instanceTypes"]:
            group["sizes"] = [size for size in group["sizes"] if size["size"] in _AWS_TYPES]
    return json.dumps(feed).encode()


def _few_types(body: bytes, type_column: int) -> bytes:
    lines = body.decode().splitlines()
    rows = csv.reader(io.StringIO("\n".join(lines[_PREAMBLE_LINES:])))
    kept = [
        line
        for line, row in zip(lines[_PREAMBLE_LINES:], rows, strict=True)
        if row[type_column] in _AWS_TYPES
    ]
    return ("\n".join([*lines[:_PREAMBLE_LINES], *kept]) + "\n").encode()


def _shuffled_lines(body: bytes, chance: random.Random) -> bytes:
    lines = body.decode().splitlines()
    rows = lines[_PREAMBLE_LINES:]
    return ("\n".join([*lines[:_PREAMBLE_LINES], *chance.sample(rows, len(rows))]) + "\n").encode()
