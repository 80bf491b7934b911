"""Everything about the command line.

- options, kinds: the option table of `tokcap` and `tokcap show`, and the kinds of values
- arguments: decide what kind of call this is
- words, synonyms: split a command line; what an unknown option probably means
- values: decide a value from flag, variable, config file or default
- config: the config file: read it, find lines in it, write a first one
- shell_flags, shell_entry: the words of a shell before `-c`; the programs `tokcap-sh`, `tokcap-bash` and
  `tokcap-zsh`
- stand_in, relay: what the last two do; the process that stays for what background processes write later
- description, catalog: commands as data; all commands by name
- subcommand, subcommand_words: run a subcommand; check its words against its description
- commands: one module per subcommand, with its description and what it does
- typer_command: a described command as a Typer command
- reply, refusal: how subcommands answer, and how errors are reported
- sessions, session_status: for `tokcap budget`: which session is meant, and its state
- help, manpages, completions, listing: made from the descriptions
"""
