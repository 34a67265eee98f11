"""A session as one HTML file that needs nothing else: no script, no font, no request.

Everything in a session is untrusted: texts are escaped, Markdown is rendered without raw HTML and
without images, links open only web pages, and a content policy forbids everything but the styles.
"""

from collections.abc import Iterator
from datetime import datetime
from html import escape
from pathlib import Path
from typing import assert_never

from markdown_it import MarkdownIt

from acp_server.cli.screen import printable
from acp_server.cli.stored_transcript import PLAN_CHECKBOXES
from acp_server.cli.text_lines import diff_lines, output_lines
from acp_server.cli.transcript import FactEntry, PlanChange, TextEntry, Transcript, TranscriptEntry
from acp_server.headless.tool_call_state import ToolCallState
from acp_server.protocol.content import TextContent
from acp_server.protocol.tool_calls import Content, Diff, Terminal
from acp_server.text.redaction import Redactor
from acp_server.text.surrogates import repair_surrogates

MAX_OUTPUT_LINES = 400
STYLES = Path(__file__).with_name("text") / "session.css"
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STATUS = {"completed": "done", "failed": "failed", "pending": "open", "in_progress": "open"}
_SIGNS = {"+": "add", "-": "del", " ": "ctx", "gap": "gap"}


def html_document(
    title: str, cwd: str, updated_at: datetime, transcript: Transcript, redactor: Redactor
) -> str:
    """Return a session as an HTML document without the secrets that `redactor` finds."""
    page = _HtmlRenderer(redactor)
    name = " ".join(title.split()) or "Session"
    body = "\n".join(filter(None, map(page.render, transcript.entries)))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{page.text(name)}</title>\n<style>\n{STYLES.read_text('utf-8')}</style>\n"
        f"</head>\n<body>\n<header><h1>{page.text(name)}</h1>\n"
        f"<p>{page.text(cwd)}, {updated_at:%Y-%m-%d %H:%M} UTC</p></header>\n"
        f"<main>\n{body}\n</main>\n</body>\n</html>"
    )


class _HtmlRenderer:
    """Renders the entries of one document."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._markdown = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")

    def text(self, text: str) -> str:
        """Return a text as HTML."""
        return escape(self._clean(text))

    def render(self, entry: TranscriptEntry) -> str:
        """Return an entry as HTML; empty if it has nothing to show."""
        match entry:
            case TextEntry():
                return self._message(entry)
            case ToolCallState():
                return self._call(entry)
            case PlanChange():
                items = (
                    f"<li>{PLAN_CHECKBOXES[each.status]} {self.text(each.content)}</li>"
                    for each in entry.entries
                )
                return f'<ul class="plan">{"".join(items)}</ul>'
            case FactEntry():
                fact = f"{entry.label}: {' '.join(entry.parts)}"
                return f'<p class="fact">{self.text(fact)}</p>'
            case _:
                assert_never(entry)

    def _message(self, entry: TextEntry) -> str:
        if not entry.text.strip():
            return ""
        if entry.kind == "prompt":
            return f'<section class="user"><pre>{self.text(entry.text)}</pre></section>'
        return f'<section class="agent">{self._markdown.render(self._clean(entry.text))}</section>'

    def _call(self, call: ToolCallState) -> str:
        status = _STATUS[call.status]
        head = f'<summary><span class="{status}">{status}</span> {self.text(call.title)}</summary>'
        content = "".join(self._call_content(call))
        is_edit = any(isinstance(block, Diff) for block in call.content)
        opened = " open" if is_edit else ""
        return f'<details class="call"{opened}>{head}{content}</details>'

    def _call_content(self, call: ToolCallState) -> Iterator[str]:
        for block in call.content:
            match block:
                case Content(content=TextContent(text=text)):
                    yield self._lines(text)
                case Diff():
                    yield self._diff(block)
                case Terminal():
                    yield self._lines(call.output(block))
                case _:
                    pass

    def _lines(self, text: str) -> str:
        lines = output_lines(self._clean(text))
        hidden = len(lines) - MAX_OUTPUT_LINES
        more = f'\n<span class="gap">{hidden} more lines</span>' if hidden > 0 else ""
        shown = escape("\n".join(lines[:MAX_OUTPUT_LINES]))
        return f"<pre>{shown}{more}</pre>" if shown else ""

    def _diff(self, diff: Diff) -> str:
        old = None if diff.old_text is None else self._clean(diff.old_text)
        lines = diff_lines(old, self._clean(diff.new_text))
        rows = (
            f'<span class="{_SIGNS[line.sign]}">'
            f"{'' if line.sign == 'gap' else line.sign}{escape(line.text) or ' '}</span>"
            for line in lines[:MAX_OUTPUT_LINES]
        )
        path = self.text(str(diff.path))
        return f'<p class="path">{path}</p><pre class="diff">{"".join(rows)}</pre>'

    def _clean(self, text: str) -> str:
        return printable(self._redactor.redact(repair_surrogates(text)))
