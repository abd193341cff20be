import polars as pl
from hypothesis import given
from polars.testing import assert_frame_equal

from support.rows import (
    listing_rows,
    offer_rows,
    price_rows,
    region_rows,
    table_rows,
    type_rows,
)
from support.strategies import PROPERTY, price_frames, shuffled
from transforms.offers import make_offers
from warehouse.schemas.catalog import INSTANCE_TYPES, OFFERS, PRICES, REGIONS
from warehouse.schemas.parts import LISTINGS, OFFERINGS

_OFFERING = {
    "provider": "azure",
    "region_id": "eastus",
    "instance_type": "Standard_D2s_v5",
    "is_restricted": False,
    "zones": ["1", "2"],
}


def _offering_rows(*rows):
    return table_rows(OFFERINGS, *({**_OFFERING, **row} for row in rows))


def _statuses(prices, listings=None) -> dict[str, str]:
    """Statuses of one type by region, in two regions."""
    offers = make_offers(
        prices,
        instance_types=type_rows({}),
        regions=region_rows({"region_id": "eastus"}, {"region_id": "westus"}),
        listings=LISTINGS.empty() if listings is None else listings,
        offerings=OFFERINGS.empty(),
    )
    return dict(offers.select("region_id", "price_status").rows())


def test_every_type_is_crossed_with_every_region_of_its_provider():
    offers = make_offers(
        price_rows({"region_id": "eastus", "instance_type": "Standard_D2s_v5"}),
        instance_types=type_rows(
            {"instance_type": "Standard_E2s_v5"},
            {"instance_type": "Standard_D2s_v5"},
            {"provider": "aws", "instance_type": "m5.large"},
        ),
        regions=region_rows(
            {"region_id": "westus"}, {"region_id": "eastus"}, {"provider": "aws", "region_id": "x"}
        ),
        listings=LISTINGS.empty(),
        offerings=OFFERINGS.empty(),
    )
    not_published = {"price_status": "not_published"}
    assert_frame_equal(
        offers,
        offer_rows(
            {"provider": "aws", "region_id": "x", "instance_type": "m5.large", **not_published},
            {"region_id": "eastus", "instance_type": "Standard_D2s_v5"},
            {"region_id": "eastus", "instance_type": "Standard_E2s_v5", **not_published},
            {"region_id": "westus", "instance_type": "Standard_D2s_v5", **not_published},
            {"region_id": "westus", "instance_type": "Standard_E2s_v5", **not_published},
        ),
    )


def test_whether_it_can_be_ordered_is_not_known_from_prices():
    offers = make_offers(
        price_rows({}),
        instance_types=type_rows({}),
        regions=region_rows({}),
        listings=LISTINGS.empty(),
        offerings=OFFERINGS.empty(),
    )
    assert offers.select("price_status", "offered", "zones").rows() == [("priced", None, None)]


def test_only_capacity_blocks_are_no_ordinary_price():
    block = {"purchase_option": "capacity_block"}
    assert _statuses(price_rows(block))["eastus"] == "capacity_block_only"
    assert _statuses(price_rows(block, {"purchase_option": "spot"}))["eastus"] == "priced"


def test_a_listing_counts_where_there_is_no_price():
    listings = listing_rows(
        {"region_id": "eastus", "price_status": "capacity_block_only"},
        {"region_id": "westus", "price_status": "capacity_block_only"},
    )
    assert _statuses(price_rows({"region_id": "eastus"}), listings) == {
        "eastus": "priced",
        "westus": "capacity_block_only",
    }


def test_a_type_that_one_document_restricts_and_another_sells_in_blocks_is_sold_in_blocks():
    listings = listing_rows(
        {"price_status": "restricted"},
        {"price_status": "capacity_block_only"},
        {"price_status": "restricted", "region_id": "westus"},
        {"price_status": "not_published", "region_id": "westus"},
    )
    assert _statuses(PRICES.empty(), listings) == {
        "eastus": "capacity_block_only",
        "westus": "restricted",
    }


def test_regions_and_types_are_matched_without_case_and_keep_the_reference_s_spelling():
    offers = make_offers(
        price_rows({"region_id": "EastUS", "instance_type": "STANDARD_D2S_V5"}),
        instance_types=type_rows({}),
        regions=region_rows({}),
        listings=LISTINGS.empty(),
        offerings=OFFERINGS.empty(),
    )
    assert_frame_equal(offers, offer_rows({}))


def test_a_price_of_another_provider_s_type_of_that_name_is_not_ours():
    assert _statuses(price_rows({"provider": "aws"}))["eastus"] == "not_published"


def test_nothing_known_gives_no_offers():
    offers = make_offers(
        PRICES.empty(),
        instance_types=INSTANCE_TYPES.empty(),
        regions=REGIONS.empty(),
        listings=LISTINGS.empty(),
        offerings=OFFERINGS.empty(),
    )
    assert_frame_equal(offers, OFFERS.empty())


def _offers(prices, offerings, *, instance_type="Standard_D2s_v5", listings=None):
    """Status, offered and zones of one type in eastus and westus."""
    offers = make_offers(
        prices,
        instance_types=type_rows({"instance_type": instance_type}),
        regions=region_rows({"region_id": "eastus"}, {"region_id": "westus"}),
        listings=LISTINGS.empty() if listings is None else listings,
        offerings=offerings,
    )
    return {
        region: tuple(rest)
        for region, *rest in offers.select("region_id", "price_status", "offered", "zones").rows()
    }


