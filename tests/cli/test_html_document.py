"""A session as an HTML file: it reads well, needs nothing, and cannot do anything."""

from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

from acp_server.cli.html_document import html_document
from acp_server.cli.transcript import TextEntry, Transcript
from acp_server.headless.tool_call_state import ToolCallState
from acp_server.protocol.content import TextContent
from acp_server.protocol.tool_calls import Content, Diff
from acp_server.text.redaction import Redactor

WHEN = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
HOSTILE = "<script>alert(1)</script> ![x](https://x.example/p.png) [y](javascript:alert(1))"
TEXT_TAGS = {"h1", "h2", "p", "pre", "code", "span", "strong", "em", "a", "ul", "ol", "li"}
TABLE_TAGS = {"table", "thead", "tbody", "tr", "th", "td"}
PAGE_TAGS = {"html", "head", "meta", "title", "style", "body", "header", "main", "section"}
TAGS = {*TEXT_TAGS, *TABLE_TAGS, *PAGE_TAGS, "details", "summary"}


class TagCollector(HTMLParser):
    """Collects the tags and the links of a document."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)
        self.links += [value or "" for name, value in attrs if name in {"href", "src"}]


def render(*entries: TextEntry | ToolCallState) -> str:
    transcript = Transcript()
    transcript.entries += entries
    redactor = Redactor(("the-secret",), (Path("/home/me"),))
    return html_document(f"Fix {HOSTILE}", "/home/me/shop", WHEN, transcript, redactor)


def edit() -> ToolCallState:
    diff = Diff(path="/home/me/shop/a.py", old_text="x = 1\n", new_text="x = 2\n")
    text = Content(content=TextContent(text=f"out {HOSTILE} the-secret\x1b[31m"))
    return ToolCallState(0.0, title=f"Edit {HOSTILE}", status="completed", content=[diff, text])


def test_texts_calls_and_diffs_are_shown() -> None:
    page = render(TextEntry("prompt", "Fix **it**"), edit(), TextEntry("message", "**Done** `x`"))
    assert "<pre>Fix **it**</pre>" in page
    assert "<strong>Done</strong> <code>x</code>" in page
    assert '<span class="del">-x = 1</span><span class="add">+x = 2</span>' in page
    assert "~/shop, 2026-03-01 12:30 UTC" in page


def test_nothing_in_a_session_becomes_active() -> None:
    page = TagCollector()
    page.feed(render(TextEntry("prompt", HOSTILE), edit(), TextEntry("message", HOSTILE)))
    assert page.tags <= TAGS
    assert page.links == ["https://x.example/p.png"]  # a link that opens only if clicked
    assert not any(name.startswith("on") for name in page.attributes)


def test_secrets_and_control_characters_are_removed() -> None:
    page = render(
        TextEntry("message", "key sk-ant-0123456789abcdef, the-secret, /home/me/x"), edit()
    )
    assert "the-secret" not in page
    assert "sk-ant" not in page
    assert "/home/me" not in page
    assert "\x1b" not in page
