import pytest

from connectors.urls import canonical_url, has_origin_of, query_parameters, redact_url, with_query


def test_canonical_url_does_not_depend_on_spelling():
    spellings = [
        "https://prices.azure.com/api/retail/prices?$filter=a%20eq%20%27b%27&$skip=1000",
        "https://prices.azure.com:443/api/retail/prices?$skip=1000&$filter=a%20eq%20'b'",
        "HTTPS://PRICES.azure.com/api/retail/prices?%24filter=a+eq+%27b%27&%24skip=1000#top",
    ]

    assert {canonical_url(url) for url in spellings} == {
        "https://prices.azure.com/api/retail/prices?$filter=a%20eq%20'b'&$skip=1000"
    }


@pytest.mark.parametrize(
    ("url", "canonical"),
    [
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080/"),
        ("http://[::1]:80/a", "http://[::1]/a"),
        ("https://u:p@h/a?sig=x&b=", "https://h/a?b=&sig=REDACTED"),
    ],
)
def test_canonical_url_of_a_special_case(url, canonical):
    assert canonical_url(url) == canonical


def test_secrets_are_redacted_and_the_rest_is_left_as_it_was():
    url = "https://user:pass@host:8443/a%20b?x=1&X-Amz-Signature=abc&sig=d%2Fe&token=t&y=+#frag"

    assert redact_url(url) == (
        "https://host:8443/a%20b?x=1&X-Amz-Signature=REDACTED&sig=REDACTED&token=REDACTED&y=+"
    )


def test_query_is_appended_with_spaces_as_percent_20_and_signatures_untouched():
    assert with_query("https://h/a?sig=x%2By", {"$filter": "a eq 'b c'"}) == (
        "https://h/a?sig=x%2By&$filter=a%20eq%20'b%20c'"
    )
    assert with_query("https://h/a?sig=x%2By", {}) == "https://h/a?sig=x%2By"


def test_query_parameters_are_decoded():
    assert query_parameters("https://h/a?%24skip=100&$filter=x%20eq%20%27y%27") == {
        "$skip": "100",
        "$filter": "x eq 'y'",
    }


@pytest.mark.parametrize(
    ("url", "same"),
    [
        ("https://prices.azure.com:443/other", True),
        ("https://prices.azure.com.evil.example/api", False),
        ("https://prices.azure.com@evil.example/api", False),
        ("http://prices.azure.com/api", False),
        ("https://prices.azure.com:444/api", False),
        ("https://prices.azure.com:port/api", False),
        ("/api/retail/prices", False),
    ],
)
def test_origin_is_scheme_host_and_port(url, same):
    assert has_origin_of(url, "https://prices.azure.com/api/retail/prices") is same
