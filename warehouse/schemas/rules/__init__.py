"""The registry of rules: every reason for which a row is left out or a release is refused."""

from warehouse.schemas.rules.aws import AWS
from warehouse.schemas.rules.aws_savings_plans import AWS_SAVINGS_PLANS
from warehouse.schemas.rules.aws_spot import AWS_SPOT
from warehouse.schemas.rules.azure import AZURE
from warehouse.schemas.rules.gate import GATE
from warehouse.schemas.rules.rule import by_id
from warehouse.schemas.rules.shared import SHARED

RULES = (*SHARED, *AWS, *AWS_SAVINGS_PLANS, *AWS_SPOT, *AZURE, *GATE)

RULE = by_id(RULES)
