"""Everything about the command line.

- kinds, options, arguments: kinds of values; the option table; what a call is, and the value of options
- config: read the config file
- subcommand: run a subcommand, by the option table (`description`) or as a Typer application (`application`)
- commands: one module per subcommand
- reply, hook_options, hook_reader: what several subcommands share
- catalog: all commands by name, for help, completion, the manifest and the man pages in `man/`
- help, completion, scripts: help of what the option table parses; what can follow some words, and the
  scripts of the shells that ask it
- shell_flags, shell_entry: the words of a shell before `-c`; the programs `tokcap-sh`, `tokcap-bash` and
  `tokcap-zsh`
- stand_in, tolerance, relay: what the last two do; settings that do not work; background processes
"""
