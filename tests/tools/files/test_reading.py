"""What is read, and what is answered where nothing can be read."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from anyio import fail_after, to_thread

from acp_server.session.ports.editor import EditorPort
from acp_server.tools.files.disk import MAX_BYTES, open_file
from acp_server.tools.files.encoding import TextForm
from acp_server.tools.files.errors import (
    BinaryFileError,
    FileError,
    FileNotReadableError,
    HugeFileError,
    NoSuchFileError,
    PathIsDirectoryError,
)
from acp_server.tools.files.snapshot import FileSnapshot, bytes_digest
from tests.support.case_table import each_case
from tests.support.fake_editors import (
    HangingEditor,
    NewlineKeepingEditor,
    RefusingEditor,
    VerbatimEditor,
)
from tests.support.timeouts import HANG_TIMEOUT_SECONDS
from tests.tools.files.file_services import (
    ALL_EDITORS,
    create_fresh_service,
    create_service,
    name_of,
)

PROCESS = Path("/proc/self/status")
EDITORS = pytest.mark.parametrize("make", [*ALL_EDITORS, RefusingEditor], ids=name_of)


async def test_a_snapshot_describes_a_file_completely(tmp_path: Path) -> None:
    setup = create_service(tmp_path)
    data = b"\xef\xbb\xbfa\r\n"
    setup.write_file("a.txt", data, 0o755)
    assert await setup.read("a.txt") == FileSnapshot(
        resolved=await setup.files.resolve("a.txt"),
        text="a\n",
        form=TextForm("utf-8", has_bom=True, newline="\r\n"),
        mode=0o755,
        disk_digest=bytes_digest(data),
        is_saved=True,
    )


@EDITORS
@each_case(
    ("data", "text"),
    [
        (b"a\r\nb\r\n", "a\nb\n"),
        (b"a\rb", "a\nb"),
        (b"a\r\nb\n", "a\r\nb\n"),
        (b"\xef\xbb\xbfa\n", "a\n"),
        (b"caf\xe9", "café"),
        ("\ufeffhi\r\n".encode("utf-16-le"), "hi\n"),
        (b"", ""),
    ],
    ids=["CRLF", "CR", "mixed", "BOM", "Latin-1", "UTF-16", "empty"],
)
async def test_a_text_is_the_same_through_any_editor(
    tmp_path: Path, make: Callable[[], EditorPort], data: bytes, text: str
) -> None:
    setup = create_fresh_service(tmp_path, make())
    setup.write_file("a.txt", data)
    assert await setup.text("a.txt") == text


async def test_unsaved_text_is_seen(tmp_path: Path) -> None:
    editor = NewlineKeepingEditor()
    setup = create_service(tmp_path, editor)
    editor.type_text(setup.write_file("a.txt", "old\r\n", 0o755), "typed\n")
    snapshot = await setup.read("a.txt")
    assert (snapshot.text, snapshot.is_saved) == ("typed\n", False)
    assert (snapshot.form, snapshot.mode) == (TextForm(newline="\r\n"), 0o755)


async def test_a_file_that_exists_only_in_the_editor_is_seen(tmp_path: Path) -> None:
    editor = NewlineKeepingEditor()
    setup = create_service(tmp_path, editor)
    editor.type_text(setup.root / "new.txt", "typed\r\n")
    snapshot = await setup.read("new.txt")
    assert (snapshot.text, snapshot.form) == ("typed\n", TextForm(newline="\r\n"))
    assert (snapshot.disk_digest, snapshot.is_saved) == (None, False)


async def test_an_empty_buffer_without_a_file_is_not_a_file(tmp_path: Path) -> None:
    editor = NewlineKeepingEditor()
    setup = create_service(tmp_path, editor)
    editor.type_text(setup.root / "new.txt", "")
    assert await setup.read_if_exists("new.txt") is None


async def test_a_hanging_editor_does_not_block(tmp_path: Path) -> None:
    setup = create_service(tmp_path, HangingEditor(), timeout_seconds=0.05)
    setup.write_file("a.txt", "a\n")
    with fail_after(HANG_TIMEOUT_SECONDS):
        assert await setup.text("a.txt") == "a\n"
        assert await setup.read_if_exists("b.txt") is None


@pytest.mark.parametrize("name", ["outside", "Latin-1", "link to the outside", "\udcff"])
async def test_the_editor_is_not_asked_for_files_it_cannot_read(tmp_path: Path, name: str) -> None:
    editor = VerbatimEditor()
    setup = create_service(tmp_path, editor)
    (setup.outside / "a.txt").write_text("a\n")
    (setup.root / "link to the outside").symlink_to(setup.outside / "a.txt")
    setup.write_file("Latin-1", b"\xe9\n")
    setup.write_file("\udcff", "a name that is not UTF-8\n")
    await setup.read(setup.outside / "a.txt" if name == "outside" else name)
    assert editor.calls == []


async def test_the_editor_is_asked_with_the_workspace_path(tmp_path: Path) -> None:
    editor = VerbatimEditor()
    setup = create_service(tmp_path, editor)
    setup.write_file("a.txt", "a\n")
    (setup.root / "link").symlink_to("a.txt")
    (setup.outside / "in").symlink_to(setup.root)
    await setup.read("link")
    await setup.read(setup.outside / "in" / "a.txt")
    assert editor.calls == [("read", setup.root / "link"), ("read", setup.root / "a.txt")]


@EDITORS
async def test_a_missing_file_is_not_an_error(
    tmp_path: Path, make: Callable[[], EditorPort]
) -> None:
    setup = create_service(tmp_path, make())
    setup.write_file("src/reader.py", "")
    setup.write_file("src/Writer.py", "")
    setup.write_file("docs/guide/index.md", "")
    setup.write_file(".git/index.md", "")
    (setup.root / "dangling").symlink_to("nowhere.xyz")
    answers: dict[str, tuple[str, ...]] = {}
    for name in ("src/raeder.py", "src/writer.PY", "index.md", "src/reader.py/x", "dangling"):
        with pytest.raises(NoSuchFileError) as caught:
            await setup.read(name)
        answers[name] = caught.value.similar
        assert await setup.read_if_exists(name) is None
    assert answers == {
        "src/raeder.py": ("src/reader.py", "src/Writer.py"),
        "src/writer.PY": ("src/Writer.py", "src/reader.py"),
        "index.md": ("docs/guide/index.md",),
        "src/reader.py/x": (),
        "dangling": (),
    }


async def test_a_missing_file_is_reported_with_similar_names(tmp_path: Path) -> None:
    setup = create_service(tmp_path)
    setup.write_file("reader.py", "")
    with pytest.raises(NoSuchFileError) as caught:
        await setup.read("./readers.py")
    assert caught.value.reason == "./readers.py does not exist; similar files: reader.py"


@pytest.mark.parametrize(
    ("count", "reason"),
    [
        (0, "d is a folder; it is empty"),
        (1, "d is a folder; it holds 00, sub/"),
        (60, f"d is a folder; it holds {', '.join(f'{n:02}' for n in range(50))} and 11 more"),
    ],
)
async def test_a_directory_is_listed(tmp_path: Path, count: int, reason: str) -> None:
    setup = create_service(tmp_path)
    (setup.root / "d").mkdir()
    for number in range(count):
        setup.write_file(f"d/{number:02}", "")
        (setup.root / "d" / "sub").mkdir(exist_ok=True)
    with pytest.raises(PathIsDirectoryError) as caught:
        await setup.read("d")
    assert caught.value.reason == reason


@EDITORS
async def test_a_binary_file_is_named_without_asking_the_editor(
    tmp_path: Path, make: Callable[[], EditorPort]
) -> None:
    setup = create_service(tmp_path, make())
    setup.write_file("a.png", b"\x89PNG\r\n\x1a\n\0")
    with pytest.raises(BinaryFileError, match=r"^a\.png is a PNG image, not text"):
        await setup.read("a.png")


async def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    setup = create_service(tmp_path, VerbatimEditor())
    os.truncate(setup.write_file("a.log", ""), 5 * 1024**4)
    with fail_after(HANG_TIMEOUT_SECONDS), pytest.raises(HugeFileError) as caught:
        await setup.read("a.log")
    assert caught.value.reason == (
        "a.log has 5497558.1 MB, too much at once; read some of its lines, or search in it"
    )


async def test_a_file_of_exactly_the_maximum_size_is_read(tmp_path: Path) -> None:
    setup = create_service(tmp_path)
    setup.write_file("a.log", b"x" * MAX_BYTES)
    assert len(await setup.text("a.log")) == MAX_BYTES


def _make_pipe(path: Path) -> None:
    os.mkfifo(path)


def _make_socket(path: Path) -> None:
    here = Path.cwd()
    with socket.socket(socket.AF_UNIX) as server:
        os.chdir(path.parent)  # its whole path may be too long for a socket's name
        try:
            server.bind(path.name)
        finally:
            os.chdir(here)


def _make_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _make_circle(path: Path) -> None:
    path.symlink_to(path.name)


def _make_locked(path: Path) -> None:
    path.write_text("secret")
    path.chmod(0)  # its bits count, for root too, who could read it


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (_make_pipe, "it is a named pipe"),
        (_make_socket, "it is a socket"),
        (_make_device, "it is a device"),
        (_make_circle, "it is a link that cannot be followed"),
        (_make_locked, "its mode allows nobody to read it"),
    ],
    ids=["pipe", "socket", "device", "circle", "locked"],
)
async def test_special_files_are_not_opened(
    tmp_path: Path, make: Callable[[Path], None], why: str
) -> None:
    setup = create_service(tmp_path, VerbatimEditor())
    make(setup.root / "x")
    path = await setup.files.resolve("x")
    with fail_after(HANG_TIMEOUT_SECONDS):
        for use in (setup.files.read(path), setup.files.read_if_exists(path)):
            with pytest.raises(FileNotReadableError) as caught:
                await use
            assert caught.value.reason == f"x cannot be read: {why}"
        for use in (setup.files.read_lines(path, 1, 1), setup.files.write(path, "a", None)):
            with pytest.raises(FileError, match=why):
                await use


async def test_a_link_in_place_of_a_file_is_not_followed(tmp_path: Path) -> None:
    setup = create_service(tmp_path)
    path = setup.write_file("a.txt", "mine\n")
    resolved = await setup.files.resolve("a.txt")
    path.unlink()
    path.symlink_to("/etc/hostname")
    with pytest.raises(FileNotReadableError):
        await setup.files.read(resolved)


@pytest.mark.parametrize("make", [_make_pipe, _make_device], ids=["pipe", "link"])
async def test_a_path_that_becomes_a_special_file_after_the_check_is_not_opened(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    setup = create_service(tmp_path)
    path = await setup.files.resolve("x")
    make(setup.root / "x")
    with fail_after(HANG_TIMEOUT_SECONDS), pytest.raises(FileNotReadableError):
        await to_thread.run_sync(open_file, path, abandon_on_cancel=True)


@pytest.mark.skipif(not PROCESS.exists(), reason="this system has no /proc")
async def test_a_file_on_a_file_system_without_sizes_is_read(tmp_path: Path) -> None:
    assert "Name:" in await create_service(tmp_path).text(PROCESS)
