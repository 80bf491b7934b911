"""Every flag works on each of twenty commands in three nested groups."""

import json

import pytest

from tests.support import twenty
from tests.support.reference import recount, reference
from tests.support.tiers import nightly

# One for each way to make output; in the other places of the tree the same functions are commands again.
EVERYDAY = (
    *("echoing", "json-printed", "store json-lines", "store list-returned", "store shelf printing"),
    *("store shelf bytes-of-the-buffer", "store shelf text-of-the-stream", "store shelf box table"),
    *("store shelf box text-returned", "store shelf box one-long-line"),
)
every_command = pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=" ".join(path), marks=() if " ".join(path) in EVERYDAY else nightly)
        for path in twenty.PATHS
    ],
)


@pytest.fixture(scope="module")
def whole():
    """Return a function that gives the whole output of a command, printed or returned."""
    from typer.testing import CliRunner

    known: dict[tuple[str, ...], bytes] = {}

    def output(path: list[str]) -> bytes:
        if tuple(path) not in known:
            known[tuple(path)] = CliRunner().invoke(twenty.app, [*path, "--output", "text"]).stdout_bytes
        return known[tuple(path)]

    return output


@every_command
def test_a_limit_holds_in_every_form_and_the_envelope_says_so(path, invoke, whole):
    assert recount(whole(path)) > 500
    shown = invoke(*path, "--token-limit", "100")
    assert 0 < recount(shown.out) <= 100
    assert b"[TRUNCATED]" in shown.out
    enveloped = invoke(*path, "--token-limit", "100", "--output", "json")
    assert 0 < recount(enveloped.data_text) <= 100
    meta = enveloped.json["meta"]
    assert (meta["truncated"], meta["token_limit"]) == (True, 100)
    lines = invoke(*path, "--token-limit", "100", "--output", "jsonl").out.splitlines(keepends=True)
    assert 0 < recount(b"".join(lines[:-1])) <= 100
    assert json.loads(lines[-1])["meta"]["truncated"] is True


@every_command
def test_a_count_is_a_number_without_the_output(path, invoke, whole):
    total = recount(whole(path))
    assert invoke(*path, "--token-count").out == b"%d\n" % total
    envelope = invoke(*path, "--token-count", "--output", "json").json
    assert (envelope["data"], envelope["meta"]["token_count"]) == (None, total)
    (line,) = invoke(*path, "--token-count", "--output", "jsonl").out.splitlines()
    assert json.loads(line)["meta"]["token_count"] == total


@every_command
def test_offset_200_begins_at_the_201st_token(path, invoke, whole):
    shown = invoke(*path, "--token-offset", "200", "--token-limit", "200", "--output", "json")
    meta = shown.json["meta"]
    assert recount(shown.data_text) <= 200
    assert meta["token_offset"] == 200
    encoding = reference("cl100k_base")
    rest = encoding.decode(encoding.encode_ordinary(whole(path).decode())[200:])
    first = shown.json["data"][0]
    if meta["shape"] == "text":
        assert len(first) > 50
        assert rest.startswith(first)
    elif meta["shape"] == "csv":
        # The header, then the first row that starts after the offset.
        assert first.startswith("id,name\r\n" + rest.partition("\r\n")[2][:50])
    else:
        # The first value that starts after the offset. Earlier values of the same record are left out.
        assert twenty.ROWS[int(meta["first_pointer"].split("/")[1])].items() >= first.items()
        value = json.dumps(next(iter(first.values()))).strip("[]").replace(" ", "")
        assert value in "".join(rest.split())[:30]


@every_command
def test_windows_fetched_by_next_offset_join_to_the_output(path, invoke, whole):
    offset, texts, values = 0, [], []
    while offset is not None:
        page = invoke(*path, "--token-offset", str(offset), "--token-limit", "900", "--output", "json").json
        kept = page["data"][:-1] if page["meta"]["truncated"] else page["data"]
        (texts if page["meta"]["shape"] == "text" else values).extend(kept)
        offset = page["meta"].get("next_offset")
    if texts:
        assert "".join(texts) == whole(path).decode()
    elif path[-1] == "table":
        header = "id,name\r\n"
        assert header + "".join(text.removeprefix(header) for text in values) == whole(path).decode()
    else:
        assert values == twenty.ROWS


@every_command
def test_another_tokenizer_counts_differently(path, invoke, whole):
    count = invoke(*path, "--token-count", "--tokenizer", "approx").out
    assert int(count) == -(-len(whole(path).decode()) // 4)
    assert int(invoke(*path, "--token-count", "--tokenizer", "o200k_base").out) == recount(
        whole(path), "o200k_base"
    )


@every_command
def test_flags_may_also_come_before_the_command_name(path, invoke):
    assert invoke("--token-limit", "50", *path).out == invoke(*path, "--token-limit", "50").out
    assert (
        invoke("--token-limit", "900", *path, "--token-limit=50").out
        == invoke(*path, "--token-limit", "50").out
    )


def test_a_group_that_runs_without_a_command_has_the_flags(invoke):
    shown = invoke("store", "shelf", "box", "--token-limit", "60")
    assert 0 < recount(shown.out) <= 60
    assert shown.out.startswith(b"line 0 of")
    assert b"next: --token-offset" in shown.out
