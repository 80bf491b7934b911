import pytest

from tests.support.engines import new_space


@pytest.fixture
def space():
    """Return a name that no other test uses on a server."""
    return new_space()
