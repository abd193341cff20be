import gzip
import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from connectors.aws.ec2_api import read_offerings, read_spot_prices
from connectors.aws.spot_feed import read_spot_feed
from support.rows import count_lines, price_rows, region_rows, table_rows
from transforms.aws_spot_prices import (
    normalize_offerings,
    normalize_spot_feed,
    normalize_spot_prices,
)
from transforms.list_prices import in_force, settle
from transforms.normalized import combine
from warehouse.schemas.parts import OFFERINGS
from warehouse.schemas.raw import (
    AWS_INSTANCE_TYPE_OFFERINGS,
    AWS_SPOT_FEED_PRICES,
    AWS_SPOT_PRICES,
)

DATA = Path(__file__).resolve().parents[2] / "../shared/data/aws"
needs_data = pytest.mark.skipif(not DATA.exists(), reason="the collected data is not here")

HISTORY = "aws_spot_price_history/us-east-1"
OFFERED = "aws_instance_type_offerings/us-east-1"
FEED = "aws_spot_feed"
AS_OF = datetime(2026, 11, 30, 3, tzinfo=UTC)

REGIONS = region_rows(
    *(
        {"provider": "aws", "partition": partition, "region_id": region_id}
        for region_id, partition in [
            ("us-east-1", "aws"),
            ("us-east-1-bos-1", "aws"),
            ("us-east-1-wl1-atl1", "aws"),
            ("us-east-2", "aws"),
            ("us-west-1", "aws"),
            ("eu-west-1", "aws"),
            ("ap-southeast-1", "aws"),
            ("ap-southeast-2", "aws"),
            ("ap-northeast-1", "aws"),
            ("cn-north-1", "aws-cn"),
        ]
    ),
    {"region_id": "us-nowhere-1"},
)

_ENTRY = {
    "availability_zone": "us-east-1b",
    "availability_zone_id": "use1-az1",
    "instance_type": "m5.large",
    "product_description": "Linux/UNIX",
    "spot_price": "0.043700",
    "timestamp": "2026-11-29T17:40:10+00:00",
}
_FEED_ENTRY = {
    "region": "us-east",
    "instance_type": "m5.large",
    "system": "linux",
    "currency": "USD",
    "price": "0.0351",
}
_PRICE = {
    "provider": "aws",
    "region_id": "us-east-1",
    "availability_zone_id": "use1-az1",
    "instance_type": "m5.large",
    "purchase_option": "spot",
    "hourly_rate": "0.0437",
    "pricing_category": "Dynamic",
    "valid_from": datetime(2026, 11, 29, 17, 40, 10, tzinfo=UTC),
    "sku_id": "spot/us-east-1/m5.large/Linux/UNIX",
    "sku_price_id": "spot/use1-az1/m5.large/Linux/UNIX",
    "source_id": HISTORY,
}


ASKED = tuple(REGIONS["region_id"])


def _history(*entries, region_id="us-east-1", region_ids=ASKED):
    raw = table_rows(AWS_SPOT_PRICES, *({**_ENTRY, **entry} for entry in entries))
    return normalize_spot_prices(
        raw, source_id=HISTORY, region_id=region_id, regions=REGIONS, region_ids=region_ids
    )


def _feed(*entries, region_ids=("us-east-1",)):
    raw = table_rows(AWS_SPOT_FEED_PRICES, *({**_FEED_ENTRY, **entry} for entry in entries))
    return normalize_spot_feed(
        raw, source_id=FEED, valid_from=AS_OF, regions=REGIONS, region_ids=region_ids
    )


def _offerings(*entries, region_id="us-east-1"):
    raw = table_rows(
        AWS_INSTANCE_TYPE_OFFERINGS,
        *({"location_type": "availability-zone-id", **entry} for entry in entries),
    )
    return normalize_offerings(raw, source_id=OFFERED, region_id=region_id)


