"""Settings files: other settings survive, removal restores the file, and a bad file is not changed."""

import json
import os
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokcap.errors import HookRefused
from tokcap.hooks import json_settings, settings
from tokcap.hooks.json_settings import HookEntry, JsonValue

COMMAND = "/usr/bin/tokcap hook run claude-code || true"
HOOK = [HookEntry(COMMAND, "claude-code", "PreToolUse", "Bash", 10)]
ENTRY = HOOK[0].element()

FILES = {
    "empty": "",
    "blank": " \n",
    "empty object": "{}",
    "one line": '{"model": "opus", "hooks": {"Stop": []}}',
    "four blanks": '{\n    "model": "opus"\n}',
    "tabs": '{\n\t"model": "opus",\n\t"hooks": {\n\t\t"Stop": []\n\t}\n}\n',
    "carriage returns": '{\r\n  "model": "opus"\r\n}\r\n',
    "byte order mark": '\ufeff{\n  "model": "opus"\n}\n',
    "other hooks": """{
  "hooks": {
    "PostToolUse": [{"matcher": "Edit", "hooks": [{"type": "command", "command": "fmt"}]}],
    "PreToolUse": [
      {
        "matcher": "Bash",
        "hooks": [
          {"type": "command", "command": "guard.sh"}
        ]
      }
    ]
  },
  "permissions": {"allow": ["Bash"]}
}
""",
    "comments": """// mine
{
  // what I like
  "model": "opus", /* really */
  "hooks": {
    // guards
    "PreToolUse": [
      // the first
      { "matcher": "Bash", "hooks": [ { "type": "command", "command": "guard.sh" } ] } // keep me
      // nothing follows
    ]
  } // end of hooks
}
// end
""",
    "trailing commas": """{
  "hooks": {
    "PreToolUse": [
      {"matcher": "Bash", "hooks": [{"type": "command", "command": "guard.sh"},],},
    ],
  },
}
""",
    "comment in one line": '{"hooks": {"PreToolUse": [ /* none */ ]}}',
    "comment to the end": '{"a": 1 // one\n}',
    "empty list": '{\n  "hooks": {\n    "PreToolUse": []\n  }\n}\n',
    "strange layout": '{"a":\n1\n,"hooks"\n:{ "PreToolUse" :\n[\n]\n\n}\n\n\n}\n\n',
    "beyond ascii": '{\n  "名前": "ü🙂"\n}\n',
}


@pytest.fixture
def file(tmp_path):
    (tmp_path / "agent").mkdir()
    return tmp_path / "agent" / "settings.json"


def plain(text):
    return json_settings.parse(text.removeprefix("\ufeff")).plain() if text.strip("\ufeff \n") else {}


def is_json(text):
    try:
        return isinstance(json.loads(text.removeprefix("\ufeff") or "{}"), dict)
    except ValueError:
        return False


def comments_in(text):
    return [
        part
        for part in ("mine", "what I like", "really", "guards", "the first", "keep me", "follows", "end")
        if part in text
    ]


@pytest.mark.parametrize("text", FILES.values(), ids=FILES.keys())
def test_installing_adds_one_entry_once_and_removing_restores_byte_for_byte(file, text):
    file.write_bytes(text.encode())
    assert settings.install(str(file), HOOK)
    after = file.read_bytes().decode()
    expected = plain(text)
    expected.setdefault("hooks", {}).setdefault("PreToolUse", []).insert(0, ENTRY)
    assert plain(after) == expected
    assert comments_in(after) == comments_in(text)
    if is_json(text):
        assert is_json(after)
    once = file.stat().st_mtime_ns
    assert not settings.install(str(file), HOOK)
    assert (file.read_bytes().decode(), file.stat().st_mtime_ns) == (after, once)
    assert settings.remove(str(file), HOOK)
    assert file.read_bytes() == text.encode()
    assert os.listdir(file.parent) == [file.name]


