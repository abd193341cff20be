"""Make recording/bundled from collected list prices: `python -m recording.build ../shared/data`.

The ordinary connectors fetch from a transport that stands where the network stands, and the
ordinary recorder writes down what passes. The same facts give the same bytes.
"""

from __future__ import annotations

import argparse
import logging
import shutil
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from connectors.aws.price_list import fetch_offer_file, fetch_region_index
from connectors.aws.savings_plans import fetch_savings_plan_file, fetch_savings_plan_index
from connectors.aws.spot_feed import fetch_spot_feed
from connectors.azure.retail_prices import fetch_price_list
from connectors.ecb import fetch_reference_rates
from connectors.http_client import HttpClient, HttpPolicy
from connectors.recording import RecordingTransport
from recording.azure_facts import PRICE_TYPES
from recording.collected_prices import read_collected_prices
from recording.notes import DESCRIPTION, notes_by_url
from recording.selection import read_selection
from warehouse.landing import LandingStore

if TYPE_CHECKING:
    from collections.abc import Iterable

HERE = Path(__file__).resolve().parent

AWS_URL = "https://pricing.us-east-1.amazonaws.com"
AWS_CHINA_URL = "https://pricing.cn-north-1.amazonaws.com.cn"
AWS_SPOT_FEED_URL = "https://website.spot.ec2.aws.a2z.com/spot.json"
AZURE_URL = "https://prices.azure.com/api/retail/prices"
ECB_URL = "https://www.ecb.europa.eu/stats/eurofxref/eurofxref-daily.xml"

# The recording's clock, which a replay takes for its own.
AS_OF = datetime(2026, 8, 22, 6, 0, tzinfo=UTC)

logger = logging.getLogger(__name__)


def main() -> None:
    """Read the arguments and build."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path, help="folder of the collected facts")
    parser.add_argument("--directory", type=Path, default=HERE / "bundled", help="what to write")
    arguments = parser.parse_args()
    build(arguments.data, arguments.directory)


def build(data: Path, directory: Path) -> None:
    """Record everything that `data` gives into `directory`, in place of what is there."""
    logger.info("encoding the facts in %s", data)
    selection = read_selection(HERE / "selection.toml")
    prices = read_collected_prices(data, HERE / "aws_places.csv", selection)
    shutil.rmtree(directory, ignore_errors=True)
    transport = RecordingTransport(
        prices,
        directory,
        as_of=AS_OF,
        now=lambda: AS_OF,
        description=DESCRIPTION,
        notes=notes_by_url(
            aws_url=AWS_URL,
            aws_china_url=AWS_CHINA_URL,
            aws_spot_url=AWS_SPOT_FEED_URL,
            azure_url=AZURE_URL,
            ecb_url=ECB_URL,
        ),
    )
    policy = HttpPolicy(max_attempts=1)
    with (
        tempfile.TemporaryDirectory() as landing,
        HttpClient(policy, sleep=time.sleep, now=lambda: AS_OF, transport=transport) as client,
    ):
        _fetch_everything(client, prices.azure_regions, LandingStore(Path(landing)))
        logger.info("packing")
        recording = transport.finish()
    packed = sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
    logger.info(
        "%s: %d documents, %.1f MB, packed %.2f MB",
        directory,
        len(recording.interactions),
        sum(item.bytes for item in recording.interactions) / 1e6,
        packed / 1e6,
    )


def _fetch_everything(
    client: HttpClient, azure_regions: Iterable[str], landing: LandingStore
) -> None:
    _, offer_files = fetch_region_index(client, AWS_URL, landing, fetched_at=AS_OF)
    for offer_file in offer_files:
        fetch_offer_file(client, offer_file, landing, fetched_at=AS_OF)
    _, china_files = fetch_region_index(client, AWS_CHINA_URL, landing, fetched_at=AS_OF)
    for offer_file in china_files:
        fetch_offer_file(client, offer_file, landing, fetched_at=AS_OF)
    _, plan_files = fetch_savings_plan_index(client, AWS_URL, landing, fetched_at=AS_OF)
    for plan_file in plan_files:
        fetch_savings_plan_file(client, plan_file, landing, fetched_at=AS_OF)
    fetch_spot_feed(client, AWS_SPOT_FEED_URL, landing, fetched_at=AS_OF)
    logger.info("fetched %d offer files", len(offer_files))
    for region_id in azure_regions:
        for price_type in PRICE_TYPES:
            fetch_price_list(client, AZURE_URL, region_id, price_type, landing, fetched_at=AS_OF)
    logger.info("fetched Azure's price lists")
    fetch_reference_rates(client, ECB_URL, landing, fetched_at=AS_OF)


if __name__ == "__main__":
    main()
