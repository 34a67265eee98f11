"""`acp-server models` and the choosing of models of this machine, as a user runs them."""

import json
from pathlib import Path

import anyio
import pytest
import yaml

from acp_server.cli.local_servers import find_local_servers
from acp_server.config.changing import update_section
from acp_server.config.template import config_template
from acp_server.models.provider_profiles import ProviderProfile
from tests.cli.command_line import run
from tests.support.openai_api import (
    OpenAiServerConfig,
    ServedModel,
    openai_api,
    openai_api_in_thread,
)
from tests.support.timeouts import HANG_TIMEOUT_SECONDS

MODELS = (
    ServedModel("house", extra={"max_model_len": 32_768}),
    ServedModel("silent"),
    ServedModel("text-embedding-3-small"),
)
MODEL_LIST = """\
* house  (32,768 tokens)
  silent  (size unknown, 200,000 tokens assumed; set model.context_length)
"""
HOME = "model: {{provider: custom, base_url: '{url}', default: house}}\n"


def test_the_models_of_the_configured_provider_are_listed(tmp_path: Path) -> None:
    with openai_api_in_thread([], OpenAiServerConfig(keys=None, models=MODELS)) as api:
        (tmp_path / "config.yaml").write_text(HOME.format(url=api.url))
        plain = run(tmp_path, "models")
        outcome = run(tmp_path, "models", "--json")
        url = api.url
    assert (plain.exit_code, plain.stdout) == (0, f"custom ({url})\n{MODEL_LIST}")
    assert json.loads(outcome.stdout) == {
        "providers": [
            {
                "provider": "custom",
                "address": url,
                "default": "house",
                "models": [
                    {
                        "id": name,
                        "name": name,
                        "window_tokens": window,
                        "output_tokens": None,
                    }
                    for name, window in (("house", 32_768), ("silent", None))
                ],
                "problem": "",
            }
        ]
    }


def test_an_unresponsive_provider_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(HOME.format(url="http://127.0.0.1:9/v1"))
    outcome = run(tmp_path, "models")
    assert outcome.exit_code == 1
    assert "the connection to 127.0.0.1 failed" in outcome.stdout


def test_an_unknown_provider_is_named_with_what_to_set(tmp_path: Path) -> None:
    outcome = run(tmp_path, "models", ACP_SERVER_PROVIDER="nouse")
    assert (outcome.exit_code, outcome.stdout) == (1, "")
    assert "the configured provider 'nouse'" in outcome.stderr
    assert "set `model.base_url`" in outcome.stderr


def test_a_key_is_stored_for_its_provider_without_affecting_others(tmp_path: Path) -> None:
    run(tmp_path, "setup", "--force", stdin="sk-claude\n")
    other = run(tmp_path, "setup", "--force", "--provider", "openrouter", stdin="sk-or-0815\n")
    assert other.exit_code == 0
    stored = json.loads((tmp_path / "acp" / "credentials.json").read_text())
    assert stored == {"anthropic-api-key": "sk-claude", "openrouter-api-key": "sk-or-0815"}
    written = yaml.safe_load((tmp_path / "acp" / "config.yaml").read_text())
    assert written == {"model": {"additional_providers": ["openrouter"]}}
    run(tmp_path, "setup", "--provider", "openrouter", "--forget")
    stored = json.loads((tmp_path / "acp" / "credentials.json").read_text())
    assert stored == {"anthropic-api-key": "sk-claude"}


def test_a_provider_becomes_the_default_only_on_request(tmp_path: Path) -> None:
    run(tmp_path, "setup", "--force", "--provider", "deepseek", "--use", stdin="sk-d-0815\n")
    written = yaml.safe_load((tmp_path / "acp" / "config.yaml").read_text())
    assert written == {"model": {"provider": "deepseek"}}


async def test_discovery_finds_only_servers_that_respond_as_such() -> None:
    async with openai_api([], OpenAiServerConfig(keys=None, models=MODELS)) as api:
        there = ProviderProfile("vllm", "vLLM", base_url=api.url, default_port=1)
        gone = ProviderProfile("ollama", "Ollama", base_url="http://127.0.0.1:9/v1", default_port=2)
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            found = await find_local_servers((gone, there))
    assert [(each.profile.name, [m.id for m in each.models]) for each in found] == [
        ("vllm", ["house", "silent"])
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "model:\n  provider: ollama\n"),
        ("# mine\nmode: ask", "# mine\nmode: ask\nmodel:\n  provider: ollama\n"),
        ("model: x\n# kept\na: 1\n", "model:\n  default: x\n  provider: ollama\n# kept\na: 1\n"),
        (
            "a: 1\nmodel:\n  default: x\n  provider: old\nb: 2  # kept\n",
            "a: 1\nmodel:\n  default: x\n  provider: ollama\nb: 2  # kept\n",
        ),
        ("model: {base_url: u}", "model:\n  base_url: u\n  provider: ollama\n"),
    ],
    ids=["empty", "without", "short", "block", "flow"],
)
def test_only_these_keys_of_the_settings_are_rewritten(before: str, after: str) -> None:
    assert update_section(before, "model", {"provider": "ollama"}, "default") == after


def test_settings_are_written_over_their_commented_lines_in_the_template() -> None:
    first = {"provider": "custom", "base_url": "http://127.0.0.1:1/v1"}
    text = update_section(config_template(), "model", first, "default")
    assert yaml.safe_load(text) == {"model": first}
    assert text.count("model:") == config_template().count("model:")
    text = update_section(text, "model", {"provider": "openai", "base_url": None}, "default")
    assert yaml.safe_load(text) == {"model": {"provider": "openai"}}
    assert (
        text.replace("\nmodel:", "\n# model:").replace("  provider: openai", '#   provider: ""')
        == config_template()
    )