@pytest.mark.parametrize("text", FILES.values(), ids=FILES.keys())
def test_without_the_kept_version_removing_takes_out_only_our_entry(file, text):
    file.write_bytes(text.encode())
    settings.install(str(file), HOOK)
    backup = file.with_name(file.name + settings.BACKUP_SUFFIX)
    backup.write_text('{"something": "else"}')
    settings.remove(str(file), HOOK)
    after = file.read_bytes().decode()
    expected = plain(text)
    # What was empty already goes together with our entry.
    if expected.get("hooks", {}).get("PreToolUse") == []:
        del expected["hooks"]["PreToolUse"]
    if expected.get("hooks") == {}:
        del expected["hooks"]
    assert plain(after) == expected
    assert comments_in(after) == comments_in(text) or "PreToolUse" not in after
    assert backup.exists()


def test_what_was_changed_in_between_survives_the_removal(file):
    file.write_text(FILES["other hooks"])
    settings.install(str(file), HOOK)
    file.write_text(file.read_text().replace('"allow": ["Bash"]', '"allow": ["Bash", "Read"]'))
    settings.remove(str(file), HOOK)
    assert file.read_text() == FILES["other hooks"].replace('"allow": ["Bash"]', '"allow": ["Bash", "Read"]')
    kept = file.with_name(file.name + settings.BACKUP_SUFFIX)
    assert kept.read_text() == FILES["other hooks"]


