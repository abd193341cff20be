import inspect
import pickle

import pytest

from warehouse import errors

CLASSES = [
    found
    for _, found in inspect.getmembers(errors, inspect.isclass)
    if issubclass(found, errors.WarehouseError)
]


@pytest.mark.parametrize("error", CLASSES, ids=lambda error: error.__name__)
def test_every_error_is_in_the_tree_and_travels_between_processes(error):
    assert error.__name__ in errors.__doc__
    assert str(pickle.loads(pickle.dumps(error("what happened")))) == "what happened"
