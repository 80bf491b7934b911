"""`tokcap tokenizer …`: compile the vocabulary of a model, so that `--tokenizer NAME` counts its tokens."""

from typing import Annotated, Any

import typer

from tokcap.cli.application import Output, application, reading
from tokcap.cli.kinds import Choice, Duration, Name, WholeNumber
from tokcap.cli.reply import Reply
from tokcap.core.units import printable
from tokcap.environment import Environment
from tokcap.errors import TokcapError
from tokcap.steps.calibrating import AnthropicCounter, CommandCounter, calibrated
from tokcap.tokens import profiles
from tokcap.tokens.added import names
from tokcap.tokens.adding import add as compile_file
from tokcap.tokens.adding import described, is_intact, source_path_of
from tokcap.tokens.adding import remove as remove_files

NO_TOKENIZER = "Exit status 1: there is no such tokenizer."
DEFAULT_TEXTS = 200
DEFAULT_TIMEOUT_SECONDS = 60.0

app = application("Add the vocabulary of a model, and count with it.")

Added = Annotated[
    str, typer.Argument(metavar="TOKENIZER", help="the name of an added tokenizer, or of a profile")
]


@app.command(
    epilog="Exit status 1: the file cannot be compiled exactly, or the name is taken: nothing was added."
    " Example: tokcap tokenizer add qwen3 tokenizer.json"
)
def add(
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="the name for --tokenizer: letters, digits, dots, dashes, underscores"
        ),
    ],
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="a tokenizer.json, a tekken.json, or a .tiktoken table",
        ),
    ],
    pre_split: Annotated[
        str | None,
        reading(
            Name(expected="the name of a pre-split"),
            "--pre-split",
            "the pattern of a .tiktoken table: cl100k_base, o200k_base, llama3, qwen2, gpt2, ...",
            "NAME",
        ),
    ] = None,
    output: Output = None,
) -> int:
    """Compile the vocabulary in a file into the data directory, once; --tokenizer NAME then counts with it.

    FILE is a tokenizer.json of Hugging Face, a tekken.json of Mistral, or a .tiktoken table. Counting needs
    the extra tokcap[tokenizers]. Byte-level byte-pair encoding is compiled, with the pre-splits of GPT-2,
    StarCoder, GPT-4, GPT-4o, Llama 3, GLM, Qwen 2 to 3.5, DeepSeek V3, Kimi and Mistral (Tekken), and with
    NFC; and encoding over characters with bytes as a fallback, as SentencePiece trains it (Gemma, Llama 2,
    Mistral 7B). What cannot be counted so that every token is the same is refused, with the reason.
    """
    env: Environment = context.obj
    reply = Reply(env, output)
    made = compile_file(name, file, env, pre_split or "")
    if not reply.is_text:
        return reply.give(record_of(name, env))
    return reply.say(f"added {name}: {made.tokens} tokens, digest {made.digest}\n")


@app.command("list")
def list_added(context: typer.Context, output: Output = None) -> int:
    """List added tokenizers: name, tokens, and the digest of the file that each was compiled from.

    Then profiles: name, factor, and mean error.
    """
    env: Environment = context.obj
    reply = Reply(env, output)
    found = [*names(env), *sorted({*profiles.SHIPPED, *names(env, profiles.PROFILES)})]
    records = [record_or_problem(name, env) for name in found]
    if not reply.is_text:
        return reply.give(records)
    return reply.say_table([(one["name"], summary_of(one)) for one in records])


@app.command(epilog=NO_TOKENIZER)
def show(context: typer.Context, name: Added, output: Output = None) -> int:
    """Show where a tokenizer comes from, how it splits text, and whether its compiled files are intact.

    Of a profile: its factor, where that comes from, and how far its counts are off.
    """
    env: Environment = context.obj
    reply = Reply(env, output)
    record = record_of(name, env)
    if not reply.is_text:
        return reply.give(record)
    return reply.say_table([(key, shown(value)) for key, value in record.items()])


@app.command(epilog=NO_TOKENIZER)
def remove(context: typer.Context, name: Added, output: Output = None) -> int:
    """Remove an added tokenizer, or a calibrated profile. The file that it was compiled from stays."""
    env: Environment = context.obj
    if not profiles.remove(name, env):
        remove_files(name, env)
    reply = Reply(env, output)
    return reply.say(f"removed {name}\n") if reply.is_text else reply.give({"removed": name})


