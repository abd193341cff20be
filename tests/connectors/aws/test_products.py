"""GetProducts, asked over its real protocol: JSON in JSON, pages, tokens, refusals."""

import json
from io import BytesIO
from pathlib import Path

import polars as pl
import pytest

from connectors.aws.pricing_api import create_pricing_client
from connectors.aws.products import ATTRIBUTES, fetch_products, require_credentials
from connectors.aws.wire import OPTIONAL_COLUMNS, REQUIRED_COLUMNS, read_offer_rows
from connectors.errors import (
    RateLimitedError,
    SourceRejectedError,
    SourceUnavailableError,
    WireFormatError,
)
from support.fake_http import FakeServer, refuses, sends
from support.fake_products import (
    FakeProducts,
    ec2_product,
    products_of_bulk,
    products_of_offer,
)
from support.wire_aws import encode_offer_csv
from warehouse.schemas.raw import AWS_OFFER_ROWS

DATA = Path(__file__).resolve().parents[3] / "../shared/data/aws"

real_data = pytest.mark.skipif(not DATA.is_dir(), reason="the large collections are not here")

SECOND_PAGE = "C71j2abxcaQZAgwqzYR6zA==:page2"
SKU = "6C86BEPQVG73ZGGR"
LINUX = {
    "instanceType": "m5.large",
    "operatingSystem": "Linux",
    "tenancy": "Shared",
    "preInstalledSw": "NA",
    "licenseModel": "No License required",
    "operation": "RunInstances",
    "usagetype": "BoxUsage:m5.large",
    "capacitystatus": "Used",
    "marketoption": "OnDemand",
    "regionCode": "us-east-1",
    "location": "US East (N. Virginia)",
}


def rate(
    code: str, price: dict[str, str], *, unit: str = "Hrs", **ranges: str
) -> dict[str, object]:
    return {"rateCode": code, "unit": unit, "pricePerUnit": price, "appliesTo": [], **ranges}


def term(code: str, *rates: dict[str, object], **attributes: str) -> dict[str, object]:
    return {
        "offerTermCode": code,
        "sku": SKU,
        "effectiveDate": "2026-07-01T00:00:00Z",
        "priceDimensions": {one["rateCode"]: one for one in rates},
        "termAttributes": attributes,
    }


HOURLY = rate(f"{SKU}.T1.R1", {"USD": "0.0960000000"}, beginRange="0", endRange="Inf")
RENTED = term(
    "T2",
    rate(f"{SKU}.T2.R1", {"USD": "0.0290000000"}, beginRange="0", endRange="Inf"),
    rate(f"{SKU}.T2.R2", {"USD": "254"}, unit="Quantity"),
    LeaseContractLength="1yr",
    OfferingClass="standard",
    PurchaseOption="Partial Upfront",
)
PRODUCT = ec2_product(
    SKU,
    attributes=LINUX,
    terms={
        "OnDemand": {f"{SKU}.T1": term("T1", HOURLY)},
        "Reserved": {f"{SKU}.T2": RENTED},
    },
)


@pytest.fixture
def aws():
    return FakeProducts([PRODUCT])


@pytest.fixture
def server(aws, monkeypatch):
    with FakeServer(aws) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_PRICING", server.base_url)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
        yield server


@pytest.fixture
def pricing(server):
    client = create_pricing_client(max_attempts=1)
    yield client
    client.close()


def page_of(products: list[str]) -> bytes:
    return json.dumps({"FormatVersion": "aws_v1", "PriceList": products}).encode()


def real_pages() -> dict[str | None, bytes]:
    first, second = (
        (DATA / f"getproducts/GetProducts_page{number}_20260910195514.json").read_bytes()
        for number in (1, 2)
    )
    return {None: first, SECOND_PAGE: second}


def asked(server):
    return [json.loads(request.body) for request in server.requests]


