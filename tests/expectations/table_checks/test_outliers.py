"""Real errors of price lists, in small: which rule sees them, and what it leaves alone."""

import pytest

from expectations.known_prices import OUT_OF_LINE, PRICED_OTHERWISE
from support.candidates import check, judge, prices, release

_REGIONS = ("us-east-1", "us-east-2", "us-west-2", "eu-central-1", "eu-west-1")


def test_r7g_listed_ten_times_too_dear_is_out_of_line_on_its_first_day():
    # AWS, us-gov-west-1, 2025-03-24 to 03-31: new rows, so that no jump shows them.
    elsewhere = [
        {"region_id": region, "instance_type": f"r7g.{size}", "hourly_rate": price}
        for region in _REGIONS
        for size, price in (("large", "0.1071"), ("12xlarge", "2.5704"))
    ]
    government = [
        {"region_id": "us-gov-west-1", "instance_type": "r7g.large", "hourly_rate": "1.2836"},
        {"region_id": "us-gov-west-1", "instance_type": "r7g.12xlarge", "hourly_rate": "30.8064"},
    ]
    found = judge("prices.in_line", release(prices(*elsewhere, *government)))
    assert {(row["region_id"], row["instance_type"]) for row in found.rows} == {
        ("us-gov-west-1", "r7g.large"),
        ("us-gov-west-1", "r7g.12xlarge"),
    }


def test_a_tenth_of_the_usual_price_is_out_of_line_as_well():
    # Azure, newzealandnorth, August 2026: Standard_F4ams_v6 0.0449 against 0.433 elsewhere.
    rows = [{"region_id": region, "hourly_rate": "0.433"} for region in _REGIONS]
    found = judge(
        "prices.in_line",
        release(prices(*rows, {"region_id": "newzealandnorth", "hourly_rate": "0.0449"})),
    )
    assert [row["times_median"] for row in found.rows] == [0.104]


def test_few_regions_say_nothing_of_what_is_usual():
    rows = [{"region_id": region, "hourly_rate": "0.4"} for region in _REGIONS[:3]]
    odd = release(prices(*rows, {"region_id": "us-gov-west-1", "hourly_rate": "4"}))
    assert judge("prices.in_line", odd).measured.checked == 0


def test_commitments_that_cover_a_licence_are_discounted_as_each_region_likes():
    # AWS: three years of m5 with Windows, all upfront, a third of the usual in ap-southeast-3.
    plan = {
        "purchase_option": "reserved",
        "commitment_type": "standard",
        "term_years": 3,
        "payment_option": "all_upfront",
        "pricing_category": "Committed",
    }
    for values, checked in (({"operating_system": "windows"}, 0), ({}, 6)):
        rows = [
            {**plan, **values, "region_id": region, "hourly_rate": rate}
            for region, rate in (*((name, "0.3") for name in _REGIONS), ("us-gov-west-1", "0.09"))
        ]
        found = judge("prices.in_line", release(prices(*rows)))
        assert (found.measured.checked, found.failed) == (checked, int(checked > 0))


def fleet(rates, regions=_REGIONS, **values):
    """List types at one rate in every region."""
    return [
        {"region_id": region, "instance_type": name, "hourly_rate": rate, **values}
        for region in regions
        for name, rate in rates.items()
    ]


_R7G = {"r7g.medium": "0.0536", "r7g.large": "0.1071", "r7g.12xlarge": "2.5704"}
_R7G_TEN_TIMES = {"r7g.medium": "0.6418", "r7g.large": "1.2836", "r7g.12xlarge": "30.8064"}
_R7G_CORRECTED = {"r7g.medium": "0.0642", "r7g.large": "0.1284", "r7g.12xlarge": "3.0806"}
_GOV = ("us-gov-west-1",)


def test_r7g_ten_times_too_dear_in_one_region_is_refused_as_a_family():
    # AWS, us-gov-west-1, 2025-03-24 to 03-31: all sizes alike, and new.
    wrong = release(prices(*fleet(_R7G), *fleet(_R7G_TEN_TIMES, _GOV)))
    (row,) = judge("prices.family_in_line", wrong).rows
    assert (row["region_id"], row["family"], row["types"]) == ("us-gov-west-1", "r7g", 3)
    assert (row["lowest"], row["highest"], row["times_off"]) == (11.974, 11.985, 11.974)
    report = check(wrong)
    assert report.refused_because == ("prices.family_in_line",)
    assert report.result("prices.family_in_line").note == (
        "if a person has looked and it is true, --accept-jumps lets it through"
    )
    assert check(wrong, accept_jumps=True).verdict == "publish_with_warnings"