@app.command(
    epilog="Exit status 1: the counter failed, or there is too little text: nothing was stored."
    " Example: tokcap tokenizer calibrate claude --with anthropic"
)
def calibrate(
    context: typer.Context,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="the name for --tokenizer: a new one, or that of a profile")
    ],
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE", help="a text to count; none: the outputs that were stored last"),
    ] = None,
    counter: Annotated[
        str | None,
        typer.Option(
            "--counter",
            metavar="COMMAND",
            help="a shell command that reads a text and prints its number of tokens",
        ),
    ] = None,
    provider: Annotated[
        str | None, reading(Choice(("anthropic",)), "--with", text="ask the count endpoint of a provider")
    ] = None,
    endpoint: Annotated[
        str | None, typer.Option("--endpoint", metavar="URL", help="where the provider is reached")
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", metavar="NAME", help="the model for which the provider counts")
    ] = None,
    texts: Annotated[
        int,
        reading(WholeNumber(8), "--texts", "count at most N texts of about 4,000 characters"),
    ] = DEFAULT_TEXTS,
    timeout: Annotated[
        float,
        reading(Duration(), "--timeout", "how long the command may take for one text"),
    ] = DEFAULT_TIMEOUT_SECONDS,
    output: Output = None,
) -> int:
    """Measure a profile with true counts, of a provider or of a command; --tokenizer NAME then uses it.

    With --with anthropic, each text is sent to the provider, with the key in ANTHROPIC_API_KEY; it counts
    without billing. COMMAND is run by sh for each text, and decides what becomes of it. The factor, how far
    it is off and the day are printed and kept.
    """
    env: Environment = context.obj
    if (counter is None) == (provider is None):
        raise typer.BadParameter("give either --counter or --with")
    if provider is None and (endpoint or model):
        raise typer.BadParameter("--endpoint and --model need --with")
    ways: CommandCounter | AnthropicCounter
    if counter is not None:
        ways = CommandCounter(counter, timeout, env)
    else:
        ways = AnthropicCounter(model, endpoint, timeout, env)
    profile = calibrated(name, ways, files or (), env, most_texts=texts)
    profiles.save(profile, env)
    reply, record = Reply(env, output), record_of(name, env)
    if not reply.is_text:
        return reply.give(record)
    return reply.say(f"{name}: {summary_of(record)}; {profile.source}\n")


def record_or_problem(name: str, env: Environment) -> dict[str, Any]:
    try:
        return record_of(name, env)
    except TokcapError as error:
        return {"name": name, "error": str(error)}


def record_of(name: str, env: Environment) -> dict[str, Any]:
    """Return what is known about an added tokenizer, or about a profile."""
    if profile := profiles.find(name, env):
        return {
            "name": name,
            "exact": False,
            "base": profiles.BASE,
            "factor": profile.factor / 1000,
            "mean_error_percent": profile.mean_error / 10,
            "most_above_percent": profile.most_above / 10,
            "calibrated_here": name in names(env, profiles.PROFILES),
            "source": profile.source,
        }
    one = described(name, env)
    return {
        "name": name,
        "exact": True,
        "tokens": one.tokens,
        "format": one.source_format,
        "source": printable(source_path_of(one), 4096),
        "source_sha256": one.source_sha256,
        "pre_split": one.pre_split,
        "normalizer": one.normalizer,
        "longest_token_bytes": one.longest_token_bytes,
        "intact": is_intact(one, env),
    }


def summary_of(record: dict[str, Any]) -> str:
    """Return a tokenizer or a profile in one line, or what is wrong with it."""
    if "error" in record:
        return str(record["error"])
    if record["exact"]:
        return f"{record['tokens']:7} tokens  {record['source_sha256'][:16]}"
    mean, above = record["mean_error_percent"], record["most_above_percent"]
    base = f"{record['factor']:g} x {record['base']}"
    return f"{base}, off by about {mean:g} %, and a limit is passed by up to {above:g} %"


def shown(value: object) -> str:
    return ("no", "yes")[value] if isinstance(value, bool) else str(value)