def test_every_rate_of_every_term_is_a_row_as_in_an_offer_file(pricing):
    rows = fetch_products(pricing, "m5.large", region_id="us-east-1")

    assert rows.schema == AWS_OFFER_ROWS.schema
    named = rows.select(
        "term_type",
        "rate_code",
        "price_per_unit",
        "currency",
        "unit",
        "starting_range",
        "ending_range",
        "lease_contract_length",
        "purchase_option",
        "offering_class",
        "effective_date",
    )
    on_demand = (None, None, None, "2026-07-01T00:00:00Z")
    rented = ("1yr", "Partial Upfront", "standard", "2026-07-01T00:00:00Z")
    assert named.rows() == [
        ("OnDemand", f"{SKU}.T1.R1", "0.0960000000", "USD", "Hrs", "0", "Inf", *on_demand),
        ("Reserved", f"{SKU}.T2.R1", "0.0290000000", "USD", "Hrs", "0", "Inf", *rented),
        ("Reserved", f"{SKU}.T2.R2", "254", "USD", "Quantity", None, None, *rented),
    ]
    same = rows.select("sku", "product_family", *ATTRIBUTES).unique().row(0, named=True)
    assert {name: same[name] for name in ("sku", "product_family")} == {
        "sku": SKU,
        "product_family": "Compute Instance",
    }
    assert {key: same[name] for name, key in ATTRIBUTES.items()} == {
        **dict.fromkeys(ATTRIBUTES.values()),
        **LINUX,
    }


def test_what_json_says_is_what_the_offer_file_says(pricing, aws):
    ordinary = dict.fromkeys({**REQUIRED_COLUMNS, **OPTIONAL_COLUMNS}.values(), "x")
    on_demand = ordinary | {
        "SKU": SKU,
        "OfferTermCode": "T1",
        "RateCode": f"{SKU}.T1.R1",
        "TermType": "OnDemand",
        "EffectiveDate": "2026-07-01",
        "Instance Type": "m5.large",
        "LeaseContractLength": None,
        "PurchaseOption": None,
        "OfferingClass": None,
        "GPU": None,
    }
    upfront = on_demand | {
        "RateCode": f"{SKU}.T2.R2",
        "OfferTermCode": "T2",
        "TermType": "Reserved",
        "LeaseContractLength": "3yr",
        "PurchaseOption": "All Upfront",
        "OfferingClass": "convertible",
        "StartingRange": None,
        "EndingRange": None,
    }
    offer = encode_offer_csv([on_demand, upfront])
    aws.products = products_of_offer(offer)

    rows = fetch_products(pricing, "m5.large", region_id=None)

    (listed,) = read_offer_rows(BytesIO(offer), source_id="offer")
    assert rows.equals(listed.with_columns(pl.col("effective_date") + "T00:00:00Z"))


def test_the_type_and_the_region_are_asked_for_by_their_codes(pricing, server):
    fetch_products(pricing, "m5.large", region_id="us-east-1")
    fetch_products(pricing, "m5.large", region_id=None)

    of_type = {"Type": "TERM_MATCH", "Field": "instanceType", "Value": "m5.large"}
    in_region = {"Type": "TERM_MATCH", "Field": "regionCode", "Value": "us-east-1"}
    assert [call["Filters"] for call in asked(server)] == [[of_type, in_region], [of_type]]
    assert {call["FormatVersion"] for call in asked(server)} == {"aws_v1"}


def test_what_is_not_listed_is_a_frame_without_rows(pricing):
    assert fetch_products(pricing, "m5.xlarge", region_id=None).equals(AWS_OFFER_ROWS.empty())


