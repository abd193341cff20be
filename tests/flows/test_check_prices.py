"""`check-prices`: releases against providers that list the same, or something else."""

import csv
import io
import json
import sys
from copy import deepcopy
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest

from connectors.errors import RateLimitedError, SourceRejectedError, SourceUnavailableError
from flows import cli
from flows.check_prices import check_prices
from flows.errors import UnknownNameError
from flows.planning import read_settings
from support.fake_http import FakeServer, rate_limited, refuses
from support.fake_products import FakeProducts, FakeSizes, products_of_offer
from support.rows import day, price_rows, source_rows, type_rows

H100 = "Standard_NC40ads_H100_v5"
A100 = "Standard_NC24ads_A100_v4"
TOMORROW = day("2026-08-23")

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
}
ON_AWS = {
    "provider": "aws",
    "region_id": "us-east-1",
    "instance_type": "m5.large",
    "source_id": "aws_price_list/us-east-1",
}


@dataclass
class Providers:
    aws: FakeProducts
    azure: FakeSizes
    server: FakeServer


@pytest.fixture
def providers(monkeypatch):
    """Providers that list nothing yet, asked with credentials and only once."""
    aws, azure = FakeProducts([]), FakeSizes([])
    with FakeServer(aws, azure) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_PRICING", server.base_url)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
        monkeypatch.setenv("PRICE_CATALOG_AZURE_RETAIL_PRICES_URL", server.azure_url)
        monkeypatch.setenv("PRICE_CATALOG_HTTP_MAX_ATTEMPTS", "1")
        yield Providers(aws, azure, server)


@pytest.fixture
def same(providers, small_night):
    """Providers that list what the release of the small night was made of."""
    for offer in small_night.aws.values():
        providers.aws.products += products_of_offer(offer)
    for items in small_night.azure.values():
        providers.azure.items += deepcopy(items)
    return providers


@dataclass(frozen=True)
class SmallRelease:
    """As much of a release as is asked, of prices that a test names."""

    folder: Path
    id: str = "20260822T060000Z-00000000"

    def table(self, name: str) -> Path:
        return self.folder / f"{name}.parquet"


@pytest.fixture
def release_of(tmp_path):
    """Make a release for two AWS regions and two of Azure."""

    def release_of(*prices):
        frame = price_rows(*prices)
        regions = [("aws", "us-east-1"), ("aws", "eu-west-1"), ("aws", "cn-north-1")]
        regions += [("azure", "eastus"), ("azure", "westeurope")]
        types = frame.select("provider", "instance_type").unique().to_dicts()
        tables = {
            "prices": frame,
            "instance_types": type_rows(*types),
            "sources": source_rows(
                *(
                    {"provider": provider, "region_id": region, "source_id": region}
                    for provider, region in regions
                )
            ),
        }
        for name, rows in tables.items():
            rows.write_parquet(tmp_path / f"{name}.parquet")
        return SmallRelease(tmp_path)

    return release_of


def check(release, *types, regions=(), as_of=TOMORROW):
    return check_prices(release, types, region_ids=regions, settings=read_settings({}), as_of=as_of)


def check_one(release, name, **which):
    (checked,) = check(release, name, **which)
    return checked


def shown(checked):
    return checked.differences.select("kind", "region_id", "operating_system").rows()


def product(region="us-east-1", price="0.0960000000", sku="SKU", **attributes):
    rate = {"rateCode": f"{sku}.T.R", "unit": "Hrs", "pricePerUnit": {"USD": price}}
    term = {
        "offerTermCode": "T",
        "sku": sku,
        "effectiveDate": "2026-08-01T00:00:00Z",
        "priceDimensions": {"R": rate | {"beginRange": "0", "endRange": "Inf"}},
        "termAttributes": {},
    }
    described = {**LINUX, "regionCode": region, **attributes}
    return {
        "product": {
            "sku": sku,
            "productFamily": "Compute Instance",
            "attributes": {name: value for name, value in described.items() if value is not None},
        },
        "terms": {"OnDemand": {f"{sku}.T": term}},
    }


