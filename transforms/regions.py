"""The regions that prices may be of, from the curated reference table."""

import polars as pl

from transforms.errors import ReferenceTableError
from transforms.reference import parse_reference
from warehouse.schemas.catalog import REGIONS

_ZONES = ("local_zone", "wavelength_zone")


def parse_regions(content: bytes) -> pl.DataFrame:
    """Turn transforms/reference/regions.csv into REGIONS, sorted by key.

    `geography` is the continent of the country after the United Nations' geoscheme (M49), also
    for a zone far from its parent: the zone in Casablanca is in Africa.

    Raises:
        ReferenceTableError: what `parse_reference` refuses; or a zone without a parent, a parent
            that is no region of that provider, coordinates that are none, a country that is said
            to be in two continents, or in the European Union in one row and not in another.
    """
    regions = parse_reference(content, REGIONS)
    for found, is_wrong in _contradictions(regions):
        wrong = regions.filter(is_wrong)
        if not wrong.is_empty():
            rows = ", ".join(wrong["provider"] + " " + wrong["region_id"])
            raise ReferenceTableError(REGIONS.name, f"{found}: {rows}")
    return regions


def partition_of(regions: pl.DataFrame, provider: str, region_id: str) -> str | None:
    """Return the partition of a region, compared without case; null where it is not known."""
    found = regions.filter(
        pl.col("provider") == provider,
        pl.col("region_id").str.to_lowercase() == region_id.lower(),
    )
    return None if found.is_empty() else str(found["partition"].item())


def _contradictions(regions: pl.DataFrame) -> list[tuple[str, pl.Expr]]:
    parents = regions.filter(pl.col("region_kind") == "region")
    known_parents = (parents["provider"] + "/" + parents["region_id"]).implode()
    parent = pl.col("provider") + "/" + pl.col("parent_region_id")
    is_zone = pl.col("region_kind").is_in(_ZONES)
    is_region = pl.col("region_kind") == "region"
    return [
        ("a zone without its region", is_zone & parent.is_null()),
        ("a region with a parent", is_region & parent.is_not_null()),
        ("a parent that is no region", ~parent.is_in(known_parents)),
        ("coordinates that are none", ~pl.col("latitude").is_between(-90, 90)),
        ("coordinates that are none", ~pl.col("longitude").is_between(-180, 180)),
        ("half of a position", pl.col("latitude").is_null() != pl.col("longitude").is_null()),
        ("an EU country outside the EEA", pl.col("is_eu") & ~pl.col("is_eea")),
        *(
            (f"a country with two values of {fact}", pl.n_unique(fact).over("country_code") > 1)
            for fact in ("geography", "is_eu", "is_eea")
        ),
    ]
