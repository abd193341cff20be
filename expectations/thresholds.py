"""Every limit of the gate, in one place, with its unit and the reason for its default."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GateThresholds:
    """Limits of the table checks. A value equal to its limit passes.

    Shares are percentages (0 to 100). Row checks have no limits: one bad row is one too many.
    """

    jump_pct: float = 30.0
    """Percent up or down against the last release from which a price change is shown. In four
    years of AWS on-demand prices only the GPU cuts of June 2025 (-33 % and -44 %) and corrected
    errors went beyond it; 6,586 ordinary Azure changes of one month all stayed below."""

    jumping_rows_pct: float = 5.0
    """Percent of a provider's compared prices that may jump. The GPU cuts touched under 1 %; a
    misread unit, currency or column touches nearly all."""

    out_of_line_factor: float = 3.0
    """How often a price may hold the median of all regions, or be held by it. With Linux, AWS
    stays below 2 and Azure below 2.4 but for some tens of sizes, in the full lists of summer
    2026."""

    out_of_line_regions: int = 5
    """Regions that must price a thing before their median says what is usual."""

    aws_region_spread: float = 3.0
    """How often AWS's cheapest region may go into its dearest for one machine: at most 2.54 for
    all 1,321 types with a Linux price, summer 2026."""

    azure_region_spread: float = 3.5
    """The same for Azure, where Brazil Southeast ordinarily costs up to 3.3 times Central India:
    beyond 3.5 were 26 of 1,835 sizes, 13 of them by more than 10."""

    family_factor: float = 4.0
    """How often a whole family may hold the median of all regions, or be held by it. Ordinary
    families stay below 2 (AWS) and 3.2 (Azure); Azure's regions are at most 2.3 times off the
    median, so a point in the wrong place shows as 10 / 2.3 = 4.3 or more."""

    vcpu_spread_pct: float = 1.0
    """Percent by which the price of a vCPU may differ between sizes of a family. Between 1 and 5 %
    no family was found: it is rounding, or it is something else altogether."""

    lost_rows_pct: float = 3.0
    """Percent of a region's prices that may be gone before the release is refused: one lost page
    of 1,000 items is 3 to 12 % of an Azure region, and no lawful withdrawal seen reaches 3 %."""

    lost_rows_notice_pct: float = 1.0
    """Percent of a region's prices that may be gone without a word."""

    lost_rows_at_least: int = 10
    """Rows that must be gone from a region before a percentage means anything."""

    growth_pct: float = 10.0
    """Percent by which a provider's rows may grow in a night; a new region brings 1 to 3 %, a new
    generation in all regions about 5 %."""

    vanished_types_pct: float = 2.0
    """Percent of a provider's instance types that may vanish in a night; a retired series is one
    type in a hundred at most."""

    canary_breadth_missing_pct: float = 15.0
    """Percent of the asked regions in which a nearly ubiquitous type may be missing. Measured on
    full lists: 0 to 14 %, because the newest regions start without older series."""

    regions_missing_pct: float = 10.0
    """Percent of a provider's asked regions that may be missing or carried over: ten of AWS's
    hundred regions and zones, or six Azure regions."""

    carried_over_days: float = 7.0
    """Days, at the as-of time, since prices were last confirmed by their provider, up to which they
    may be carried over. Azure changes spot prices monthly and AWS publishes several times a week: a
    week is late, not yet wrong."""

    stale_hours: float = 36.0
    """Hours since its last confirmation up to which a document counts as of this night: one night
    may be missed and caught up on the next day."""

    outdated_days: float = 7.0
    """Days since its last confirmation after which a live run's document is no basis for a
    release."""

    fx_age_days: int = 4
    """Age in days of the newest euro rate: Thursday's rate on an ordinary long weekend."""

    rejected_rows_notice_pct: float = 0.1
    """Percent of a provider's rows that may be rejected without a word: some hundred odd rows of
    several hundred thousand are normal."""

    rejected_rows_pct: float = 5.0
    """Percent of a provider's rows that may be rejected before the format must be assumed to have
    changed."""

    sample_rows: int = 20
    """Failing rows that the report shows for each rule; their number is always exact."""