def item(region="eastus", price="0.096", **changes):
    return {
        "currencyCode": "USD",
        "tierMinimumUnits": Decimal(0),
        "retailPrice": Decimal(price),
        "unitPrice": Decimal(price),
        "armRegionName": region,
        "location": "US East",
        "effectiveStartDate": "2026-01-01T00:00:00Z",
        "meterId": f"meter-{region}-{price}",
        "meterName": "D2s v5",
        "productId": "DZH318Z08NRP",
        "skuId": "DZH318Z08NRP/0001",
        "productName": "Virtual Machines Dsv5 Series",
        "skuName": "D2s v5",
        "serviceName": "Virtual Machines",
        "unitOfMeasure": "1 Hour",
        "type": "Consumption",
        "isPrimaryMeterRegion": True,
        "armSkuName": "Standard_D2s_v5",
        **changes,
    }


@pytest.mark.parametrize("name", ["m5.large", "p5.48xlarge", H100, A100])
def test_a_release_agrees_with_what_it_was_made_of(release, same, name):
    checked = check_one(release, name)
    rows = pl.read_parquet(release.table("prices")).filter(pl.col("instance_type") == name)
    by_getproducts = ~pl.col("purchase_option").is_in(["savings_plan", "spot"])
    comparable = rows.filter((pl.col("provider") == "azure") | by_getproducts)
    assert checked.differences.is_empty()
    assert (checked.agrees, checked.compared) == (True, comparable.height)
    assert checked.compared > 0


def test_exactly_what_an_aws_offer_changed_is_shown(release, same):
    in_region = {
        one["product"]["attributes"]["regionCode"]: one
        for one in same.aws.products
        if one["product"]["attributes"].items() >= {"instanceType": "p5.48xlarge"}.items()
        and one["product"]["attributes"]["operation"] == "RunInstances"
        and one["product"]["attributes"]["tenancy"] == "Shared"
        and one["product"]["attributes"].get("marketoption", "OnDemand") == "OnDemand"
    }
    (term,) = in_region["us-east-1"]["terms"]["OnDemand"].values()
    (rate,) = term["priceDimensions"].values()
    rate["pricePerUnit"]["USD"] = "57.7920000000"
    del in_region["us-east-2"]["terms"]["OnDemand"]
    added = product("eu-central-1", "60", sku="NEW", instanceType="p5.48xlarge")
    added["product"]["attributes"]["usagetype"] = "EUC1-BoxUsage:p5.48xlarge"
    same.aws.products.append(added)

    checked = check_one(release, "P5.48xlarge")

    assert not checked.agrees
    assert checked.differences.select(
        "kind",
        "region_id",
        "published_hourly_rate",
        "listed_hourly_rate",
        "difference_pct",
    ).rows() == [
        ("only_at_provider", "eu-central-1", None, Decimal(60), None),
        ("price_differs", "us-east-1", Decimal("55.04"), Decimal("57.792"), 5.0),
        ("only_in_release", "us-east-2", Decimal("55.04"), None, None),
    ]
    assert checked.headline.startswith(
        f"p5.48xlarge (AWS): {checked.compared} rows compared, {checked.compared - 3} equal, "
        "3 differ."
    )


def windows(items, region):
    (found,) = (
        one
        for one in items
        if one["armSkuName"] == H100
        and one["armRegionName"] == region
        and one["type"] == "Consumption"
        and one["productName"].endswith(" Windows")
        and not one["skuName"].endswith((" Spot", " Low Priority"))
    )
    return found


def test_exactly_what_an_azure_listing_changed_is_shown(release, same):
    listed = windows(same.azure.items, "eastus")
    changed, removed = (windows(same.azure.items, name) for name in ("westus2", "westus3"))
    price = changed["retailPrice"]
    changed |= {"retailPrice": price * 2, "unitPrice": price * 2}
    same.azure.items.remove(removed)
    added = {"armRegionName": "germanynorth", "meterId": "new"}
    same.azure.items.append({**listed, **added})

    checked = check_one(release, H100)

    # With an item its savings plans, of one year and of three, come and go.
    assert shown(checked) == [
        *[("only_at_provider", "germanynorth", "windows")] * 3,
        ("price_differs", "westus2", "windows"),
        *[("only_in_release", "westus3", "windows")] * 3,
    ]
    assert checked.differences["difference_pct"].to_list() == [*[None] * 3, 100.0, *[None] * 3]


def test_a_later_date_of_the_same_price_is_no_difference(release_of, providers):
    providers.aws.products = [product()]
    checked = check_one(release_of({**ON_AWS, "valid_from": day("2025-09-12")}), "m5.large")
    assert (checked.agrees, checked.compared) == (True, 1)


