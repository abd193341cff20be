"""Row checks and table checks of what is about to be published.

Ids read `table.check`. A row check is also what `split_rows` holds rows of that table against.
"""

from warehouse.schemas.catalog import TABLES
from warehouse.schemas.rules.rule import Rule, row_check, table_check

TABLE_RULES: tuple[Rule, ...] = (
    table_check(
        "tables.columns",
        "all",
        "critical",
        "Every table is there with the columns, order and types of the contract: readers select "
        "by name and rely on the type",
    ),
    table_check(
        "tables.key_unique",
        "all",
        "critical",
        "One row a key, nulls counted as equal: two rows for one key give every join two answers",
    ),
)


def _field_rules() -> tuple[Rule, ...]:
    """Return the row checks that every published table has because of its fields."""
    return tuple(
        row_check(f"{table.name}.{check}", table.name, "critical", reason)
        for table in TABLES
        for check, reason, is_needed in (
            (
                "not_null",
                (
                    "What the contract calls never null is never null; a missing key or price is "
                    "worse than a missing row"
                ),
                True,
            ),
            (
                "vocabulary",
                (
                    "A column with a closed list holds only words of that list; a new word of a "
                    "provider must be mapped, not passed on"
                ),
                any(field.vocabulary for field in table.fields),
            ),
        )
        if is_needed
    )


def _price_rules() -> tuple[Rule, ...]:
    """Return the row checks of prices, which announced prices obey as well."""
    return tuple(
        row_check(f"{name}.{check}", name, "critical", reason)
        for name in ("prices", "announced_prices")
        for check, reason in (
            (
                "price_positive",
                (
                    "effective_hourly_price is above 0. A listed 0 marks what is not released or "
                    "is billed elsewhere; it would win every comparison"
                ),
            ),
            ("hourly_rate_not_negative", "hourly_rate is 0 or more"),
            ("upfront_fee_not_negative", "upfront_fee is 0 or more, or null"),
            (
                "effective_price",
                (
                    "effective_hourly_price = hourly_rate + upfront_fee / (8760 x term_years), to "
                    "the tenth decimal"
                ),
            ),
            (
                "commitment",
                (
                    "A reservation or savings plan says what is committed, how long and how it is "
                    "paid; every other price leaves the three null"
                ),
            ),
            (
                "pricing_category",
                (
                    "pricing_category follows purchase_option: on_demand is Standard, spot "
                    "and low_priority are Dynamic, reservations and savings plans are Committed"
                ),
            ),
            (
                "currency_known",
                (
                    "currency is one in which providers charge (USD, or CNY in China), or one in "
                    "which Azure lists prices for reference, and then, and only then, the row is "
                    "flagged so"
                ),
            ),
            ("quality_flags", "price_quality is ok or a comma list of known flags, sorted"),
            (
                "period_not_empty",
                (
                    "A price holds from valid_from until before valid_to, so valid_to is after "
                    "valid_from, or null: a period without a moment in it is misread"
                ),
            ),
        )
    )


OTHER_ROW_RULES: tuple[Rule, ...] = (
    row_check(
        "fx_rates.rate_positive",
        "fx_rates",
        "critical",
        "A rate is above 0: prices are divided by it",
    ),
    row_check(
        "cheapest_region.order",
        "cheapest_region",
        "critical",
        "cheapest price <= second price <= dearest price, and at least one region is counted",
    ),
    row_check(
        "cheapest_region.quality_flags",
        "cheapest_region",
        "critical",
        "price_quality is ok or a comma list of known flags, sorted",
    ),
    row_check(
        "purchase_advice.quality_flags",
        "purchase_advice",
        "critical",
        "price_quality is ok or a comma list of known flags, sorted",
    ),
    row_check(
        "rejected_rows.rule_registered",
        "rejected_rows",
        "critical",
        "A refused row names a rule of the registry, so that its reason can be looked up",
    ),
)

REFERENCE_RULES: tuple[Rule, ...] = tuple(
    table_check(rule_id, rule_id.split(".", maxsplit=1)[0], "critical", reason)
    for rule_id, reason in (
        ("prices.region_known", "A price names a region of `regions`, compared without case"),
        ("prices.instance_type_known", "A price names a type of `instance_types`"),
        ("prices.source_known", "A price names the document it came from, a row of `sources`"),
        ("prices.offer_known", "What has a price in a region is in `offers` for that region"),
        (
            "announced_prices.region_known",
            "A price names a region of `regions`, compared without case",
        ),
        ("announced_prices.instance_type_known", "A price names a type of `instance_types`"),
        ("announced_prices.source_known", "A price names a row of `sources`"),
        ("offers.region_known", "An offer names a region of `regions`, compared without case"),
        ("offers.instance_type_known", "An offer names a type of `instance_types`"),
        (
            "cheapest_region.region_known",
            "A winner is a region of `regions`, compared without case",
        ),
        ("cheapest_region.instance_type_known", "A winner is of a type of `instance_types`"),
        (
            "purchase_advice.region_known",
            "Advice is for a region of `regions`, compared without case",
        ),
        ("purchase_advice.instance_type_known", "Advice is for a type of `instance_types`"),
        ("rejected_rows.source_known", "A refused row names a row of `sources`"),
        ("regions.parent_known", "A zone's parent is itself a row of `regions`"),
    )
)

