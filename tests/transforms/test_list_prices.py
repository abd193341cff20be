from decimal import Decimal

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from support.rows import count_lines, day, price_rows, region_rows, table_rows
from support.strategies import (
    AS_OF,
    PROPERTY,
    crowded_price_frames,
    price_frames,
    price_row,
    shuffled,
)
from transforms.azure_prices import normalize_retail_pages
from transforms.list_prices import add_flag, in_force, price_key, settle
from transforms.normalized import final_counts
from warehouse.schemas.catalog import PRICE_KEY_NOW, PRICES
from warehouse.schemas.parts import PRICE_CANDIDATES, REJECTED
from warehouse.schemas.raw import AZURE_RETAIL_ITEMS

NOTHING_REFUSED = REJECTED.empty()

PLAN = {
    "purchase_option": "savings_plan",
    "commitment_type": "azure_compute",
    "term_years": 1,
    "payment_option": "no_upfront",
    "hourly_rate": "0.06",
}

AWS = {"provider": "aws", "source_id": "d"}
RESERVED = AWS | {
    "purchase_option": "reserved",
    "commitment_type": "standard",
    "term_years": 1,
    "payment_option": "no_upfront",
    "hourly_rate": "0.06",
}
AWS_PLAN = RESERVED | {
    "purchase_option": "savings_plan",
    "commitment_type": "compute",
    "source_id": "plans",
}

ONE_SLOT = {
    "provider": "azure",
    "region_id": "eastus",
    "availability_zone_id": None,
    "instance_type": "Standard_D2s_v5",
    "operating_system": "linux",
    "license_model": "included",
    "tenancy": "shared",
    "currency": "USD",
    "upfront_fee": None,
}


@st.composite
def quoted_plan_frames(draw, max_rows=8):
    """Draw on-demand prices of Azure and savings plans of the same slot, of few dates."""
    kinds = st.sampled_from(
        [
            {"purchase_option": "on_demand"},
            PLAN,
            PLAN | {"term_years": 3},
            {"purchase_option": "spot"},
        ]
    )
    rows = draw(st.lists(kinds, max_size=max_rows))
    rates = st.sampled_from(("0.05", "0.06"))
    return price_rows(
        *(draw(price_row(**ONE_SLOT)) | kind | {"hourly_rate": draw(rates)} for kind in rows)
    )


@st.composite
def committed_frames(draw, max_rows=8):
    """Draw on-demand prices of AWS and commitments to the same machine, of few SKUs and dates."""
    kinds = st.sampled_from([{"purchase_option": "on_demand"}, RESERVED, AWS_PLAN])
    rows = draw(st.lists(kinds, max_size=max_rows))
    rates = st.sampled_from(("0.05", "0.06"))
    aws = ONE_SLOT | {"provider": "aws"}
    return price_rows(
        *(draw(price_row(**aws)) | kind | {"hourly_rate": draw(rates)} for kind in rows)
    )


ANY_FRAMES = st.one_of(
    price_frames(), crowded_price_frames(), quoted_plan_frames(), committed_frames()
)


def _kept(frame: pl.DataFrame) -> pl.DataFrame:
    return (
        frame.group_by("source_id")
        .len("rows")
        .select(
            "source_id",
            outcome=pl.lit("kept"),
            rule=pl.lit(None, dtype=pl.String),
            rows=pl.col("rows").cast(pl.Int64),
        )
    )


def _rates(frame: pl.DataFrame) -> list[str]:
    return sorted(str(rate.normalize()) for rate in frame["hourly_rate"])


# settle


def test_equal_rows_of_one_key_are_merged_into_the_smallest_source_and_sku():
    prices = price_rows(
        {"source_id": "d/2", "sku_id": "A", "sku_price_id": "A.1"},
        {"source_id": "d/1", "sku_id": "C", "sku_price_id": "A.1"},
        {"source_id": "d/1", "sku_id": "B", "sku_price_id": "B.2"},
        {"source_id": "d/1", "sku_id": "B", "sku_price_id": "B.1"},
    )

    settled = settle(prices)

    assert_frame_equal(settled.prices, prices[[3]])
    assert settled.rejected.is_empty()
    assert_frame_equal(
        settled.counts,
        count_lines(
            ("d/1", "filtered", "equal_duplicate", 2),
            ("d/1", "kept", None, -2),
            ("d/2", "filtered", "equal_duplicate", 1),
            ("d/2", "kept", None, -1),
        ),
    )


@pytest.mark.parametrize("provider", ["aws", "azure"])
@pytest.mark.parametrize(
    ("ends", "stays"),
    [
        ([day("2027-01-01"), None, day("2027-06-01")], 1),
        ([day("2027-01-01"), day("2027-06-01"), day("2026-02-01")], 1),
        ([None, day("2027-01-01"), None], 0),
    ],
)
def test_of_equal_rows_the_open_one_or_the_one_that_ends_last_stays(provider, ends, stays):
    skus = ("B", "C", "D")
    prices = price_rows(
        *(
            {"provider": provider, "source_id": "d", "sku_id": sku, "valid_to": end}
            for sku, end in zip(skus, ends, strict=True)
        )
    )

    settled = settle(prices)

    assert_frame_equal(settled.prices, prices[[stays]])
    assert settled.rejected.is_empty()
    assert_frame_equal(
        settled.counts,
        count_lines(("d", "filtered", "equal_duplicate", 2), ("d", "kept", None, -2)),
    )