def test_prices_are_those_in_force_at_the_time_of_asking(release_of, providers):
    providers.azure.items = [
        item(),
        item(price="0.2", effectiveStartDate="2026-12-01T00:00:00Z"),
    ]
    release = release_of({})
    assert check_one(release, "Standard_D2s_v5", as_of=day("2026-11-30")).agrees
    after = check_one(release, "Standard_D2s_v5", as_of=day("2026-12-01"))
    assert after.differences.select("kind", "listed_hourly_rate", "listed_valid_from").rows() == [
        ("price_differs", Decimal("0.2"), day("2026-12-01"))
    ]


def test_what_getproducts_does_not_list_is_counted_and_not_compared(release_of, providers):
    plan = {
        **ON_AWS,
        "purchase_option": "savings_plan",
        "commitment_type": "compute",
        "payment_option": "no_upfront",
    }
    providers.aws.products = [product()]
    checked = check_one(
        release_of(
            ON_AWS,
            {**plan, "term_years": 1},
            {**plan, "term_years": 3},
            {**ON_AWS, "purchase_option": "spot", "availability_zone_id": "use1-az1"},
            {**ON_AWS, "region_id": "cn-north-1", "currency": "CNY"},
        ),
        "m5.large",
    )
    assert checked.agrees
    assert checked.headline == (
        "m5.large (AWS): 1 rows compared, 1 equal, 0 differ. Not compared: "
        "1 of China, which is another endpoint; "
        "2 savings plans, which GetProducts does not list; "
        "1 spot, which GetProducts does not list."
    )


def test_azure_prices_for_reference_are_not_compared(release_of, providers):
    providers.azure.items = [item()]
    checked = check_one(
        release_of({}, {"currency": "EUR", "price_quality": "carried_over,reference"}),
        "Standard_D2s_v5",
    )
    assert checked.agrees
    assert checked.not_compared == {"for reference in other currencies": 1}


def test_azure_spot_is_compared(release_of, providers):
    release = release_of({}, {"purchase_option": "spot", "hourly_rate": "0.02"})
    providers.azure.items = [item()]
    checked = check_one(release, "Standard_D2s_v5")
    assert checked.differences.select("kind", "purchase_option").rows() == [
        ("only_in_release", "spot")
    ]


@pytest.mark.parametrize(("fee", "agrees"), [("254", True), ("255", False)])
def test_a_reserved_term_is_compared_with_both_its_halves(release_of, providers, fee, agrees):
    term = {
        "offerTermCode": "R",
        "sku": "SKU",
        "effectiveDate": "2026-08-01T00:00:00Z",
        "priceDimensions": {
            "R1": {
                "rateCode": "SKU.R.1",
                "unit": "Hrs",
                "pricePerUnit": {"USD": "0.0290000000"},
                "beginRange": "0",
                "endRange": "Inf",
            },
            "R2": {"rateCode": "SKU.R.2", "unit": "Quantity", "pricePerUnit": {"USD": fee}},
        },
        "termAttributes": {
            "LeaseContractLength": "1yr",
            "OfferingClass": "standard",
            "PurchaseOption": "Partial Upfront",
        },
    }
    on_demand = product()
    on_demand["terms"]["Reserved"] = {"SKU.R": term}
    providers.aws.products = [on_demand]
    reserved = {
        **ON_AWS,
        "purchase_option": "reserved",
        "commitment_type": "standard",
        "term_years": 1,
        "payment_option": "partial_upfront",
        "hourly_rate": "0.0290000000",
        "upfront_fee": "254",
        "effective_hourly_price": "0.0579954338",
        "pricing_category": "Committed",
    }
    checked = check_one(release_of(ON_AWS, reserved), "m5.large")
    assert (checked.agrees, checked.compared) == (agrees, 2)
    if not agrees:
        (row,) = checked.differences.rows(named=True)
        assert (row["published_upfront_fee"], row["listed_upfront_fee"]) == (254, 255)
        assert row["listed_effective_hourly_price"] == Decimal("0.0581095890")


def test_regions_that_the_release_was_not_made_for_are_counted(release_of, providers):
    providers.aws.products = [product(), product("us-west-2", sku="OTHER")]
    checked = check_one(release_of(ON_AWS), "m5.large")
    assert checked.agrees
    assert checked.not_compared == {"listed in regions that are not in the release": 1}