CONSISTENCY_RULES: tuple[Rule, ...] = (
    table_check(
        "prices.one_in_force",
        "prices",
        "critical",
        "Exactly one price is in force for a key without valid_from; with two, nobody knows what "
        "an hour costs",
    ),
    table_check(
        "prices.in_force",
        "prices",
        "critical",
        "At the run's as-of time a price has begun and has not ended: later prices belong in "
        "announced_prices, ended ones nowhere",
    ),
    table_check(
        "announced_prices.ahead",
        "announced_prices",
        "critical",
        "valid_from is after the run's as-of time: earlier prices belong in prices",
    ),
    table_check(
        "prices.one_currency",
        "prices",
        "critical",
        "All prices of one partition are in one currency, lists for reference aside. Two in one "
        "comparison would rank numbers that cannot be compared",
    ),
    table_check(
        "prices.windows_above_linux",
        "prices",
        "warning",
        "Windows with its licence costs at least what Linux costs on the same machine. Providers "
        "list exceptions (Azure A8 to A11), so they are shown, not refused. Spot of the two comes "
        "from separate pools and is left out",
    ),
    table_check(
        "prices.spot_not_above_on_demand",
        "prices",
        "warning",
        "Spot and low priority cost no more than the same machine on demand. AWS rounds its spot "
        "prices to four decimals, which is no excess. Providers do list exceptions; they are "
        "flagged",
    ),
    table_check(
        "prices.commitments_ordered",
        "prices",
        "warning",
        "Who commits himself for longer pays no more: of one plan and way of paying, a long term "
        "costs at most what a shorter one does, and none costs more than on demand. Exceptions "
        "are listed, so they are shown and kept",
    ),
    table_check(
        "prices.in_line",
        "prices",
        "warning",
        "A price is within a few times the median over all regions: this names the single price "
        "that is odd. Spot, and commitments that cover a licence, follow no such rule",
    ),
    table_check(
        "prices.region_spread",
        "prices",
        "warning",
        "On demand, the dearest region charges at most a few times what the cheapest does for one "
        "machine with Linux: this names the machines whose cheapest region is too good to be true",
    ),
    table_check(
        "prices.family_in_line",
        "prices",
        "critical",
        "No whole family is several times dearer or cheaper in one region than in the others: a "
        "point is in the wrong place (AWS: r7g ten times too dear in us-gov-west-1, March 2025, "
        "all sizes alike and new, so that neither a jump nor another size shows it). What the "
        "last release held already is not judged again",
    ),
    table_check(
        "prices.vcpu_price_constant",
        "prices",
        "warning",
        "AWS, Linux on demand: a vCPU costs the same in every size of a family, but for families "
        "that are priced by something else (AWS: c8i.4xlarge a third too dear, September 2025)",
    ),
    table_check(
        "offers.status_true",
        "offers",
        "warning",
        "price_status is `priced` exactly where `prices` holds a price",
    ),
    table_check(
        "offers.price_without_offering",
        "offers",
        "info",
        "Where a price is listed, the type can be ordered. Providers list prices long after a "
        "type is gone, or before it comes; where it is not known whether it can be ordered, "
        "nothing is said",
    ),
    table_check(
        "offers.offering_without_price",
        "offers",
        "info",
        "Where a type can be ordered, a price is listed, or that only capacity blocks of it are "
        "sold; without either nobody knows what it costs",
    ),
    table_check(
        "cheapest_region.never_beaten",
        "cheapest_region",
        "critical",
        "No comparable price in the scope is below the published winner, and the winner's price "
        "is the one that `prices` holds for its region",
    ),
    table_check(
        "cheapest_region.complete",
        "cheapest_region",
        "critical",
        "Every type and way to pay with a comparable price in the scope has its row",
    ),
    table_check(
        "cheapest_region.zones_true",
        "cheapest_region",
        "critical",
        "availability_zone_id is a zone of the winner that lists the winning price, and zone_count "
        "is the number of its zones that list one; both are null where one price holds region-wide",
    ),
    table_check(
        "purchase_advice.never_beaten",
        "purchase_advice",
        "critical",
        "On-demand and spot prices are those that `prices` holds, and what is called cheapest for "
        "some use is listed at that cost and beaten by no other listed way to pay",
    ),
    table_check(
        "purchase_advice.complete",
        "purchase_advice",
        "critical",
        "Every type, region and system with a comparable on-demand, spot or committed price has "
        "its row",
    ),
    table_check(
        "purchase_advice.zones_true",
        "purchase_advice",
        "critical",
        "spot_availability_zone_id lists the spot price, and spot_zone_count is the number of "
        "zones of the region that list one; both are null where one price holds region-wide",
    ),
)