def test_two_prices_of_one_date_are_ambiguous_though_they_end_at_different_times():
    settled = settle(
        price_rows(
            {"hourly_rate": "0.1", "valid_to": day("2026-06-01"), "sku_id": "A"},
            {"hourly_rate": "0.2", "sku_id": "A"},
        )
    )
    assert settled.prices.is_empty()
    (reason,) = settled.rejected["reason"].unique()
    assert (
        "0.1000000000 USD an hour (sku_id A, sku_price_id 000-1, from 2026-01-01T00:00:00Z "
        "until 2026-06-01T00:00:00Z, in "
    ) in reason
    assert (
        "0.2000000000 USD an hour (sku_id A, sku_price_id 000-1, from 2026-01-01T00:00:00Z, in "
    ) in reason


def test_two_prices_for_one_key_are_both_refused_with_both_in_the_reason():
    prices = price_rows(
        {"hourly_rate": "0.336", "sku_id": "B", "sku_price_id": "B.1", "source_id": "d"},
        {"hourly_rate": "0.192", "sku_id": "A", "sku_price_id": "A.1", "source_id": "d"},
        {"hourly_rate": "9", "region_id": "westus", "source_id": "d"},
    )

    settled = settle(prices)

    assert_frame_equal(settled.prices, prices[[2]])
    assert settled.rejected["rule"].to_list() == ["ambiguous_price"] * 2
    (reason,) = settled.rejected["reason"].unique()
    assert reason == (
        "expected one price for one key, found 2 rows: "
        "0.1920000000 USD an hour (sku_id A, sku_price_id A.1, from 2026-01-01T00:00:00Z, in d); "
        "and "
        "0.3360000000 USD an hour (sku_id B, sku_price_id B.1, from 2026-01-01T00:00:00Z, in d). "
        "Find the attribute that tells them apart"
    )
    refused = settled.rejected.select(
        pl.col("row").str.json_path_match("$.sku_id"), "source_id", "region_id", "provider"
    )
    assert sorted(refused.rows()) == [("A", "d", "eastus", "azure"), ("B", "d", "eastus", "azure")]
    assert_frame_equal(
        settled.counts,
        count_lines(("d", "kept", None, -2), ("d", "rejected", "ambiguous_price", 2)),
    )


def test_an_equal_pair_beside_a_different_price_is_refused_with_it():
    settled = settle(price_rows({"sku_id": "A"}, {"sku_id": "B"}, {"hourly_rate": "0.0961"}))
    assert settled.prices.is_empty()
    assert settled.rejected.height == 3
    assert "found 3 rows: 0.0960000000" in settled.rejected["reason"][0]
    assert "and 0.0961000000" in settled.rejected["reason"][0]


def test_prices_that_differ_in_the_upfront_fee_alone_are_different():
    settled = settle(price_rows({"upfront_fee": None}, {"upfront_fee": "2750"}))
    assert settled.prices.is_empty()
    assert "0.0960000000 USD an hour and 2750.0000000000 upfront" in settled.rejected["reason"][0]


@pytest.mark.parametrize(
    ("column", "other"),
    [
        ("region_id", "EastUS"),
        ("instance_type", "standard_d2s_V5"),
    ],
)
def test_regions_and_types_are_one_key_in_any_spelling(column, other):
    assert settle(price_rows({}, {column: other})).prices.height == 1
    assert settle(price_rows({}, {column: other, "hourly_rate": "1"})).rejected.height == 2


@pytest.mark.parametrize(
    ("column", "other"),
    [
        ("provider", "aws"),
        ("availability_zone_id", "use1-az1"),
        ("operating_system", "windows"),
        ("license_model", "byol"),
        ("pre_installed_software", "sql_web"),
        ("tenancy", "dedicated"),
        ("purchase_option", "reserved"),
        ("commitment_type", "azure"),
        ("term_years", 1),
        ("payment_option", "all_upfront"),
        ("currency", "EUR"),
        ("valid_from", day("2026-02-01")),
    ],
)
def test_rows_that_differ_in_one_column_of_the_key_are_two_prices(column, other):
    prices = price_rows({}, {column: other, "hourly_rate": "0.2"})
    settled = settle(prices)
    assert _rates(settled.prices) == ["0.096", "0.2"]
    assert settled.counts.is_empty()


def test_a_reason_is_no_longer_when_many_rows_share_a_key():
    few = settle(price_rows(*({"hourly_rate": f"0.{n}", "sku_id": "A"} for n in (1, 9))))
    many = settle(price_rows(*({"hourly_rate": f"0.{n}", "sku_id": "A"} for n in range(1, 10))))
    assert many.rejected["reason"][0] == few.rejected["reason"][0].replace("2 rows", "9 rows")


def test_savings_plans_are_refused_with_the_on_demand_price_that_quotes_them():
    prices = price_rows(
        {"hourly_rate": "0.1", "region_id": "EastUS", "source_id": "d"},
        {"hourly_rate": "0.2", "source_id": "d"},
        {**PLAN, "source_id": "d", "sku_price_id": "m/SavingsPlan/1 Year"},
        {**PLAN, "term_years": 3, "instance_type": "standard_D2S_v5", "source_id": "d"},
        {**PLAN, "valid_from": day("2025-01-01")},
        {**PLAN, "operating_system": "windows"},
        {**PLAN, "currency": "EUR"},
        {"purchase_option": "spot"},
    )

    settled = settle(prices)

    assert_frame_equal(settled.prices, prices[4:], check_row_order=False)
    assert settled.rejected["rule"].to_list() == ["ambiguous_price"] * 4
    assert settled.rejected["reason"][2] == (
        "expected one on-demand price to quote this savings plan, found several that were refused, "
        "and with them 0.0600000000 USD an hour (sku_id DZH318Z0BQ4L/00H0, sku_price_id "
        "m/SavingsPlan/1 Year, from 2026-01-01T00:00:00Z, in d): see there which attribute tells "
        "them apart"
    )
    assert '"instance_type":"standard_D2S_v5"' in settled.rejected["row"][3]
    assert_frame_equal(
        settled.counts,
        count_lines(("d", "kept", None, -4), ("d", "rejected", "ambiguous_price", 4)),
    )


