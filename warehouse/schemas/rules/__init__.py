"""The registry of rules: every reason for which a row is left out or a release is refused."""

from warehouse.schemas.rules.aws import AWS
from warehouse.schemas.rules.azure import AZURE
from warehouse.schemas.rules.gate import GATE
from warehouse.schemas.rules.rule import by_id
from warehouse.schemas.rules.shared import SHARED

RULES = (*SHARED, *AWS, *AZURE, *GATE)

RULE = by_id(RULES)
