"""Whether AWS's APIs may be asked."""

import logging

from flows.run import Run

logger = logging.getLogger(__name__)


def has_credentials(run: Run) -> bool:
    """Tell whether AWS's APIs may be asked; credentials that are broken are as good as none."""
    if not run.may_use_credentials:
        return False
    from botocore.exceptions import BotoCoreError  # noqa: PLC0415 - only where it is used

    from connectors.aws import pricing_api  # noqa: PLC0415

    try:
        return pricing_api.has_credentials()
    except BotoCoreError as error:
        logger.warning("AWS is asked without credentials: %s", error)
        return False
