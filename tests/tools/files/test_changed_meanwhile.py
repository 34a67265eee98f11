"""What moved on between a look and a change is not overwritten."""

from collections.abc import Callable
from pathlib import Path

import pytest

from acp_server.session.ports.editor import EditorPort
from acp_server.tools.files import disk
from acp_server.tools.files.errors import FileAlreadyExistsError, FileChangedError, FileError
from acp_server.tools.files.snapshot import FileSnapshot, bytes_digest
from tests.support.fake_editors import (
    NewlineKeepingEditor,
    NonSavingEditor,
    ReadOnlyEditor,
    RefusingEditor,
    VerbatimEditor,
)
from tests.tools.files.file_services import ALL_EDITORS, FileServiceSetup, create_service, name_of

EDITORS = pytest.mark.parametrize("make", ALL_EDITORS, ids=name_of)
READING = pytest.mark.parametrize("make", [VerbatimEditor, NewlineKeepingEditor, ReadOnlyEditor])

TEXT = "a\r\n"
TARGET = "sub/target.txt"


def change_text(path: Path) -> None:
    path.write_bytes(b"other\r\n")


def change_newlines(path: Path) -> None:
    path.write_bytes(b"a\n")


def change_mark(path: Path) -> None:
    path.write_bytes(b"\xef\xbb\xbfa\r\n")


def delete(path: Path) -> None:
    path.unlink()


def swap_for_a_link(path: Path) -> None:
    path.unlink()
    path.symlink_to("other.txt")


def swap_for_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def swap_its_folder(path: Path) -> None:
    path.parent.rename(path.parent.with_name("away"))
    path.parent.symlink_to("away")


CHANGES = pytest.mark.parametrize(
    "change",
    [
        change_text,
        change_newlines,
        change_mark,
        delete,
        swap_for_a_link,
        swap_for_a_folder,
        swap_its_folder,
    ],
    ids=lambda change: change.__name__,
)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@CHANGES
@EDITORS
@pytest.mark.parametrize("action", ["write", "delete", "move"])
async def test_a_file_changed_on_disk_is_not_overwritten(
    tmp_path: Path, make: Callable[[], EditorPort], change: Callable[[Path], None], action: str
) -> None:
    desk = create_service(tmp_path, make())
    path = desk.write_file(TARGET, TEXT)
    desk.write_file("sub/other.txt", "other\n")
    base = await desk.read(TARGET)
    change(path)
    before = contents(desk.root)
    with pytest.raises(FileError):
        await _act(desk, action, base)
    assert contents(desk.root) == before


async def _act(desk: FileServiceSetup, action: str, base: FileSnapshot) -> None:
    match action:
        case "write":
            await desk.files.write(base.resolved, "mine\n", base)
        case "delete":
            await desk.files.delete(base.resolved, base)
        case _:
            await desk.files.move(base.resolved, await desk.files.resolve("to.txt"), base)


@pytest.mark.parametrize(
    ("change", "how"),
    [
        (change_text, "its text is another"),
        (change_newlines, "its encoding or newlines are others"),
        (delete, "it does not exist any more"),
        (swap_for_a_link, "it leads to {root}/sub/other.txt now"),
    ],
    ids=["text", "newlines", "deleted", "link"],
)
async def test_the_error_describes_how_the_file_changed(
    tmp_path: Path, change: Callable[[Path], None], how: str
) -> None:
    desk = create_service(tmp_path)
    path = desk.write_file(TARGET, TEXT)
    base = await desk.read(TARGET)
    change(path)
    with pytest.raises(FileChangedError) as caught:
        await desk.files.write(base.resolved, "mine\n", base)
    assert caught.value.reason == (
        f"{TARGET} changed meanwhile: {how.format(root=desk.root)}; "
        "read it again and redo the change"
    )


@EDITORS
async def test_a_file_that_appeared_is_not_overwritten(
    tmp_path: Path, make: Callable[[], EditorPort]
) -> None:
    desk = create_service(tmp_path, make())
    place = await desk.files.resolve("a.txt")
    assert await desk.files.read_if_exists(place) is None
    path = desk.write_file("a.txt", "theirs\n")
    with pytest.raises(FileChangedError, match="it exists by now"):
        await desk.files.write(place, "mine\n", None)
    assert path.read_text() == "theirs\n"


@READING
async def test_text_typed_since_the_read_is_not_overwritten(
    tmp_path: Path, make: Callable[[], NewlineKeepingEditor]
) -> None:
    editor = make()
    desk = create_service(tmp_path, editor)
    path = desk.write_file("a.txt", TEXT)
    base = await desk.read("a.txt")
    editor.type_text(path, "typed\n")
    with pytest.raises(FileChangedError, match="its text is another"):
        await desk.files.write(base.resolved, "mine\n", base)
    assert (path.read_text(), editor.buffers[path]) == ("a\n", "typed\n")


@READING
async def test_text_saved_since_the_read_is_no_conflict(
    tmp_path: Path, make: Callable[[], NewlineKeepingEditor]
) -> None:
    editor = make()
    desk = create_service(tmp_path, editor)
    path = desk.write_file("a.txt", "a\n")
    editor.type_text(path, "typed\n")
    base = await desk.read("a.txt")
    editor.save(path, "typed\n")
    await desk.files.write(base.resolved, "typed and edited\n", base)
    assert path.read_text() == "typed and edited\n"