def _outcome(part):
    """Rules and rows, and that every row is accounted for."""
    kept = part.counts.filter(pl.col("outcome") == "kept")["rows"].sum()
    refused = part.counts.filter(pl.col("outcome") == "rejected")["rows"].sum()
    assert (kept, refused) == (part.prices.height, part.rejected.height)
    return dict(part.counts.select(pl.col("rule").fill_null("kept"), "rows").rows())


def test_an_entry_of_the_history_is_a_price_of_its_zone():
    part = _history({})

    assert_frame_equal(part.prices, price_rows(_PRICE))
    assert_frame_equal(part.counts, count_lines((HISTORY, "kept", None, 1)))
    assert combine([part]).prices.height == 1


@pytest.mark.parametrize(
    ("product", "system"),
    [
        ("Linux/UNIX", "linux"),
        ("Linux/UNIX (Amazon VPC)", "linux"),
        ("Windows", "windows"),
        ("Windows (Amazon VPC)", "windows"),
        ("SUSE Linux", "suse"),
        ("SUSE Linux (Amazon VPC)", "suse"),
        ("Red Hat Enterprise Linux", "rhel"),
        ("Red Hat Enterprise Linux (Amazon VPC)", "rhel"),
    ],
)
def test_products_are_operating_systems_with_their_licence(product, system):
    prices = _history({"product_description": product}).prices

    assert prices.select("operating_system", "license_model", "sku_id", "sku_price_id").rows() == [
        (
            system,
            "included",
            f"spot/us-east-1/m5.large/{product}",
            f"spot/use1-az1/m5.large/{product}",
        )
    ]


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        ("0.043700", "0.0437"),
        ("0.000001", "0.000001"),
        ("32.772600", "32.7726"),
        ("3", "3"),
        ("0.1234567890", "0.123456789"),
    ],
)
def test_prices_are_exact(text, exact):
    prices = _history({"spot_price": text}).prices

    assert prices.select("hourly_rate", "effective_hourly_price").row(0) == (Decimal(exact),) * 2
    assert prices["upfront_fee"].to_list() == [None]


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2021-02-09T01:40:10+00:00", datetime(2021, 2, 9, 1, 40, 10, tzinfo=UTC)),
        ("2021-02-09T01:40:10.000Z", datetime(2021, 2, 9, 1, 40, 10, tzinfo=UTC)),
        ("2021-02-09T01:40:10Z", datetime(2021, 2, 9, 1, 40, 10, tzinfo=UTC)),
        ("2021-02-09T01:40:10+02:00", datetime(2021, 2, 8, 23, 40, 10, tzinfo=UTC)),
        ("2021-02-08T20:40:10-05:00", datetime(2021, 2, 9, 1, 40, 10, tzinfo=UTC)),
    ],
)
def test_times_with_an_offset_are_in_utc(text, moment):
    assert _history({"timestamp": text}).prices["valid_from"].to_list() == [moment]


@pytest.mark.parametrize(
    ("entry", "rule", "reason"),
    [
        ({"product_description": "Linux"}, "aws_spot_unknown_system", '"Linux"'),
        ({"product_description": "Linux/UNIX (VPC)"}, "aws_spot_unknown_system", "(VPC)"),
        ({"product_description": None}, "aws_spot_unknown_system", "missing"),
        ({"instance_type": None}, "aws_spot_unknown_type", "missing"),
        ({"instance_type": " "}, "aws_spot_unknown_type", '" "'),
        ({"availability_zone_id": None}, "aws_spot_unknown_zone", "missing"),
        ({"availability_zone_id": "us-east-1b"}, "aws_spot_unknown_zone", '"us-east-1b"'),
        ({"availability_zone_id": "use1-xyz9-az1"}, "unknown_region", '"use1-xyz9-az1"'),
        ({"availability_zone": "us-west-2a"}, "foreign_region", "names another region"),
        ({"spot_price": "0.12345678901"}, "unparseable_price", '"0.12345678901"'),
        ({"spot_price": "1e-3"}, "unparseable_price", '"1e-3"'),
        ({"spot_price": None}, "unparseable_price", "missing"),
        ({"spot_price": "-0.01"}, "negative_price", '"-0.01"'),
        ({"timestamp": "2021-02-09T01:40:10"}, "unparseable_date", '"2021-02-09T01:40:10"'),
        ({"timestamp": None}, "unparseable_date", "missing"),
    ],
)
def test_what_is_not_understood_is_refused(entry, rule, reason):
    part = _history(entry, {"instance_type": "c5.large"})

    assert _outcome(part) == {"kept": 1, rule: 1}
    refused = part.rejected.row(0, named=True)
    assert (refused["table"], refused["source_id"], refused["region_id"]) == (
        "prices",
        HISTORY,
        "us-east-1",
    )
    assert reason in refused["reason"]


