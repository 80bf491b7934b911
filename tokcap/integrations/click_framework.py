"""The added flags as Click options, and Click's errors. Only imported by applications that use Click."""

from __future__ import annotations

import functools
from typing import Any

import click

from tokcap.cli.kinds import Choice
from tokcap.cli.options import BY_KEY
from tokcap.integrations.flags import (
    OUTPUT_FORMS,
    PARAMETER_PREFIX,
    SUGGESTED_TOKENIZERS,
    Framework,
    number_reader,
    store_flag,
)

ABORTED_STATUS = 1


def option(key: str, **settings: Any) -> click.Option:
    row = BY_KEY[key]
    return click.Option(
        [PARAMETER_PREFIX + key, row.flag],
        help=row.help,
        # Click itself lists the words of a choice.
        metavar=None if isinstance(row.kind, Choice) else row.metavar or None,
        allow_from_autoenv=False,
        callback=store_flag,
        expose_value=False,
        # Parsed first, so that errors in other options are reported in the requested form.
        is_eager=True,
        **settings,
    )


@functools.cache
def framework(tokenizer: str) -> Framework:
    """Return what the integration needs of Click. `tokenizer` is the default that help shows."""
    flags = (
        option("token_limit", type=number_reader("token_limit", click.BadParameter)),
        option("token_offset", type=number_reader("token_offset", click.BadParameter)),
        option("token_count", is_flag=True, default=False),
        option("tokenizer", type=str, show_default=tokenizer, shell_complete=complete_tokenizer),
        option("output", type=click.Choice(OUTPUT_FORMS)),
    )
    return Framework(
        flags, click.ClickException, click.UsageError, click.exceptions.Exit, click.Abort, ABORTED_STATUS
    )


def complete_tokenizer(_context: Any, _parameter: Any, incomplete: str) -> list[str]:
    return [name for name in SUGGESTED_TOKENIZERS if name.startswith(incomplete)]
