"""A hook counts with the tokenizer of the model that the agent uses, and the doctor says if it does not."""

from __future__ import annotations

import json

import pytest

from tokcap.hooks import AGENTS
from tokcap.hooks.base import Place

# Agent, settings file below the home, its content, the model that it names.
SETTINGS = [
    ("claude-code", ".claude/settings.json", '{"model": "claude-opus-4-6[1m]"}', "claude-opus-4-6[1m]"),
    ("claude-code", ".claude/settings.json", '{"env": {"ANTHROPIC_MODEL": "opus"}}', "opus"),
    ("codex", ".codex/config.toml", 'model = "gpt-5.4"\n[tools]\nx = 1\n', "gpt-5.4"),
    ("gemini", ".gemini/settings.json", '{"model": {"name": "gemini-3-pro"}}', "gemini-3-pro"),
    (
        "opencode",
        ".config/opencode/opencode.json",
        '{"model": "anthropic/claude-opus-4-7"}',
        "anthropic/claude-opus-4-7",
    ),
    ("qwen", ".qwen/settings.json", '{"model": {"name": "qwen3-coder-plus"}}', "qwen3-coder-plus"),
    ("pi", ".pi/agent/settings.json", '{"defaultModel": "claude-sonnet-4-5"}', "claude-sonnet-4-5"),
    ("copilot", ".copilot/config.json", '{"model": "gpt-5"} // own\n', "gpt-5"),
]
# The doctor would ask them for their completions.
NO_SHELLS = {"PATH": "/nonexistent"}


@pytest.mark.parametrize(("name", "path", "content", "model"), SETTINGS, ids=lambda value: str(value)[:20])
def test_the_model_of_an_agent_is_read_from_its_settings(tmp_path, name, path, content, model):
    agent, place = AGENTS[name], Place(str(tmp_path), str(tmp_path / "project"), {})
    assert agent.model(place) == ""
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_text(content)
    assert agent.model(place) == model
    (tmp_path / path).write_text("{ damaged = [")
    assert agent.model(place) == ""


def installed_options(home) -> str:
    return (home / ".claude" / "tokcap" / "bash").read_text()


def test_install_takes_the_tokenizer_of_the_model_in_the_settings(inside, tmp_path):
    settings = tmp_path / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"model": "claude-sonnet-4-5"}')
    env = {"HOME": str(tmp_path), **NO_SHELLS}
    ran = inside("hook", "install", "claude-code", env=env)
    assert ran.status == 0
    assert b"counts with claude-4.6, for the model claude-sonnet-4-5" in ran.err
    assert "TOKCAP_TOKENIZER='claude-4.6'" in installed_options(tmp_path)
    # The model has changed since.
    settings.write_text(settings.read_text().replace("claude-sonnet-4-5", "claude-opus-4-7"))
    found = inside("doctor", env=env).out.decode()
    assert "counts with claude-4.6, but its model claude-opus-4-7 has the tokenizer claude" in found
    assert "tokcap hook install claude-code --tokenizer claude" in found
    inside("hook", "install", "claude-code", env=env)
    assert "but its model" not in inside("doctor", env=env).out.decode()


def test_install_takes_a_model_or_a_tokenizer_that_is_named(inside, tmp_path):
    (tmp_path / ".claude").mkdir()
    env = {"HOME": str(tmp_path)}
    inside("hook", "install", "claude-code", "--model", "gpt-5", env=env)
    assert "TOKCAP_TOKENIZER='o200k_base'" in installed_options(tmp_path)
    inside("hook", "install", "claude-code", "--tokenizer", "approx", env=env)
    assert "TOKCAP_TOKENIZER='approx'" in installed_options(tmp_path)
    refused = inside("hook", "install", "claude-code", "--model", "claud-opus", env=env)
    assert refused.status == 2
    assert b"did you mean" in refused.err
    missing = inside("hook", "install", "claude-code", "--model", "qwen3-coder", env=env)
    assert b"tokcap tokenizer add qwen3 FILE" in missing.err


def test_install_says_if_the_model_is_only_the_usual_one_or_not_known(inside, tmp_path):
    env = {"HOME": str(tmp_path)}
    said = inside("hook", "install", "gemini", env=env).err
    assert b"it counts with gemini, for its usual models: --model names another\n" in said
    said = inside("hook", "install", "pi", env=env).err
    assert b"it counts with cl100k_base, because its model is not known: --model names it\n" in said
    said = inside("hook", "install", "pi", "--model", "grok-4", env=env).err
    assert b"it counts with cl100k_base, because the tokenizer of grok-4 is not known\n" in said


def test_what_the_user_has_configured_is_not_overridden(inside, tmp_path):
    (tmp_path / ".claude").mkdir()
    config = tmp_path / "config.toml"
    config.write_text('tokenizer = "o200k_base"\n')
    env = {"HOME": str(tmp_path), "TOKCAP_CONFIG": str(config), **NO_SHELLS}
    inside("hook", "install", "claude-code", env=env)
    assert "TOKCAP_TOKENIZER" not in installed_options(tmp_path)
    found = json.loads(inside("doctor", "-o", "json", env=env).out)
    assert "counts with o200k_base" in json.dumps(found)
