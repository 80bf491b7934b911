"""The tests themselves: what test modules share is in `tests/support`, and no failure stays hidden."""

from __future__ import annotations

import re

from tests.support.program import ROOT

HELPERS = r"from tests\.support\b|from tests import support\b"
OF_FUZZ = rf"{HELPERS}|from tests\.fuzz\b(?!.*\btest_)"


def test_test_modules_import_helpers_and_nothing_else_of_the_tests():
    wrong = [
        f"{path.relative_to(ROOT)}: {line}"
        for path in (ROOT / "tests").rglob("*.py")
        for line in re.findall(r"^ *(?:from|import) +tests\b.*|^ *from +\..*", path.read_text(), re.MULTILINE)
        if not re.match(OF_FUZZ if "fuzz" in path.parts else HELPERS, line.strip())
    ]
    assert wrong == []
