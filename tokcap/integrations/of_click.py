"""Click by itself: its flags and its errors. It is no requirement of tokcap; whoever uses it has it."""

from __future__ import annotations

import functools
from typing import Any

import click

from tokcap.cli.options import BY_KEY
from tokcap.integrations.flags import OUTPUTS, OWN_NAME, TOKENIZERS, remember
from tokcap.integrations.framework import Framework

ABORTED = 1


def option(key: str, **settings: Any) -> click.Option:
    row = BY_KEY[key]
    return click.Option(
        [OWN_NAME + key, row.flag],
        help=row.help,
        metavar=row.metavar or None,
        allow_from_autoenv=False,
        callback=remember,
        expose_value=False,
        # Read first, so that whatever else is wrong is told in the form that was asked for.
        is_eager=True,
        **settings,
    )


@functools.cache
def framework(tokenizer: str) -> Framework:
    """`tokenizer`: the one that help names as the default."""
    flags = (
        option("token_limit", type=click.IntRange(min=1)),
        option("token_offset", type=click.IntRange(min=0)),
        option("token_count", is_flag=True, default=False),
        option("tokenizer", type=str, show_default=tokenizer, shell_complete=list_tokenizers),
        option("output", type=click.Choice(OUTPUTS)),
    )
    return Framework(
        flags, click.ClickException, click.UsageError, click.exceptions.Exit, click.Abort, ABORTED
    )


def list_tokenizers(_context: Any, _parameter: Any, incomplete: str) -> list[str]:
    return [name for name in TOKENIZERS if name.startswith(incomplete)]
