"""Collected exchange rates -> units per euro, as the ECB would round them.

They are Microsoft's rates of 2026-08-22, which it converts list prices with, and not the ECB's:
no copy of the ECB's own rates was at hand. Only currencies that the ECB publishes are written.
"""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

RATES = "azure/azurehub_index_2026-08-22.json"

# The last working day before the recording: the ECB publishes none on a Saturday.
RATE_DATE = date(2026, 8, 21)

# The ECB's currencies in its order, and the decimals it publishes each with.
_DECIMALS = {
    "USD": 4,
    "JPY": 2,
    "CZK": 3,
    "DKK": 4,
    "GBP": 5,
    "HUF": 2,
    "PLN": 4,
    "RON": 4,
    "SEK": 4,
    "CHF": 4,
    "ISK": 2,
    "NOK": 4,
    "TRY": 4,
    "AUD": 4,
    "BRL": 4,
    "CAD": 4,
    "CNY": 4,
    "HKD": 4,
    "IDR": 2,
    "ILS": 4,
    "INR": 4,
    "KRW": 2,
    "MXN": 4,
    "MYR": 4,
    "NZD": 4,
    "PHP": 3,
    "SGD": 4,
    "THB": 3,
    "ZAR": 4,
}


def read_reference_rates(data: Path) -> dict[str, str]:
    """Return currency -> units per euro as text; `data` is the data folder."""
    document = json.loads((data / RATES).read_text(encoding="utf-8"), parse_float=Decimal)
    per_usd = {entry["code"]: Decimal(entry["rate"]) for entry in document["currencies"]}
    return {
        currency: f"{per_usd[currency] / per_usd['EUR']:.{decimals}f}"
        for currency, decimals in _DECIMALS.items()
    }
