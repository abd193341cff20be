import pytest

REWRITE = "--rewrite-published-schema"


def pytest_addoption(parser):
    parser.addoption(
        REWRITE,
        action="store_true",
        help="write tests/golden/published_schema.txt anew from warehouse/schemas",
    )


@pytest.fixture
def rewrites_published_schema(request) -> bool:
    # The option exists only where pytest was started with this folder's path.
    return bool(request.config.getoption(REWRITE, default=False))
