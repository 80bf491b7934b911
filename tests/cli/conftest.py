"""The programs of tokcap, for tests of the shells that it stands in for."""

import pytest

from tests.support.shells import install_programs


@pytest.fixture(scope="session")
def programs(tmp_path_factory):
    return install_programs(tmp_path_factory.mktemp("programs"))