def test_r7g_corrected_is_in_line():
    right = release(prices(*fleet(_R7G), *fleet(_R7G_CORRECTED, _GOV)))
    found = judge("prices.family_in_line", right)
    assert (found.failed, found.measured.checked) == (0, 6)


def test_a_family_at_a_tenth_is_refused_too():
    tenth = {name: str(round(float(rate) / 10, 6)) for name, rate in _R7G.items()}
    (row,) = judge("prices.family_in_line", release(prices(*fleet(_R7G), *fleet(tenth, _GOV)))).rows
    assert (row["region_id"], row["times_off"]) == ("us-gov-west-1", 10.0)


def test_one_size_in_line_makes_it_no_family():
    some = {**_R7G_TEN_TIMES, "r7g.large": "0.1284"}
    wrong = release(prices(*fleet(_R7G), *fleet(some, _GOV)))
    assert judge("prices.family_in_line", wrong).failed == 0
    assert judge("prices.in_line", wrong).failed == 2


def test_a_family_of_one_type_is_a_family():
    (row,) = judge(
        "prices.family_in_line",
        release(prices(*fleet({"p5.48xlarge": "55.04"}), *fleet({"p5.48xlarge": "550.4"}, _GOV))),
    ).rows
    assert (row["family"], row["types"], row["times_off"]) == ("p5", 1, 10.0)


def test_a_type_without_a_known_family_stands_for_itself():
    size = {"provider": "azure", "instance_type": "Standard_X1_v9"}
    rows = [{**size, "region_id": region, "hourly_rate": "1"} for region in _REGIONS]
    wrong = release(prices(*rows, {**size, "region_id": "northeurope", "hourly_rate": "9"}))
    (row,) = judge("prices.family_in_line", wrong).rows
    assert row["family"] == "Standard_X1_v9"


@pytest.mark.parametrize(
    "values",
    [
        {"tenancy": "host"},
        {"operating_system": "suse"},
        {"pre_installed_software": "sql_web"},
        {"license_model": "byol"},
        {"purchase_option": "spot", "pricing_category": "Dynamic"},
        {"currency": "EUR", "price_quality": "reference"},
    ],
)
def test_hosts_licences_spot_and_lists_for_reference_follow_other_rules(values):
    wrong = release(prices(*fleet(_R7G, **values), *fleet(_R7G_TEN_TIMES, _GOV, **values)))
    assert judge("prices.family_in_line", wrong).measured.checked == 0


def test_each_way_to_pay_is_judged_by_itself():
    plan = {
        "purchase_option": "savings_plan",
        "commitment_type": "compute",
        "term_years": 1,
        "payment_option": "no_upfront",
        "pricing_category": "Committed",
    }
    right = (*fleet(_R7G), *fleet(_R7G_CORRECTED, _GOV), *fleet(_R7G, **plan))
    wrong = release(prices(*right, *fleet(_R7G_TEN_TIMES, _GOV, **plan)))
    assert [row["purchase_option"] for row in judge("prices.family_in_line", wrong).rows] == [
        "savings_plan"
    ]


def test_yuan_are_compared_with_yuan():
    # A hundred times the number of dollars is no outlier in another currency.
    china = fleet({"r7g.large": "9"}, ("cn-north-1", "cn-northwest-1"), currency="CNY")
    found = judge("prices.family_in_line", release(prices(*fleet(_R7G), *china)))
    assert (found.failed, found.measured.checked) == (0, 5)


def test_what_the_last_release_held_was_accepted_then():
    wrong = release(prices(*fleet(_R7G), *fleet(_R7G_TEN_TIMES, _GOV)))
    right = release(prices(*fleet(_R7G), *fleet(_R7G_CORRECTED, _GOV)))
    assert judge("prices.family_in_line", wrong, wrong).failed == 0
    assert judge("prices.family_in_line", wrong, right).failed == 1
    assert judge("prices.family_in_line", wrong, release(prices(*fleet(_R7G)))).failed == 1


