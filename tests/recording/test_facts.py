"""How collected facts become what the providers list."""

from decimal import Decimal

import pytest

from recording.aws_facts import upfront_fees
from recording.azure_facts import short_name, term_sum


def test_an_upfront_fee_is_recovered_in_whole_dollars():
    row = {
        "instance_type": "m5.xlarge",
        "reserved_1yr_allupfront_usd_per_hour": 0.125799,
        "reserved_3yr_allupfront_usd_per_hour": 0.080479,
    }

    assert upfront_fees(row) == {1: Decimal(1102), 3: Decimal(2115)}


def test_a_term_that_is_not_offered_has_no_fee():
    row = {
        "instance_type": "p5.48xlarge",
        "reserved_1yr_allupfront_usd_per_hour": None,
        "reserved_3yr_allupfront_usd_per_hour": 20.695053,
    }

    assert upfront_fees(row) == {3: Decimal(543866)}


def test_a_fee_that_is_not_in_whole_dollars_is_refused_not_rounded():
    row = {
        "instance_type": "m5.xlarge",
        "reserved_1yr_allupfront_usd_per_hour": 0.125850,
        "reserved_3yr_allupfront_usd_per_hour": None,
    }

    with pytest.raises(ValueError, match="no whole-dollar fee"):
        upfront_fees(row)


def test_the_sum_of_an_azure_term_is_recovered_in_whole_dollars():
    assert term_sum(Decimal("62.924772"), 1) == Decimal(551221)
    with pytest.raises(ValueError, match="no whole-dollar sum"):
        term_sum(Decimal("62.924800"), 1)


@pytest.mark.parametrize(
    ("arm_sku_name", "sku_name"),
    [
        ("Standard_D4s_v5", "D4s v5"),
        ("Standard_D64ds_v5", "Standard_D64ds_v5"),
        ("Standard_NC16as_T4_v3", "NC16asT4 v3"),
        ("Standard_NC128ds_xl_RTXPRO6000BSE_v6", "NC128dsxlRTX6Kv6"),
        ("Standard_NC132ds_xl_RTXPRO6000BSE_v6", "NC132dsxlRTX6kv6"),
        ("Standard_ND96asr_v4", "ND96asr_A100_v4"),
        ("Standard_ND96is_noIB_H100_v5", "ND96isnIBH100v5"),
        ("Standard_NG32ads_V620_v1", "NG32adsV620"),
    ],
)
def test_the_two_names_of_a_size_meet(arm_sku_name: str, sku_name: str):
    assert short_name(arm_sku_name) == short_name(sku_name)


def test_different_sizes_stay_apart():
    assert short_name("Standard_E32-16s_v5") != short_name("Standard_E32s_v5")
    assert short_name("Standard_NC6") != short_name("Standard_NC6_Promo")
