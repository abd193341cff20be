"""Facts -> the bytes that the Azure Retail Prices API sends: pages of items, and error bodies.

An item is a dict with the API's keys in the API's order. Money is Decimal and is written as .NET
writes a double: shortest form, always with a decimal point (416.0).
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from urllib.parse import quote

PAGE_SIZE = 1000

LINUX = ""
WINDOWS = " Windows"

Item = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Meter:
    """What is the same in all items of one meter of a VM size in a region."""

    arm_region_name: str
    location: str
    arm_sku_name: str
    meter_id: str
    meter_name: str
    product_id: str
    product_name: str
    sku_name: str
    effective_start_date: str
    is_primary_meter_region: bool = True


def retail_item(
    meter: Meter,
    price: Decimal,
    *,
    sku_id: str,
    price_type: str = "Consumption",
    reservation_term: str | None = None,
    effective_end_date: str | None = None,
    savings_plan: Iterable[tuple[str, Decimal]] = (),
) -> Item:
    """One item, USD. Keys that the API leaves out when there is nothing to say are left out.

    `savings_plan` is (term, hourly price) pairs; the API sends "3 Years" before "1 Year".
    """
    item: Item = {"currencyCode": "USD", "tierMinimumUnits": Decimal(0)}
    if reservation_term is not None:
        item["reservationTerm"] = reservation_term
    item |= {
        "retailPrice": price,
        "unitPrice": price,
        "armRegionName": meter.arm_region_name,
        "location": meter.location,
        "effectiveStartDate": meter.effective_start_date,
    }
    if effective_end_date is not None:
        item["effectiveEndDate"] = effective_end_date
    item |= {
        "meterId": meter.meter_id,
        "meterName": meter.meter_name,
        "productId": meter.product_id,
        "skuId": sku_id,
        "productName": meter.product_name,
        "skuName": meter.sku_name,
        "serviceName": "Virtual Machines",
        "serviceId": "DZH313Z7MMC8",
        "serviceFamily": "Compute",
        "unitOfMeasure": "1 Hour",
        "type": price_type,
        "isPrimaryMeterRegion": meter.is_primary_meter_region,
        "armSkuName": meter.arm_sku_name,
    }
    plans = [
        {"unitPrice": hourly, "retailPrice": hourly, "term": term} for term, hourly in savings_plan
    ]
    if plans:
        item["savingsPlan"] = plans
    return item


def encode_page(
    items: Sequence[Mapping[str, Any]],
    *,
    next_page_link: str | None,
    count: int | None = None,
    currency: str = "USD",
) -> bytes:
    """Encode one page, compact. `count` is the number of its items unless a test says otherwise."""
    return encode_json(
        {
            "BillingCurrency": currency,
            "CustomerEntityId": "Default",
            "CustomerEntityType": "Retail",
            "Items": items,
            "NextPageLink": next_page_link,
            "Count": len(items) if count is None else count,
        }
    )


def encode_error(message: str, code: str = "BadRequest") -> bytes:
    """Encode the body that comes with HTTP 400."""
    return encode_json({"Error": {"Code": code, "Message": message}})


def next_page_link(base_url: str, parameters: Mapping[str, str], skip: int) -> str:
    """Return the link to the items from `skip` on, as the API builds it.

    The port is explicit, values are percent-encoded, and the request's own parameters are carried
    over in their order.
    """
    scheme, rest = base_url.split("://", 1)
    host, _, path = rest.partition("/")
    if ":" not in host:
        host += ":443" if scheme == "https" else ":80"
    carried = [(name, value) for name, value in parameters.items() if name != "$skip"]
    query = "&".join(f"{name}={quote(value, safe='')}" for name, value in carried)
    return f"{scheme}://{host}/{path}?{query}&$skip={skip}"


def encode_json(value: object) -> bytes:
    """Encode as compact JSON with Decimals as exact numbers."""
    return _json(value).encode()


def number(value: Decimal) -> str:
    """A double's text: shortest, without exponent, with a point: 0.0, 416.0, 0.035376."""
    text = f"{value:f}"
    if "." not in text:
        return text + ".0"
    whole, _, fraction = text.partition(".")
    return f"{whole}.{fraction.rstrip('0') or '0'}"


# One encoder for all texts, for json.dumps makes a new one each time.
_text = json.JSONEncoder(ensure_ascii=False).encode


def _json(value: object) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Decimal):
        return number(value)
    if isinstance(value, Mapping):
        members = (f"{_text(key)}:{_json(member)}" for key, member in value.items())
        return "{" + ",".join(members) + "}"
    if isinstance(value, Sequence):
        return "[" + ",".join(map(_json, value)) + "]"
    return _text(value)
