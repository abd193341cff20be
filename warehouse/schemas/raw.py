"""Raw tables: the providers' own words, as connectors read them and transforms take them."""

import polars as pl

from warehouse.schemas.table import PRICE, Field, Table


def _words(*names: str) -> tuple[Field, ...]:
    return tuple(Field(name, pl.String, f"As sent: {name}") for name in names)


AWS_OFFER_ROWS = Table(
    "aws_offer_rows",
    "raw",
    "One line of an EC2 offer file (index.csv): one rate of one term of one SKU, as text. "
    "A field that is empty or whose column the file does not have is null",
    _words(
        "sku",
        "offer_term_code",
        "rate_code",
        "term_type",
        "effective_date",
        "starting_range",
        "ending_range",
        "unit",
        "price_per_unit",
        "currency",
        "lease_contract_length",
        "purchase_option",
        "offering_class",
        "product_family",
        "region_code",
        "location",
        "location_type",
        "instance_type",
        "current_generation",
        "instance_family",
        "vcpu",
        "physical_processor",
        "memory",
        "storage",
        "network_performance",
        "processor_architecture",
        "gpu",
        "gpu_memory",
        "tenancy",
        "operating_system",
        "license_model",
        "pre_installed_sw",
        "usage_type",
        "operation",
        "capacity_status",
        "market_option",
    ),
    key=("rate_code",),
)

AZURE_RETAIL_ITEMS = Table(
    "azure_retail_items",
    "raw",
    "One item of the Azure Retail Prices API, numbers exact. An absent key is null",
    (
        *_words(
            "currency_code",
            "reservation_term",
            "arm_region_name",
            "location",
            "effective_start_date",
            "effective_end_date",
            "meter_id",
            "meter_name",
            "product_id",
            "product_name",
            "sku_id",
            "sku_name",
            "service_name",
            "unit_of_measure",
            "type",
            "arm_sku_name",
        ),
        Field("tier_minimum_units", PRICE, "As sent: tierMinimumUnits"),
        Field("retail_price", PRICE, "As sent: retailPrice"),
        Field("unit_price", PRICE, "As sent: unitPrice"),
        Field("is_primary_meter_region", pl.Boolean, "As sent: isPrimaryMeterRegion"),
        Field(
            "savings_plan",
            pl.List(pl.Struct({"term": pl.String, "retail_price": PRICE, "unit_price": PRICE})),
            "As sent: savingsPlan",
        ),
    ),
    key=(),
)