def test_a_savings_plan_that_is_refused_leaves_the_price_that_quotes_it():
    settled = settle(price_rows({}, PLAN, PLAN | {"hourly_rate": "0.07"}, PLAN | {"term_years": 3}))
    assert _rates(settled.prices) == ["0.06", "0.096"]
    assert settled.rejected.height == 2


@PROPERTY
@given(shuffled(ANY_FRAMES))
def test_settling_does_not_depend_on_the_order_of_rows(frames):
    given_order, other_order = frames
    first, second = settle(given_order), settle(other_order)
    assert_frame_equal(first.prices, second.prices, check_row_order=False)
    assert_frame_equal(first.rejected, second.rejected, check_row_order=False)
    assert_frame_equal(first.counts, second.counts)


@PROPERTY
@given(ANY_FRAMES)
def test_settling_twice_changes_nothing(frame):
    once = settle(frame).prices
    again = settle(once)
    assert_frame_equal(again.prices, once, check_row_order=False)
    assert again.rejected.is_empty()
    assert again.counts.is_empty()


@PROPERTY
@given(ANY_FRAMES)
def test_settled_prices_are_rows_that_came_in_and_no_two_have_one_key(frame):
    settled = settle(frame)
    key = price_key(PRICE_CANDIDATES.key)
    assert settled.prices.join(frame, on=frame.columns, how="anti", nulls_equal=True).is_empty()
    assert settled.prices.select(pl.struct(key).is_unique().all()).item()
    assert settled.prices.schema == PRICES.schema


# in_force


def test_the_newest_price_that_is_not_after_the_moment_is_in_force():
    prices = price_rows(
        {"hourly_rate": "0.1", "valid_from": day("2019-06-01")},
        {"hourly_rate": "0.2", "valid_from": day("2026-11-30")},
        {"hourly_rate": "0.3", "valid_from": day("2026-12-01")},
        {"hourly_rate": "0.4", "valid_from": day("2027-06-01")},
    )

    now = in_force(prices, rejected=NOTHING_REFUSED, as_of=day("2026-11-30"))

    assert _rates(now.prices) == ["0.2"]
    assert _rates(now.announced) == ["0.3", "0.4"]
    assert now.rejected.is_empty()
    assert now.counts.select("outcome", "rule", "rows").rows() == [
        ("filtered", "superseded", 1),
        ("kept", None, -1),
    ]


def test_the_moment_decides_not_the_list():
    prices = price_rows(
        {"hourly_rate": "0.1", "valid_from": day("2019-06-01")},
        {"hourly_rate": "0.2", "valid_from": day("2026-11-30")},
    )
    before = in_force(prices, rejected=NOTHING_REFUSED, as_of=day("2026-11-29"))
    assert (_rates(before.prices), _rates(before.announced)) == (["0.1"], ["0.2"])


@pytest.mark.parametrize("provider", ["aws", "azure"])
@pytest.mark.parametrize(
    ("as_of", "rates", "counts"),
    [
        (day("2026-11-29"), ["0.096"], []),
        (day("2026-11-30"), [], [("filtered", "ended", 1), ("kept", None, -1)]),
        (day("2026-12-01"), [], [("filtered", "ended", 1), ("kept", None, -1)]),
    ],
)
def test_a_price_holds_until_just_before_its_end(provider, as_of, rates, counts):
    prices = price_rows({"provider": provider, "valid_to": day("2026-11-30")})
    now = in_force(prices, rejected=NOTHING_REFUSED, as_of=as_of)
    assert _rates(now.prices) == rates
    assert now.announced.is_empty()
    assert now.rejected.is_empty()
    assert now.counts.select("outcome", "rule", "rows").rows() == counts


def test_an_older_open_azure_price_is_in_force_again_when_the_newer_has_ended():
    prices = price_rows(
        {"hourly_rate": "0.1", "valid_from": day("2019-06-01")},
        {"hourly_rate": "0.2", "valid_from": day("2020-06-01")},
        {"hourly_rate": "0.01", "valid_from": day("2026-03-01"), "valid_to": day("2026-04-01")},
    )

    during = in_force(prices, rejected=NOTHING_REFUSED, as_of=day("2026-03-31"))
    after = in_force(prices, rejected=NOTHING_REFUSED, as_of=day("2026-04-01"))

    assert _rates(during.prices) == ["0.01"]
    assert during.counts.select("outcome", "rule", "rows").rows() == [
        ("filtered", "superseded", 2),
        ("kept", None, -2),
    ]
    assert _rates(after.prices) == ["0.2"]
    assert after.counts.select("outcome", "rule", "rows").rows() == [
        ("filtered", "ended", 1),
        ("filtered", "superseded", 1),
        ("kept", None, -2),
    ]


def test_an_aws_price_that_ended_contradicts_nothing():
    prices = price_rows(
        {"provider": "aws", "hourly_rate": "0.1", "valid_to": day("2026-06-01")},
        {"provider": "aws", "hourly_rate": "0.2", "valid_from": day("2026-06-01")},
    )
    now = in_force(prices, rejected=NOTHING_REFUSED, as_of=day("2026-11-30"))
    assert _rates(now.prices) == ["0.2"]
    assert now.rejected.is_empty()


