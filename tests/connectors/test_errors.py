import pickle

import pytest

from connectors import errors

COORDINATES = {"source": "ecb_reference_rates", "url": "https://example.com/", "region_id": "r1"}


@pytest.mark.parametrize(
    ("error", "attributes"),
    [
        (errors.WireFormatError("no", **COORDINATES, field="Items", sample="{}"), COORDINATES),
        (errors.UnstableListingError("no", **COORDINATES), COORDINATES),
        (errors.RateLimitedError("no", retry_after_seconds=7.5), {"retry_after_seconds": 7.5}),
        (errors.SourceUnavailableError("no", url="u"), {"url": "u", "retry_after_seconds": None}),
        (errors.SourceRejectedError("no", url="u", status=400), {"url": "u", "status": 400}),
        (errors.RecordingError("no", url="u"), {"url": "u"}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_errors_cross_processes_with_their_coordinates(error, attributes):
    copy = pickle.loads(pickle.dumps(error))

    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert {name: getattr(copy, name) for name in attributes} == attributes


def test_message_shows_the_coordinates_that_are_known():
    error = errors.WireFormatError("expected a page", source="azure/1", field="Items")

    assert str(error) == "expected a page [source=azure/1, field=Items]"


def test_only_what_may_pass_is_transient():
    transient = {
        name
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, errors.TransientSourceError)
    }

    assert transient == {
        "TransientSourceError",
        "SourceUnavailableError",
        "RateLimitedError",
        "UnstableListingError",
    }
