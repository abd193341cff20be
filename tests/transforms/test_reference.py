from datetime import date

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from support.rows import region_rows
from transforms.errors import ReferenceTableError
from transforms.reference import parse_reference
from warehouse.schemas.catalog import REGIONS
from warehouse.schemas.table import Field, Table

HEADER = ",".join(REGIONS.columns)
VIRGINIA = (
    'aws,us-east-1,"US East (N. Virginia)",region,aws,,US,north_america,false,,38.9,-77.4,6,x'
)
OHIO = 'aws,us-east-2,"US East (Ohio)",region,aws,,US,north_america,false,,40,-83,,x'


def _parse(*lines: str):
    return parse_reference("\n".join(lines).encode(), REGIONS)


def test_a_file_becomes_its_table_sorted_by_key_with_null_for_empty_fields():
    common = {
        "provider": "aws",
        "partition": "aws",
        "country_code": "US",
        "geography": "north_america",
        "is_eu": False,
        "source": "x",
    }
    assert_frame_equal(
        _parse(HEADER, OHIO, VIRGINIA),
        region_rows(
            {
                "region_id": "us-east-1",
                "region_name": "US East (N. Virginia)",
                "latitude": 38.9,
                "longitude": -77.4,
                "availability_zone_count": 6,
                **common,
            },
            {
                "region_id": "us-east-2",
                "region_name": "US East (Ohio)",
                "latitude": 40.0,
                "longitude": -83.0,
                **common,
            },
        ),
    )


def test_columns_are_matched_by_name_not_by_position():
    names, values = HEADER.split(","), OHIO.split(",")
    turned = [",".join(reversed(names)), ",".join(reversed(values))]
    assert_frame_equal(_parse(*turned), _parse(HEADER, OHIO))


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ((HEADER.replace("latitude", "lat"), OHIO), r"missing \['latitude'\], unknown \['lat'\]"),
        ((HEADER, OHIO.replace(",40,", ",north,")), "north"),
        ((HEADER, OHIO.replace('"US East (Ohio)"', "")), "an empty region_name"),
        ((HEADER, OHIO.replace("region,aws", "planet,aws")), r"region_kind \['planet'\]"),
        ((HEADER, OHIO, OHIO.replace("us-east-2", "US-East-2")), "a key more than once"),
    ],
)
def test_a_file_that_is_not_its_table_is_refused(lines, found):
    with pytest.raises(ReferenceTableError, match=found) as caught:
        _parse(*lines)
    assert caught.value.table == "regions"


@pytest.mark.parametrize("odd", ["1/2/2026", "31.03.2026", "2026-3-31"])
def test_a_date_is_written_in_one_way(odd):
    table = Table(
        "ends",
        "reference",
        "",
        (Field("name", pl.String, ""), Field("end", pl.Date, "")),
        ("name",),
    )
    (row,) = parse_reference(b"name,end\na,2026-03-31\n", table).rows()
    assert row == ("a", date(2026, 3, 31))
    with pytest.raises(ReferenceTableError, match=rf"end \['{odd}'\], not YYYY-MM-DD"):
        parse_reference(f"name,end\na,{odd}\n".encode(), table)
