"""What is said of each recorded document, so that none of its prices passes for today's."""

from __future__ import annotations

from recording import aws_facts

DESCRIPTION = (
    "List prices of 2026-07-05 (AWS) and 2026-08-22 (Azure), collected by others and encoded again "
    "in the providers' own formats. Not a capture, and not today's prices; see recording/README.md"
)

_AWS = (
    "Recorded list prices of 2026-07-05, not today's: collected from instances.vantage.sh, encoded "
    "again as AWS's offer file. SKUs, rate codes and dates are synthetic; see recording/README.md"
)
_AWS_DEDICATED = (
    f"{_AWS}. Dedicated tenancy of bare metal is of 2026-07-20, from aws/karpenter-provider-aws"
)
_AWS_STORAGE = f"{_AWS}. Storage is of 2020-10-19"
_AWS_TERMS = f"{_AWS}. One SKU, c6i.large dedicated with SQL Server Web, is AWS's own of 2025-09-12"
_AWS_SKUS = f"{_AWS}. Some SKUs of r7g are AWS's own"
_AWS_PLANS = (
    "Recorded rates of 2025-09-11, not today's: AWS's own rows of one plan of one family, as far "
    "as they were collected; see recording/README.md"
)
_AWS_CHINA = (
    "Recorded list prices of 2024-11-06, not today's, of Beijing alone: collected from "
    "aws/karpenter-provider-aws, encoded again as AWS's offer file. SKUs, rate codes and dates are "
    "synthetic; see recording/README.md"
)
_AWS_SPOT = (
    "Recorded spot prices of 2026-07-05, not today's, and means over zones: collected from "
    "instances.vantage.sh, encoded as AWS's public spot feed; see recording/README.md"
)
_AZURE = (
    "Recorded list prices of 2026-08-22, not today's: collected by endgor/azure-hub, encoded again "
    "as pages of the Retail Prices API. Most meter and SKU ids and dates are synthetic; see "
    "recording/README.md"
)
_ECB = (
    "Recorded rates of 2026-08-22, not today's, and not the ECB's: Microsoft's rates to the US "
    "dollar, converted to the euro, encoded again in the ECB's form; see recording/README.md"
)


def notes_by_url(
    *, aws_url: str, aws_china_url: str, aws_spot_url: str, azure_url: str, ecb_url: str
) -> dict[str, str]:
    """Return url prefix -> note; the longest prefix of a document's url decides."""
    offer_files = f"{aws_url}/offers/v1.0/aws/AmazonEC2/{aws_facts.VERSION}"
    return {
        f"{aws_url}/": _AWS,
        **{
            f"{offer_files}/{region_id}/": _AWS_DEDICATED
            for region_id in ("us-east-1", "us-gov-east-1", "us-gov-west-1")
        },
        f"{offer_files}/ap-east-2/": _AWS_SKUS,
        f"{offer_files}/ap-northeast-1/": _AWS_TERMS,
        f"{offer_files}/eu-west-3/": _AWS_STORAGE,
        f"{aws_url}/savingsPlan/": _AWS_PLANS,
        f"{aws_china_url}/": _AWS_CHINA,
        aws_spot_url: _AWS_SPOT,
        azure_url: _AZURE,
        ecb_url: _ECB,
    }
