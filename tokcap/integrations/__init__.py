"""tokcap inside the command-line tools of others: `enable_token_budget` is the entry, in `enabling`.

Nothing heavy is loaded until a flag is given: a tool that has the flags starts as it did without them.
"""
