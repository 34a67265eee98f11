"""Replays what models did with other agents: `python -m tests.benchmarks.replay TRANSCRIPT...`.

Each read and edit of the transcripts (Claude Code, OpenCode, Gemini CLI; files or folders) is made
again with our tools, on files with the text that the transcript shows. Reads: bytes of our results
and of the originals, further calls included, which are made until all lines of the original were
shown. Edits: applied with the same text, applied with another text, or refused.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import anyio

from acp_server.session.seen_files import SeenFiles
from acp_server.turn.conversation import AssistantMessage, Text, ToolCall, ToolResult, UserMessage
from acp_server.turn.ports import Toolbox, ToolOutcome
from tests.benchmarks.transcripts import Compaction, Edit, Read, Transcript, load_transcript
from tests.tools.editor_session import ToolEditorSession, open_tool_editor
from tests.turn.fake_sinks import MemorySink

MAX_FURTHER_CALLS = 50
SHOWN_EDITS = 40

_call_numbers = count(1)


@dataclass(slots=True)
class Figures:
    """Sums over the transcripts of one agent."""

    transcripts: int = 0
    reads: int = 0
    their_bytes: int = 0
    """Without reminders that the agent adds to its results."""
    received_bytes: int = 0
    our_bytes: int = 0
    unchanged: int = 0
    """Reads that were answered by a reference to an earlier result."""
    continued: int = 0
    """Reads that needed further calls."""
    further_calls: int = 0
    applied: int = 0
    refused: list[str] = field(default_factory=list[str])
    """Edits that the other agent applied, with our texts."""
    both_refused: int = 0
    newly_applied: list[str] = field(default_factory=list[str])
    """Edits that the other agent refused."""
    different: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True)
class Replayer:
    """Our tools, on a workspace that holds the file of the present step."""

    session: ToolEditorSession
    toolbox: Toolbox
    seen: SeenFiles
    files: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """The lines of each file as far as they are known."""

    async def replay(self, transcript: Transcript, figures: Figures) -> None:
        """Make the calls of a transcript, as one conversation."""
        figures.transcripts += 1
        self.seen.forget_all()
        self.files.clear()
        for step in transcript.steps:
            match step:
                case Compaction():
                    self.seen.rebuild(())
                case Read():
                    await self._read(step, figures)
                case Edit():
                    await self._edit(step, figures)

    async def _read(self, read: Read, figures: Figures) -> None:
        if not read.lines:
            return
        path = self._write_known_text(read)
        last_line = read.first_line - 1 + len(read.lines)
        asked = {"offset": read.offset, "limit": read.limit}
        arguments = {name: value for name, value in asked.items() if value}
        results = [(await self._call("read_file", path=path, **arguments)).text]
        shown_to = _last_shown_line(results[-1], read.total_lines)
        while shown_to < last_line and len(results) <= MAX_FURTHER_CALLS:
            arguments = {**arguments, "offset": shown_to + 1}
            if read.limit:
                arguments["limit"] = last_line - shown_to
            results.append((await self._call("read_file", path=path, **arguments)).text)
            shown_to = _last_shown_line(results[-1], read.total_lines)
        figures.reads += 1
        figures.their_bytes += len(read.plain_result.encode())
        figures.received_bytes += len(read.result.encode())
        figures.our_bytes += sum(len(text.encode()) for text in results)
        figures.unchanged += results[0].startswith("unchanged since")
        figures.continued += len(results) > 1
        figures.further_calls += len(results) - 1

    def _write_known_text(self, read: Read) -> str:
        """Write the file of a read: lines that were never shown are filled with other text."""
        known = self.files.get(read.path, [])
        if len(known) != read.total_lines:
            filler = f"{sum(map(len, read.lines)) // len(read.lines) * 'x'}"
            known = [filler] * read.total_lines
        known[read.first_line - 1 : read.first_line - 1 + len(read.lines)] = read.lines
        self.files[read.path] = known
        return self._write(read.path, "".join(f"{line}\n" for line in known))

    def _write(self, path: str, text: str) -> str:
        name = path.replace("\\", "/").replace(":", "").strip("/")
        self.session.write_file(name, text)
        return name

    async def _edit(self, edit: Edit, figures: Figures) -> None:
        path = self._write(edit.path, edit.before)
        outcome = await self._call(
            "patch",
            path=path,
            old_string=edit.old,
            new_string=edit.new,
            replace_all=edit.replace_all,
        )
        after = (self.session.root / path).read_bytes().decode()
        self.files[edit.path] = (edit.after or edit.before).removesuffix("\n").split("\n")
        report = f"{edit.path}\n{edit.old}\n=====\n{edit.new}\n=====\n{outcome.text}"
        if outcome.is_error and edit.after is None:
            figures.both_refused += 1
        elif outcome.is_error:
            figures.refused.append(report)
        elif edit.after is None:
            figures.newly_applied.append(report)
        elif after == edit.after:
            figures.applied += 1
        else:
            figures.different.append(report)

    async def _call(self, tool: str, **arguments: str | int) -> ToolOutcome:
        """Make a call, and tell the session that the model received the result."""
        call = ToolCall(f"call-{next(_call_numbers)}", tool, json.dumps(arguments))
        live = await self.toolbox.open(call.id, call.name, MemorySink())
        outcome = await live.run(call)
        self.seen.append(UserMessage((ToolResult(call.id, outcome.text),)))
        self.seen.append(AssistantMessage((Text("Next."),)))
        return outcome


def _last_shown_line(text: str, total_lines: int) -> int:
    """Return the number of the last line that a result of `read_file` shows."""
    last = text.rpartition("\n")[2]
    _, has_more, next_line = last.rpartition(": offset=")
    if has_more and next_line.endswith("]") and next_line[:-1].isdecimal():
        return int(next_line[:-1]) - 1
    return total_lines


def _paths(given: Sequence[Path]) -> Iterator[Path]:
    for path in given:
        yield from sorted(path.rglob("*.json*")) if path.is_dir() else (path,)


async def replay_all(paths: Sequence[Path]) -> dict[str, Figures]:
    """Replay transcripts; return the figures of each agent."""
    by_family: dict[str, Figures] = {}
    with tempfile.TemporaryDirectory() as folder:
        async with open_tool_editor(Path(folder)) as session:
            seen = session.registry.find(session.session_id).context.seen_files
            replayer = Replayer(session, await session.toolbox(), seen)
            for path in paths:
                transcript = load_transcript(path)
                figures = by_family.setdefault(transcript.family, Figures())
                await replayer.replay(transcript, figures)
    return by_family


def _format(by_family: dict[str, Figures]) -> Iterator[str]:
    yield (
        "| reads | transcripts | reads | our KB | their KB | ratio | with reminders | ratio "
        "| unchanged | continued | further calls |"
    )
    yield f"|---|{'---:|' * 10}"
    for family, each in by_family.items():
        theirs = " | ".join(
            f"{size // 1000:,} | {each.our_bytes / max(size, 1):.3f}"
            for size in (each.their_bytes, each.received_bytes)
        )
        yield (
            f"| {family} | {each.transcripts} | {each.reads:,} | {each.our_bytes // 1000:,} | "
            f"{theirs} | {each.unchanged:,} | {each.continued:,} | {each.further_calls:,} |"
        )
    yield ""
    yield (
        "| edits | as there | different | refused here only | applied here only | refused by both |"
    )
    yield f"|---|{'---:|' * 5}"
    for family, each in by_family.items():
        yield (
            f"| {family} | {each.applied:,} | {len(each.different)} | {len(each.refused)} | "
            f"{len(each.newly_applied)} | {each.both_refused} |"
        )


def main() -> None:
    """Replay and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("transcripts", nargs="+", type=Path)
    parser.add_argument("--edits", action="store_true", help="show the edits that need a look")
    options = parser.parse_args()
    given: list[Path] = options.transcripts
    by_family = anyio.run(replay_all, tuple(_paths(given)))
    print(*_format(by_family), sep="\n")
    if options.edits:
        for each in by_family.values():
            groups = each.different, each.refused, each.newly_applied
            for title, reports in zip(("different", "refused", "new"), groups, strict=True):
                for report in reports[:SHOWN_EDITS]:
                    print(f"\n##### {title}\n{report}")


if __name__ == "__main__":
    main()
