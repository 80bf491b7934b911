"""`[[rule]]` of config.toml: the first that matches a command or a tool decides."""

import os
import shutil
import subprocess

import pytest

from tests.support.reference import recount
from tokcap.cli.config import read_config
from tokcap.cli.rules import decisive, rule_for
from tokcap.environment import Environment

pytestmark = pytest.mark.usefixtures("with_store")

RULES = """
token_limit = 900
[[rule]]
match = ["git diff --stat", "tool/*"]
pass = true
[[rule]]
match = "git diff"
limit = 500
[[rule]]
match = "npm ** test"
limit = 600
[[rule]]
match = ["seq", "Read", "github/search"]
limit = 300
keep = "tail"
[[rule]]
match = "cat"
limit = 700
"""


@pytest.fixture
def config(tmp_path, monkeypatch):
    """Return a function that writes the user's config file."""
    path = tmp_path / "config.toml"
    monkeypatch.setenv("TOKCAP_CONFIG", str(path))
    return lambda text: path.write_text(text)


def number_of(*words):
    rule = decisive(read_config(RULES.encode(), "c").rules, words)
    return rule.number if rule else None


@pytest.mark.parametrize(
    ("words", "number"),
    [
        ("git diff", 2),
        ("/usr/bin/git diff HEAD~1", 2),
        ("git --no-pager diff", 2),
        ("git diff --stat x", 1),
        ("git diff -p --stat", 1),
        ("git commit diff", None),
        ("gitk diff", None),
        ("git", None),
        ("npm --prefix a b test", 3),
        ("npm run build", None),
        ("Read", 4),
        ("read", None),
        ("github/search", 4),
        ("mcp__github__search", 4),
        ("tool/a", 1),
        ("search", None),
        ("node_modules/.bin/cat x", 5),
    ],
)
def test_a_pattern_matches_the_first_words_of_a_command_or_the_name_of_a_tool(words, number):
    assert number_of(*words.split()) == number


@pytest.mark.parametrize(
    ("line", "number"),
    [
        ("git diff", 2),
        ("cd a/b && export X=1; git diff 2>&1 | head -50", 2),
        ("X=1 timeout -k 5 60s git diff", 2),
        ("(cd a && git diff)\n# the end\n", 2),
        ("git \\\n diff | tee 'a b'", 2),
        ("source s 2>/dev/null || true && eval 'git diff' < /dev/null && pwd >| f", 2),
        ("if . s >/dev/null 2>&1; then :; fi\n\nexec '/bin/bash' -lc 'git diff'", 2),
        (
            "source s 2>/dev/null || true && \\builtin shopt -u x && { \\builtin unalias -- 'a'; }"
            " >/dev/null 2>&1 || true && eval 'git diff' < /dev/null && pwd -P >| /tmp/f",
            2,
        ),
        ("shopt -u a; f=/tmp/x\n(\n  trap 'jobs -p > \"$f\"' EXIT\ngit diff\n)\n__code=$?\nexit $__code", 2),
        ("A=1\nif [ -n x ]; then export B; fi\n" + "true\n" * 9000 + "\nexec '/bin/bash' -c 'git diff'", 2),
        ("for i in 1 2; do cat $i; done", 5),
        ("cat a; cat b", 5),
        ("cat a | sort", None),
        ("git diff; seq 3", None),
        ("git diff; ls", None),
        ("git diff > f", None),
        ("echo 'git diff", None),
        ("cat <<E\ngit diff\nE", None),
        ("git diff " + "x" * 20_000, None),
        ("", None),
    ],
)
def test_a_line_has_a_rule_if_all_commands_that_it_shows_have_the_same(line, number):
    for words in (("sh", "-c", line), ("bash", "-lc", line), ("zsh", "-l", "-c", line, "name")):
        assert number_of(*words) == number


def test_many_options_and_many_patterns_are_compared_in_little_time():
    (rule,) = read_config(b'[[rule]]\nmatch = "a ** ** b ** c ** *d*d*d*d*e"\nlimit = 1', "c").rules
    assert not rule.match(("a", *["-b"] * 20_000, *["d" * 200] * 50))


def test_the_order_is_flag_variable_rule_file_default(config, inside):
    config(RULES)

    def shown(*words, stdin=b"", **variables):
        ran = inside("-o", "json", *words, stdin=stdin, env=variables)
        return ran.json["meta"]["token_limit"], "end" if "999" in str(ran.json["data"]) else "start"

    numbers = ("seq", "100", "999")
    assert shown(*numbers) == (300, "end")
    assert shown("-n400", *numbers) == (400, "end")
    assert shown(*numbers, TOKCAP_TOKEN_LIMIT="500") == (500, "end")
    assert shown("--keep=head", *numbers) == shown(*numbers, TOKCAP_KEEP="head") == (300, "start")
    assert shown("--focus=555", "-n500", *numbers)[0] == 500
    assert shown("printf", "%09999d\n", "1")[0] == 900
    # Standard input is no command.
    assert shown(stdin=b"x " * 5000)[0] == 900