def test_a_price_and_an_offering_are_two_statements():
    other = {"instance_type": "Standard_E2s_v5"}
    prices = price_rows({"region_id": "eastus"})
    assert _offers(prices, _offering_rows({})) == {
        "eastus": ("priced", True, ["1", "2"]),
        "westus": ("not_published", None, None),
    }
    assert _offers(prices, _offering_rows(other)) == {
        "eastus": ("priced", False, None),
        "westus": ("not_published", None, None),
    }
    both_in_westus = _offering_rows(
        other | {"region_id": "westus"},
        {"region_id": "westus"},
    )
    assert _offers(prices, both_in_westus) == {
        "eastus": ("priced", None, None),
        "westus": ("not_published", True, ["1", "2"]),
    }


def test_a_region_that_offers_others_but_not_this_type_does_not_offer_it():
    assert _offers(PRICES.empty(), _offering_rows({"instance_type": "Standard_E2s_v5"})) == {
        "eastus": ("not_published", False, None),
        "westus": ("not_published", None, None),
    }


def test_what_another_provider_offers_says_nothing_of_this_one():
    assert _offers(PRICES.empty(), _offering_rows({"provider": "aws"}))["eastus"] == (
        "not_published",
        None,
        None,
    )


def test_a_type_that_nobody_may_order_is_restricted_unless_it_is_priced():
    restricted = _offering_rows({"is_restricted": True})
    block = listing_rows({"price_status": "capacity_block_only"})

    assert _offers(PRICES.empty(), restricted)["eastus"] == ("restricted", False, None)
    assert _offers(price_rows({}), restricted)["eastus"] == ("priced", False, None)
    assert _offers(PRICES.empty(), restricted, listings=block)["eastus"] == (
        "capacity_block_only",
        False,
        None,
    )


def test_what_can_be_ordered_counts_where_rows_differ():
    offerings = _offering_rows(
        {"zones": ["3", "1"]},
        {"is_restricted": True, "zones": ["4"]},
        {"instance_type": "STANDARD_D2S_V5", "region_id": "EastUS", "zones": ["2", "1"]},
        {"zones": None},
    )

    assert _offers(PRICES.empty(), offerings)["eastus"] == (
        "not_published",
        True,
        ["1", "2", "3"],
    )


def test_zones_that_are_not_known_are_null():
    for zones in (None, []):
        assert _offers(price_rows({}), _offering_rows({"zones": zones}))["eastus"] == (
            "priced",
            True,
            None,
        )


def test_a_family_of_hosts_has_an_offer_only_where_it_is_priced_or_listed():
    aws = {"provider": "aws"}
    offers = make_offers(
        price_rows(aws | {"region_id": "us-east-1", "instance_type": "m5", "tenancy": "host"}),
        instance_types=type_rows(
            aws | {"instance_type": "m5"},
            aws | {"instance_type": "mac1"},
            aws | {"instance_type": "m5.large"},
        ),
        regions=region_rows(
            aws | {"region_id": "us-east-1"},
            aws | {"region_id": "eu-west-1"},
        ),
        listings=listing_rows(
            aws
            | {
                "region_id": "eu-west-1",
                "instance_type": "mac1",
                "price_status": "capacity_block_only",
            }
        ),
        offerings=_offering_rows(
            aws | {"region_id": "us-east-1", "instance_type": "m5.large", "zones": ["use1-az1"]}
        ),
    )
    assert offers.drop("provider").rows() == [
        ("eu-west-1", "m5.large", "not_published", None, None),
        ("eu-west-1", "mac1", "capacity_block_only", None, None),
        ("us-east-1", "m5", "priced", None, None),
        ("us-east-1", "m5.large", "not_published", True, ["use1-az1"]),
    ]


def test_an_offering_of_an_unknown_type_gives_no_offer():
    offers = _offers(PRICES.empty(), _offering_rows({}), instance_type="Standard_E2s_v5")
    assert set(offers) == {"eastus", "westus"}
    assert offers["eastus"] == ("not_published", False, None)


@PROPERTY
@given(shuffled(price_frames()))
def test_offers_do_not_depend_on_the_order_of_prices(frames):
    first, second = (
        make_offers(
            frame,
            instance_types=type_rows({}, {"instance_type": "Standard_NC40ads_H100_v5"}),
            regions=region_rows({}, {"region_id": "westus2"}),
            listings=LISTINGS.empty(),
            offerings=OFFERINGS.empty(),
        )
        for frame in frames
    )
    assert_frame_equal(first, second)
    assert first.height == 4
    keys = (
        frames[0]
        .filter(pl.col("provider") == "azure")
        .select(pl.col("region_id").str.to_lowercase(), pl.col("instance_type").str.to_lowercase())
    )
    priced = first.filter(pl.col("price_status") == "priced").select(
        pl.col("region_id").str.to_lowercase(), pl.col("instance_type").str.to_lowercase()
    )
    assert set(priced.rows()) == {row for row in keys.rows() if row[0] in ("eastus", "westus2")}