def test_a_price_of_0_is_none():
    assert _outcome(_history({"spot_price": "0.000000"})) == {"zero_price": 1}


def test_the_name_of_a_zone_is_not_published_with_a_refused_row():
    part = _history({"availability_zone_id": None, "availability_zone": "us-east-1f"})

    assert "us-east-1f" not in "".join(part.rejected.select(pl.concat_str(pl.all())).to_series())
    assert json.loads(part.rejected["row"][0]) == {
        "availability_zone_id": None,
        "instance_type": "m5.large",
        "product_description": "Linux/UNIX",
        "spot_price": "0.043700",
        "timestamp": "2026-11-29T17:40:10+00:00",
    }


def test_a_region_that_is_not_in_the_reference_table_has_no_prices():
    assert _outcome(_history({"availability_zone": None}, region_id="us-nowhere-1")) == {
        "unknown_region": 1
    }


def test_china_is_priced_in_its_own_currency():
    part = _history(
        {"availability_zone": "cn-north-1a", "availability_zone_id": "cnn1-az1"},
        region_id="cn-north-1",
    )

    assert part.prices.select("region_id", "currency").rows() == [("cn-north-1", "CNY")]


@pytest.mark.parametrize(
    ("zone_id", "region_id"),
    [
        ("use1-az1", "us-east-1"),
        ("use1-bos1-az1", "us-east-1-bos-1"),
        ("use1-wl1-atl-wlz1", "us-east-1-wl1-atl1"),
    ],
)
def test_local_and_wavelength_zones_are_regions_of_their_own(zone_id, region_id):
    entry = {"availability_zone_id": zone_id, "availability_zone": None}
    assert _history(entry).prices.select("region_id", "availability_zone_id", "sku_id").rows() == [
        (region_id, zone_id, f"spot/{region_id}/m5.large/Linux/UNIX")
    ]
    offered = _offerings({"instance_type": "m5.large", "location": zone_id}).offerings
    assert offered.select("region_id", "zones").rows() == [(region_id, [zone_id])]


@pytest.mark.parametrize(
    "outside",
    [
        {},
        {"spot_price": "0.050000"},
        {"timestamp": "2026-11-29T20:00:00+00:00", "spot_price": "0.050000"},
        {"instance_type": "M5.large", "spot_price": "0.050000"},
    ],
    ids=["equal", "another price", "another price, later", "another spelling"],
)
def test_a_price_in_a_vpc_stands_for_the_same_one_outside(outside):
    inside = {"product_description": "Linux/UNIX (Amazon VPC)"}
    part = _history(outside, inside)

    assert _outcome(part) == {"kept": 1, "aws_spot_outside_vpc": 1}
    assert part.prices.select("hourly_rate", "sku_price_id").rows() == [
        (Decimal("0.0437"), "spot/use1-az1/m5.large/Linux/UNIX (Amazon VPC)")
    ]


@pytest.mark.parametrize(
    "inside",
    [
        {"availability_zone_id": "use1-az2"},
        {"instance_type": "m5.xlarge"},
        {"product_description": "SUSE Linux (Amazon VPC)"},
    ],
)
def test_a_price_in_a_vpc_stands_for_no_other(inside):
    part = _history({}, {"product_description": "Linux/UNIX (Amazon VPC)"} | inside)

    assert _outcome(part) == {"kept": 2}