def test_an_announced_price_may_already_have_an_end():
    prices = price_rows({"valid_from": day("2026-12-01"), "valid_to": day("2027-01-01")})
    now = in_force(prices, rejected=NOTHING_REFUSED, as_of=day("2026-11-30"))
    assert_frame_equal(now.announced, prices)


def test_a_price_that_ended_before_it_starts_is_not_announced():
    prices = price_rows({"valid_from": day("2026-12-01"), "valid_to": day("2026-11-30")})
    now = in_force(prices, rejected=NOTHING_REFUSED, as_of=day("2026-11-30"))
    assert now.announced.is_empty()
    assert now.counts.select("outcome", "rule", "rows").rows() == [
        ("filtered", "ended", 1),
        ("kept", None, -1),
    ]


@pytest.mark.parametrize(
    ("ends", "rates"),
    [
        ((day("2026-04-01"), day("2026-05-01")), ["0.1"]),
        ((day("2026-04-01"), None), []),
        ((None, None), []),
    ],
)
def test_ambiguous_listings_take_the_place_of_an_older_one_until_all_have_ended(ends, rates):
    settled = settle(
        price_rows(
            {"hourly_rate": "0.1", "valid_from": day("2020-01-01")},
            {"hourly_rate": "0.2", "valid_from": day("2026-03-01"), "valid_to": ends[0]},
            {"hourly_rate": "0.3", "valid_from": day("2026-03-01"), "valid_to": ends[1]},
        )
    )

    before = in_force(settled.prices, rejected=settled.rejected, as_of=day("2026-03-31"))
    after = in_force(settled.prices, rejected=settled.rejected, as_of=day("2026-05-01"))

    assert settled.rejected.height == 2
    assert _rates(before.prices) == []
    assert _rates(after.prices) == rates


def test_a_key_whose_newest_listing_is_ambiguous_has_no_azure_price():
    settled = settle(
        price_rows(
            {"hourly_rate": "0.1", "valid_from": day("2020-01-01")},
            {"hourly_rate": "0.2", "valid_from": day("2026-03-01"), "region_id": "EastUS"},
            {"hourly_rate": "0.01", "valid_from": day("2026-03-01")},
            {"hourly_rate": "0.7", "region_id": "westus"},
        )
    )

    before = in_force(settled.prices, rejected=settled.rejected, as_of=day("2026-02-28"))
    after = in_force(settled.prices, rejected=settled.rejected, as_of=day("2026-03-01"))

    assert _rates(before.prices) == ["0.1", "0.7"]
    assert _rates(after.prices) == ["0.7"]
    assert after.counts.select("outcome", "rule", "rows").rows() == [
        ("filtered", "superseded", 1),
        ("kept", None, -1),
    ]


def test_a_price_newer_than_an_ambiguous_one_is_in_force():
    settled = settle(
        price_rows(
            {"hourly_rate": "0.2", "valid_from": day("2020-01-01")},
            {"hourly_rate": "0.1", "valid_from": day("2020-01-01")},
            {"hourly_rate": "0.3", "valid_from": day("2026-03-01")},
        )
    )
    now = in_force(settled.prices, rejected=settled.rejected, as_of=day("2026-11-30"))
    assert _rates(now.prices) == ["0.3"]


def test_refused_aws_rows_of_other_rules_say_nothing_of_a_key():
    refused = settle(price_rows({"provider": "aws"}, {"provider": "aws", "hourly_rate": "1"}))
    other = refused.rejected.with_columns(rule=pl.lit("unknown_unit"), row=pl.lit('{"sku":"A"}'))
    now = in_force(price_rows({"provider": "aws"}), rejected=other, as_of=day("2026-11-30"))
    assert _rates(now.prices) == ["0.096"]


# in_force: Azure items that normalising refuses

ITEM = {
    "currency_code": "USD",
    "arm_region_name": "eastus",
    "effective_start_date": "2025-01-01T00:00:00Z",
    "meter_id": "m",
    "meter_name": "D2s v5",
    "product_name": "Virtual Machines Dsv5 Series",
    "sku_id": "P/0001",
    "sku_name": "D2s v5",
    "service_name": "Virtual Machines",
    "unit_of_measure": "1 Hour",
    "type": "Consumption",
    "arm_sku_name": "Standard_D2s_v5",
    "tier_minimum_units": "0",
    "retail_price": "0.1",
    "savings_plan": [{"term": "1 Year", "retail_price": Decimal("0.06")}],
}
NEWER = {
    "effective_start_date": "2026-06-01T00:00:00Z",
    "retail_price": "0.2",
    "savings_plan": None,
}
REFUSED = NEWER | {"unit_of_measure": "1/Month"}


def _in_force_of(*items):
    """Normalise and settle items of one page, and ask what is in force."""
    part = normalize_retail_pages(
        [("d", table_rows(AZURE_RETAIL_ITEMS, *(ITEM | item for item in items)))],
        region_id="EastUS",
        regions=region_rows({"region_id": "EastUS"}),
        currencies=("USD", "EUR"),
    )
    settled = settle(part.prices)
    rejected = pl.concat([part.rejected, settled.rejected])
    return in_force(settled.prices, rejected=rejected, as_of=day("2026-11-30"))