async def test_a_disk_change_under_unsaved_text_is_noticed(tmp_path: Path) -> None:
    editor = NewlineKeepingEditor()
    desk = create_service(tmp_path, editor)
    path = desk.write_file("a.txt", "a\n")
    editor.type_text(path, "typed\n")
    base = await desk.read("a.txt")
    path.write_text("pulled\n")
    with pytest.raises(FileChangedError, match="the file on disk is another, under unsaved"):
        await desk.files.write(base.resolved, "mine\n", base)
    assert path.read_text() == "pulled\n"


@pytest.mark.parametrize("action", ["replace", "remove", "rename"])
async def test_the_disk_is_compared_again_just_before_the_write(
    tmp_path: Path, action: str
) -> None:
    desk = create_service(tmp_path)
    path = desk.write_file("a.txt", "theirs\n")
    place, to = await desk.files.resolve("a.txt"), await desk.files.resolve("b.txt")
    acts: dict[str, Callable[[], None]] = {
        "replace": lambda: disk.replace(place, b"mine\n", bytes_digest(b"a\n")),
        "remove": lambda: disk.remove(place, bytes_digest(b"a\n")),
        "rename": lambda: disk.rename(place, to, bytes_digest(b"a\n")),
    }
    with pytest.raises(FileChangedError, match="the file on disk is another"):
        acts[action]()
    assert contents(desk.root) == {str(path): b"theirs\n"}


async def test_a_changed_mode_is_preserved_and_no_conflict(tmp_path: Path) -> None:
    desk = create_service(tmp_path)
    path = desk.write_file("a.txt", "a\n")
    base = await desk.read("a.txt")
    path.chmod(0o755)
    await desk.files.write(base.resolved, "b\n", base)
    assert path.stat().st_mode & 0o777 == 0o755


async def test_written_content_is_the_base_of_the_next_write(tmp_path: Path) -> None:
    for make in ALL_EDITORS:
        desk = create_service(tmp_path / name_of(make), make())
        base = None
        place = await desk.files.resolve("a.txt")
        for number in range(3):
            base = await desk.files.write(place, f"{number}\n", base)
        assert await desk.text("a.txt") == "2\n"


@EDITORS
async def test_a_deleted_file_is_gone_whatever_the_editor_shows(
    tmp_path: Path, make: Callable[[], EditorPort]
) -> None:
    desk = create_service(tmp_path, make())
    path = desk.write_file("a.txt", "a\n")
    base = await desk.read("a.txt")
    await desk.files.delete(base.resolved, base)
    assert not path.exists()
    assert await desk.read_if_exists("a.txt") is None
    await desk.files.write(base.resolved, "again\n", None)
    assert await desk.text("a.txt") == "again\n"


async def test_deleting_a_link_keeps_its_target(tmp_path: Path) -> None:
    desk = create_service(tmp_path)
    target = desk.write_file("a.txt", "a\n")
    (desk.root / "link").symlink_to("a.txt")
    base = await desk.read("link")
    await desk.files.delete(base.resolved, base)
    assert [target.exists(), (desk.root / "link").is_symlink()] == [True, False]


@EDITORS
async def test_a_moved_file_is_unchanged_at_its_destination(
    tmp_path: Path, make: Callable[[], EditorPort]
) -> None:
    desk = create_service(tmp_path, make())
    path = desk.write_file("a.sh", b"\xef\xbb\xbfa\r\n", 0o755)
    base = await desk.read("a.sh")
    to = await desk.files.resolve("deep/er/b.sh")
    moved = await desk.files.move(base.resolved, to, base)
    assert (to.path.read_bytes(), path.exists()) == (b"\xef\xbb\xbfa\r\n", False)
    assert to.path.stat().st_mode & 0o777 == 0o755
    assert (moved.resolved, moved.text, moved.form) == (to, base.text, base.form)
    assert await desk.read_if_exists("a.sh") is None
    await desk.files.write(to, "b\n", moved)
    assert await desk.text("deep/er/b.sh") == "b\n"


async def test_unsaved_text_is_moved_too(tmp_path: Path) -> None:
    editor = NonSavingEditor()
    desk = create_service(tmp_path, editor)
    editor.type_text(desk.write_file("a.txt", b"a\r\n", 0o755), "typed\n")
    base = await desk.read("a.txt")
    to = await desk.files.resolve("b.txt")
    await desk.files.move(base.resolved, to, base)
    assert (to.path.read_bytes(), to.path.stat().st_mode & 0o777) == (b"typed\r\n", 0o755)
    assert await desk.read_if_exists("a.txt") is None


@pytest.mark.parametrize("taken", ["file", "folder", "dangling"])
async def test_a_move_overwrites_nothing(tmp_path: Path, taken: str) -> None:
    desk = create_service(tmp_path, RefusingEditor())
    desk.write_file("a.txt", "a\n")
    desk.write_file("file", "b\n")
    (desk.root / "folder").mkdir()
    (desk.root / "dangling").symlink_to("nowhere")
    base = await desk.read("a.txt")
    with pytest.raises(FileAlreadyExistsError):
        await desk.files.move(base.resolved, await desk.files.resolve(taken), base)
    assert await desk.text("a.txt") == "a\n"
