import os
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import JsonValue

from acp_server.headless.agent import ClientProfile
from acp_server.headless.directory_files import DirectoryFiles
from acp_server.jsonrpc.errors import RemoteError, RpcError
from acp_server.protocol.files import ReadTextFileRequest, WriteTextFileRequest
from acp_server.protocol.initialize_request import ClientCapabilities, FileSystemCapabilities
from acp_server.protocol.sessions import SetSessionModeRequest, SetSessionModeResponse
from tests.headless.driven_agents import drive_memory_server, drive_peer


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder, a file beside it, and links of all kinds."""
    inside = tmp_path / "inside"
    (inside / "sub").mkdir(parents=True)
    (inside / "a.txt").write_text("one\ntwo\nthree\n", encoding="utf-8")
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    (inside / "out.txt").symlink_to(tmp_path / "secret.txt")
    (inside / "up").symlink_to(tmp_path)
    (inside / "hole.txt").symlink_to(tmp_path / "new.txt")
    (inside / "loop").symlink_to(inside / "loop")
    (inside / "near.txt").symlink_to(inside / "a.txt")
    os.mkfifo(inside / "pipe")
    return inside


async def read(folder: Path, path: str, line: int | None = None, limit: int | None = None) -> str:
    request = ReadTextFileRequest(session_id="one", path=path, line=line, limit=limit)
    return (await DirectoryFiles(folder).read(request)).content


async def write(
    folder: Path, path: str, text: str, note: Callable[[Path], None] = lambda _: None
) -> None:
    request = WriteTextFileRequest(session_id="one", path=path, content=text)
    await DirectoryFiles(folder, note).write(request)


@pytest.mark.parametrize(
    ("line", "limit", "expected"),
    [
        (None, None, "one\ntwo\nthree\n"),
        (2, None, "two\nthree\n"),
        (None, 1, "one\n"),
        (2, 1, "two\n"),
        (0, 1, "one\n"),
        (9, 9, ""),
    ],
)
async def test_a_file_is_read_completely_or_in_part(
    folder: Path, line: int | None, limit: int | None, expected: str
) -> None:
    assert await read(folder, str(folder / "a.txt"), line, limit) == expected
    assert await read(folder, str(folder / "near.txt"), line, limit) == expected


async def test_a_text_is_written_unchanged_and_recorded(folder: Path) -> None:
    written: list[Path] = []
    path = folder / "new" / "b.txt"
    await write(folder, str(path), "one\r\ntwo", written.append)
    assert path.read_bytes() == b"one\r\ntwo"
    assert written == [path]
    assert await read(folder, str(path)) == "one\r\ntwo"


OUTSIDE = ["../secret.txt", "out.txt", "up/secret.txt", "hole.txt", "up/new/x.txt", "sub/../../x"]
ODD = ["", ".", "sub", "pipe", "loop", "loop/x", "\0", "x" * 300, "a.txt/x"]


@pytest.mark.parametrize("name", [*OUTSIDE, *ODD], ids=repr)
async def test_only_files_inside_the_directory_can_be_written(folder: Path, name: str) -> None:
    def everything() -> list[str]:
        return sorted(str(path) for path in folder.parent.rglob("*"))

    before = everything()
    with pytest.raises(RpcError):
        await write(folder, f"{folder}/{name}", "gone")
    assert everything() == before
    assert (folder.parent / "secret.txt").read_text() == "secret"


@pytest.mark.parametrize("name", [*OUTSIDE, *ODD, "missing.txt"], ids=repr)
async def test_only_files_inside_the_directory_can_be_read(folder: Path, name: str) -> None:
    with pytest.raises(RpcError) as caught:
        await read(folder, f"{folder}/{name}")
    assert "secret" not in str(caught.value).replace("secret.txt", "")


async def test_a_missing_file_is_distinguished_from_a_forbidden_one(folder: Path) -> None:
    for name, code in (("missing.txt", -32002), ("out.txt", -32602)):
        with pytest.raises(RpcError) as caught:
            await read(folder, str(folder / name))
        assert caught.value.code == code


@pytest.mark.parametrize("path", ["a.txt", "inside/a.txt", "~/a.txt"])
async def test_a_relative_path_is_refused(
    folder: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    with pytest.raises(RpcError):
        await read(folder, path)


async def test_a_non_text_file_is_refused(folder: Path) -> None:
    (folder / "picture").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(RpcError):
        await read(folder, str(folder / "picture"))


def test_an_editor_declares_its_capabilities(tmp_path: Path) -> None:
    declared = ClientCapabilities(terminal=True, meta={"mine": 1})
    both = FileSystemCapabilities(read_text_file=True, write_text_file=True)
    assert ClientProfile(capabilities=declared).advertised_capabilities == declared
    assert ClientProfile(
        capabilities=declared, files=DirectoryFiles(tmp_path), shows_terminal_output=True
    ).advertised_capabilities == ClientCapabilities(
        terminal=True, fs=both, meta={"mine": 1, "terminal_output": True}
    )


async def test_the_agent_reads_and_writes_files_over_the_wire(folder: Path) -> None:
    path = str(folder / "a.txt")
    async with drive_peer({}, ClientProfile(files=DirectoryFiles(folder))) as partner:
        params: dict[str, JsonValue] = {"sessionId": "one", "path": path}
        written = await partner.peer.request("fs/write_text_file", {**params, "content": "new"})
        result = await partner.peer.request("fs/read_text_file", params)
        with pytest.raises(RemoteError, match="Invalid params"):
            await partner.peer.request("fs/read_text_file", {**params, "path": "/etc/passwd"})
    assert (written, result) == ({}, {"content": "new"})


async def test_without_file_support_the_agent_gets_method_not_found() -> None:
    async with drive_peer({}) as partner:
        with pytest.raises(RemoteError) as caught:
            await partner.peer.request("fs/read_text_file", {})
    assert caught.value.code == -32601


async def test_the_real_server_writes_through_the_editor(tmp_path: Path) -> None:
    written: list[Path] = []
    folder, home = tmp_path / "project", tmp_path / "home"
    folder.mkdir()
    home.mkdir()
    script = "prompt: *\ncall: write_file\n  path: a.txt\n  content: Hello!\nstep:\nsay: done"
    editor = ClientProfile(files=DirectoryFiles(folder, written.append))
    async with drive_memory_server(home, script, editor) as agent:
        await agent.initialize()
        session = await agent.new_session(folder)
        await agent.request(
            "session/set_mode",
            SetSessionModeRequest(session_id=session.session_id, mode_id="accept_edits"),
            SetSessionModeResponse,
        )
        await agent.prompt(session.session_id, "go")
    assert written == [folder / "a.txt"]
    assert (folder / "a.txt").read_text() == "Hello!"