@pytest.mark.parametrize(
    "wrong",
    [
        {"retail_price": None},
        {"retail_price": "-1"},
        {"unit_of_measure": "1/Month"},
        {"tier_minimum_units": "100"},
        {"effective_end_date": "some day"},
        {"product_name": "Virtual Machines Dsv5 Series RHEL"},
        {"meter_name": "Spot D2s v5"},
        {"reservation_term": "1 Year"},
        {"unit_of_measure": "1/Month", "arm_sku_name": "standard_d2S_v5 "},
        {"unit_of_measure": "1/Month", "arm_region_name": "eastUS"},
        {"unit_of_measure": "1/Month", "effective_end_date": "2026-12-01T00:00:00Z"},
        {"unit_of_measure": "1/Month", "effective_start_date": "2026-11-30T00:00:00Z"},
        {"unit_of_measure": "1/Month", "savings_plan": ITEM["savings_plan"]},
    ],
    ids=str,
)
def test_an_azure_price_does_not_outlive_a_newer_listing_that_is_refused(wrong):
    now = _in_force_of({}, NEWER | wrong)
    assert now.prices.is_empty()
    assert now.rejected.is_empty()
    assert_frame_equal(
        now.counts, count_lines(("d", "filtered", "superseded", 2), ("d", "kept", None, -2))
    )


@pytest.mark.parametrize(
    "other",
    [
        {"sku_id": "P/0002"},
        {"sku_id": None},
        {"arm_sku_name": "Standard_D4s_v5"},
        {"arm_sku_name": ""},
        {"type": "DevTestConsumption"},
        {"type": "Reservation", "reservation_term": "1 Year"},
        {"currency_code": "EUR"},
        {"currency_code": "GBP"},
        {"arm_region_name": "westus"},
        {"effective_start_date": "2026-12-01T00:00:00Z"},
        {"effective_start_date": "soon"},
        {"effective_start_date": "2024-01-01T00:00:00Z"},
        {"effective_end_date": "2026-11-30T00:00:00Z"},
        {"retail_price": "0"},
        {"service_name": "Storage"},
    ],
    ids=str,
)
def test_a_refused_listing_of_another_slot_or_time_leaves_an_azure_price_alone(other):
    now = _in_force_of({}, REFUSED | other)
    assert _options(now.prices) == [
        ("on_demand", None, "2025-01-01"),
        ("savings_plan", 1, "2025-01-01"),
    ]
    assert now.counts.is_empty()


def test_refused_listings_in_a_region_that_is_not_known_refuse_no_price():
    refused = normalize_retail_pages(
        [("d", table_rows(AZURE_RETAIL_ITEMS, ITEM | NEWER))],
        region_id="eastus",
        regions=region_rows({"region_id": "westus"}),
    ).rejected
    now = in_force(price_rows({"sku_id": "P/0001"}), rejected=refused, as_of=day("2026-11-30"))
    assert refused["rule"].to_list() == ["unknown_region"]
    assert now.prices.height == 1


@pytest.mark.parametrize(
    "kind",
    [
        {"type": "Reservation", "reservation_term": "1 Year"},
        {"type": "DevTestConsumption", "product_name": "Virtual Machines Dsv5 Series Windows"},
        {"sku_name": "D2s v5 Spot", "meter_name": "D2s v5 Spot"},
        {"currency_code": "EUR"},
    ],
    ids=str,
)
def test_every_kind_of_azure_price_goes_with_a_newer_listing_that_is_refused(kind):
    plain = {"savings_plan": None}
    assert _in_force_of(kind | plain).prices.height == 1
    assert _in_force_of(kind | plain, REFUSED | kind).prices.is_empty()


def test_a_valid_azure_listing_as_new_as_the_refused_one_or_newer_is_in_force():
    same_day = _in_force_of({}, REFUSED, NEWER)
    newer = _in_force_of({}, REFUSED, NEWER | {"effective_start_date": "2026-06-02T00:00:00Z"})
    assert _rates(same_day.prices) == _rates(newer.prices) == ["0.2"]


def test_a_refused_azure_listing_takes_all_listings_of_its_slot_along():
    other_meter = {"sku_id": "P/0002", "effective_start_date": "2025-06-01T00:00:00Z"}
    now = _in_force_of({}, other_meter, REFUSED)
    assert now.prices.is_empty()
    assert now.counts["rows"].to_list() == [4, -4]


def test_a_refused_savings_plan_leaves_the_azure_item_that_quotes_it():
    term = {"term": "2 Years", "retail_price": Decimal("0.05")}
    now = _in_force_of({}, NEWER | {"savings_plan": [term, *ITEM["savings_plan"]]})
    assert _options(now.prices) == [
        ("on_demand", None, "2026-06-01"),
        ("savings_plan", 1, "2026-06-01"),
    ]


# in_force: one listing beside another


OLD, NEW = {"valid_from": day("2025-01-01")}, {"valid_from": day("2026-06-01")}


def _options(frame: pl.DataFrame) -> list[tuple[str, int | None, str]]:
    listed = frame.select("purchase_option", "term_years", pl.col("valid_from").dt.date())
    return sorted(((option, years, str(date)) for option, years, date in listed.rows()), key=str)


def test_a_savings_plan_is_in_force_with_the_item_that_quotes_it():
    settled = settle(price_rows(OLD, PLAN | OLD, NEW | {"hourly_rate": "0.1"}, PLAN | NEW))
    now = in_force(settled.prices, rejected=settled.rejected, as_of=day("2026-11-30"))
    assert _options(now.prices) == [
        ("on_demand", None, "2026-06-01"),
        ("savings_plan", 1, "2026-06-01"),
    ]
    before = in_force(settled.prices, rejected=settled.rejected, as_of=day("2026-05-31"))
    assert _options(before.prices) == [
        ("on_demand", None, "2025-01-01"),
        ("savings_plan", 1, "2025-01-01"),
    ]
    assert _options(before.announced) == _options(now.prices)


