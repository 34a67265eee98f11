"""Files that the user points at: read where they may be, asked about elsewhere, never lost."""

from pathlib import Path

import pytest
from pydantic import JsonValue

from acp_server.tools.read.attachments import lines_of
from acp_server.turn.conversation import Attachment, Link, Media, Text, UserMessage
from acp_server.turn.ports import TextDelta
from tests.support.case_table import named_case
from tests.support.editor import Object, json_at
from tests.support.user_texts import (
    DOES_NOT_EXIST,
    HAS_NUL_CHARACTER,
    ON_ANOTHER_MACHINE,
    REJECTED_BY_USER,
)
from tests.tools.editor_session import ToolEditorSession, allow, open_tool_editor

TEXT = "one\ntwo\nthree\nfour\n"
ASKING = "session/request_permission"


async def attach(session: ToolEditorSession, *links: JsonValue) -> tuple[object, ...]:
    """Send a prompt with links; return the parts that the model was sent."""
    session.model.rounds = [[TextDelta("I see.")]]
    blocks: list[JsonValue] = [{"type": "text", "text": "Look"}, *links]
    assert await session.editor.prompt(session.session_id, blocks) == {"stopReason": "end_turn"}
    message = session.model.requests[-1].messages[-1]
    assert isinstance(message, UserMessage)
    assert message.parts[0] == Text("Look")
    return message.parts[1:]


def link(path: Path, fragment: str = "", name: str = "it") -> Object:
    """A link to a file, as editors write it."""
    return {"type": "resource_link", "uri": f"{path.as_uri()}{fragment}", "name": name}


async def test_a_workspace_file_is_attached_without_asking(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path, mode="ask") as session:
        path = session.write_file("a b/ünï.py", TEXT)
        uri = path.as_uri()
        assert "%20" in uri
        assert await attach(session, link(path)) == (Attachment(uri, TEXT),)
        assert session.editor.requests == []


FRAGMENTS = {
    "": TEXT,
    "#L2": "two\n",
    "#L2-3": "two\nthree\n",
    "#L2-L3": "two\nthree\n",
    "#L3:9": "three\nfour\n",
    "#L9-12": "",
    "#section": TEXT,
}


async def test_a_link_may_specify_lines(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        path = session.write_file("a.py", TEXT)
        for fragment, lines in FRAGMENTS.items():
            with named_case(fragment):
                assert lines_of(TEXT, fragment.removeprefix("#")) == lines
                expected = Attachment(f"{path.as_uri()}{fragment}", lines)
                assert await attach(session, link(path, fragment)) == (expected,)


async def test_lines_of_a_link_are_counted_as_read_file_counts_them(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        for number, character in enumerate("\f\v\x1c\x85\u2028"):
            with named_case(repr(character)):
                text = f"one{character}still one\ntwo\nthree\n"
                path = session.write_file(f"{number}.py", text)
                expected = Attachment(f"{path.as_uri()}#L2", "two\n")
                assert await attach(session, link(path, "#L2")) == (expected,)


async def test_an_image_is_attached_as_an_image(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        path = session.write_file("a.gif", b"GIF89a\x01\x00\x01\x00\x00")
        (media,) = await attach(session, link(path))
        assert isinstance(media, Media)
        assert media.mime_type == "image/gif"


async def test_a_file_outside_is_attached_after_the_user_allows_it(
    tmp_path: Path,
) -> None:
    async with open_tool_editor(tmp_path, mode="ask", answers={ASKING: allow()}) as session:
        path = session.outside / "notes.txt"
        path.write_text(TEXT)
        assert await attach(session, link(path, name="notes")) == (Attachment(path.as_uri(), TEXT),)
        (permission,) = session.editor.asked(ASKING)
        updates = session.updates_of(str(json_at(permission, "toolCall", "toolCallId")))
        assert (updates.title, updates.statuses) == (
            "Read notes (attached)",
            ["pending", "completed"],
        )
        assert updates.locations == [{"path": str(path)}]


@pytest.mark.parametrize("name", [".env", "../outside/notes.txt", "out/notes.txt"])
async def test_a_file_the_user_does_not_allow_stays_a_link(tmp_path: Path, name: str) -> None:
    answers = {ASKING: allow("reject_once")}
    async with open_tool_editor(tmp_path, mode="accept_edits", answers=answers) as session:
        session.write_file(".env", "KEY=do-not-tell")
        (session.outside / "notes.txt").write_text("do-not-tell")
        (session.root / "out").symlink_to(session.outside)
        path = session.root / name
        attached, note = await attach(session, link(path))
        assert attached == Link(path.as_uri(), "it")
        assert isinstance(note, Text)
        assert note.text.startswith(f"(it was not read: {REJECTED_BY_USER}")
        assert len(session.editor.asked(ASKING)) == 1


@pytest.mark.parametrize(
    ("uri", "note"),
    [
        ("https://example.org/a.py", None),
        ("zed:///thread/1", None),
        ("file://elsewhere/a.py", ON_ANOTHER_MACHINE),
        ("file:///%00", HAS_NUL_CHARACTER),
    ],
)
async def test_a_link_to_no_local_file_stays_a_link(
    tmp_path: Path, uri: str, note: str | None
) -> None:
    async with open_tool_editor(tmp_path) as session:
        parts = await attach(session, {"type": "resource_link", "uri": uri, "name": "it"})
        assert parts[0] == Link(uri, "it")
        assert len(parts) == (1 if note is None else 2)
        assert note is None or note in str(parts[1])


@pytest.mark.parametrize("kind", ["missing", "folder", "binary"])
async def test_a_failed_attachment_is_reported(tmp_path: Path, kind: str) -> None:
    async with open_tool_editor(tmp_path) as session:
        path = session.root / kind
        if kind == "folder":
            session.write_file("folder/a.py", TEXT)
        elif kind == "binary":
            session.write_file("binary", b"\x7fELF\x00\x01")
        attached, note = await attach(session, link(path))
        assert attached == Link(path.as_uri(), "it")
        reasons = {"missing": DOES_NOT_EXIST, "folder": "it holds a.py", "binary": "not text"}
        assert isinstance(note, Text)
        assert reasons[kind] in note.text


async def test_a_prompt_cancelled_during_a_permission_request_returns_at_once(
    tmp_path: Path,
) -> None:
    async with open_tool_editor(tmp_path, mode="ask") as session:
        path = session.outside / "notes.txt"
        path.write_text(TEXT)
        blocks: list[JsonValue] = [{"type": "text", "text": "Look"}, link(path)]
        params: Object = {"sessionId": session.session_id, "prompt": blocks}
        pending = session.editor.start_request("session/prompt", params)
        question = await session.editor.wait_for_response(
            lambda message: message.get("method") == ASKING
        )
        session.editor.cancel(session.session_id)
        assert json_at(await pending.response(), "result", "stopReason") == "cancelled"
        call_id = str(json_at(question, "params", "toolCall", "toolCallId"))
        assert session.updates_of(call_id).statuses[-1] == "failed"
        session.editor.reply(
            question, {"outcome": {"outcome": "selected", "optionId": "allow_once"}}
        )
        assert await attach(session) == ()
