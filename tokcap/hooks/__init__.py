"""Hooks by which coding agents run their shell commands under tokcap: one module per agent, and a core.

Every agent that lets a hook rewrite a command judges the rewritten text by its permission rules. So a command
is rewritten only where its text does not decide whether it may run; everything else is left as it was.
"""