def test_what_azure_is_known_to_list_at_a_tenth_is_a_warning_and_no_refusal():
    # Azure, newzealandnorth, 2026-08-22.
    size = {"provider": "azure", "instance_type": "Standard_F4ams_v6"}
    family = [{**size, "family": "Fams_v6"}]
    elsewhere = [{**size, "region_id": region, "hourly_rate": "0.433"} for region in _REGIONS]

    def listed(region):
        row = {**size, "region_id": region, "hourly_rate": "0.0449"}
        return release(prices(*elsewhere, row), types=family)

    known = listed("newzealandnorth")
    assert judge("prices.family_in_line", known).failed == 0
    assert judge("prices.in_line", known).failed == 1
    assert judge("prices.family_in_line", listed("polandcentral")).failed == 1


def test_every_exception_says_why():
    assert all(len(known.reason) > 20 for known in OUT_OF_LINE)
    assert len(PRICED_OTHERWISE) == 24
    assert all(len(reason) > 20 for reason in PRICED_OTHERWISE.values())


@pytest.mark.parametrize(
    ("provider", "dearest", "failed"),
    [("aws", "3", 0), ("aws", "3.01", 1), ("azure", "3.5", 0), ("azure", "3.51", 1)],
)
def test_the_dearest_region_may_cost_a_few_times_the_cheapest(provider, dearest, failed):
    rows = [
        {"provider": provider, "region_id": region, "hourly_rate": rate}
        for region, rate in (("b", "1"), ("a", "1"), ("c", dearest))
    ]
    found = judge("prices.region_spread", release(prices(*rows)))
    assert (found.failed, found.measured.checked) == (failed, 1)
    if failed:
        assert (found.rows[0]["lowest_region_id"], found.rows[0]["dearest_region_id"]) == ("a", "c")
        assert found.rows[0]["times"] == float(dearest)


def test_a_spread_can_be_wide_though_each_price_is_near_the_median():
    cheap = {"region_id": "us-gov-west-1", "hourly_rate": "0.5"}
    dear = {"region_id": "sa-east-1", "hourly_rate": "1.9"}
    wide = release(prices(*fleet({"m5.large": "1"}), cheap, dear))
    assert judge("prices.in_line", wide).failed == 0
    assert judge("prices.region_spread", wide).failed == 1


_C8I = {"c8i.large": "0.09371", "c8i.2xlarge": "0.37484", "c8i.8xlarge": "1.49936"}
_VCPUS = {"large": 2, "xlarge": 4, "2xlarge": 8, "4xlarge": 16, "8xlarge": 32, "metal-48xl": 192}


def sized(*rates):
    """List c8i in us-east-1, each size with its vCPUs; later rates replace earlier ones."""
    merged = {name: rate for some in rates for name, rate in some.items()}
    types = [
        {
            "provider": "aws",
            "instance_type": name,
            "vcpu_count": _VCPUS[name.partition(".")[2]],
            "is_bare_metal": "metal" in name,
        }
        for name in merged
    ]
    return release(prices(*fleet(merged, ("us-east-1",))), types=types)


def test_one_size_a_third_too_dear_is_named_and_the_corrected_one_is_not():
    # AWS, c8i.4xlarge in us-east-1, 2025-09-01 and 2025-10-16.
    (row,) = judge("prices.vcpu_price_constant", sized(_C8I, {"c8i.4xlarge": "1.02008"})).rows
    assert (row["family"], row["odd_instance_type"]) == ("c8i", "c8i.4xlarge")
    assert (row["usual_vcpu_price"], row["highest_vcpu_price"]) == (0.046855, 0.063755)
    corrected = judge("prices.vcpu_price_constant", sized(_C8I, {"c8i.4xlarge": "0.74968"}))
    assert (corrected.failed, corrected.measured.checked) == (0, 1)


def test_rounding_below_one_percent_is_nothing():
    assert judge("prices.vcpu_price_constant", sized(_C8I, {"c8i.xlarge": "0.1892"})).failed == 0
    assert judge("prices.vcpu_price_constant", sized(_C8I, {"c8i.xlarge": "0.1894"})).failed == 1


def test_bare_metal_and_families_priced_by_something_else_are_left_out():
    assert judge("prices.vcpu_price_constant", sized(_C8I, {"c8i.metal-48xl": "1"})).failed == 0
    gpus = {"g5.xlarge": "1.006", "g5.2xlarge": "1.212", "g5.8xlarge": "2.448"}
    assert judge("prices.vcpu_price_constant", sized(gpus)).measured.checked == 0


def test_sizes_without_known_vcpus_say_nothing():
    unknown = release(prices(*fleet({**_C8I, "c8i.4xlarge": "1.02008"}, ("us-east-1",))))
    assert judge("prices.vcpu_price_constant", unknown).measured.checked == 0