@pytest.mark.parametrize(
    ("newer", "refused"),
    [
        ([NEW], 0),
        ([NEW, PLAN | NEW | {"term_years": 3}], 0),
        ([NEW, PLAN | NEW, PLAN | NEW | {"hourly_rate": "0.07"}], 2),
        ([NEW | {"instance_type": "standard_d2s_v5"}], 0),
    ],
    ids=["no plan", "another plan", "a plan with two rates", "another spelling"],
)
def test_a_savings_plan_goes_when_the_newest_item_does_not_quote_it(newer, refused):
    settled = settle(price_rows(OLD, PLAN | OLD, *newer))
    now = in_force(settled.prices, rejected=settled.rejected, as_of=day("2026-11-30"))
    assert settled.rejected.height == refused
    assert ("on_demand", None, "2026-06-01") in _options(now.prices)
    assert not [row for row in _options(now.prices) if row[1] == 1]
    assert now.counts.select("outcome", "rule", "rows").rows() == [
        ("filtered", "superseded", 2),
        ("kept", None, -2),
    ]


def test_a_savings_plan_goes_when_the_newest_price_is_ambiguous():
    settled = settle(
        price_rows(
            OLD,
            PLAN | OLD,
            NEW | {"hourly_rate": "0.1"},
            NEW | {"hourly_rate": "0.01"},
            PLAN | NEW,
        )
    )
    now = in_force(settled.prices, rejected=settled.rejected, as_of=day("2026-11-30"))
    assert settled.rejected.height == 3
    assert now.prices.is_empty()
    assert now.counts.select("outcome", "rule", "rows").rows() == [
        ("filtered", "superseded", 2),
        ("kept", None, -2),
    ]


@pytest.mark.parametrize(
    "other",
    [
        {"operating_system": "windows"},
        {"currency": "EUR"},
        {"region_id": "westus"},
        {"purchase_option": "spot"},
        {"purchase_option": "low_priority"},
        {"license_model": "byol"},
        {
            "purchase_option": "reserved",
            "commitment_type": "azure",
            "term_years": 1,
            "payment_option": "all_upfront",
        },
    ],
)
def test_a_savings_plan_stays_when_another_price_is_replaced(other):
    prices = price_rows(OLD, PLAN | OLD, NEW | other)
    now = in_force(prices, rejected=NOTHING_REFUSED, as_of=day("2026-11-30"))
    assert now.prices.height == 3
    assert now.counts.is_empty()


def test_an_older_savings_plan_is_in_force_again_with_its_item_when_the_newer_has_ended():
    prices = price_rows(OLD, PLAN | OLD, NEW | {"valid_to": day("2026-07-01")})
    now = in_force(prices, rejected=NOTHING_REFUSED, as_of=day("2026-11-30"))
    assert _options(now.prices) == [
        ("on_demand", None, "2025-01-01"),
        ("savings_plan", 1, "2025-01-01"),
    ]


def test_a_newer_savings_plan_leaves_a_reservation_and_a_spot_price_alone():
    prices = price_rows({**OLD, "purchase_option": "spot"}, NEW, PLAN | NEW)
    now = in_force(prices, rejected=NOTHING_REFUSED, as_of=day("2026-11-30"))
    assert now.prices.height == 3


def test_aws_spot_prices_are_dated_and_the_newest_of_a_zone_wins():
    spot = {"provider": "aws", "purchase_option": "spot", "source_id": "d"}
    prices = price_rows(
        spot | {"availability_zone_id": "use1-az1", "hourly_rate": "0.1"},
        spot | {"availability_zone_id": "use1-az1", "hourly_rate": "0.2"} | NEW,
        spot | {"availability_zone_id": "use1-az2", "hourly_rate": "0.3"},
        spot
        | {"availability_zone_id": "use1-az2", "hourly_rate": "9", "valid_from": day("2027-01-01")},
        spot | {"hourly_rate": "0.4"},
    )

    now = in_force(prices, rejected=NOTHING_REFUSED, as_of=day("2026-11-30"))

    assert _rates(now.prices) == ["0.2", "0.3", "0.4"]
    assert _rates(now.announced) == ["9"]
    assert now.rejected.is_empty()
    assert_frame_equal(
        now.counts, count_lines(("d", "filtered", "superseded", 1), ("d", "kept", None, -1))
    )


def test_a_spot_price_of_aws_that_is_ambiguous_takes_the_place_of_an_older_one():
    spot = {"provider": "aws", "purchase_option": "spot"}
    settled = settle(
        price_rows(
            spot | OLD,
            spot | NEW | {"hourly_rate": "0.1"},
            spot | NEW | {"hourly_rate": "0.2"},
        )
    )
    now = in_force(settled.prices, rejected=settled.rejected, as_of=day("2026-11-30"))
    assert now.prices.is_empty()
    assert now.rejected.is_empty()
    assert now.counts["rule"].to_list() == ["superseded", None]


@PROPERTY
@given(ANY_FRAMES)
def test_a_savings_plan_of_azure_is_never_in_force_beside_another_date_of_its_item(frame):
    settled = settle(frame)
    now = in_force(settled.prices, rejected=settled.rejected, as_of=AS_OF)
    slot = [
        *price_key(("provider", "region_id", "availability_zone_id", "instance_type")),
        "operating_system",
        "license_model",
        "pre_installed_software",
        "tenancy",
        "currency",
    ]
    is_quoted = pl.col("purchase_option").is_in(["on_demand", "savings_plan"])
    dates = (
        now.prices.filter(is_quoted, pl.col("provider") == "azure")
        .group_by(slot)
        .agg(pl.col("valid_from").n_unique())
    )
    assert (dates["valid_from"] == 1).all()


