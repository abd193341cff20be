"""Facts -> the bytes of the ECB's eurofxref-daily.xml."""

from collections.abc import Mapping
from datetime import date


def encode_reference_rates(rates: Mapping[str, str], *, rate_date: date) -> bytes:
    """Encode units of each currency per euro, as text, in the order given."""
    cubes = "".join(
        f"\t\t\t<Cube currency='{currency}' rate='{rate}'/>\n" for currency, rate in rates.items()
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<gesmes:Envelope xmlns:gesmes="http://www.gesmes.org/xml/2002-08-01" '
        'xmlns="http://www.ecb.int/vocabulary/2002-08-01/eurofxref">\n'
        "\t<gesmes:subject>Reference rates</gesmes:subject>\n"
        "\t<gesmes:Sender>\n"
        "\t\t<gesmes:name>European Central Bank</gesmes:name>\n"
        "\t</gesmes:Sender>\n"
        "\t<Cube>\n"
        f"\t\t<Cube time='{rate_date.isoformat()}'>\n"
        f"{cubes}"
        "\t\t</Cube>\n"
        "\t</Cube>\n"
        "</gesmes:Envelope>\n"
    ).encode()
