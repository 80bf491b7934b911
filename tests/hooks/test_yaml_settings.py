"""The few forms of YAML in which a list of plug-ins is written, and those that are refused."""

import pytest

from tests.support.tiers import nightly
from tokcap.hooks.yaml_settings import YamlItem

ITEM = YamlItem(("plugins", "enabled"), "tokcap")
TEXTS = [
    "",
    "a: 1\n",
    "a: 1",
    "# only a comment\n",
    "plugins:\n",
    "plugins: # none yet\na: 1\n",
    "plugins:\n  enabled:\n    - one\n    - 'two'\na: {b: [1]}\n",
    "plugins:\n  enabled:\n  - one # first\n  # second\n  - two\n  disabled: []\na: 1\n",
    "plugins:\n  enabled:\n",
    "plugins:\n  enabled: []\na: 1\n",
    'plugins:\n    enabled: [one, "two"] # mine\n',
    "plugins:\n  disabled: [x]\n  entries:\n    one:\n      enabled: true\n",
    '"plugins":\n  "enabled":\n    - one\n',
    "a: |\n  plugins:\n    enabled:\n      - x\nplugins:\n  enabled:\n    - one\n",
    "---\na: 1\r\nplugins:\r\n  enabled:\r\n  - one\r\n\r\n",
]


@nightly
@pytest.mark.parametrize("text", TEXTS)
def test_an_item_is_added_to_the_list_and_taken_out_again(text):
    yaml = pytest.importorskip("yaml", reason="the package pyyaml is not installed: pip install '.[nightly]'")

    def enabled(given: str) -> list[str]:
        return ((yaml.safe_load(given) or {}).get("plugins") or {}).get("enabled") or []

    def rest(given: str) -> dict:
        whole = yaml.safe_load(given) or {}
        plugins = {
            key: value for key, value in (whole.pop("plugins", None) or {}).items() if key != "enabled"
        }
        return {**whole, **plugins}

    assert ITEM.find(text) is None
    added = ITEM.added(text)
    assert ITEM.find(added) == "tokcap"
    assert enabled(added) == [*enabled(text), "tokcap"]
    without = ITEM.cut(added)
    assert ITEM.find(without) is None
    assert enabled(without) == enabled(text)
    assert rest(added) == rest(without) == rest(text)
    assert all(line in added for line in text.splitlines() if "[" not in line)


@pytest.mark.parametrize(
    ("text", "added"),
    [
        ("", "plugins:\n  enabled:\n    - tokcap\n"),
        (
            "plugins:\n  enabled:\n  - one # first\n  # second\n  - two\na: 1\n",
            "plugins:\n  enabled:\n  - one # first\n  # second\n  - two\n  - tokcap\na: 1\n",
        ),
        ("plugins:\n  enabled: []\na: 1\n", "plugins:\n  enabled: [tokcap]\na: 1\n"),
        (
            'plugins:\n    enabled: [one, "two"] # mine\n',
            'plugins:\n    enabled: [one, "two", tokcap] # mine\n',
        ),
    ],
)
def test_each_form_is_changed_in_its_own_way(text, added):
    assert ITEM.added(text) == added
    assert ITEM.cut(added) == text


@pytest.mark.parametrize(
    "text",
    [
        "plugins: {enabled: [one]}\n",
        "{plugins: {enabled: []}}\n",
        "plugins: &anchor\n  enabled:\n    - one\n",
        "plugins:\n  enabled: *other\n",
        "plugins:\n\tenabled: []\n",
        "a: 1\n---\nb: 2\n",
        "plugins:\n  enabled: []\nplugins:\n  enabled: []\n",
        "- one\n",
    ],
)
def test_another_form_is_refused(text):
    with pytest.raises(ValueError, match=r"written in a way|not one mapping|not valid YAML|there twice"):
        ITEM.added(text)