def test_rows_without_a_region_or_that_cannot_be_read_are_counted(release_of, providers):
    providers.aws.products = [
        product(),
        product(None, sku="OLD"),
        product(sku="ODD", operatingSystem="Plan 9"),
    ]
    checked = check_one(release_of(ON_AWS), "m5.large")
    assert checked.not_compared == {
        "listed without a region": 1,
        "listed and refused, as a refresh does": 1,
    }


def test_two_prices_of_one_key_at_the_provider_are_no_price(release_of, providers):
    providers.aws.products = [product(), product(price="0.1920000000", sku="OTHER")]
    checked = check_one(release_of(ON_AWS), "m5.large")
    assert shown(checked) == [("only_in_release", "us-east-1", "linux")]
    assert checked.not_compared == {"listed and refused, as a refresh does": 2}


def test_nothing_to_compare_is_not_called_equal(release_of, providers):
    release = release_of({**ON_AWS, "region_id": "cn-north-1", "currency": "CNY"})
    checked = check_one(release, "m5.large")
    assert (checked.agrees, checked.compared) == (False, 0)
    assert checked.headline == (
        "m5.large (AWS): nothing to compare, so nothing is checked. Not compared: "
        "1 of China, which is another endpoint."
    )


def test_a_region_in_another_case_is_the_same_region(release_of, providers):
    providers.azure.items = [item("WestEurope")]
    assert check_one(release_of({"region_id": "westeurope"}), "Standard_D2s_v5").agrees


def test_a_size_is_asked_for_in_every_spelling_of_the_release(release_of, providers):
    other = "standard_D2s_v5"
    providers.azure.items = [item(), item("westeurope", armSkuName=other)]
    release = release_of({}, {"region_id": "westeurope", "instance_type": other})
    (checked,) = check(release, "STANDARD_D2S_V5")
    assert (checked.agrees, checked.compared) == (True, 2)


def test_only_the_regions_asked_for_are_compared(release_of, providers):
    release = release_of(ON_AWS, {**ON_AWS, "region_id": "eu-west-1"}, {})
    providers.aws.products = [product("eu-west-1", usagetype="EU-BoxUsage:m5.large")]
    providers.azure.items = [item()]
    aws, azure = check(release, "m5.large", "Standard_D2s_v5", regions=("EU-West-1", "eastus"))
    assert (aws.agrees, aws.compared) == (True, 1)
    assert (azure.agrees, azure.compared) == (True, 1)
    (asked,) = (json.loads(request.body) for request in providers.server.requests if request.body)
    assert {"Type": "TERM_MATCH", "Field": "regionCode", "Value": "eu-west-1"} in asked["Filters"]
    assert not check_one(release, "m5.large").agrees


@pytest.mark.parametrize(
    ("regions", "said"),
    [
        (("eu-west-l",), "in eu-west-l. Did you mean eu-west-1?"),
        (("eu-west-1", "zzz"), "has nothing of these types' providers in zzz.$"),
        (("eu-west-1",), "none of the regions eu-west-1 is one of Azure's"),
    ],
    ids=["nearly", "unknown", "of the other provider"],
)
def test_a_region_that_would_not_be_checked_is_an_error(release_of, providers, regions, said):
    with pytest.raises(UnknownNameError, match=said):
        check(release_of(ON_AWS, {}), "m5.large", "Standard_D2s_v5", regions=regions)
    assert not providers.server.requests


def test_an_unknown_type_is_an_error_with_the_nearest_names(release_of, providers):
    with pytest.raises(UnknownNameError, match=r"'m5.larg'. Did you mean m5.large\?"):
        check(release_of(ON_AWS, {}), "Standard_D2s_v5", "m5.larg")
    assert not providers.server.requests


def test_without_credentials_nothing_is_called_checked(release_of, providers, monkeypatch):
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    with pytest.raises(SourceRejectedError, match="set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_"):
        check(release_of(ON_AWS, {}), "Standard_D2s_v5", "m5.large")
    assert not providers.server.requests


def test_azure_needs_no_credentials(release_of, providers, monkeypatch):
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    providers.azure.items = [item()]
    assert check_one(release_of({}), "Standard_D2s_v5").agrees


THROTTLED = b'{"__type": "ThrottlingException", "message": "Rate exceeded"}'


