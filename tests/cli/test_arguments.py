"""The grammar: what a command line means, where values come from, and how bad ones are refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokcap.cli.arguments import HelpWanted, Subcommand, VersionWanted, parse, wanted_output
from tokcap.cli.kinds import (
    Choice,
    Duration,
    Fraction,
    LineOfText,
    Name,
    ServerUrl,
    Size,
    Switch,
    WholeNumber,
)
from tokcap.cli.options import OPTIONS, options_of
from tokcap.core.request import SUBCOMMANDS, Request, ShowRequest
from tokcap.environment import Environment
from tokcap.errors import UsageError


@pytest.fixture
def read(tmp_path):
    def parsed(*argv, variables=None, config=None):
        world = {"XDG_CONFIG_HOME": str(tmp_path), **(variables or {})}
        if config is not None:
            (tmp_path / "tokcap").mkdir(exist_ok=True)
            (tmp_path / "tokcap" / "config.toml").write_text(config)
        return parse(argv, Environment(world))

    return parsed


def test_the_fields_of_a_request_are_the_rows_of_the_table():
    # Found out from the options, and not one of them.
    derived = {"tokenizer_match", "limit_if_cut", "mode_of_session"}
    # Set by the programs that stand in for a shell.
    called = {"command", "as_shell", "running", "notices"}
    assert set(Request._fields) == {*called, *derived, *(option.key for option in options_of("run"))}
    assert set(ShowRequest._fields) == {"handle", *derived, *(option.key for option in options_of("show"))}


def test_without_options_every_value_is_its_default(read):
    request = read("ls")
    for option in options_of("run"):
        assert getattr(request, option.key) == option.default


@pytest.mark.parametrize(
    "words",
    [["--token-limit", "500"], ["--token-limit=500"], ["-n", "500"], ["-n500"], ["-n", "7", "-n", "500"]],
)
def test_an_option_can_be_spelled_in_four_ways_and_the_last_one_counts(read, words):
    request = read(*words, "ls")
    assert (request.token_limit, request.command) == (500, ("ls",))


def test_options_end_at_the_first_word_that_is_none(read):
    assert read("-n", "5", "grep", "-n", "9", "--", "x").command == ("grep", "-n", "9", "--", "x")
    assert read("-n", "5", "grep", "-n", "9").token_limit == 5


def test_two_dashes_make_any_word_a_command(read):
    assert read("--", "show", "--help").command == ("show", "--help")
    assert read("--", "-n").command == ("-n",)


@pytest.mark.parametrize("words", [["--"], ["-n", "5", "--"], ["-o", "text", "--token-count", "--"]])
def test_two_dashes_without_a_command_are_refused(read, words):
    with pytest.raises(UsageError, match="there is no command after --"):
        read(*words)


@pytest.mark.parametrize("name", [name for name in SUBCOMMANDS if name != "show"])
def test_the_name_of_a_subcommand_is_one_only_as_the_first_word(read, name):
    assert read(name, "x", "-o", "json") == Subcommand(name, ("x", "-o", "json"))
    assert read("echo", name).command == ("echo", name)


def test_options_before_a_subcommand_are_refused(read):
    with pytest.raises(UsageError, match="--token-limit comes before the subcommand 'show'"):
        read("-n", "5", "show")


def test_help_and_version_are_found_among_tokcaps_own_options_only(read):
    assert read("--help") == HelpWanted()
    assert read("-n", "bad", "-h") == HelpWanted()
    assert read("-V") == VersionWanted()
    assert read("ls", "--help").command == ("ls", "--help")


def test_switches_take_no_value_and_can_be_turned_off(read):
    assert read("--token-count").token_count is True
    assert read("--token-count", "--no-token-count").token_count is False
    assert read("--no-token-count", variables={"TOKCAP_TOKEN_COUNT": "1"}).token_count is False
    with pytest.raises(UsageError, match="--token-count takes no value"):
        read("--token-count=yes")


BAD = [
    (["--token-limit", "0"], "--token-limit: '0' is not a whole number of at least 1"),
    (["--token-limit", "-1"], "--token-limit: '-1' is not"),
    (["--token-limit", "1.5"], "--token-limit: '1.5' is not"),
    (["--token-limit", "foo"], "--token-limit: 'foo' is not"),
    (["--token-limit", ""], "--token-limit: '' is not"),
    (["--token-limit", " 5"], "--token-limit: ' 5' is not"),
    (["--token-limit", "٥"], "--token-limit: '٥' is not"),
    (["--token-limit", "1" + "0" * 30], "--token-limit: '1000000000000000000000000000000' is too large"),
    (["--token-limit", "9" * 10_000], "--token-limit: '9999.*is too large"),
    (["-n", "x"], "--token-limit: 'x'"),
    (["--token-offset", "-1"], "--token-offset: '-1' is not a whole number of at least 0"),
    (["--shape", "pdf"], "--shape: 'pdf' is not one of auto, text, json, jsonl, csv, tsv"),
    (["--sentinel", "two\nlines"], "--sentinel: 'two.*lines' is not text without line breaks"),
    (["--tokenizer", ""], "--tokenizer: '' is not the name of a tokenizer"),
    (["--token-limit"], "--token-limit needs a value: a whole number"),
    (["-x"], "unknown option -x"),
    (["--no-output"], "unknown option --no-output"),
]


@pytest.mark.parametrize(("words", "message"), BAD, ids=lambda value: str(value)[:40])
def test_a_bad_value_is_refused_and_the_option_named(read, words, message):
    with pytest.raises(UsageError, match=message.replace("?", r"\?")):
        read(*words)


def test_the_largest_number_is_accepted(read):
    assert read("-n", str(2**63 - 1)).token_limit == 2**63 - 1
    assert read("-n", "0000000000000000000000000000005").token_limit == 5


READABLE_NUMBERS = [
    ("4,000", 4000),
    ("4_000", 4000),
    ("1,234,567", 1234567),
    ("4k", 4000),
    ("4K", 4000),
    ("1.5k", 1500),
    ("0.5k", 500),
    ("1,000k", 1000000),
    ("2M", 2000000),
    ("1.25m", 1250000),
    ("007k", 7000),
]


@pytest.mark.parametrize(("text", "number"), READABLE_NUMBERS)
def test_a_number_of_tokens_may_have_separators_or_a_unit(read, text, number):
    assert read("-n", text, "--token-offset", text, "--context-window", text).token_limit == number
    assert read(f"-n{text}").token_limit == number
    assert read(variables={"TOKCAP_TOKEN_LIMIT": text}).token_limit == number
    assert read(config=f'token_limit = "{text}"').token_limit == number
    window = read("--model", "mine", config=f'[models.mine]\ncontext_window = "{text}"').context_window
    assert window == number
    assert read("show", "3f2a", "--token-offset", text).token_offset == number


@pytest.mark.parametrize(
    "text",
    [
        *("1,5", "4,00", "4,0000", ",400", "4,", "4_00", "4__000", "1,000_000", "1,5k", "1.5,000", "4'000"),
        *("4.k", ".5k", "1.2345k", "4.0", "k", "4kk", "4ki", "4kb", "4g", "-4k", "4 k", "4\u202f000", "٤k"),
        *("0k", "1e3k", "0x10k", "9" * 30 + "k", "9.9" * 3000),
    ],
)
def test_what_is_not_written_as_a_number_of_tokens_is_refused(read, text):
    with pytest.raises(UsageError, match=r"--token-limit: .* is (not a whole number|too large)"):
        read("-n", text)


@given(number=st.integers(1, 2**63 - 1), unit=st.sampled_from(["", "k", "M"]))
def test_a_number_reads_the_same_however_it_is_written(number, unit):
    scale = {"": 1, "k": 1000, "M": 1000000}[unit]
    kind = WholeNumber(minimum=1)
    for written in (f"{number}{unit}", f"{number:,}{unit}", f"{number:_}{unit}"):
        if number * scale < 2**63:
            assert kind.read(written) == number * scale
        else:
            with pytest.raises(ValueError, match="too large"):
                kind.read(written)
    exact = f"{number // scale}.{number % scale:0{len(str(scale)) - 1}d}{unit}" if unit else str(number)
    assert kind.read(exact) == number


def test_show_takes_options_before_and_behind_its_handle(read):
    request = read("show", "-n", "5", "3f2a", "--token-offset", "7", "--grep", "x", "--context=2")
    assert (request.handle, request.token_limit, request.token_offset) == ("3f2a", 5, 7)
    assert (request.grep, request.context, request.stream) == ("x", 2, "out")
    assert read("show", "--help") == HelpWanted("show")


def test_what_is_about_one_output_cannot_be_set_for_all(read):
    assert read("show", "3f2a", variables={"TOKCAP_GREP": "x", "TOKCAP_STREAM": "err"}).grep == ""
    with pytest.raises(UsageError, match="unknown key 'grep'"):
        read("ls", config="grep = 'x'")


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1", 1),
        ("4096", 4096),
        ("64K", 65536),
        ("64KiB", 65536),
        ("64kb", 64000),
        ("1.5M", 1572864),
        ("2G", 2 << 30),
    ],
)
def test_sizes_are_read(read, text, size):
    assert read("--max-bytes", text).max_bytes == size


@pytest.mark.parametrize(
    "text", ["0", "", "K", "-1", "1.2.3", "1e3", "5X", "5KKB", "٥", "9" * 40, "10000000T"]
)
def test_bad_sizes_are_refused(read, text):
    with pytest.raises(UsageError, match=r"--max-bytes: .* is not a size such as"):
        read("--max-bytes", text)


# A value of each kind that is no default.
OTHER_VALUES = {
    WholeNumber: "7",
    Fraction: "0.3",
    Size: "8",
    Duration: "500ms",
    Name: "work",
    LineOfText: "some text",
    ServerUrl: "redis://host",
}


def other_value(option) -> str:
    if isinstance(option.kind, Switch):
        return "false" if option.default else "true"
    if isinstance(option.kind, Choice):
        return next(word for word in option.kind.words[::-1] if word != option.default)
    # It is looked up in the table of models.
    return "gpt-4o" if option.key == "model" else OTHER_VALUES[type(option.kind)]


@pytest.mark.parametrize(
    "option", [option for option in OPTIONS if option.ambient], ids=lambda option: option.name
)
def test_every_option_has_a_variable_and_a_key(read, option):
    value = other_value(option)
    # Without a session, this one has no effect.
    around = {"TOKCAP_SESSION": "work"} if option.key == "repeat" else {}
    from_variable = read("ls", variables={**around, option.variable: value})
    plain = value.replace(".", "").isdigit() or (
        isinstance(option.kind, Switch) and value in ("true", "false")
    )
    toml = value if plain else f'"{value}"'
    table = f"[{option.section}]\n" if option.section else ""
    from_file = read("ls", config=f"{table}{option.key} = {toml}\n", variables=around)
    assert getattr(from_variable, option.key) == getattr(from_file, option.key) == option.kind.read(value)
    assert getattr(from_file, option.key) != option.default


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "--repeat needs a session: give --session too, or set TOKCAP_SESSION"),
        (("--session", "s", "--spill", "never"), "--repeat needs the store"),
        (("--session", "s", "--token-count"), "--repeat cannot be combined with --token-count"),
    ],
)
def test_repeat_is_refused_where_it_cannot_apply_but_a_setting_has_no_effect(read, words, message):
    with pytest.raises(UsageError, match=message):
        read("--repeat", "mark", *words, "ls")
    assert read("--repeat", "full", *words, "ls").repeat == "full"
    assert read(*words, "ls", variables={"TOKCAP_REPEAT": "diff"}).repeat == "full"
    assert read(*words, "ls", config="repeat = 'mark'").repeat == "full"


def test_show_never_answers_with_a_repeat(read):
    with pytest.raises(UsageError, match="--repeat"):
        read("show", "3f2a", "--repeat", "mark")
    assert read("show", "3f2a", variables={"TOKCAP_REPEAT": "mark", "TOKCAP_SESSION": "s"}).session == "s"


def test_a_flag_beats_a_variable_beats_the_file_beats_the_default(read):
    config = "token_limit = 3\nkeep = 'tail'\n"
    variables = {"TOKCAP_TOKEN_LIMIT": "2"}
    assert read("-n", "1", config=config, variables=variables).token_limit == 1
    assert read(config=config, variables=variables).token_limit == 2
    request = read(config=config)
    assert (request.token_limit, request.keep, request.align) == (3, "tail", "record")


def test_an_empty_variable_is_no_value_except_where_empty_text_is_one(read):
    assert read(variables={"TOKCAP_TOKEN_LIMIT": ""}).token_limit is None
    assert read(variables={"TOKCAP_SENTINEL": ""}).sentinel == ""


def test_a_bad_variable_is_named(read):
    with pytest.raises(UsageError, match="TOKCAP_TOKEN_LIMIT: 'x' is not a whole number"):
        read(variables={"TOKCAP_TOKEN_LIMIT": "x"})
    assert read("-n", "5", variables={"TOKCAP_TOKEN_LIMIT": "x"}).token_limit == 5


def test_a_config_file_may_begin_with_a_byte_order_mark(read):
    assert read(config="\ufefftoken_limit = 5").token_limit == 5


def test_a_config_file_has_its_bounds(read):
    with pytest.raises(UsageError, match="/dev/zero: too large for a config file"):
        read(variables={"TOKCAP_CONFIG": "/dev/zero"})


def test_a_refusal_takes_the_form_that_the_config_file_asks_for(inside, tmp_path):
    config = tmp_path / "config.toml"
    config.write_text('output = "json"\n')
    ran = inside("-n", "0", env={"TOKCAP_CONFIG": str(config)})
    assert ran.json["error"]["code"] == "USAGE"


def test_a_config_file_that_was_named_must_exist(read, tmp_path):
    with pytest.raises(UsageError, match="TOKCAP_CONFIG: there is no file"):
        read(variables={"TOKCAP_CONFIG": str(tmp_path / "none.toml")})
    named = tmp_path / "named.toml"
    named.write_text("token_limit = 11")
    assert read(variables={"TOKCAP_CONFIG": str(named)}).token_limit == 11


@pytest.mark.parametrize(
    ("argv", "form"),
    [
        (["-n", "0", "-o", "json", "ls"], "json"),
        (["--bogus", "-o", "json"], "json"),
        (["--bogus", "5", "--output=jsonl"], "jsonl"),
        (["-o", "json", "-o", "text", "-n", "x"], "text"),
        (["ls", "-o", "json"], "text"),
    ],
)
def test_a_refused_call_is_told_in_the_form_it_asked_for(argv, form):
    assert wanted_output(argv, Environment({})) == form
    assert wanted_output(["-n", "0"], Environment({"TOKCAP_OUTPUT": "json"})) == "json"


@pytest.mark.parametrize(
    ("raw", "seconds"),
    [("90", 90), ("1s", 1), ("1.5m", 90), ("2h", 7200), ("500ms", 0.5), ("0.25", 0.25), (".5s", 0.5)],
)
def test_a_duration_has_a_unit_or_is_in_seconds(read, raw, seconds):
    assert read("--timeout", raw, "ls").timeout == seconds


@pytest.mark.parametrize(
    "raw", ["", "0", "s", "-1s", "1e3", "1d", "1 s", "1sm", "nan", "inf", "99999999999h", "."]
)
def test_what_is_no_duration_is_refused(read, raw):
    with pytest.raises(UsageError, match="a duration such as"):
        read("--timeout", raw, "ls")
