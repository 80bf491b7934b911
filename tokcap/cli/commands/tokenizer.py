"""`tokcap tokenizer …`: compile the vocabulary of a model, so that `--tokenizer NAME` counts its tokens."""

from __future__ import annotations

from tokcap import exits
from tokcap.cli.description import OUTPUT, Argument, Flag, Group, command
from tokcap.cli.kinds import Duration, Name, Switch, WholeNumber
from tokcap.cli.reply import Reply
from tokcap.core.units import count_of, printable
from tokcap.errors import TokcapError
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.core.request import Output
    from tokcap.environment import Environment
    from tokcap.tokens.added import Description

GROUP = Group("tokenizer", "Add the vocabulary of a model, and count with it.")

NAME = Argument("NAME", "the name of an added tokenizer, or of a profile", names="added")
NO_TOKENIZER = "there is no such tokenizer"
DEFAULT_TEXTS = 200
DEFAULT_TIMEOUT_SECONDS = 60.0


@command(
    "tokenizer",
    "add",
    arguments=(
        Argument("NAME", "the name for --tokenizer: letters, digits, dots, dashes, underscores"),
        Argument(
            "FILE",
            "a tokenizer.json, a tekken.json, a .tiktoken table, a GGUF model, or the name of a model",
            names="files",
        ),
    ),
    flags=(
        Flag(
            ("--pre-split",),
            "the pattern of a .tiktoken table: cl100k_base, o200k_base, llama3, qwen2, gpt2, ...",
            Name(expected="the name of a pre-split"),
            "NAME",
        ),
        Flag(
            ("--slow",),
            "do not compile it: the package tokenizers counts, and takes seconds to load",
            Switch(),
            default=False,
        ),
        OUTPUT,
    ),
    examples=(
        ("tokcap tokenizer add qwen3 tokenizer.json", "compile a vocabulary, for --tokenizer qwen3"),
        ("tokcap tokenizer add qwen3 Qwen/Qwen3-8B", "the same, of a model that is on this machine"),
        ("tokcap tokenizer add own own.tiktoken --pre-split o200k_base", "a table has no pattern of its own"),
    ),
    danger="writes",
    no="the file cannot be compiled exactly, or the name is taken: nothing was added",
)
def add(
    env: Environment, *, name: str, file: str, pre_split: str | None, slow: bool, output: Output | None
) -> int:
    """Compile the vocabulary in a file into the data directory, once; --tokenizer NAME then counts with it.

    FILE is a tokenizer.json of Hugging Face, a tekken.json of Mistral, a .tiktoken table, or a GGUF model, of
    which only the metadata is read. Byte-level byte-pair encoding is compiled, with the pre-splits of GPT-2,
    StarCoder, GPT-4, GPT-4o, Llama 3, GLM, Qwen 2 to 3.5, DeepSeek V3, Kimi and Mistral (Tekken), and with
    NFC; and encoding over characters with bytes as a fallback, as SentencePiece trains it (Gemma, Llama 2,
    Mistral 7B). What cannot be compiled so that every token is the same is refused, with the reason; with
    --slow, the package tokenizers counts (extra tokcap[tokenizers]). After that, only check needs FILE.

    Instead of FILE, the name of a model is searched for in the caches of Hugging Face, llama.cpp, Ollama and
    LM Studio. Nothing is ever downloaded.
    """
    from tokcap.tokens.adding import add as compile_file

    described = compile_file(name, file, env, pre_split or "", slowly=slow)
    reply = Reply(env, output)
    if not reply.is_text:
        return reply.give(record_of(described, env))
    return reply.say(f"added {name}: {described.tokens} tokens, digest {described.digest}\n")