def test_two_aws_dates_with_one_price_are_merged_into_the_newest():
    prices = price_rows(
        {"provider": "aws", "valid_from": day("2026-01-01"), "source_id": "d"},
        {"provider": "aws", "valid_from": day("2026-06-01"), "source_id": "d", "sku_id": "Z"},
    )
    now = in_force(prices, rejected=NOTHING_REFUSED, as_of=day("2026-11-30"))
    assert_frame_equal(now.prices, prices[[1]])
    assert_frame_equal(
        now.counts,
        count_lines(("d", "filtered", "equal_duplicate", 1), ("d", "kept", None, -1)),
    )


def test_two_aws_dates_with_two_prices_are_both_refused():
    prices = price_rows(
        {"provider": "aws", "hourly_rate": "0.1", "valid_from": day("2026-01-01")},
        {"provider": "aws", "hourly_rate": "0.2", "valid_from": day("2026-06-01")},
    )
    now = in_force(prices, rejected=NOTHING_REFUSED, as_of=day("2026-11-30"))
    assert now.prices.is_empty()
    assert now.rejected["rule"].to_list() == ["ambiguous_price"] * 2
    assert "from 2026-01-01T00:00:00Z" in now.rejected["reason"][0]
    assert "from 2026-06-01T00:00:00Z" in now.rejected["reason"][0]


def test_an_aws_price_that_starts_later_contradicts_nothing():
    prices = price_rows(
        {"provider": "aws", "hourly_rate": "0.1", "valid_from": day("2026-01-01")},
        {"provider": "aws", "hourly_rate": "0.2", "valid_from": day("2026-12-01")},
    )
    now = in_force(prices, rejected=NOTHING_REFUSED, as_of=day("2026-11-30"))
    assert (_rates(now.prices), _rates(now.announced)) == (["0.1"], ["0.2"])


def test_an_aws_row_beside_refused_rows_of_its_key_is_refused_too():
    settled = settle(
        price_rows(
            {"provider": "aws", "hourly_rate": "0.1", "valid_from": day("2026-01-01")},
            {"provider": "aws", "hourly_rate": "0.2", "valid_from": day("2026-01-01")},
            {"provider": "aws", "hourly_rate": "0.3", "valid_from": day("2026-06-01")},
        )
    )
    now = in_force(settled.prices, rejected=settled.rejected, as_of=day("2026-11-30"))
    assert now.prices.is_empty()
    assert now.rejected["rule"].to_list() == ["ambiguous_price"]
    assert "0.3000000000 USD" in now.rejected["reason"][0]


@pytest.mark.parametrize(
    "date_of_t", [day("2026-01-01"), day("2026-02-01")], ids=["one date", "two dates"]
)
def test_commitments_to_skus_whose_on_demand_price_is_refused_are_refused_with_it(date_of_t):
    prices = price_rows(
        AWS | {"sku_id": "S", "hourly_rate": "0.1"},
        AWS | {"sku_id": "T", "hourly_rate": "0.2", "valid_from": date_of_t},
        RESERVED | {"sku_id": "S", "region_id": "EastUS"},
        AWS_PLAN | {"sku_id": "T", "sku_price_id": "p.T"},
        AWS_PLAN | {"sku_id": "T", "valid_from": day("2027-01-01")},
        RESERVED | {"sku_id": "U", "term_years": 3},
        RESERVED | {"sku_id": "S", "region_id": "westus"},
        AWS | {"sku_id": "S", "purchase_option": "spot"},
        {"sku_id": "S"},
    )

    settled = settle(prices)
    now = in_force(settled.prices, rejected=settled.rejected, as_of=day("2026-11-30"))

    assert sorted(
        now.prices.select("provider", "region_id", "sku_id", "purchase_option").rows()
    ) == [
        ("aws", "eastus", "S", "spot"),
        ("aws", "eastus", "U", "reserved"),
        ("aws", "westus", "S", "reserved"),
        ("azure", "eastus", "S", "on_demand"),
    ]
    assert now.announced.is_empty()
    refused = pl.concat([settled.rejected, now.rejected])
    assert refused["rule"].to_list() == ["ambiguous_price"] * 5
    assert (
        "expected one on-demand price of the machine that this commitment is for, found several of "
        "its key that were refused, and with them 0.0600000000 USD an hour (sku_id T, sku_price_id "
        "p.T, from 2026-01-01T00:00:00Z, in plans): see there which attribute tells them apart"
    ) in refused["reason"].to_list()
    assert_frame_equal(
        final_counts([_kept(prices), settled.counts, now.counts]).filter(
            pl.col("outcome") == "rejected"
        ),
        count_lines(
            ("d", "rejected", "ambiguous_price", 3), ("plans", "rejected", "ambiguous_price", 2)
        ),
    )


def test_commitments_stay_until_the_on_demand_prices_that_are_refused_start():
    settled = settle(
        price_rows(
            AWS | {"sku_id": "S", "hourly_rate": "0.1", "valid_from": day("2027-01-01")},
            AWS | {"sku_id": "T", "hourly_rate": "0.2", "valid_from": day("2027-01-01")},
            RESERVED | {"sku_id": "S"},
        )
    )
    before = in_force(settled.prices, rejected=settled.rejected, as_of=day("2026-12-31"))
    after = in_force(settled.prices, rejected=settled.rejected, as_of=day("2027-01-01"))
    assert before.prices["purchase_option"].to_list() == ["reserved"]
    assert after.prices.is_empty()


