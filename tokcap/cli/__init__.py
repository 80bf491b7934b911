"""Everything about the command line.

options · kinds          the option table of `tokcap` and `tokcap show`, and the kinds of values
arguments                what kind of call this is; uses words and values
words                    split a command line into options and the rest
values                   flag, variable, config file or default
config/                  the config file: read it, find lines in it, write a first one
shell_flags              the words of a shell before `-c`
description · catalog    commands as data; all commands by name
subcommand               find, check and run a subcommand; only its module is loaded
commands/                one module per subcommand: its description, and what it does
typer_command            a described command as a Typer command
reply · session_status   how subcommands answer
help · manpages/ · completions/ · listing    made from the descriptions
shell_entry              the program `tokcap-sh`
"""
