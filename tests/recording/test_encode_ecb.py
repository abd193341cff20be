"""The ECB encoder writes the form of eurofxref-daily.xml."""

from datetime import date

from support.encode_ecb import encode_reference_rates


def test_rates_are_attributes_of_cubes_in_a_dated_cube():
    body = encode_reference_rates({"USD": "1.1382", "HUF": "362.80"}, rate_date=date(2026, 8, 21))

    assert body.decode() == (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<gesmes:Envelope xmlns:gesmes="http://www.gesmes.org/xml/2002-08-01" '
        'xmlns="http://www.ecb.int/vocabulary/2002-08-01/eurofxref">\n'
        "\t<gesmes:subject>Reference rates</gesmes:subject>\n"
        "\t<gesmes:Sender>\n"
        "\t\t<gesmes:name>European Central Bank</gesmes:name>\n"
        "\t</gesmes:Sender>\n"
        "\t<Cube>\n"
        "\t\t<Cube time='2026-08-21'>\n"
        "\t\t\t<Cube currency='USD' rate='1.1382'/>\n"
        "\t\t\t<Cube currency='HUF' rate='362.80'/>\n"
        "\t\t</Cube>\n"
        "\t</Cube>\n"
        "</gesmes:Envelope>\n"
    )