def test_an_on_demand_price_stays_when_the_commitments_to_it_are_refused():
    settled = settle(
        price_rows(
            AWS | {"sku_id": "S"},
            RESERVED | {"sku_id": "S"},
            RESERVED | {"sku_id": "S", "hourly_rate": "0.07"},
            AWS_PLAN | {"sku_id": "S"},
        )
    )
    now = in_force(settled.prices, rejected=settled.rejected, as_of=day("2026-11-30"))
    assert _options(now.prices) == [
        ("on_demand", None, "2026-01-01"),
        ("savings_plan", 1, "2026-01-01"),
    ]


@PROPERTY
@given(ANY_FRAMES)
def test_rows_in_are_rows_kept_and_refused_and_filtered(frame):
    settled = settle(frame)
    now = in_force(settled.prices, rejected=settled.rejected, as_of=AS_OF)

    counts = final_counts([_kept(frame), settled.counts, now.counts])

    rows_in = frame.group_by("source_id").agg(rows=pl.len().cast(pl.Int64))
    accounted = counts.group_by("source_id").agg(pl.col("rows").sum())
    assert_frame_equal(accounted, rows_in, check_row_order=False)
    is_kept = pl.col("outcome") == "kept"
    published = pl.concat([now.prices, now.announced])
    assert_frame_equal(counts.filter(is_kept), _kept(published).sort("source_id"))
    refused = counts.filter(pl.col("outcome") == "rejected")["rows"].sum()
    assert refused == settled.rejected.height + now.rejected.height


@PROPERTY
@given(shuffled(ANY_FRAMES))
def test_what_is_in_force_does_not_depend_on_the_order_of_rows(frames):
    results = []
    for frame in frames:
        settled = settle(frame)
        results.append(in_force(settled.prices, rejected=settled.rejected, as_of=AS_OF))
    first, second = results
    assert_frame_equal(first.prices, second.prices, check_row_order=False)
    assert_frame_equal(first.announced, second.announced, check_row_order=False)
    assert_frame_equal(first.rejected, second.rejected, check_row_order=False)
    assert_frame_equal(first.counts, second.counts)


@PROPERTY
@given(ANY_FRAMES)
def test_one_price_is_in_force_for_a_key_and_none_starts_later(frame):
    settled = settle(frame)
    now = in_force(settled.prices, rejected=settled.rejected, as_of=AS_OF)
    assert now.prices.select(pl.struct(price_key(PRICE_KEY_NOW)).is_unique().all()).item()
    assert (now.prices["valid_from"] <= AS_OF).all()
    assert (now.announced["valid_from"] > AS_OF).all()
    assert (pl.concat([now.prices, now.announced])["valid_to"].drop_nulls() > AS_OF).all()
    assert now.prices.schema == now.announced.schema == PRICES.schema


@PROPERTY
@given(ANY_FRAMES)
def test_what_has_ended_takes_no_part_in_what_is_in_force(frame):
    settled = settle(frame)
    now = in_force(settled.prices, rejected=settled.rejected, as_of=AS_OF)

    is_over = (pl.col("valid_to") <= AS_OF).fill_null(value=False)
    alive = in_force(settled.prices.filter(~is_over), rejected=settled.rejected, as_of=AS_OF)

    assert_frame_equal(now.prices, alive.prices, check_row_order=False)
    assert_frame_equal(now.announced, alive.announced, check_row_order=False)
    assert_frame_equal(now.rejected, alive.rejected, check_row_order=False)
    ended = now.counts.filter(pl.col("rule") == "ended")["rows"].sum()
    assert ended == settled.prices.filter(is_over).height


@PROPERTY
@given(ANY_FRAMES)
def test_selecting_again_changes_nothing(frame):
    settled = settle(frame)
    once = in_force(settled.prices, rejected=settled.rejected, as_of=AS_OF)
    listed = pl.concat([once.prices, once.announced])
    again = in_force(listed, rejected=NOTHING_REFUSED, as_of=AS_OF)
    assert_frame_equal(again.prices, once.prices, check_row_order=False)
    assert_frame_equal(again.announced, once.announced, check_row_order=False)
    assert again.counts.is_empty()


def test_no_prices_are_settled_into_none():
    settled = settle(PRICES.empty())
    now = in_force(settled.prices, rejected=settled.rejected, as_of=AS_OF)
    assert_frame_equal(now.prices, PRICES.empty())
    assert_frame_equal(now.announced, PRICES.empty())
    assert now.rejected.schema == REJECTED.schema
    assert now.counts.is_empty()


# add_flag


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("ok", "indicative"),
        ("indicative", "indicative"),
        ("carried_over", "carried_over,indicative"),
        ("spot_above_on_demand", "indicative,spot_above_on_demand"),
        (
            "carried_over,indicative,spot_above_on_demand",
            "carried_over,indicative,spot_above_on_demand",
        ),
    ],
)
def test_a_flag_is_added_once_and_in_alphabetical_order(before, after):
    prices = price_rows({"price_quality": before})
    assert prices.with_columns(add_flag("indicative"))["price_quality"].to_list() == [after]


def test_a_flag_is_added_only_where_it_is_asked_for():
    prices = price_rows({}, {"hourly_rate": "1"}, {"upfront_fee": "1"})
    where = (pl.col("hourly_rate") == Decimal(1)) | (pl.col("upfront_fee") > Decimal(2))
    assert prices.with_columns(add_flag("spot_above_on_demand", where=where))[
        "price_quality"
    ].to_list() == [
        "ok",
        "spot_above_on_demand",
        "ok",
    ]
