"""Filters and rejects of AWS spot prices, and of what AWS says can be ordered."""

from warehouse.schemas.rules.rule import Rule, filter_rule, reject_rule

AWS_SPOT_OUTSIDE_VPC = filter_rule(
    "aws_spot_outside_vpc",
    "The same machine and zone is listed once more as '(Amazon VPC)', and every instance runs in a "
    "VPC: that listing is the price. Listed once, with or without these words, it is the price",
)
AWS_SPOT_NOT_OFFERED = filter_rule(
    "aws_spot_not_offered", "The feed says N/A: there is no spot price of this type and system here"
)
AWS_SPOT_REGION_NOT_ASKED = filter_rule(
    "aws_spot_region_not_asked",
    "The feed covers all regions, and a region's answer its Local and Wavelength Zones; this one "
    "was not asked for",
)
AWS_OFFERING = Rule(
    "aws_offering",
    "filter",
    "offers",
    "info",
    "That a type can be ordered in a zone is no price. It is in `offers`, as offered and zones",
)

AWS_SPOT_UNKNOWN_SYSTEM = reject_rule(
    "aws_spot_unknown_system",
    "Expected the product Linux/UNIX, Windows, SUSE Linux or Red Hat Enterprise Linux, with or "
    "without '(Amazon VPC)', or the feed's column linux or mswin",
)
AWS_SPOT_UNKNOWN_TYPE = reject_rule(
    "aws_spot_unknown_type", "Expected an instance type: without one nothing is priced"
)
AWS_SPOT_UNKNOWN_ZONE = reject_rule(
    "aws_spot_unknown_zone",
    "Expected the id of an availability zone, such as use1-az1. A name, such as us-east-1a, is "
    "another zone in every account, so it says nothing to a reader",
)
AWS_OFFERING_UNKNOWN_TYPE = Rule(
    "aws_offering_unknown_type", "reject", "offers", "warning", "Expected an instance type"
)
AWS_OFFERING_UNKNOWN_ZONE = Rule(
    "aws_offering_unknown_zone",
    "reject",
    "offers",
    "warning",
    "Expected a location of type availability-zone-id, such as use1-az1. A zone's name is another "
    "zone in every account",
)

AWS_SPOT: tuple[Rule, ...] = (
    AWS_SPOT_OUTSIDE_VPC,
    AWS_SPOT_NOT_OFFERED,
    AWS_SPOT_REGION_NOT_ASKED,
    AWS_OFFERING,
    AWS_SPOT_UNKNOWN_SYSTEM,
    AWS_SPOT_UNKNOWN_TYPE,
    AWS_SPOT_UNKNOWN_ZONE,
    AWS_OFFERING_UNKNOWN_TYPE,
    AWS_OFFERING_UNKNOWN_ZONE,
)
