"""Endpoints that a Hermes configuration names, the keys they get, and pools of keys."""

import json
from pathlib import Path

import pytest
from pydantic import JsonValue

from acp_server.config.settings import Configuration
from acp_server.server.endpoints import open_models
from acp_server.server.providers import ConfiguredProvider, configured_providers
from tests.support.case_table import each_case
from tests.support.editor import json_at, make_configuration, open_editor
from tests.support.openai_api import OpenAiServerConfig, ServedModel, openai_api

PROVIDERS = """\
model: {{provider: {name}, default: m}}
providers:
  my-llm:
    name: My LLM
    api: https://llm.example/v1
    key_env: MY_KEY
    default_model: m
    transport: anthropic_messages
"""
Found = tuple[str, str | None, str | None, str]


def configure(home: Path, text: str, **variables: str) -> Configuration:
    (home / "config.yaml").write_text(text)
    (home / ".env").write_text("".join(f"{name}={each}\n" for name, each in variables.items()))
    return make_configuration(home)


def main(configuration: Configuration) -> ConfiguredProvider:
    found = configured_providers(configuration)
    assert found
    return found[0]


def describe(provider: ConfiguredProvider) -> Found:
    key = provider.credential and provider.credential.api_key
    return provider.profile.name, provider.base_url, key, provider.profile.api_format


CASES: dict[str, tuple[str, dict[str, str], Found]] = {
    "by its key": (
        PROVIDERS.format(name="my-llm"),
        {"MY_KEY": "k-1234"},
        ("my-llm", "https://llm.example", "k-1234", "messages"),
    ),
    "by its display name": (
        PROVIDERS.format(name="custom:My LLM"),
        {},
        ("my-llm", "https://llm.example", None, "messages"),
    ),
    "from the list": (
        (
            "model: {provider: 'custom:groq', default: m}\ncustom_providers:\n"
            "  - {name: Groq, base_url: 'https://api.groq.example/v1', api_key: '${GROQ}'}\n"
        ),
        {"GROQ": "g-1234"},
        ("groq", "https://api.groq.example/v1", "g-1234", "chat"),
    ),
    "with a variable that is not set": (
        (
            "model: {provider: groq, default: m}\ncustom_providers:\n"
            "  - {name: groq, base_url: 'https://api.groq.example/v1', api_key: '${GROQ}'}\n"
        ),
        {},
        ("groq", "https://api.groq.example/v1", None, "chat"),
    ),
    "with a variable in the address": (
        (
            "model: {provider: x, default: m}\n"
            "providers: {x: {base_url: 'https://${REGION}.example/v1'}}\n"
        ),
        {"REGION": "eu"},
        ("x", "https://eu.example/v1", None, "chat"),
    ),
    "before a known provider of the same name": (
        (
            "model: {provider: openai, default: m}\n"
            "providers: {openai: {base_url: 'https://proxy.example/v1', key_env: PROXY}}\n"
        ),
        {"PROXY": "p-1234", "OPENAI_API_KEY": "secret"},
        ("openai", "https://proxy.example/v1", "p-1234", "chat"),
    ),
    "an address of the provider's own variable": (
        "model: {provider: zai, default: glm-5}\n",
        {"GLM_API_KEY": "z-1234", "GLM_BASE_URL": "https://glm.example/api/v4"},
        ("zai", "https://glm.example/api/v4", "z-1234", "chat"),
    ),
    "another host of the same provider": (
        "model: {provider: zai, default: glm-5, base_url: 'https://open.bigmodel.cn/api/v4'}\n",
        {"GLM_API_KEY": "z-1234"},
        ("zai", "https://open.bigmodel.cn/api/v4", "z-1234", "chat"),
    ),
    "a key that its variable's name allows to send": (
        "model: {provider: zai, base_url: 'https://p.example/v1', key_env: GLM_API_KEY}",
        {"GLM_API_KEY": "z-1234"},
        ("zai", "https://p.example/v1", "z-1234", "chat"),
    ),
    "a key of another kind": (
        "model: {provider: kimi, default: k2}\n",
        {"KIMI_API_KEY": "sk-kimi-1"},
        ("kimi-coding", "https://api.kimi.com/coding", "sk-kimi-1", "messages"),
    ),
    "a Claude of OpenCode": (
        "model: {provider: zen, default: claude-opus-5}\n",
        {"OPENCODE_ZEN_API_KEY": "o-1234"},
        ("opencode-zen", "https://opencode.ai/zen", "o-1234", "messages"),
    ),
    "an address that implies its API": (
        "model: {default: m, base_url: 'https://h.example/anthropic', api_key: a-1234}\n",
        {},
        ("custom", "https://h.example/anthropic", "a-1234", "messages"),
    ),
    "a deployment of Azure": (
        "model: {provider: azure, default: gpt-5, base_url: 'https://me.openai.azure.com/v1'}\n",
        {"AZURE_FOUNDRY_API_KEY": "a-1234"},
        ("azure-foundry", "https://me.openai.azure.com/v1", "a-1234", "responses"),
    ),
    "a token of GitHub for Copilot": (
        "model: {provider: copilot, default: claude-opus-5}\n",
        {"GH_TOKEN": "ghp_old", "GITHUB_TOKEN": "gho_new"},
        ("copilot", "https://api.githubcopilot.com", "gho_new", "chat"),
    ),
}