def test_a_listing_in_a_vpc_that_is_no_price_takes_nothing_away():
    inside = {"product_description": "Linux/UNIX (Amazon VPC)", "spot_price": "?"}

    assert _outcome(_history({}, inside)) == {"kept": 1, "unparseable_price": 1}


def test_a_listing_outside_of_a_vpc_that_is_no_price_is_refused_beside_one_that_is():
    inside = {"product_description": "Linux/UNIX (Amazon VPC)"}

    assert _outcome(_history({"spot_price": "?"}, inside)) == {"kept": 1, "unparseable_price": 1}


def test_every_change_is_kept_and_entries_on_two_pages_are_settled_as_one():
    part = _history({}, {"timestamp": "2026-11-28T00:00:00+00:00", "spot_price": "0.05"}, {})
    settled = settle(part.prices)

    assert _outcome(part) == {"kept": 3}
    assert sorted(settled.prices["hourly_rate"]) == [Decimal("0.0437"), Decimal("0.05")]
    assert settled.rejected.is_empty()
    forced = in_force(settled.prices, rejected=settled.rejected, as_of=AS_OF)
    assert forced.prices["hourly_rate"].to_list() == [Decimal("0.0437")]


def test_an_entry_of_the_feed_is_an_indication_without_a_zone():
    part = _feed({})

    assert_frame_equal(
        part.prices,
        price_rows(
            _PRICE
            | {
                "availability_zone_id": None,
                "hourly_rate": "0.0351",
                "valid_from": AS_OF,
                "sku_id": "spot/us-east-1/m5.large/linux",
                "sku_price_id": "spot/us-east-1/m5.large/linux",
                "price_quality": "indicative",
                "source_id": FEED,
            }
        ),
    )
    assert _outcome(part) == {"kept": 1}


@pytest.mark.parametrize(
    ("spelled", "region_id"),
    [
        ("us-east", "us-east-1"),
        ("us-west", "us-west-1"),
        ("eu-ireland", "eu-west-1"),
        ("apac-sin", "ap-southeast-1"),
        ("apac-syd", "ap-southeast-2"),
        ("apac-tokyo", "ap-northeast-1"),
        ("us-east-2", "us-east-2"),
    ],
)
def test_regions_of_the_feed_have_old_names_or_ids(spelled, region_id):
    part = _feed({"region": spelled}, region_ids=[region_id.upper()])

    assert part.prices["region_id"].to_list() == [region_id]


@pytest.mark.parametrize(
    ("entry", "outcome"),
    [
        ({"price": "N/A*"}, "aws_spot_not_offered"),
        ({"price": "N/A"}, "aws_spot_not_offered"),
        ({"price": "0.0000"}, "zero_price"),
        ({"price": ""}, "unparseable_price"),
        ({"price": "0.0351*"}, "unparseable_price"),
        ({"price": "-1"}, "negative_price"),
        ({"system": "rhel"}, "aws_spot_unknown_system"),
        ({"currency": "EUR"}, "unknown_currency"),
        ({"instance_type": ""}, "aws_spot_unknown_type"),
        ({"region": "us-east-2"}, "aws_spot_region_not_asked"),
        ({"region": "mars-1"}, "unknown_region"),
    ],
)
def test_what_is_no_price_in_the_feed_has_a_reason(entry, outcome):
    part = _feed(entry, {"instance_type": "c5.large", "system": "mswin"})

    assert _outcome(part) == {"kept": 1, outcome: 1}
    assert part.prices["operating_system"].to_list() == ["windows"]


def test_a_region_of_another_provider_is_not_known():
    part = _feed({"region": "us-nowhere-1"}, region_ids=["us-nowhere-1"])

    assert _outcome(part) == {"unknown_region": 1}