COVERAGE_RULES: tuple[Rule, ...] = (
    table_check(
        "prices.canaries",
        "prices",
        "critical",
        "Types that are known to be sold in a region have an on-demand Linux price there, where "
        "the run was asked for it. If a canary is missing, much else is",
    ),
    table_check(
        "prices.canary_breadth",
        "prices",
        "critical",
        "A type that is sold nearly everywhere is priced in nearly all regions that the run was "
        "asked for",
    ),
    table_check(
        "prices.region_present",
        "prices",
        "warning",
        "Every region that the run was asked for has a price",
    ),
    table_check(
        "prices.carried_over",
        "prices",
        "warning",
        "A region that could not be fetched keeps the last release's prices, flagged; whoever "
        "reads them must know",
    ),
    table_check(
        "prices.regions_fetched",
        "prices",
        "critical",
        "Of the regions that the run was asked for, only a small share is missing or carried over: "
        "a night that failed widely is no release",
    ),
    table_check(
        "prices.carried_over_recent",
        "prices",
        "critical",
        "Prices are carried over for some days only after their provider last sent or confirmed "
        "them; then the region's trouble needs a person",
    ),
)

DRIFT_RULES: tuple[Rule, ...] = (
    table_check(
        "prices.regions_kept",
        "prices",
        "critical",
        "A region that the last release priced and the run was asked for is still there. Here and "
        "in what follows AWS's spot prices do not count: they come from elsewhere and change by "
        "the hour",
    ),
    table_check(
        "prices.spot_present",
        "prices",
        "warning",
        "A region whose spot prices the last release had still has some; without credentials, or "
        "with a feed that failed, they are missing as a whole",
    ),
    table_check(
        "prices.most_rows_kept",
        "prices",
        "critical",
        "A region loses only a small share of the last release's prices. A lost page looks like "
        "this (Azure northeurope, 2026-08-19: 295 meters gone, all back the next morning)",
    ),
    table_check(
        "prices.rows_kept",
        "prices",
        "warning",
        "A region loses hardly any of the last release's prices",
    ),
    table_check(
        "prices.growth",
        "prices",
        "warning",
        "A provider's rows grow only a little in a night; a filter that no longer matches lets "
        "rows in that are no prices",
    ),
    table_check(
        "prices.types_kept",
        "prices",
        "warning",
        "An instance type that the last release priced in a region is still priced there. "
        "Providers do withdraw prices (AWS: g7 in us-east-1, July 2026)",
    ),
    table_check(
        "prices.most_types_kept",
        "prices",
        "critical",
        "Only a small share of a provider's instance types vanishes altogether in a night",
    ),
    table_check(
        "prices.no_jump",
        "prices",
        "warning",
        "A price changes only moderately against the last release. Spot and low-priority prices "
        "move by nature and are left out",
    ),
    table_check(
        "prices.few_jumps",
        "prices",
        "critical",
        "Only a small share of a provider's prices jumps in a night: a lawful cut touches a few "
        "families (AWS: p5 -44 %, p4d -33 %, June 2025), a wrong unit or column touches most",
    ),
)

PROVENANCE_RULES: tuple[Rule, ...] = (
    table_check(
        "sources.fresh",
        "sources",
        "warning",
        "A provider sent a document, or said that it is unchanged, shortly before the run's as-of "
        "time; a recorded one is dated as it was recorded",
    ),
    table_check(
        "sources.not_outdated",
        "sources",
        "critical",
        "It is days at most since the provider of a live run's document sent or confirmed it. A "
        "recording is exempt: its date is shown with its prices",
    ),
    table_check(
        "fx_rates.usd_present",
        "fx_rates",
        "warning",
        "There is a euro rate of the US dollar; without one, views have no prices in euro",
    ),
    table_check(
        "fx_rates.fresh",
        "fx_rates",
        "warning",
        "The newest rate of the US dollar is a few days old at most (the ECB publishes on "
        "working days)",
    ),
    table_check(
        "sources.rows_conserved",
        "sources",
        "critical",
        "Of every document: rows read = rows kept + rejected + filtered by a named rule. Nothing "
        "is lost on the way",
    ),
    table_check(
        "prices.kept_counted",
        "prices",
        "critical",
        "Of every document: as many prices, in force or announced, name it as were counted as kept",
    ),
    table_check(
        "rejected_rows.counted",
        "rejected_rows",
        "critical",
        "Of every document: as many rows are in rejected_rows as were counted as rejected",
    ),
    table_check(
        "rejected_rows.very_few",
        "rejected_rows",
        "warning",
        "Hardly any of a provider's rows are rejected; a new value of a provider shows here first",
    ),
    table_check(
        "rejected_rows.few",
        "rejected_rows",
        "critical",
        "Only a small share of a provider's rows is rejected; more means that its format changed",
    ),
)

GATE: tuple[Rule, ...] = (
    *TABLE_RULES,
    *_field_rules(),
    *_price_rules(),
    *OTHER_ROW_RULES,
    *REFERENCE_RULES,
    *CONSISTENCY_RULES,
    *COVERAGE_RULES,
    *DRIFT_RULES,
    *PROVENANCE_RULES,
)
