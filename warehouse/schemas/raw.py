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
    "One item of the Azure Retail Prices API, numbers exact; one too large for money is the "
    "largest that money holds. An absent key is null",
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

AWS_SAVINGS_PLAN_RATES = Table(
    "aws_savings_plan_rates",
    "raw",
    "One line of a savings plan offer file (index.csv): what one SKU costs under one plan, as "
    "text. A field that is empty or whose column the file does not have is null",
    _words(
        "sku",
        "rate_code",
        "unit",
        "effective_date",
        "discounted_rate",
        "currency",
        "discounted_sku",
        "discounted_service_code",
        "discounted_usage_type",
        "discounted_operation",
        "purchase_option",
        "lease_contract_length",
        "lease_contract_length_unit",
        "product_family",
        "discounted_region_code",
        "discounted_instance_type",
    ),
    key=("rate_code",),
)

AWS_SPOT_PRICES = Table(
    "aws_spot_prices",
    "raw",
    "One entry of EC2's DescribeSpotPriceHistory, as text; a missing key is null",
    _words(
        "availability_zone",
        "availability_zone_id",
        "instance_type",
        "product_description",
        "spot_price",
        "timestamp",
    ),
    key=(),
)

AWS_SPOT_FEED_PRICES = Table(
    "aws_spot_feed_prices",
    "raw",
    "One price of AWS's public spot feed, as text. The region is spelled as the feed does, the "
    "system is the name of the feed's value column (linux, mswin)",
    _words("region", "instance_type", "system", "currency", "price"),
    key=(),
)

AWS_INSTANCE_TYPE_OFFERINGS = Table(
    "aws_instance_type_offerings",
    "raw",
    "One entry of EC2's DescribeInstanceTypeOfferings by zone id, as text",
    _words("instance_type", "location", "location_type"),
    key=(),
)
