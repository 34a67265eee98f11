"""A written file is what it was but for its text, whoever writes it."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from anyio import fail_after

from acp_server.session.ports.editor import EditorPort
from acp_server.tools.files.disk import MAX_BYTES
from acp_server.tools.files.encoding import TextForm
from acp_server.tools.files.errors import (
    BinaryFileError,
    EditorWriteError,
    EncodingError,
    FileNotWritableError,
    HugeFileError,
    PathIsDirectoryError,
    ReadOnlyFileError,
)
from tests.support.case_table import each_case
from tests.support.fake_editors import (
    FailAfterWriteEditor,
    FormattingEditor,
    HangingEditor,
    LineFeedEditor,
    NewlineKeepingEditor,
    NonSavingEditor,
    ReadOnlyEditor,
    RefusingEditor,
    VerbatimEditor,
)
from tests.support.timeouts import HANG_TIMEOUT_SECONDS
from tests.support.user_texts import EDITOR_DID_NOT_WRITE
from tests.tools.files.file_services import (
    ALL_EDITORS,
    SAVING_EDITORS,
    create_fresh_service,
    create_service,
    name_of,
)

MAKE = Callable[[], EditorPort]
SAVERS = pytest.mark.parametrize("make", SAVING_EDITORS, ids=name_of)

FORMS = each_case(
    ("before", "after"),
    [
        (b"a\r\nb\r\n", b"a\r\nB\r\n"),
        (b"a\rb\r", b"a\rB\r"),
        (b"a\r\nb\nc\r", b"a\r\nB\nc\r"),
        (b"a\r\nb", b"a\r\nB"),
        (b"\xef\xbb\xbfa\nb\n", b"\xef\xbb\xbfa\nB\n"),
        (b"\xef\xbb\xbfa\r\nb\r\n", b"\xef\xbb\xbfa\r\nB\r\n"),
        ("\ufeffa\r\nb\r\n".encode("utf-16-le"), "\ufeffa\r\nB\r\n".encode("utf-16-le")),
        ("\ufeffa\nb\n".encode("utf-16-be"), "\ufeffa\nB\n".encode("utf-16-be")),
        (b"\xe9\r\nb\r\n", b"\xe9\r\nB\r\n"),
        (b"\x80\nb\n", b"\x80\nB\n"),
        (b"b", b"B"),
    ],
    ids=[
        "CRLF",
        "CR",
        "mixed",
        "CRLF without the last",
        "BOM",
        "BOM and CRLF",
        "UTF-16 LE",
        "UTF-16 BE",
        "Latin-1",
        "Windows-1252",
        "no newline",
    ],
)


@SAVERS
@FORMS
async def test_an_edited_file_keeps_its_text_form_and_mode(
    tmp_path: Path, make: MAKE, before: bytes, after: bytes
) -> None:
    setup = create_fresh_service(tmp_path, make())
    path = setup.write_file("a.sh", before, 0o755)
    base = await setup.read("a.sh")
    written = await setup.files.write(base.resolved, base.text.replace("b", "B"), base)
    assert path.read_bytes() == after
    assert path.stat().st_mode & 0o7777 == 0o755
    assert written.text == base.text.replace("b", "B")
    assert (written.form, written.mode) == (base.form, 0o755)
    assert written.is_saved
    assert await setup.text("a.sh") == written.text
    assert [entry.name for entry in setup.root.iterdir()] == ["a.sh"]


@SAVERS
@FORMS
async def test_rewriting_the_same_text_keeps_the_same_bytes(
    tmp_path: Path, make: MAKE, before: bytes, after: bytes
) -> None:
    del after
    setup = create_fresh_service(tmp_path, make())
    path = setup.write_file("a.txt", before)
    base = await setup.read("a.txt")
    await setup.files.write(base.resolved, base.text, base)
    assert path.read_bytes() == before


@SAVERS
async def test_a_file_can_be_emptied_and_filled_again(tmp_path: Path, make: MAKE) -> None:
    setup = create_service(tmp_path, make())
    path = setup.write_file("a.txt", "a\n")
    for text in ("", "b\n", ""):
        await setup.write("a.txt", text)
        assert (path.read_text(), await setup.text("a.txt")) == (text, text)


@SAVERS
async def test_a_new_file_has_line_feeds_and_the_default_mode(tmp_path: Path, make: MAKE) -> None:
    setup = create_service(tmp_path, make())
    written = await setup.write("deep/er/new.txt", "ä\nb\n")
    path = setup.root / "deep" / "er" / "new.txt"
    umask = os.umask(0)
    os.umask(umask)
    assert path.read_bytes() == "ä\nb\n".encode()
    assert path.stat().st_mode & 0o777 == 0o644 & ~umask
    assert (written.text, written.form) == ("ä\nb\n", TextForm())


@pytest.mark.parametrize(
    ("make", "is_asked"),
    [
        (VerbatimEditor, True),
        (NewlineKeepingEditor, True),
        (LineFeedEditor, True),
        (NonSavingEditor, True),
        (ReadOnlyEditor, False),
    ],
    ids=["faithful", "plain", "line feeds", "unsaving", "handless"],
)
async def test_a_write_goes_through_an_editor_that_can_write(
    tmp_path: Path, make: Callable[[], NewlineKeepingEditor], *, is_asked: bool
) -> None:
    editor = make()
    setup = create_service(tmp_path, editor)
    path = setup.write_file("a.txt", b"a\r\n")
    await setup.write("a.txt", "b\n")
    assert (("write", path) in editor.calls) is is_asked


@pytest.mark.parametrize(
    ("data", "text", "sent"),
    [
        (b"\xef\xbb\xbfa\n", "b\n", "\ufeffb\n"),
        (b"a\r\n", "b\n", "b\r\n"),
        (b"a\r\nb\n", "b\r\nc\n", "b\r\nc\n"),
        (b"a\n", "b\r\nc\n", "b\r\nc\n"),
    ],
    ids=["BOM", "CRLF", "mixed", "CRLF put into LF"],
)
async def test_the_editor_receives_text_in_the_form_it_returns(
    tmp_path: Path, data: bytes, text: str, sent: str
) -> None:
    editor = VerbatimEditor()
    setup = create_service(tmp_path, editor)
    path = setup.write_file("a.txt", data)
    await setup.write("a.txt", text)
    assert editor.buffers[path] == sent
    assert path.read_bytes() == sent.encode()


async def test_a_disk_file_the_editor_did_not_save_is_left_unchanged(tmp_path: Path) -> None:
    editor = NonSavingEditor()
    setup = create_service(tmp_path, editor)
    path = setup.write_file("a.txt", "a\n")
    editor.type_text(path, "a\r\n")
    await setup.write("a.txt", "b\n")
    assert path.read_bytes() == b"a\n"
    assert editor.buffers[path] == "b\r\n"


async def test_an_editor_may_keep_a_write_unsaved(tmp_path: Path) -> None:
    editor = NonSavingEditor()
    setup = create_service(tmp_path, editor)
    path = setup.write_file("a.txt", b"a\r\n", 0o600)
    for text in ("b\n", "c\n"):
        written = await setup.write("a.txt", text)
        assert (written.text, written.is_saved) == (text, False)
        assert (path.read_bytes(), editor.buffers[path]) == (b"a\r\n", text)
        assert await setup.read("a.txt") == written


async def test_an_editor_may_keep_a_new_file_unsaved(tmp_path: Path) -> None:
    setup = create_service(tmp_path, NonSavingEditor())
    written = await setup.write("a.txt", "a\n")
    assert (written.disk_digest, written.mode) == (None, 0o644)
    assert list(setup.root.iterdir()) == []
    assert await setup.read("a.txt") == written


async def test_an_editor_may_format_on_save(tmp_path: Path) -> None:
    setup = create_service(tmp_path, FormattingEditor())
    path = setup.write_file("a.txt", b"\xef\xbb\xbfa\r\n", 0o700)
    written = await setup.write("a.txt", "b  \nc\n")
    assert path.read_bytes() == b"\xef\xbb\xbfb\r\nc\r\n"
    assert written.text == "b\nc\n"
    assert path.stat().st_mode & 0o777 == 0o700


async def test_unsaved_text_is_the_base_of_an_edit(tmp_path: Path) -> None:
    editor = NewlineKeepingEditor()
    setup = create_service(tmp_path, editor)
    path = setup.write_file("a.txt", b"a\r\n")
    editor.type_text(path, "typed\n")
    await setup.edit("a.txt", "typed", "typed and edited")
    assert path.read_bytes() == b"typed and edited\r\n"


@pytest.mark.parametrize(
    ("make", "why", "outcome"),
    [
        (RefusingEditor, "the user has locked the file", "is as it was"),
        (FailAfterWriteEditor, "the window was closed", "has changed all the same; read it again"),
        (HangingEditor, "the editor did not answer within 0.05 s", "is as it was"),
    ],
    ids=["refuses", "writes and refuses", "hangs"],
)
@pytest.mark.parametrize("name", ["old.txt", "new.txt"])
async def test_a_write_the_editor_did_not_perform_is_reported(
    tmp_path: Path, make: MAKE, why: str, outcome: str, name: str
) -> None:
    setup = create_service(tmp_path, make(), timeout_seconds=0.05)
    setup.write_file("old.txt", "a\n")
    with fail_after(HANG_TIMEOUT_SECONDS), pytest.raises(EditorWriteError) as caught:
        await setup.write(name, "b\n")
    assert caught.value.reason == (
        f"{EDITOR_DID_NOT_WRITE} {name}: {why}; the file on disk {outcome}"
    )


@pytest.mark.parametrize("make", ALL_EDITORS, ids=name_of)
@pytest.mark.parametrize("mode", [0o444, 0o555])
async def test_a_read_only_file_is_not_written_or_deleted(
    tmp_path: Path, make: MAKE, mode: int
) -> None:
    setup = create_service(tmp_path, make())
    path = setup.write_file("a.txt", "a\n", mode)
    base = await setup.read("a.txt")
    for change in (
        setup.files.write(base.resolved, "b\n", base),
        setup.files.delete(base.resolved, base),
    ):
        with pytest.raises(ReadOnlyFileError):
            await change
    assert path.read_text() == "a\n"


@SAVERS
async def test_a_link_is_preserved_and_its_target_written(tmp_path: Path, make: MAKE) -> None:
    setup = create_service(tmp_path, make())
    target = setup.write_file("sub/target.txt", b"a\r\n", 0o640)
    link = setup.root / "link.txt"
    link.symlink_to("sub/target.txt")
    await setup.write("link.txt", "b\n")
    assert (await setup.read("link.txt")).text == "b\n"
    assert (setup.root / "sub" / "target.txt").stat().st_mode & 0o777 == 0o640
    if make is not LineFeedEditor:  # which puts a file in the place of a link, before we can mend
        assert (link.is_symlink(), target.read_bytes()) == (True, b"b\r\n")


@pytest.mark.parametrize("make", ALL_EDITORS, ids=name_of)
async def test_a_link_out_of_the_workspace_is_written_without_the_editor(
    tmp_path: Path, make: MAKE
) -> None:
    editor = make()
    setup = create_service(tmp_path, editor)
    target = setup.outside / "a.txt"
    target.write_bytes(b"a\r\n")
    (setup.root / "link").symlink_to(target)
    await setup.write("link", "b\n")
    assert target.read_bytes() == b"b\r\n"
    assert not isinstance(editor, NewlineKeepingEditor) or editor.calls == []
    assert (setup.root / "link").is_symlink()


@SAVERS
async def test_writing_a_dangling_link_creates_its_target(tmp_path: Path, make: MAKE) -> None:
    setup = create_service(tmp_path, make())
    (setup.root / "sub").mkdir()
    link = setup.root / "link"
    link.symlink_to("sub/new.txt")
    await setup.write("link", "a\n")
    assert link.read_text() == "a\n"
    if make is not LineFeedEditor:
        assert (setup.root / "sub" / "new.txt").read_text() == "a\n"


async def test_all_hard_links_of_a_file_show_the_new_content(tmp_path: Path) -> None:
    setup = create_service(tmp_path)
    first = setup.write_file("first", b"a long line\r\n", 0o755)
    second = setup.root / "second"
    second.hardlink_to(first)
    await setup.write("second", "b\n")
    assert (first.read_bytes(), first.samefile(second)) == (b"b\r\n", True)
    assert first.stat().st_mode & 0o777 == 0o755


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give")
async def test_a_file_of_another_user_keeps_its_owner(tmp_path: Path) -> None:
    setup = create_service(tmp_path)
    path = setup.write_file("a.txt", "a\n")
    os.chown(path, 1234, 2345)
    path.chmod(0o4750)
    await setup.write("a.txt", "b\n")
    status = path.stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o7777) == (1234, 2345, 0o4750)


@pytest.mark.parametrize("make", ALL_EDITORS, ids=name_of)
async def test_text_that_could_not_be_read_back_is_not_written(tmp_path: Path, make: MAKE) -> None:
    setup = create_service(tmp_path, make())
    path = setup.write_file("a.txt", b"\xe9\n")
    for text, kind in (("€", EncodingError), ("a\0", BinaryFileError), ("\1\2", BinaryFileError)):
        with pytest.raises(kind):
            await setup.write("a.txt", text)
    with pytest.raises(HugeFileError):
        await setup.write("a.txt", "x" * (MAX_BYTES + 1))
    assert path.read_bytes() == b"\xe9\n"


async def test_a_directory_is_not_written(tmp_path: Path) -> None:
    setup = create_service(tmp_path)
    path = await setup.files.resolve(".")
    with pytest.raises(PathIsDirectoryError):
        await setup.files.write(path, "a", None)


async def test_a_system_error_is_reported(tmp_path: Path) -> None:
    setup = create_service(tmp_path)
    setup.write_file("file", "a\n")
    with pytest.raises(FileNotWritableError) as caught:
        await setup.write("file/below", "b")
    assert caught.value.reason == "file/below cannot be written: Not a directory"
