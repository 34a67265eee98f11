"""Each provider of Hermes that has an API key: found by each name, asked with its own key."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from acp_server.config.settings import secret_variables
from acp_server.models import provider_profiles
from acp_server.models.access import EndpointAccess
from acp_server.models.anthropic.endpoint import connect
from acp_server.models.provider_profiles import ANTHROPIC, PROFILES, ProviderProfile, find_profile
from acp_server.server.providers import configured_providers
from tests.support.case_table import each_case
from tests.support.editor import json_at, make_configuration, open_editor
from tests.support.messages_api import FakeApiServer, MessagesServerConfig, messages_api
from tests.support.openai_api import OpenAiServerConfig, ServedModel, openai_api

REMOTE = tuple(each for each in PROFILES if each.key_variables and each is not ANTHROPIC)
NAMES = {
    "nous-api": "nous",
    "openai-api": "openai",
    "glm": "zai",
    "moonshot": "kimi-coding",
    "minimax-china": "minimax-cn",
    "grok": "xai",
    "hf": "huggingface",
    "nim": "nvidia",
    "zen": "opencode-zen",
    "arcee-ai": "arcee",
    "ollama_cloud": "ollama-cloud",
    "github-copilot": "copilot",
    "google-ai-studio": "gemini",
    "aliyun": "alibaba",
    "codex": "openai-codex",
    "grok-oauth": "xai-oauth",
    "minimax-portal": "minimax-oauth",
    "aws-bedrock": "bedrock",
    "vertex-ai": "vertex",
}
MODEL = "claude-opus-5"
"""A model that both fake endpoints have."""


def _kind_of(profile: ProviderProfile) -> str:
    """Return what requests to a provider differ by, besides its address and its key."""
    return repr((profile.format_for(MODEL), profile.headers, profile.endpoint_profile))


FIRST_OF_KIND = {_kind_of(each): each.name for each in reversed(REMOTE)}
"""A provider for each kind of requests; that each is found with its key, another test shows."""


@each_case("alias", NAMES)
def test_another_name_of_a_provider_is_known(alias: str) -> None:
    profile = find_profile(alias)
    assert profile is not None
    assert profile.name == NAMES[alias]


def test_no_name_belongs_to_two_providers() -> None:
    names = [name for each in PROFILES for name in (each.name, *each.aliases)]
    assert len(names) == len(set(names))


def test_the_keys_of_all_providers_are_secrets() -> None:
    variables = {variable for each in PROFILES for variable in each.key_variables}
    assert variables <= secret_variables()
    assert not {"GH_TOKEN", "GITHUB_TOKEN"} & secret_variables()


@each_case("profile", REMOTE, ids=[each.name for each in REMOTE])
def test_each_key_of_a_home_goes_to_its_own_provider(
    tmp_path: Path, profile: ProviderProfile
) -> None:
    base_url = profile.base_url or "https://house.example/v1"
    (tmp_path / "config.yaml").write_text(
        f"model:\n  provider: {profile.name}\n  default: m\n  base_url: {base_url}\n"
    )
    for variable in profile.key_variables:
        (tmp_path / ".env").write_text(f"{variable}=k-{variable}\n")
        found = configured_providers(make_configuration(tmp_path))
        assert found
        assert found[0].profile.name == profile.name
        assert found[0].address == base_url
        key = found[0].credential and found[0].credential.api_key
        assert key == (f"k-{variable}" if profile.base_url else None)


@pytest.mark.parametrize("variable", ["HF_TOKEN", "COPILOT_GITHUB_TOKEN", "LM_API_KEY"])
def test_a_key_for_other_purposes_is_used_only_if_its_provider_is_named(
    tmp_path: Path, variable: str
) -> None:
    variables = {variable: "k"}
    found = configured_providers(make_configuration(tmp_path, environment=variables)) or ()
    assert [each.profile.name for each in found] == ["anthropic"]


@pytest.mark.parametrize(
    "profile",
    [
        pytest.param(each, id=each.name, marks=() if is_first else pytest.mark.full)
        for each in REMOTE
        for is_first in [FIRST_OF_KIND[_kind_of(each)] == each.name]
    ],
)
async def test_each_provider_answers_with_its_key(
    tmp_path: Path, profile: ProviderProfile, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with _endpoint(profile) as api:
        moved = replace(profile, base_url=api.url)
        monkeypatch.setattr(provider_profiles, "_BY_NAME", {profile.name: moved})
        (tmp_path / "config.yaml").write_text(
            f"model:\n  provider: {profile.name}\n  default: {MODEL}\n"
        )
        (tmp_path / ".env").write_text(f"{profile.key_variables[0]}=the-key\n")
        async with open_editor(make_configuration(tmp_path)) as editor:
            await editor.initialize()
            session = await editor.new_session(tmp_path)
            answer = await editor.prompt(session, "hi")
            assert json_at(answer, "stopReason") == "end_turn", json.dumps(answer)
            assert editor.agent_text(session).endswith("Hello.")
        request = api.model_requests[0]
        for name, value in profile.headers:
            assert request.headers[name.lower()] == value


@asynccontextmanager
async def _endpoint(profile: ProviderProfile) -> AsyncGenerator[FakeApiServer]:
    keys = frozenset({"the-key"})
    api_format = profile.format_for(MODEL)
    if api_format == "messages":
        async with messages_api(["Hello."], MessagesServerConfig(keys=keys)) as api:
            yield api
    else:
        config = OpenAiServerConfig(api_format, keys, (ServedModel(MODEL),))
        async with openai_api(["Hello."], config) as api:
            yield api


def test_a_key_of_the_messages_api_is_sent_as_a_bearer_token() -> None:
    # MiniMax accepts no other header.
    endpoint = connect(EndpointAccess("http://127.0.0.1:1", api_key="k"))
    assert endpoint.client.auth_headers == {"Authorization": "Bearer k"}
