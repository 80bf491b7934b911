"""Choose which of the tests with real agents run: one of each kind, or all of them."""

import os

import pytest

# Tests take variables of tokcap away later.
ALL = bool(os.environ.get("TOKCAP_TESTS_EVERY_AGENT"))


def pytest_configure(config):
    config.addinivalue_line("markers", "by_hand: runs only with TOKCAP_TESTS_EVERY_AGENT=1")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    left_out = [item for item in items if item.get_closest_marker("by_hand") and not ALL]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