@pytest.mark.parametrize(
    ("name", "fault", "error"),
    [
        ("m5.large", refuses(503), SourceUnavailableError),
        ("m5.large", refuses(400, THROTTLED), RateLimitedError),
        ("Standard_D2s_v5", refuses(503), SourceUnavailableError),
        ("Standard_D2s_v5", rate_limited(), RateLimitedError),
    ],
    ids=["AWS is down", "AWS throttles", "Azure is down", "Azure throttles"],
)
def test_a_provider_without_an_answer_is_an_error(release_of, providers, name, fault, error):
    providers.server.misbehave(fault, times=None)
    with pytest.raises(error):
        check(release_of(ON_AWS, {}), name)


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str


@pytest.fixture
def command(monkeypatch, capsys, tmp_path, published, same):
    """Run `price-catalog check-prices` on the release of the small night, a day later."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PRICE_CATALOG_ROOT", str(published.folder / "catalog"))
    monkeypatch.setattr(cli, "now", lambda: TOMORROW)

    def command(*arguments):
        monkeypatch.setattr(sys, "argv", ["price-catalog", "check-prices", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main()
        said = capsys.readouterr()
        return Answer(int(ended.value.code or 0), said.out, said.err)

    return command


def test_equal_prices_end_with_0_and_a_line_for_each_type(command, refreshed):
    answer = command("p5.48xlarge", H100)
    assert (answer.code, answer.err) == (0, "")
    aws, azure, *rest = answer.out.splitlines()
    assert aws.startswith("p5.48xlarge (AWS): ")
    assert " 0 differ." in aws
    assert azure.startswith(f"{H100} (Azure): ")
    assert " 0 differ." in azure
    assert rest[0] == f"Release {refreshed.release_id}."
    assert rest[1] == "AWS: list prices of 2026-07-05."
    assert rest[-1] == "Asked at 2026-08-23 00:00 UTC."


def test_differences_are_shown_and_end_with_1(command, same):
    changed = windows(same.azure.items, "westus2")
    changed |= {"retailPrice": Decimal("12.3456"), "unitPrice": Decimal("12.3456")}
    answer = command(H100)
    assert answer.code == 1
    assert " 1 differ." in answer.out.splitlines()[0]
    (row,) = [line.split() for line in answer.out.splitlines() if "westus2" in line]
    assert row == ["westus2", "8.82", "2026-08-01", "12.3456", "2026-08-01", "39.97"]


def test_programs_read_the_differences_alone(command, same, tmp_path):
    same.azure.items.remove(windows(same.azure.items, "westus3"))
    answer = command(H100, "--format", "json")
    assert answer.code == 1
    rows = json.loads(answer.out)
    lost = ["on_demand", "savings_plan", "savings_plan"]
    assert [row["purchase_option"] for row in rows] == lost
    assert {(row["kind"], row["region_id"]) for row in rows} == {("only_in_release", "westus3")}
    assert {row["listed_hourly_rate"] for row in rows} == {None}
    assert Decimal(rows[0]["published_hourly_rate"]) > 0
    assert " 3 differ." in answer.err

    rows = list(csv.DictReader(io.StringIO(command(H100, "--format", "csv").out)))
    assert [row["purchase_option"] for row in rows] == lost

    path = tmp_path / "differences.parquet"
    answer = command(H100, "--format", "parquet", "--output", path)
    assert (answer.code, answer.out) == (1, "")
    assert pl.read_parquet(path)["purchase_option"].to_list() == lost


def test_one_region_may_be_checked_alone(command, same):
    same.azure.items.remove(windows(same.azure.items, "westus3"))
    assert command(H100, "--region", "eastus", "--region", "westus2").code == 0
    assert command(H100, "--region", "westus3").code == 1


def test_errors_are_one_clear_line(command, same, monkeypatch):
    answer = command("m5.larg")
    assert (answer.code, answer.out) == (1, "")
    assert "Did you mean m5.large" in answer.err
    same.server.misbehave(refuses(503), times=None)
    answer = command(H100)
    assert (answer.code, answer.out) == (1, "")
    assert answer.err.startswith("SourceUnavailableError: ")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    answer = command("m5.large")
    assert (answer.code, answer.out) == (1, "")
    assert answer.err.startswith("SourceRejectedError: AWS answers GetProducts only to credentials")
