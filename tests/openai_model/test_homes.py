"""Homes as Hermes has written them: who is asked, where, and with which key."""

from dataclasses import replace
from pathlib import Path

import pytest

from acp_server.models import provider_profiles
from acp_server.models.fixed_catalog import FixedCatalog
from acp_server.server.endpoints import open_models
from acp_server.server.providers import (
    ConfiguredProvider,
    configured_providers,
    normalize_base_url,
)
from tests.support.editor import json_at, make_configuration, open_editor
from tests.support.openai_api import OpenAiServerConfig, ServedModel, openai_api

OPENROUTER = "https://openrouter.ai/api/v1"
CUSTOM = "model:\n  provider: custom\n  default: house\n  base_url: http://10.0.0.5:9000\n"
EMPTY = "model:\n  provider: openrouter\n  default: x/y\n  base_url: ''\n  api_key: ''\n"


def providers(home: Path, config: str, **variables: str) -> list[tuple[str, str, str | None]]:
    """Return the name, the address and the key of each provider."""
    (home / "config.yaml").write_text(config)
    found = configured_providers(make_configuration(home, environment=variables)) or ()
    return [(each.profile.name, each.address, _key(each)) for each in found]


def _key(provider: ConfiguredProvider) -> str | None:
    return provider.credential and (provider.credential.api_key or provider.credential.auth_token)


CLAUDE = ("anthropic", "https://api.anthropic.com", None)
HOMES: dict[str, tuple[str, dict[str, str], list[tuple[str, str, str | None]]]] = {
    "nothing": ("", {}, [CLAUDE]),
    "a Claude model": ("model: claude-opus-5\n", {"OPENAI_API_KEY": ""}, [CLAUDE]),
    "custom without a key": (CUSTOM, {}, [("custom", "http://10.0.0.5:9000/v1", None)]),
    "custom with a key": (
        f"{CUSTOM}  api_key: k1\n",
        {},
        [("custom", "http://10.0.0.5:9000/v1", "k1")],
    ),
    "custom, and keys that are others'": (
        CUSTOM,
        {"OPENAI_API_KEY": "o", "ANTHROPIC_API_KEY": "a"},
        [
            ("custom", "http://10.0.0.5:9000/v1", None),
            ("anthropic", "https://api.anthropic.com", "a"),
            ("openai", "https://api.openai.com/v1", "o"),
        ],
    ),
    "openrouter": (
        "model:\n  provider: openrouter\n  default: anthropic/claude-opus-4.6\n",
        {"OPENROUTER_API_KEY": "r"},
        [("openrouter", OPENROUTER, "r")],
    ),
    "openrouter with its own address": (
        f"model:\n  provider: openrouter\n  default: x/y\n  base_url: {OPENROUTER}\n",
        {"OPENROUTER_API_KEY": "r"},
        [("openrouter", OPENROUTER, "r")],
    ),
    "openrouter with empty values": (
        EMPTY,
        {"OPENROUTER_API_KEY": "r"},
        [("openrouter", OPENROUTER, "r")],
    ),
    "a provider somewhere else": (
        "model:\n  provider: openai\n  default: gpt-5\n  base_url: https://evil.example/v1\n",
        {"OPENAI_API_KEY": "o"},
        [("openai", "https://evil.example/v1", None)],
    ),
    "no provider, a model of OpenRouter's": (
        "model: x-ai/grok-4\n",
        {"OPENROUTER_API_KEY": "r"},
        [("openrouter", OPENROUTER, "r")],
    ),
    "ollama": (
        "model:\n  provider: ollama\n  model: qwen3:8b\n",
        {},
        [("ollama", "http://127.0.0.1:11434/v1", None)],
    ),
    "ollama elsewhere": (
        "model:\n  provider: ollama\n  default: q\n  base_url: http://nas:11434\n",
        {},
        [("ollama", "http://nas:11434/v1", None)],
    ),
    "lm studio and others": (
        "model:\n  provider: lm-studio\n  default: q\n  additional_providers: [vllm, llama.cpp]\n",
        {},
        [
            ("lmstudio", "http://127.0.0.1:1234/v1", None),
            ("llamacpp", "http://127.0.0.1:8080/v1", None),
            ("vllm", "http://127.0.0.1:8000/v1", None),
        ],
    ),
    "a provider that is not known, with an address": (
        "model:\n  provider: nouse\n  default: hermes\n  base_url: https://n.example/v1\n",
        {},
        [("custom", "https://n.example/v1", None)],
    ),
    "a provider that is not known": ("model:\n  provider: nouse\n  default: hermes\n", {}, []),
}


@pytest.mark.parametrize("name", HOMES)
def test_the_configuration_selects_provider_endpoint_and_key(tmp_path: Path, name: str) -> None:
    config, variables, expected = HOMES[name]
    assert providers(tmp_path, config, **variables) == expected


@pytest.mark.parametrize(
    ("written", "called"),
    [
        ("http://localhost:11434", "http://localhost:11434/v1"),
        ("http://localhost:11434/", "http://localhost:11434/v1"),
        ("http://h/v1/", "http://h/v1"),
        ("http://h/v1/chat/completions", "http://h/v1"),
        ("http://h/api/v3", "http://h/api/v3"),
    ],
)
def test_a_base_url_is_read_in_its_common_notations(written: str, called: str) -> None:
    assert normalize_base_url(written, "chat") == called


@pytest.mark.parametrize("provider", ["custom", "openrouter", "ollama"])
async def test_a_hermes_home_works_unchanged(
    tmp_path: Path, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = ServedModel("house:8b", extra={"context_length": 32_768})
    keys = None if provider == "ollama" else frozenset({"the-key"})
    endpoint = OpenAiServerConfig(keys=keys, models=(model, ServedModel("other")))
    async with openai_api(["Hello.", "Again."], endpoint) as api:
        known = provider_profiles.find_profile(provider)
        assert known is not None
        if provider != "custom":  # its usual address, which is not for tests
            moved = replace(known, base_url=api.url)
            monkeypatch.setattr(provider_profiles, "_BY_NAME", {provider: moved})
        config = f"model:\n  provider: {provider}\n  default: house:8b\n"
        if provider == "custom":
            config += f"  base_url: {api.url}\n  api_key: the-key\n  context_length: 16384\n"
        (tmp_path / "config.yaml").write_text(config)
        (tmp_path / ".env").write_text("OPENROUTER_API_KEY=the-key\n")
        async with open_editor(make_configuration(tmp_path)) as editor:
            await editor.initialize()
            session = await editor.new_session(tmp_path)
            assert json_at(await editor.prompt(session, "hi"), "stopReason") == "end_turn"
            assert editor.agent_text(session).endswith("Hello.")
            await editor.wait_for_response(lambda _: "'other'" in str(editor.messages))
            await editor.prompt(session, "again")
            usage = [u for u in editor.updates_of(session) if "usage_update" in str(u)]
            assert json_at(usage[-1], "size") == (16_384 if provider == "custom" else 32_768)
        assert json_at(api.model_requests[0].body, "model") == "house:8b"
        assert (tmp_path / "config.yaml").read_text() == config


def test_a_script_needs_no_provider(tmp_path: Path) -> None:
    models = open_models(make_configuration(tmp_path, options={"--model": "scripted:demo"}))
    assert isinstance(models.catalog, FixedCatalog)


async def test_a_script_needs_no_key(tmp_path: Path) -> None:
    models = open_models(make_configuration(tmp_path, options={"--model": "scripted:demo"}))
    assert await models.sign_in()
