import polars as pl
from hypothesis import given
from polars.testing import assert_frame_equal

from support.rows import listing_rows, offer_rows, price_rows, region_rows, type_rows
from support.strategies import PROPERTY, price_frames, shuffled
from transforms.offers import make_offers
from warehouse.schemas.catalog import INSTANCE_TYPES, OFFERS, PRICES, REGIONS
from warehouse.schemas.parts import LISTINGS


def _statuses(prices, listings=None) -> dict[str, str]:
    """Statuses of one type by region, in two regions."""
    offers = make_offers(
        prices,
        instance_types=type_rows({}),
        regions=region_rows({"region_id": "eastus"}, {"region_id": "westus"}),
        listings=LISTINGS.empty() if listings is None else listings,
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
    )
    assert_frame_equal(offers, OFFERS.empty())


@PROPERTY
@given(shuffled(price_frames()))
def test_offers_do_not_depend_on_the_order_of_prices(frames):
    first, second = (
        make_offers(
            frame,
            instance_types=type_rows({}, {"instance_type": "Standard_NC40ads_H100_v5"}),
            regions=region_rows({}, {"region_id": "westus2"}),
            listings=LISTINGS.empty(),
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