def test_a_region_that_is_asked_for_and_not_known_is_refused_with_the_row_as_sent():
    part = _feed({"region": "mars-1"}, region_ids=["mars-1"])

    assert _outcome(part) == {"unknown_region": 1}
    assert json.loads(part.rejected["row"][0]) == _FEED_ENTRY | {"region": "mars-1"}
    assert part.rejected["region_id"].to_list() == ["mars-1"]
    assert '"mars-1"' in part.rejected["reason"][0]


def test_offerings_are_one_row_a_type_with_its_zones_and_no_price():
    part = _offerings(
        {"instance_type": "m5.large", "location": "use1-az6"},
        {"instance_type": "c5.large", "location": "use1-az1"},
        {"instance_type": "m5.large", "location": "use1-az1"},
        {"instance_type": "m5.large", "location": "use1-az6"},
    )

    place = {"provider": "aws", "region_id": "us-east-1", "is_restricted": False}
    assert_frame_equal(
        part.offerings,
        table_rows(
            OFFERINGS,
            place | {"instance_type": "c5.large", "zones": ["use1-az1"]},
            place | {"instance_type": "m5.large", "zones": ["use1-az1", "use1-az6"]},
        ),
    )
    assert _outcome(part) == {"aws_offering": 4}
    assert combine([part]).offerings.height == 2


@pytest.mark.parametrize(
    ("entry", "rule"),
    [
        ({"instance_type": None}, "aws_offering_unknown_type"),
        ({"location": None}, "aws_offering_unknown_zone"),
        ({"location": "us-east-1a"}, "aws_offering_unknown_zone"),
        (
            {"location": "us-east-1a", "location_type": "availability-zone"},
            "aws_offering_unknown_zone",
        ),
        ({"location": "us-east-1", "location_type": "region"}, "aws_offering_unknown_zone"),
    ],
)
def test_an_offering_without_type_or_zone_id_is_refused(entry, rule):
    ordinary = {"instance_type": "m5.large", "location": "use1-az1"}
    part = _offerings(ordinary | entry, ordinary)

    assert _outcome(part) == {"aws_offering": 1, rule: 1}
    assert part.rejected["table"].to_list() == ["offers"]
    assert part.offerings["zones"].to_list() == [["use1-az1"]]


def test_an_offering_by_zone_name_is_refused_without_the_name():
    part = _offerings(
        {
            "instance_type": "m5.large",
            "location": "us-east-1a",
            "location_type": "availability-zone",
        }
    )

    assert json.loads(part.rejected["row"][0]) == {
        "instance_type": "m5.large",
        "location": None,
        "location_type": "availability-zone",
    }
    assert '"availability-zone"' in part.rejected["reason"][0]


def test_no_rows_give_no_prices_and_no_counts():
    for part in (_history(), _feed(), _offerings()):
        assert all(frame.is_empty() for frame in part)


@needs_data
def test_the_recorded_history_gives_the_newest_price_of_each_zone():
    body = (DATA / "ec2api/DescribeSpotPriceHistory_m5_large.json").read_bytes()
    ids = {f"us-east-1{letter}": f"use1-az{n}" for n, letter in enumerate("abcdf", start=1)}
    zone = pl.col("availability_zone")
    raw = read_spot_prices(body, source_id=HISTORY).with_columns(
        availability_zone_id=zone.replace_strict(ids)
    )

    part = normalize_spot_prices(
        raw, source_id=HISTORY, region_id="us-east-1", regions=REGIONS, region_ids=ASKED
    )
    settled = settle(part.prices)

    assert _outcome(part) == {"kept": 250}
    assert settled.prices.height == 250
    assert part.prices.select(
        first=pl.col("valid_from").min(),
        last=pl.col("valid_from").max(),
        cheapest=pl.col("hourly_rate").min(),
        dearest=pl.col("hourly_rate").max(),
        total=pl.col("hourly_rate").sum(),
    ).row(0) == (
        datetime(2021, 1, 8, 1, 6, 24, tzinfo=UTC),
        datetime(2021, 2, 9, 1, 40, 10, tzinfo=UTC),
        Decimal("0.0367"),
        Decimal("0.0437"),
        Decimal("10.0937"),
    )
    last = datetime(2021, 2, 9, 1, 40, 10, tzinfo=UTC)
    forced = in_force(settled.prices, rejected=settled.rejected, as_of=last)
    assert dict(forced.prices.select("availability_zone_id", "hourly_rate").rows()) == {
        "use1-az1": Decimal("0.0423"),
        "use1-az2": Decimal("0.0389"),
        "use1-az3": Decimal("0.0381"),
        "use1-az4": Decimal("0.0431"),
        "use1-az5": Decimal("0.0437"),
    }


