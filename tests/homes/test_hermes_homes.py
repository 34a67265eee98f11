"""Homes that Hermes itself wrote: each starts, or says in one sentence what is missing.

`hermes_homes.toml` has them, with what Hermes made of them.
"""

import json
import tomllib
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from acp_server.config.settings import Configuration
from acp_server.server import endpoints
from acp_server.server.providers import ConfiguredProvider, configured_providers
from tests.support.case_table import each_case
from tests.support.editor import make_configuration, open_editor, prompt_params
from tests.support.messages_api import FakeApiServer, MessagesServerConfig, messages_api
from tests.support.openai_api import OpenAiServerConfig, ServedModel, openai_api

HOMES: Mapping[str, Mapping[str, str]] = tomllib.loads(
    Path(__file__).with_name("hermes_homes.toml").read_text("utf-8")
)
RESOLVED = [name for name, home in HOMES.items() if "base_url" in home]
SHORT = ("anthropic-token", "openai-codex", "kimi-code-key", "custom-list", "pool", "copilot")
"""Homes that need different parts; the others are run in the long form."""
CLAUDE = "claude-opus-5"


def lay(home: Path, name: str) -> Configuration:
    """Lay a home out, as Hermes wrote it."""
    written = HOMES[name]
    (home / "config.yaml").write_text(written["config"])
    (home / ".env").write_text(written.get("env", ""))
    (home / "auth.json").write_text(written.get("auth", "{}"))
    return make_configuration(home, environment={"AWS_EC2_METADATA_DISABLED": "true"})


async def secret_of(provider: ConfiguredProvider) -> str:
    credential = await provider.credentials().current()
    return (credential.api_key or credential.auth_token or "") if credential else ""


@pytest.mark.parametrize("name", RESOLVED)
async def test_a_home_means_what_it_means_to_hermes(tmp_path: Path, name: str) -> None:
    configuration, expected = lay(tmp_path, name), HOMES[name]
    found = configured_providers(configuration)
    assert found
    assert found[0].address == expected["base_url"]
    assert found[0].profile.api_format == expected["api"]
    assert (await secret_of(found[0]))[:6] == expected["key"]
    assert configuration.problems == ()


@each_case("name", HOMES)
def test_every_key_of_a_home_is_used(tmp_path: Path, name: str) -> None:
    assert lay(tmp_path, name).unused_keys == ()


SAYING = [name for name, home in HOMES.items() if "says" in home]


@pytest.mark.parametrize("name", SAYING)
async def test_what_is_missing_is_said_in_one_sentence(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    monkeypatch.setenv("HOME", str(tmp_path))
    async with open_editor(lay(tmp_path, name)) as editor:
        await editor.initialize()
        session = await editor.new_session(tmp_path)
        said = HOMES[name]["says"]
        if name != "withheld":  # it may be that the address needs no key
            answer = await editor.call("session/prompt", prompt_params(session, "hi"))
            assert said in json.dumps(answer)
        if name in ("withheld", "unknown", "copilot-acp"):
            await editor.wait_until(
                lambda: True if said in editor.agent_text(session) else None, "the notice"
            )


@asynccontextmanager
async def endpoint(provider: ConfiguredProvider, key: str) -> AsyncGenerator[FakeApiServer]:
    """Serve the provider's API to those who have the key."""
    keys, api_format = frozenset({key}), provider.profile.api_format
    if api_format == "messages":
        async with messages_api(["Hello."], MessagesServerConfig(keys=keys)) as api:
            yield api
    else:
        model = ServedModel(provider.model_id or "m")
        config = OpenAiServerConfig(api_format, keys if key else frozenset(), (model,))
        async with openai_api(["Hello."], config) as api:
            yield api


async def _answers(home: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    configuration = lay(home, name)
    found = configured_providers(configuration)
    assert found
    key = await secret_of(found[0])
    async with endpoint(found[0], key) as api:
        model_id = CLAUDE if found[0].profile.api_format == "messages" else found[0].model_id
        moved = replace(found[0], base_url=api.url, model_id=model_id)

        def only_moved(_configuration: Configuration) -> list[ConfiguredProvider]:
            return [moved]

        monkeypatch.setattr(endpoints, "configured_providers", only_moved)
        async with open_editor(configuration) as editor:
            await editor.initialize()
            session = await editor.new_session(home)
            await editor.prompt(session, "hi")
            assert editor.agent_text(session).endswith("Hello.")
        assert api.model_requests


ANSWERING = [name for name in RESOLVED if name not in ("withheld", "ollama-local")]


@pytest.mark.parametrize("name", SHORT)
async def test_a_home_answers_with_its_key(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await _answers(tmp_path, name, monkeypatch)


@pytest.mark.full
@pytest.mark.parametrize("name", [name for name in ANSWERING if name not in SHORT])
async def test_every_home_answers_with_its_key(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await _answers(tmp_path, name, monkeypatch)