@pytest.mark.parametrize("last_token", [None, ""], ids=["no token", "empty token"])
@pytest.mark.parametrize("page_size", [1, 2, 3])
def test_pages_are_read_to_the_last(pricing, aws, server, page_size, last_token):
    aws.products = [
        ec2_product(f"SKU{number}", attributes=LINUX, terms=PRODUCT["terms"]) for number in range(3)
    ]
    aws.page_size, aws.last_token = page_size, last_token

    rows = fetch_products(pricing, "m5.large", region_id=None)

    assert rows["sku"].unique(maintain_order=True).to_list() == ["SKU0", "SKU1", "SKU2"]
    assert rows.height == 9
    assert len(server.requests) == -(-3 // page_size)


def test_a_token_that_leads_back_is_an_error(pricing, aws, server):
    aws.circles = True
    with pytest.raises(WireFormatError, match="goes in circles") as caught:
        fetch_products(pricing, "m5.large", region_id="us-east-1")
    assert (caught.value.region_id, caught.value.field) == ("us-east-1", "NextToken")
    assert len(server.requests) == 2


def test_an_answer_that_does_not_end_is_an_error(pricing, aws, server):
    aws.never_ends = True
    with pytest.raises(WireFormatError, match="expected at most 4 pages"):
        fetch_products(pricing, "m5.large", region_id=None, max_pages=4)
    assert len(server.requests) == 4


def test_keys_in_another_order_and_unknown_ones_change_nothing(pricing, aws):
    before = fetch_products(pricing, "m5.large", region_id=None)
    aws.products = [json.dumps({**PRODUCT, "isNew": {"a": [1]}}, sort_keys=True)]
    assert fetch_products(pricing, "m5.large", region_id=None).equals(before)


def test_an_attribute_that_says_nothing_is_null(pricing, aws):
    attributes = {**LINUX, "gpu": ""}
    del attributes["regionCode"], attributes["marketoption"]
    aws.products = [ec2_product(SKU, attributes=attributes, terms=PRODUCT["terms"])]
    rows = fetch_products(pricing, "m5.large", region_id=None)
    assert rows.select("region_code", "market_option", "gpu").unique().rows() == [(None,) * 3]


@pytest.mark.parametrize(
    ("price", "rows"),
    [
        ({"CNY": "0.5310000000"}, [("CNY", "0.5310000000")]),
        ({"USD": "1", "CNY": "7"}, [("USD", "1"), ("CNY", "7")]),
        ({}, [(None, None)]),
    ],
    ids=["China", "two currencies", "no price"],
)
def test_each_currency_is_a_row_and_no_rate_is_lost(pricing, aws, price, rows):
    terms = {"OnDemand": {f"{SKU}.T1": term("T1", rate("R1", price))}}
    aws.products = [ec2_product(SKU, attributes=LINUX, terms=terms)]
    found = fetch_products(pricing, "m5.large", region_id=None)
    assert found.select("currency", "price_per_unit").rows() == rows


@pytest.mark.parametrize(
    "product",
    [
        "not JSON",
        "null",
        json.dumps({"product": PRODUCT["product"]}),
        json.dumps({**PRODUCT, "terms": {"OnDemand": {SKU: {f"{SKU}.T1": term("T1", HOURLY)}}}}),
        json.dumps({**PRODUCT, "product": {"attributes": LINUX}}),
    ],
    ids=["no JSON", "null", "no terms", "terms one level deeper", "no SKU"],
)
def test_what_is_no_product_is_an_error(pricing, server, product):
    server.misbehave(sends(page_of([product])))
    with pytest.raises(WireFormatError, match="expected a product of GetProducts") as caught:
        fetch_products(pricing, "m5.large", region_id=None)
    assert caught.value.source == "aws_products/m5.large"
    assert caught.value.sample == product[:200]


@pytest.mark.parametrize(
    ("status", "code", "error"),
    [
        (400, "ThrottlingException", RateLimitedError),
        (500, "InternalErrorException", SourceUnavailableError),
        (400, "AccessDeniedException", SourceRejectedError),
        (400, "InvalidNextTokenException", SourceRejectedError),
    ],
)
def test_refusals_are_told_apart(pricing, server, status, code, error):
    server.misbehave(refuses(status, json.dumps({"__type": code, "message": "no"}).encode()))
    with pytest.raises(error, match=f"{code}.*no"):
        fetch_products(pricing, "m5.large", region_id=None)


def test_missing_credentials_are_said_with_the_variables_to_set(monkeypatch):
    with pytest.raises(SourceRejectedError, match="AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"):
        require_credentials()

    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    require_credentials()


@real_data
def test_both_real_pages_give_their_32_products(pricing, aws, server):
    aws.pages = real_pages()

    rows = fetch_products(pricing, "m5.xlarge", region_id=None)

    assert [call.get("NextToken") for call in asked(server)] == [None, SECOND_PAGE]
    assert (rows.height, rows["sku"].n_unique()) == (32, 32)
    assert set(rows["term_type"]) == {"OnDemand"}
    assert rows.group_by("region_code").len().sort("region_code").rows() == [
        (None, 1),  # the free tier
        ("eu-west-1", 6),
        ("us-east-1", 16),
        ("us-west-2", 9),
    ]
    linux = rows.filter(
        pl.col("operation") == "RunInstances",
        pl.col("capacity_status") == "Used",
        pl.col("tenancy") == "Shared",
    )
    of_p4d = linux.filter(pl.col("instance_type") == "p4d.24xlarge")
    assert dict(of_p4d.select("region_code", "price_per_unit").iter_rows()) == {
        "us-east-1": "21.9576420000",
        "us-west-2": "21.9576400000",
        "eu-west-1": "23.7156900000",
    }
    (free_tier,) = rows.filter(pl.col("region_code").is_null()).rows(named=True)
    assert (free_tier["instance_type"], free_tier["ending_range"]) == (None, "750")


@real_data
def test_the_json_offer_files_of_three_regions_say_what_getproducts_says(pricing, aws):
    aws.pages = real_pages()
    asked_for = fetch_products(pricing, "m5.xlarge", region_id=None)

    aws.pages = {}
    for path in sorted(DATA.glob("bulk/AmazonEC2_*_slice_20260910195514.json")):
        aws.products = products_of_bulk(json.loads(path.read_bytes()))
        region_id = path.name.split("_")[1]
        types = asked_for.filter(pl.col("region_code") == region_id)["instance_type"].unique()
        for instance_type in types:
            rows = fetch_products(pricing, instance_type, region_id=region_id)
            same = asked_for.filter(
                pl.col("region_code") == region_id, pl.col("instance_type") == instance_type
            )
            assert rows.sort("sku").equals(same.sort("sku"))


@real_data
def test_a_product_of_2021_has_all_its_twelve_reserved_terms(pricing, aws):
    path = DATA / "getproducts/instance-selector_m5.large_us-east-1.json"
    aws.products = [json.loads(path.read_bytes())]

    rows = fetch_products(pricing, "m5.large", region_id=None)

    on_demand, reserved = (
        rows.filter(pl.col("term_type") == name) for name in ("OnDemand", "Reserved")
    )
    assert on_demand.select("price_per_unit", "unit", "region_code").rows() == [
        ("0.0960000000", "Hrs", None)
    ]
    terms = ("offering_class", "lease_contract_length", "purchase_option")
    assert reserved.select(terms).n_unique() == 12
    three_years = reserved.filter(
        pl.col("offering_class") == "standard",
        pl.col("lease_contract_length") == "3yr",
        pl.col("purchase_option") == "All Upfront",
    )
    assert sorted(three_years.select("unit", "price_per_unit").rows()) == [
        ("Hrs", "0.0000000000"),
        ("Quantity", "949"),
    ]


@real_data
def test_a_page_of_2019_is_read_though_it_has_no_region_codes(pricing, server):
    path = DATA / "getproducts/lyft_full_ec2_sample_page_20190329.json"
    page = json.loads(path.read_bytes())
    server.misbehave(sends(page_of(page["PriceList"])))

    rows = fetch_products(pricing, "d2.2xlarge", region_id=None)

    assert rows.select(
        "sku", "region_code", "location", "capacity_status", "price_per_unit"
    ).rows() == [
        (
            "23HFESK6ZBDQ53EN",
            None,
            "Asia Pacific (Sydney)",
            "UnusedCapacityReservation",
            "2.1570000000",
        ),
        (
            "23HJ4NUSYQBPWZQN",
            None,
            "Canada (Central)",
            "AllocatedCapacityReservation",
            "0.0000000000",
        ),
    ]