@needs_data
def test_the_recorded_history_without_zone_ids_gives_no_price():
    body = (DATA / "ec2api/DescribeSpotPriceHistory_m5_large.json").read_bytes()
    raw = read_spot_prices(body, source_id=HISTORY)

    part = normalize_spot_prices(
        raw, source_id=HISTORY, region_id="us-east-1", regions=REGIONS, region_ids=ASKED
    )

    assert _outcome(part) == {"aws_spot_unknown_zone": 250}


@needs_data
def test_the_recorded_offerings_give_a_row_a_type():
    zones = json.loads((DATA / "ec2api/DescribeAvailabilityZones_us-east-2.json").read_bytes())
    ids = {zone["ZoneName"]: zone["ZoneId"] for zone in zones["AvailabilityZones"]}
    body = (DATA / "ec2api/DescribeInstanceTypeOfferings_us-east-2a.json").read_bytes()
    by_name = read_offerings(body, source_id=OFFERED)
    by_id = by_name.with_columns(
        pl.col("location").replace_strict(ids), location_type=pl.lit("availability-zone-id")
    )

    part = normalize_offerings(by_id, source_id=OFFERED, region_id="us-east-2")
    refused = normalize_offerings(by_name, source_id=OFFERED, region_id="us-east-2")

    assert _outcome(part) == {"aws_offering": 228}
    assert part.offerings.height == 228
    assert part.offerings["zones"].explode().unique().to_list() == ["use2-az1"]
    assert _outcome(refused) == {"aws_offering_unknown_zone": 228}


@needs_data
def test_the_recorded_feed_gives_its_prices():
    body = gzip.decompress((DATA / "prices/spot.js_test_2021.json.gz").read_bytes())
    asked = ["us-east-1", "us-east-2", "eu-west-1", "ap-southeast-2"]

    part = normalize_spot_feed(
        read_spot_feed(body, source_id=FEED),
        source_id=FEED,
        valid_from=AS_OF,
        regions=REGIONS,
        region_ids=asked,
    )
    settled = settle(part.prices)
    forced = in_force(settled.prices, rejected=settled.rejected, as_of=AS_OF)

    assert _outcome(part) == {
        "kept": 2495,
        "aws_spot_not_offered": 617,
        "aws_spot_region_not_asked": 778,
    }
    assert forced.prices.height == part.prices.height
    first = part.prices.filter(
        pl.col("region_id") == "us-east-1", pl.col("instance_type") == "a1.medium"
    )
    assert first.select("operating_system", "hourly_rate").rows() == [("linux", Decimal("0.0084"))]
    assert part.prices["price_quality"].unique().to_list() == ["indicative"]


def test_a_zone_that_was_not_asked_for_is_filtered_from_its_regions_answer():
    boston = {"availability_zone": "us-east-1-bos-1a", "availability_zone_id": "use1-bos1-az1"}
    part = _history({}, boston, region_ids=["us-east-1"])
    assert part.prices["region_id"].to_list() == ["us-east-1"]
    assert _outcome(part) == {"kept": 1, "aws_spot_region_not_asked": 1}


def test_a_region_of_an_unknown_name_does_not_pass_for_one_that_nobody_asked_for():
    part = _feed({"region": "eu-frankfurt"}, region_ids=["us-east-1"])
    assert _outcome(part) == {"unknown_region": 1}