def test_a_rule_that_passes_lifts_the_limit_but_not_that_of_a_flag(config, inside):
    config("token_limit = 9\nmode = 'summary'\n[[rule]]\nmatch = 'seq'\npass = true")
    whole = b"".join(b"%d\n" % number for number in range(1, 9001))
    assert inside("seq", "1", "9000").out == whole
    assert len(inside("-n", "20", "seq", "1", "9000").out) < 200


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rule = 1", "rule: expected tables of the form [[rule]]"),
        ("[rule]\nmatch = 'a'", "rule: expected tables of the form [[rule]]"),
        ("[[rules]]\nmatch = 'a'", "unknown key 'rules'; did you mean rule?"),
        ("[[rule]]\nlimit = 5", "rule 1: match: expected a pattern"),
        ("[[rule]]\nmatch = ' '", "rule 1: match: expected a pattern"),
        ("[[rule]]\nmatch = ['a', 1]", "rule 1: match: expected a pattern"),
        (
            "[[rule]]\nmatch = 'a'\n[[rule]]\nmatch = 'b'\nlimit = 0",
            "rule 2: limit: '0' is not a whole number",
        ),
        ("[[rule]]\nmatch = 'a'\nkeep = 'all'", "rule 1: keep: 'all' is not one of head, tail"),
        ("[[rule]]\nmatch = 'a'\nclean = 1", "rule 1: clean: 1 is not one of true"),
        ("[[rule]]\nmatch = 'a'\nfocus = '('", "rule 1: focus: '(' is not a valid regular expression"),
        ("[[rule]]\nmatch = 'a'\nfocus = 'b'\nkeep = 'ends'", "rule 1: focus: works only with"),
        ("[[rule]]\nmatch = 'a'\nlimt = 5", "rule 1: unknown key 'limt'; did you mean limit?"),
        ("[[rule]]\nmatch = 'a'\npass = 1", "rule 1: pass: 1 is not one of true, false"),
        ("[[rule]]\nmatch = 'a'\npass = true\nlimit = 5", "rule 1: limit: has no effect with pass = true"),
    ],
)
def test_what_is_wrong_is_refused_before_the_command_with_file_and_key(
    config, inside, tmp_path, text, message
):
    config(text)
    ran = inside("touch", str(tmp_path / "ran"))
    assert ran.status == 125
    assert ran.err.decode().startswith(f"tokcap: {os.environ['TOKCAP_CONFIG']}: {message}")
    assert not (tmp_path / "ran").exists()


def test_rules_in_the_working_directory_are_not_read(inside, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TOKCAP_CONFIG", raising=False)
    for name in ("config.toml", ".tokcap.toml", "tokcap.toml", ".config/tokcap/config.toml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(RULES)
    assert rule_for(("seq", "1"), Environment(os.environ)) is None
    assert inside("seq", "1", "1000").out.endswith(b"1000\n")


@pytest.mark.skipif(not shutil.which("bash"), reason="bash is not installed")
@pytest.mark.parametrize("program", ["tokcap-bash", "tokcap-sh"])
def test_the_shells_use_the_rule_of_a_line(config, programs, program):
    config(RULES)

    def shown(line):
        done = subprocess.run([programs / program, "-c", line], capture_output=True, timeout=60, check=True)
        return done.stdout

    line = "cd / && seq 1 9999 | tail -9000"
    assert shown(line).endswith(b"9999\n")
    assert recount(shown(line)) <= 300
    assert shown("printf 'a\\n'") == b"a\n"
    config("[[rule]]\nmatch = 'seq'\npass = true")
    assert shown("seq 1 9000").count(b"\n") == 9000


def test_doctor_says_which_rule_decides_and_why(config, inside):
    config(RULES)
    ran = inside("doctor", "--rule", "cd a; git diff HEAD~1", env={"TOKCAP_TOKEN_LIMIT": "7"})
    assert ran.status == 0
    assert ran.out.decode().splitlines() == [
        "fact   git diff HEAD~1: rule 2, 'git diff', is the first that matches",
        "note   limit: TOKCAP_TOKEN_LIMIT wins over rule 2",
    ]
    ran = inside("doctor", "--rule", "Read", "-o", "json")
    assert [one["message"] for one in ran.json["data"]][1:] == ["300 (rule 4)", "tail (rule 4)"]
    for line, said in (
        ("ls", b"note   ls: no rule matches\n"),
        ("cat a; ls", b"note   line: no rule applies: its commands have different rules\n"),
        ("cd a", b"note   line: no rule applies: it shows the output of no command\n"),
    ):
        ran = inside("doctor", "--rule", line)
        assert (ran.status, ran.out.endswith(said)) == (1, True)
    config("")
    assert b"tokcap hook install --rules" in inside("doctor", "--rule", "ls").out


def test_the_usual_rules_are_comments_that_work_once_they_are_wanted(config, inside, tmp_path):
    config("token_limit = 9")
    assert b"as comments" in inside("hook", "install", "--rules").err
    assert b"has the rules already" in inside("hook", "install", "--rules").err
    path = tmp_path / "config.toml"
    text = path.read_text()
    assert not read_config(text.encode(), "c").rules
    assert text.startswith("token_limit = 9\n\n# Rules")
    wanted = [
        line.removeprefix("# ") if line[:3] in ("# [", "#  ") or " = " in line else line
        for line in text.splitlines()
    ]
    rules = read_config("\n".join(wanted).encode(), "c").rules
    assert len(rules) == text.count("[[rule]]") > 4
    for line, key in (
        ("git diff HEAD~1", "token_limit"),
        ("python3 -m pytest -q", "focus"),
        ("curl -s https://example.com/a.json", "keep"),
        ("printenv HOME", "redact"),
    ):
        assert key in decisive(rules, ("sh", "-c", line)).values
    assert inside("hook", "install").status == 2