def test_an_entry_that_shares_its_group_goes_alone(file):
    mine = {"type": "command", "command": COMMAND}
    other = {"type": "command", "command": "guard.sh"}
    for hooks in ([mine, other], [other, mine]):
        file.write_text(json.dumps({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": hooks}]}}))
        settings.remove(str(file), HOOK)
        assert json.loads(file.read_text())["hooks"]["PreToolUse"] == [{"matcher": "Bash", "hooks": [other]}]


def test_other_options_replace_the_entry_and_the_first_version_is_still_restored(file):
    file.write_text(FILES["comments"])
    settings.install(str(file), HOOK)
    other = "tokcap hook run claude-code --token-limit 900 || true"
    assert settings.install(str(file), [HOOK[0].replace(value=other)])
    assert file.read_text().count("hook run claude-code") == 1
    settings.remove(str(file), HOOK)
    assert file.read_text() == FILES["comments"]


def test_a_file_that_was_not_there_is_gone_again(tmp_path):
    file = tmp_path / "sub" / "settings.json"
    settings.install(str(file), HOOK)
    assert json.loads(file.read_text()) == {"hooks": {"PreToolUse": [ENTRY]}}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    settings.remove(str(file), HOOK)
    assert os.listdir(file.parent) == []


BAD = {
    "cut off": b'{"a": 1',
    "no object": b"[1]",
    "two values": b"{} {}",
    "not UTF-8": b'{"a": "\xff"}',
    "endless comment": b"{} /* ",
    "hooks is a list": b'{"hooks": []}',
    "event is an object": b'{"hooks": {"PreToolUse": {}}}',
    "key twice": b'{"hooks": {}, "hooks": {}}',
    "group is odd": b'{"hooks": {"PreToolUse": [{"hooks": "x"}]}}',
    "bare words": b"{hooks: 1}",
    "too deep": b"[" * 5000,
    "toml": b"[hooks]\n",
}


@pytest.mark.parametrize("data", BAD.values(), ids=BAD.keys())
def test_a_file_that_is_not_understood_is_refused_and_not_touched(file, data):
    file.write_bytes(data)
    for change in (
        lambda: settings.install(str(file), HOOK),
        lambda: settings.remove(str(file), HOOK),
    ):
        with pytest.raises(HookRefused) as refused:
            change()
        assert str(file) in str(refused.value)
        assert "\n" not in str(refused.value)
        assert file.read_bytes() == data
    assert os.listdir(file.parent) == [file.name]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644])
def test_the_mode_of_the_file_stays(file, mode):
    file.write_text("{}")
    file.chmod(mode)
    settings.install(str(file), HOOK)
    assert stat.S_IMODE(file.stat().st_mode) == mode
    assert stat.S_IMODE(file.with_name(file.name + settings.BACKUP_SUFFIX).stat().st_mode) == mode
    settings.remove(str(file), HOOK)
    assert stat.S_IMODE(file.stat().st_mode) == mode


def test_a_file_that_may_not_be_written_is_refused(file, monkeypatch):
    file.write_text("{}")
    # Root may write everything, so the answer of the system is put into its mouth.
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    with pytest.raises(HookRefused, match="read-only"):
        settings.install(str(file), HOOK)
    assert file.read_text() == "{}"
    assert os.listdir(file.parent) == [file.name]


def test_a_symbolic_link_stays_one_and_its_target_is_written(tmp_path):
    target = tmp_path / "dotfiles" / "claude.json"
    target.parent.mkdir()
    target.write_text(FILES["comments"])
    between = tmp_path / "between.json"
    between.symlink_to("dotfiles/claude.json")
    link = tmp_path / "agent" / "settings.json"
    link.parent.mkdir()
    link.symlink_to("../between.json")
    settings.install(str(link), HOOK)
    assert link.is_symlink()
    assert between.is_symlink()
    assert "hook run claude-code" in target.read_text()
    assert os.listdir(target.parent) == [target.name]
    settings.remove(str(link), HOOK)
    assert link.is_symlink()
    assert target.read_text() == FILES["comments"]


@pytest.mark.parametrize("step", ["replace", "fsync"])
@pytest.mark.parametrize("failing", [0, 1])
def test_a_write_that_fails_leaves_the_file_and_nothing_else(file, monkeypatch, step, failing):
    file.write_text("{}")
    real, calls = getattr(os, step), []

    def fails(*arguments):
        calls.append(arguments)
        if len(calls) > failing:
            raise OSError(28, "No space left on device")
        real(*arguments)

    monkeypatch.setattr(os, step, fails)
    with pytest.raises(HookRefused, match="No space left"):
        settings.install(str(file), HOOK)
    assert file.read_text() == "{}"
    assert os.listdir(file.parent) == [file.name]


def test_an_entry_without_a_command_is_removed_by_what_takes_its_place(file):
    file.write_text(FILES["other hooks"])
    settings.install(str(file), HOOK)
    value = JsonValue(str(file.parent / "tokcap" / "bash"), ("env", "CLAUDE_CODE_SHELL"))
    assert settings.install(str(file), [value, HOOK[0].replace(value="")])
    assert "hook run" not in file.read_text()
    assert settings.remove(str(file), [value])
    assert json.loads(file.read_text()) == json.loads(FILES["other hooks"])


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
FORMS = st.fixed_dictionaries(
    {"indent": st.sampled_from([None, 0, 1, 2, 4, "\t"]), "ensure_ascii": st.booleans()}
)
TRIVIA = st.sampled_from(["", " ", "\n", "// c\n", "/* c */", "\t// }]{\n", ' /* // " */ '])


@given(st.dictionaries(st.text(max_size=5), VALUES, max_size=4), FORMS, TRIVIA, TRIVIA, st.data())
def test_any_object_gets_and_loses_an_element_in_any_form(value, form, before, after, data):
    text = before + json.dumps(value, **form) + after
    root = json_settings.parse(text)
    assert root.plain() == value
    container = root
    while containers := [node for _, _, node in container.members or () if node.members is not None]:
        if not data.draw(st.booleans()):
            break
        container = data.draw(st.sampled_from(containers))
    grown = json_settings.with_element(text, container, "a new key", [{"x": 1}])
    found = json_settings.parse(grown)
    assert "a new key" in json.dumps(found.plain())

    def holder(node):
        for place, (key, _, inner) in enumerate(node.members or ()):
            if key == "a new key":
                return node, place
            if deeper := holder(inner):
                return deeper
        for inner in node.items or ():
            if deeper := holder(inner):
                return deeper
        return None

    assert json_settings.parse(json_settings.without_element(grown, *holder(found))).plain() == value


SETTINGS = """// first { comment
{
  "a": 1, /* "b": [ */
  "c": [1, /* ] */ 2// two
  ,3,],  // one } more
  "d": {"e": "// no comment",},
}
"""


def test_settings_are_read_among_comments_and_trailing_commas():
    found = json_settings.parse(SETTINGS)
    assert found.plain() == {"a": 1, "c": [1, 2, 3], "d": {"e": "// no comment"}}
    assert SETTINGS[slice(*found.member("c").spans()[1])] == "2"


@pytest.mark.parametrize("text", ["[,]", "{,}", '{"a"}', "[1 2]", "/* open 1", "[1}", "[1,,]"])
def test_other_mistakes_in_settings_are_found(text):
    with pytest.raises(ValueError, match="character"):
        json_settings.parse(text)
