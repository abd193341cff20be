"""What providers are known to list against the rule: no error of ours, and none to be told again.

Measured on full price lists: AWS of 2026-07-05 in all regions and us-east-1 up to 2026-07-20, Azure
of 2026-08-22.
"""

from typing import NamedTuple

_CREDITS = "Sizes differ in CPU credits, and the small ones have a fraction of a vCPU"
_ACCELERATOR = "Priced by its accelerators, of which small sizes have as many as middling ones"
_HPC = "One price for all sizes: smaller ones are the same machine with cores switched off"
_ODD_TOP = "The largest size has 36 vCPUs at the price of 32"
_MEMORY = "Priced by memory as well, which does not grow with the vCPUs from size to size"
_TOP = "The largest size is a sixth dearer a vCPU than all others"

PRICED_OTHERWISE = {
    "t2": _CREDITS,
    "t3": _CREDITS,
    "t3a": _CREDITS,
    "t4g": _CREDITS,
    "g4ad": _ACCELERATOR,
    "g4dn": _ACCELERATOR,
    "g5": _ACCELERATOR,
    "g5g": _ACCELERATOR,
    "g6": _ACCELERATOR,
    "g6e": _ACCELERATOR,
    "g6f": _ACCELERATOR,
    "g7": _ACCELERATOR,
    "g7e": _ACCELERATOR,
    "gr6": _ACCELERATOR,
    "p5": _ACCELERATOR,
    "inf1": _ACCELERATOR,
    "inf2": _ACCELERATOR,
    "hpc7a": _HPC,
    "hpc7g": _HPC,
    "u-6tb1": _MEMORY,
    "x8i": _TOP,
    "c4": _ODD_TOP,
    "d2": _ODD_TOP,
    "m1": _MEMORY,
}
"""AWS families whose vCPUs cost 8 % to 16 times as much in one size as in another, and why. m8gb
and r8gb are not among them: only their bare metal is (metal-24xl costs as much as metal-48xl), and
bare metal is not compared."""


class OutOfLine(NamedTuple):
    """A family that a region lists far from all others, and that a person has looked at."""

    provider: str
    region_id: str
    family: str
    reason: str


OUT_OF_LINE = (
    OutOfLine(
        "azure",
        "newzealandnorth",
        "Fams_v6",
        "A tenth of every other region, on demand and committed alike (F4ams_v6: 0.0449)",
    ),
    OutOfLine(
        "azure",
        "newzealandnorth",
        "Fiams_v6",
        "A ninth of every other region, on demand and in savings plans (F72iams_v6: 0.889)",
    ),
)
"""Every release says so with a warning of `prices.in_line`; it is what the provider lists."""
