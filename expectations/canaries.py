"""Canaries: instance types that are surely sold somewhere, each with the reason why it is here.

Regions are those of the providers' full price lists of summer 2026. When a provider retires a
type or closes a region, its line goes; when one opens, it gets one.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Canary:
    """One type that must have an on-demand Linux price, shared tenancy, in these regions.

    region_ids None: nearly every region of kind `region`; judged by the share without it.
    """

    provider: str
    instance_type: str
    region_ids: tuple[str, ...] | None
    reason: str


CANARIES: tuple[Canary, ...] = (
    Canary("aws", "m5.large", None, "The general-purpose type that most accounts run"),
    Canary("aws", "c5.large", None, "Compute-optimised, another family and usage type"),
    Canary(
        "aws",
        "m5.large",
        ("eu-central-1", "us-east-1", "us-west-2", "eu-west-1", "ap-southeast-1"),
        "The home region Frankfurt and the largest regions; us-east-1 has usage types without a "
        "region prefix",
    ),
    Canary("aws", "g5.xlarge", ("eu-central-1", "us-east-1"), "A single GPU in the home region"),
    Canary("aws", "g6.xlarge", ("eu-central-1", "us-east-1"), "The newer single GPU at home"),
    Canary(
        "aws",
        "p4d.24xlarge",
        ("eu-central-1", "us-east-1", "us-west-2"),
        "Eight A100: prices with six decimals, and the largest machine at home",
    ),
    Canary(
        "aws",
        "p5.48xlarge",
        ("us-east-1", "us-east-2", "us-west-2"),
        "Eight H100, the three cheapest regions, tied: losing one changes an answer people ask for",
    ),
    Canary("azure", "Standard_D2s_v5", None, "Priced in every region but edge zones"),
    Canary(
        "azure",
        "Standard_D2s_v5",
        ("germanywestcentral", "germanynorth", "westeurope", "eastus"),
        "The home regions and the largest ones",
    ),
    Canary(
        "azure",
        "Standard_NC40ads_H100_v5",
        ("germanywestcentral", "eastus", "eastus2", "westus2", "westus3"),
        "One H100 at home, and its four cheapest regions, tied",
    ),
    Canary(
        "azure",
        "Standard_NC24ads_A100_v4",
        ("germanywestcentral", "eastus"),
        "One A100, from a product whose name does not begin with Virtual Machines",
    ),
    Canary(
        "azure",
        "Standard_ND96amsr_A100_v4",
        ("germanynorth",),
        "Eight A100 with InfiniBand: the one large training machine of Germany North",
    ),
)