@command(
    "tokenizer",
    "list",
    flags=(OUTPUT,),
    examples=(("tokcap tokenizer list", "all added tokenizers, and profiles"),),
    quick=True,
)
def list_added(env: Environment, *, output: Output | None) -> int:
    """List added tokenizers: name, tokens, and the digest of the file that each was compiled from.

    Then profiles: name, base encoding, mean error, and digest.
    """
    from tokcap.cli.profile_records import profile_lines, profile_records
    from tokcap.tokens.added import names

    reply = Reply(env, output)
    found = {name: described_or_problem(name, env) for name in names(env)}
    if not reply.is_text:
        records = [
            {"name": name, "error": one} if isinstance(one, str) else record_of(one, env)
            for name, one in found.items()
        ]
        return reply.give([*records, *profile_records(env)])
    lines = {
        name: one if isinstance(one, str) else f"{one.tokens:7} tokens  {one.digest}"
        for name, one in found.items()
    }
    lines.update(profile_lines(env))
    width = max(map(len, lines))
    return reply.say_lines(f"{name.ljust(width)}  {line}" for name, line in lines.items())


@command(
    "tokenizer",
    "show",
    arguments=(NAME,),
    flags=(OUTPUT,),
    examples=(("tokcap tokenizer show qwen3", "where it comes from, and how it splits text"),),
    no=NO_TOKENIZER,
)
def show(env: Environment, *, name: str, output: Output | None) -> int:
    """Show where a tokenizer comes from, how it splits text, and whether its compiled files are intact.

    Of a profile: its base encoding, where its factors come from, and how far its counts are off.
    """
    from tokcap.cli.profile_records import profile_record
    from tokcap.tokens.adding import described

    reply = Reply(env, output)
    record = profile_record(name, env) or record_of(described(name, env), env)
    if not reply.is_text:
        return reply.give(record)
    width = max(map(len, record))
    return reply.say_lines(f"{key.ljust(width)}  {shown(value)}" for key, value in record.items())


@command(
    "tokenizer",
    "remove",
    arguments=(NAME,),
    flags=(OUTPUT,),
    examples=(("tokcap tokenizer remove qwen3", "remove its compiled files"),),
    danger="destructive",
    no=NO_TOKENIZER,
)
def remove(env: Environment, *, name: str, output: Output | None) -> int:
    """Remove an added tokenizer, or a calibrated profile. The file that it was compiled from stays."""
    from tokcap.tokens.adding import remove as remove_files
    from tokcap.tokens.calibration import remove_profile

    if not remove_profile(name, env):
        remove_files(name, env)
    reply = Reply(env, output)
    return reply.say(f"removed {name}\n") if reply.is_text else reply.give({"removed": name})


@command(
    "tokenizer",
    "check",
    arguments=(
        NAME,
        Argument(
            "FILE",
            "a text to count; - or none: standard input",
            required=False,
            repeatable=True,
            names="files",
            passed_as="files",
        ),
    ),
    flags=(
        Flag(
            ("--source",),
            "the file that it was compiled from, if that was moved",
            Name(expected="a path"),
            "FILE",
            names="files",
        ),
        OUTPUT,
    ),
    examples=(("tokcap tokenizer check qwen3 src/*.py", "compare with the package tokenizers"),),
    no="a token differs",
)
def check(
    env: Environment, *, name: str, files: Sequence[str] | None, source: str | None, output: Output | None
) -> int:
    """Compare the tokens of files with those of the package tokenizers, and say how many are the same.

    The package is the extra tokcap[tokenizers]. In both, the text of a special token is plain text.
    """
    from tokcap.steps.file_count import STANDARD_INPUT
    from tokcap.tokens.checking import Checker

    reply = Reply(env, output)
    checker = Checker(name, source or "", env)
    found = [(path, checker.compare(content_of(path, env))) for path in files or (STANDARD_INPUT,)]
    differs = any(one.same != one.reference or one.counted != one.reference for _, one in found)
    status = exits.NO if differs else exits.OK
    if not reply.is_text:
        records = [{"path": printable(path, len(path)), **one.__dict__} for path, one in found]
        return reply.give(records, status=status, tokenizer=name)
    lines = [
        f"{printable(path, len(path))}: {one.same} of {count_of(one.reference, 'token')} are the same\n"
        for path, one in found
    ]
    reply.say("".join(lines))
    return status


