"""This package's providers against strict services on loopback, through the real SDKs."""

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from acp_server.memory.honcho.config import read_honcho_config
from acp_server.memory.mem0.config import Mem0Config, read_mem0_config
from acp_server.memory.provider import ProviderUnavailableError
from acp_server.memory.providers import ExternalMemory, load_provider
from tests.memory.provider_contract import KEYS, PREPARE, context_of, exercise
from tests.memory.services.honcho_service import honcho_service
from tests.memory.services.loopback import KEY
from tests.memory.services.mem0_service import mem0_platform
from tests.support.user_texts import MEM0_HAS_NO_KEY

needs_mem0 = pytest.mark.skipif(
    find_spec("mem0") is None, reason="mem0ai is large: `uv sync --group memory` installs it"
)


@pytest.mark.parametrize("form", ["local", "honcho", "mem0 server"])
def test_a_provider_remembers_from_one_session_to_the_next(form: str, tmp_path: Path) -> None:
    name, prepare = PREPARE[form]
    with prepare(tmp_path) as service:
        exercise(name, tmp_path, service)


@needs_mem0
@pytest.mark.full
def test_mem0s_platform_remembers_and_its_sdk_reports_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its other form, with the same adapter, is in the suite."""
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    name, prepare = PREPARE["mem0 platform"]
    with prepare(tmp_path) as service:
        exercise(name, tmp_path, service)
    from mem0.memory import telemetry  # pyright: ignore  # noqa: PGH003, PLC0415  only here

    assert telemetry.client_telemetry.posthog is None  # pyright: ignore  # noqa: PGH003
    assert not (tmp_path / "user" / ".mem0").exists()


async def test_a_refused_key_is_reported_without_the_key(tmp_path: Path) -> None:
    with honcho_service() as service:
        (tmp_path / "honcho.json").write_text(json.dumps({"baseUrl": service.url}))
        context = context_of(tmp_path, {"HONCHO_API_KEY": "wrong-key-of-mine"})
        memory = ExternalMemory("honcho", lambda: load_provider("honcho", context), lambda _: None)
        reply = await memory.system_block()
    assert "Invalid API key" in reply.notice
    assert "wrong-key-of-mine" not in reply.notice


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("honcho", "it has no key; run `acp-server memory setup honcho`"),
        ("mem0", MEM0_HAS_NO_KEY),
    ],
)
def test_a_missing_key_says_what_to_do(name: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(ProviderUnavailableError, match=reason):
        load_provider(name, context_of(tmp_path))


@pytest.mark.parametrize(("name", "package"), [("honcho", "honcho"), ("mem0", "mem0")])
def test_a_missing_package_says_what_to_install(
    name: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, package, None)
    with pytest.raises(ProviderUnavailableError, match=rf"hermes-acp-server\[{name}\]"):
        load_provider(name, context_of(tmp_path, KEYS))


def test_honcho_json_is_read_as_hermes_reads_it(tmp_path: Path) -> None:
    document = {
        "apiKey": "of-the-file",
        "workspace": "shared",
        "peerName": "eri",
        "sessionPeerPrefix": True,
        "hosts": {
            "hermes": {"aiPeer": "helper", "recallMode": "tools", "saveMessages": False},
            "hermes_work": {"workspace": "work", "peerName": "eri at work"},
        },
    }
    (tmp_path / "honcho.json").write_text(json.dumps(document))
    config = read_honcho_config(context_of(tmp_path, {"HONCHO_TIMEOUT": "7"}), tmp_path)
    assert (config.workspace, config.session) == ("shared", "eri-project")
    assert (config.user_peer, config.ai_peer, config.api_key) == ("eri", "helper", "of-the-file")
    assert (config.has_context, config.has_tools, config.saves_messages) == (False, True, False)
    assert (config.timeout_seconds, config.base_url) == (7.0, "")
    profile = tmp_path / ".hermes" / "profiles" / "work"
    profile.mkdir(parents=True)
    (tmp_path / ".hermes" / "honcho.json").write_text(json.dumps(document))
    config = read_honcho_config(context_of(profile), tmp_path)
    assert (config.workspace, config.user_peer) == ("work", "eri-at-work")


@pytest.mark.parametrize(
    ("strategy", "session"),
    [
        ("per-directory", "project"),
        ("per-session", "s1"),
        ("per-repo", "repository"),
        ("global", "hermes"),
    ],
)
def test_honchos_session_is_named_by_its_strategy(
    strategy: str, session: str, tmp_path: Path
) -> None:
    home = tmp_path / "repository"
    (home / ".git").mkdir(parents=True)
    (home / "honcho.json").write_text(json.dumps({"apiKey": "k", "sessionStrategy": strategy}))
    assert read_honcho_config(context_of(home), tmp_path).session == session


def test_mem0_json_comes_before_variables(tmp_path: Path) -> None:
    document = {"user_id": "eri", "agent_id": "", "rerank": "true"}
    (tmp_path / "mem0.json").write_text(json.dumps(document))
    keys = {"MEM0_API_KEY": KEY, "MEM0_USER_ID": "other", "MEM0_AGENT_ID": "agent"}
    assert read_mem0_config(context_of(tmp_path, keys)) == Mem0Config(
        api_key=KEY, user_id="eri", agent_id="agent", is_reranked=True
    )


def test_a_broken_settings_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "mem0.json").write_text("{")
    with pytest.raises(ProviderUnavailableError, match=r"mem0\.json cannot be read"):
        load_provider("mem0", context_of(tmp_path, KEYS))


def test_the_strict_services_refuse_what_is_not_described() -> None:
    with mem0_platform() as service:
        status, _ = service.respond("POST", "/v3/memories/search/", KEY, b'{"query": "x"}')
        assert status == 422
        assert service.respond("GET", "/v1/ping/?org=1", KEY, b"")[0] == 422
        assert service.respond("GET", "/v1/ping/", "other", b"")[0] == 401
        assert service.respond("GET", "/v1/other/", KEY, b"")[0] == 404