@each_case("name", CASES)
def test_a_home_selects_endpoint_key_and_api(tmp_path: Path, name: str) -> None:
    text, variables, expected = CASES[name]
    assert describe(main(configure(tmp_path, text, **variables))) == expected


def test_variables_with_keys_are_secrets(tmp_path: Path) -> None:
    text = PROVIDERS.format(name="my-llm") + (
        "custom_providers:\n  - {name: g, base_url: 'https://g.example', api_key: '${GROQ}',"
        " extra_headers: {X-Key: '${HEADER}'}}\n"
    )
    assert {"MY_KEY", "GROQ", "HEADER"} <= configure(tmp_path, text).secret_variables


def test_windows_and_models_of_a_named_endpoint_are_known(tmp_path: Path) -> None:
    text = (
        "model: {provider: x, default: a}\nproviders:\n  x:\n    base_url: https://x.example/v1\n"
        "    models: {a: {context_length: 9000}, b: {context_length: 7000}}\n"
    )
    catalog = open_models(configure(tmp_path, text)).catalog
    assert [each.id for each in catalog.choices()] == ["a", "b"]
    assert [catalog.known_window_tokens(each) for each in ("a", "b")] == [9000, 7000]


def test_other_named_endpoints_are_offered_by_their_names(tmp_path: Path) -> None:
    text = PROVIDERS.format(name="anthropic") + "    models: [one, two]\n"
    catalog = open_models(configure(tmp_path, text)).catalog
    assert {"my-llm:one", "my-llm:two"} <= {each.id for each in catalog.choices()}


def test_a_key_for_another_address_is_withheld_and_the_user_is_told(tmp_path: Path) -> None:
    text = "model: {provider: zai, default: glm-5, base_url: 'https://proxy.example/v1'}\n"
    configuration = configure(tmp_path, text, GLM_API_KEY="z-secret")
    assert describe(main(configuration))[2] is None
    notice = open_models(configuration).opening_notice
    assert "GLM_API_KEY is not sent to proxy.example" in notice
    assert "`model.key_env: GLM_API_KEY`" in notice
    assert "z-secret" not in notice


@pytest.mark.parametrize(
    ("name", "said"),
    [("copilot-acp", "use `copilot`"), ("mi-llm", "did you mean `my-llm`?")],
)
def test_a_provider_that_cannot_be_used_is_explained(tmp_path: Path, name: str, said: str) -> None:
    text = PROVIDERS.format(name=name)
    assert said in open_models(configure(tmp_path, text)).opening_notice


async def test_the_next_key_of_a_pool_takes_over(tmp_path: Path) -> None:
    config = OpenAiServerConfig("chat", frozenset({"good-key"}), (ServedModel("m"),))
    pool: JsonValue = [
        {"access_token": "bad-key", "priority": 0},
        {"access_token": "good-key", "priority": 1},
    ]
    auth = {"credential_pool": {"custom:mine": pool}}
    (tmp_path / "auth.json").write_text(json.dumps(auth))
    async with openai_api(["Hello.", "Again."], config) as api:
        text = f"model: {{provider: mine, default: m}}\nproviders: {{mine: {{url: '{api.url}'}}}}\n"
        async with open_editor(configure(tmp_path, text)) as editor:
            await editor.initialize()
            session = await editor.new_session(tmp_path)
            for _ in range(2):
                answer = await editor.prompt(session, "hi")
                assert json_at(answer, "stopReason") == "end_turn"
            assert editor.agent_text(session).endswith("Hello.Again.")
    # The first key is not tried a second time.
    assert len(api.model_requests) == 3


async def test_an_expired_sign_in_says_how_to_sign_in_again(tmp_path: Path) -> None:
    auth = {"providers": {"openai-codex": {"access_token": "t", "expires_at": "2001-01-01"}}}
    (tmp_path / "auth.json").write_text(json.dumps(auth))
    text = "model: {provider: openai-codex, default: gpt-5}\n"
    async with open_editor(configure(tmp_path, text)) as editor:
        await editor.initialize()
        session = await editor.new_session(tmp_path)
        answer = await editor.call(
            "session/prompt",
            {"sessionId": session, "prompt": [{"type": "text", "text": "hi"}]},
        )
    assert "sign in again with `hermes auth add openai-codex`" in json.dumps(answer)