@command(
    "tokenizer",
    "calibrate",
    arguments=(
        Argument("NAME", "the name for --tokenizer: a new one, or that of a profile"),
        Argument(
            "FILE",
            "a text to count; none: the outputs that were stored last",
            required=False,
            repeatable=True,
            names="files",
            passed_as="files",
        ),
    ),
    flags=(
        Flag(
            ("--counter",),
            "a shell command that reads a text and prints its number of tokens",
            Name(expected="a command"),
            "COMMAND",
            required=True,
        ),
        Flag(
            ("--texts",),
            "count at most N texts of about 4,000 characters",
            WholeNumber(8),
            "N",
            DEFAULT_TEXTS,
            str(DEFAULT_TEXTS),
        ),
        Flag(
            ("--timeout",),
            "how long the command may take for one text",
            Duration(),
            "DURATION",
            DEFAULT_TIMEOUT_SECONDS,
            f"{DEFAULT_TIMEOUT_SECONDS:g}s",
        ),
        OUTPUT,
    ),
    examples=(
        (
            "tokcap tokenizer calibrate claude --counter 'sh count-claude'",
            "fit the profile claude to the stored outputs; see the guide for such a command",
        ),
    ),
    danger="writes",
    no="the command failed, or there is too little text: nothing was stored",
)
def calibrate(
    env: Environment,
    *,
    name: str,
    files: Sequence[str] | None,
    counter: str,
    texts: int,
    timeout: float,
    output: Output | None,
) -> int:
    """Fit a profile to the counts that a command of yours prints; --tokenizer NAME then estimates with it.

    COMMAND is run by sh for each text. It decides what becomes of the texts: nothing is sent anywhere unless
    it does that. Half of the texts are held out to find the error, which is printed and kept.
    """
    from tokcap.cli.profile_records import error_words, record_of
    from tokcap.steps.calibrating import calibrated
    from tokcap.tokens.calibration import check_name, save_profile

    check_name(name, env)
    profile = calibrated(name, counter, files or (), env, timeout_seconds=timeout, most_texts=texts)
    save_profile(profile, env)
    reply = Reply(env, output)
    if not reply.is_text:
        return reply.give(record_of(profile, is_own=True))
    return reply.say(f"{name}: {profile.source}; error {error_words(profile)}\n")


COMMANDS = (add, list_added, show, remove, check, calibrate)


def content_of(path: str, env: Environment) -> bytes:
    """Return the bytes of a file, or of standard input."""
    from tokcap.steps.file_count import STANDARD_INPUT

    descriptor_or_path: int | str = env.stdin if path == STANDARD_INPUT else path
    with open(descriptor_or_path, "rb", closefd=path != STANDARD_INPUT) as file:
        return file.read()


def described_or_problem(name: str, env: Environment) -> Description | str:
    from tokcap.tokens.adding import described

    try:
        return described(name, env)
    except TokcapError as error:
        return str(error)


def record_of(described: Description, env: Environment) -> dict[str, object]:
    """Return what is known about a tokenizer."""
    from tokcap.tokens.adding import is_intact, source_path_of
    from tokcap.tokens.sources import FORMATS

    return {
        "name": described.name,
        "exact": True,
        "tokens": described.tokens,
        "format": FORMATS[described.source_format].description,
        "source": printable(source_path_of(described), 4096),
        "source_sha256": described.source_sha256,
        "pre_split": described.pre_split,
        "normalizer": described.normalizer,
        "longest_token_bytes": described.longest_token_bytes,
        "intact": is_intact(described.name, env),
    }


def shown(value: object) -> str:
    return ("no", "yes")[value] if isinstance(value, bool) else str(value)
