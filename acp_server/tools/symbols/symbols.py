"""Calls of the tool `symbols`: outlines, definitions, references, and previews of renames."""

import logging
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import assert_never

import anyio
from anyio import to_thread

from acp_server.session.ports.editor import (
    EditorError,
    EditorSymbol,
    EditorSymbols,
    SymbolQuery,
)
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.arguments import PartialArguments
from acp_server.tools.call_reporter import CallReporter
from acp_server.tools.edit.edit_flow import read_question
from acp_server.tools.errors import ToolError
from acp_server.tools.files.errors import PathIsDirectoryError
from acp_server.tools.files.paths import ResolvedPath
from acp_server.tools.shortening import one_line
from acp_server.tools.symbols.call_arguments import SymbolArguments, SymbolServices
from acp_server.tools.symbols.definition_index import find_candidates
from acp_server.tools.symbols.editor_lookup import (
    RenamePreview,
    apply_places,
    read_definitions,
    read_places,
    to_code_symbol,
    to_references,
)
from acp_server.tools.symbols.formatting import (
    format_definition,
    format_outline,
    format_references,
)
from acp_server.tools.symbols.grammars import language_of
from acp_server.tools.symbols.lookup import (
    FileReferences,
    FoundDefinition,
    LookupCoverage,
    find_definitions,
    find_references,
)
from acp_server.tools.symbols.outline import (
    MAX_SOURCE_BYTES,
    CodeSymbol,
    SymbolName,
    find_mentions_of,
    find_symbols,
)
from acp_server.tools.symbols.rename import format_file_patch, replace_name
from acp_server.tools.symbols.source_files import SourceFile, SourceTree
from acp_server.tools.tool import CallDescription, TypedToolUse
from acp_server.turn.call_access import READS
from acp_server.turn.events import Location
from acp_server.turn.ports import ToolOutcome

logger = logging.getLogger(__name__)

MAX_SHOWN_DEFINITIONS = 20
MAX_SHOWN_LINES = 100
MAX_TITLE_CHARACTERS = 60
MAX_RESULT_CHARACTERS = 25_000
EDITOR_SECONDS = 5.0
"""How long the editor's language features may take; then the files are parsed here."""
_NEW_NAME = re.compile(r"[^\W\d][\w$]*[?!]?")
BY_NAME = "[found by name, not by scope: check each place]"


class SymbolError(ToolError):
    """A call that finds nothing or lacks something. `reason` says what to do instead."""


@frozen_dataclass
class _Answer:
    """What a call found: its text, the places to open, and the end of its title."""

    text: str
    locations: tuple[Location, ...]
    summary: str


class SymbolsUse(TypedToolUse[SymbolArguments]):
    """One call of `symbols`."""

    usual_access = READS

    def __init__(self, services: SymbolServices, reporter: CallReporter) -> None:
        super().__init__(SymbolArguments, reporter)
        self._services = services

    def describe(self, so_far: PartialArguments) -> CallDescription | None:
        """Return the action, and the file or the symbol, as the title."""
        action, path = so_far.complete_text("action"), so_far.complete_text("path")
        if action is None:
            return None
        if action == "outline":
            return self._services.edit.describe_file("Outline", path)
        name = so_far.text("name")
        if not name:
            return None
        title = _title(action, name)
        return CallDescription(title, self._services.edit.locations_of(path or "."))

    async def run(self, arguments: SymbolArguments) -> ToolOutcome:
        """Ask permission, and find it."""
        _check(arguments)
        edit = self._services.edit
        resolved = await edit.resolve(arguments.path or ".")
        shown = edit.display_path(resolved.path)
        is_outline = arguments.action == "outline"
        title = f"Outline {shown}" if is_outline else _title(arguments.action, arguments.name)
        asks_editor = self._services.editor.has_symbols
        # The editor answers for the whole workspace, whatever the path.
        is_wide = asks_editor and not is_outline and arguments.path
        paths = (resolved, await edit.resolve(".")) if is_wide else (resolved,)
        question = read_question(
            self.reporter.call_id,
            f"{title} in {shown}" if shown != "." else title,
            *paths,
        )
        if not is_outline:
            question = replace(question, kind="search")
        await self.require_permission(edit.gate, question)
        found = await self._ask_editor(arguments, resolved) if asks_editor else None
        answer = await (
            self._answer(arguments, resolved)
            if found is None
            else self._show_editor_answer(arguments, resolved, found)
        )
        locations = answer.locations or (Location(str(resolved.path)),)
        await self.reporter.describe(f"{title}: {answer.summary}", locations)
        output = await self._services.outputs.excerpt(
            self.reporter.call_id, answer.text, MAX_RESULT_CHARACTERS
        )
        return ToolOutcome(
            output.text, touched_paths=(str(resolved.path),), saved_to=output.saved_to
        )

    async def _answer(self, arguments: SymbolArguments, resolved: ResolvedPath) -> _Answer:
        if arguments.action == "outline":
            return await self._outline(resolved)
        tree = await SourceTree.below(self._services.edit, self._services.sandbox, resolved)
        match arguments.action:
            case "definition":
                return await self._definition(tree, SymbolName.parse(arguments.name))
            case "references":
                return await self._references(tree, SymbolName.parse(arguments.name).last)
            case "rename":
                name = SymbolName.parse(arguments.name).last
                return await self._rename(tree, name, arguments.new_name)
            case _:
                assert_never(arguments.action)

    async def _ask_editor(
        self, arguments: SymbolArguments, resolved: ResolvedPath
    ) -> EditorSymbols | None:
        """Return what the editor's language features know; None if nothing."""
        is_file = await to_thread.run_sync(resolved.real.is_file)
        path = resolved.path if is_file else None
        query = SymbolQuery(arguments.action, path, arguments.name, arguments.new_name)
        try:
            with anyio.fail_after(EDITOR_SECONDS):
                found = await self._services.editor.find_symbols(query)
        except (EditorError, TimeoutError) as error:
            logger.info("the editor did not answer about symbols: %r", error)
            return None
        return found if found.symbols or found.places else None

    async def _show_editor_answer(
        self, arguments: SymbolArguments, resolved: ResolvedPath, found: EditorSymbols
    ) -> _Answer:
        edit = self._services.edit
        if arguments.action == "outline":
            snapshot = await edit.files.read(resolved)
            symbols = [to_code_symbol(each) for each in found.symbols]
            return _outline_of(resolved, symbols, snapshot.text.replace("\r\n", "\n").split("\n"))
        root = await edit.resolve(".")
        tree = await SourceTree.below(edit, self._services.sandbox, root)
        if found.symbols:
            return await self._editor_symbols(tree, arguments, found.symbols)
        places = await read_places(tree, found.places)
        outside = [f"{each.path}:{each.line}" for each in places.outside]
        if arguments.action == "references":
            return self._show_references(await to_references(places), outside, "")
        changes = [apply_places(source, each) for source, each in places.by_file]
        return self._show_rename(changes, _outside_note(outside))

    async def _editor_symbols(
        self, tree: SourceTree, arguments: SymbolArguments, symbols: Sequence[EditorSymbol]
    ) -> _Answer:
        """Return definitions, or that a name has several meanings."""
        found, outside = await read_definitions(tree, symbols)
        elsewhere = [f"{each.path}:{each.name_line}" for each in outside]
        answer = self._show_definitions(found, _outside_note(elsewhere))
        if arguments.action == "definition":
            return answer
        advice = "Several symbols are meant. Give path, or a name such as Order.total:"
        text = _join(advice, answer.text)
        return replace(answer, text=text)

    async def _outline(self, resolved: ResolvedPath) -> _Answer:
        shown = self._services.edit.display_path(resolved.path)
        language = language_of(resolved.path.name)
        if language is None:
            raise SymbolError(f"{shown} has no known language: use read_file or search_files")
        try:
            snapshot = await self._services.edit.files.read(resolved)
        except PathIsDirectoryError as error:
            raise SymbolError(f"{shown} is a folder: give one file to outline") from error
        if len(snapshot.text) > MAX_SOURCE_BYTES:
            reason = f"{shown} has {len(snapshot.text):,} characters, too many to parse"
            raise SymbolError(f"{reason}: use search_files")
        source = SourceFile(resolved, language, snapshot.text.replace("\r\n", "\n"))
        symbols = await to_thread.run_sync(find_symbols, source.data, language)
        if not symbols:
            return _Answer(f"{shown} defines no symbols.", (), "nothing")
        return _outline_of(resolved, symbols, source.lines)

    async def _definition(self, tree: SourceTree, name: SymbolName) -> _Answer:
        paths, is_complete = await self._files_that_may_define(tree, name.last)
        found, coverage = await find_definitions(tree, name, paths)
        note = _coverage_note(coverage, is_complete=is_complete)
        if not found:
            return _nothing(f"No definition of {'.'.join((*name.containers, name.last))}", note)
        return self._show_definitions(found, note)

    def _show_definitions(self, found: Sequence[FoundDefinition], note: str) -> _Answer:
        shown = [
            format_definition(
                self._name_of(each.source), each.symbol, each.source.lines, whole=len(found) == 1
            )
            for each in found[:MAX_SHOWN_DEFINITIONS]
        ]
        if len(found) > MAX_SHOWN_DEFINITIONS:
            shown.append(f"[{len(found) - MAX_SHOWN_DEFINITIONS:,} more]")
        locations = tuple(
            Location(str(each.source.resolved.path), each.symbol.name_line)
            for each in found[:MAX_SHOWN_DEFINITIONS]
        )
        return _Answer(_join(*shown, note), locations, f"{len(found):,} found")

    async def _files_that_may_define(
        self, tree: SourceTree, name: str
    ) -> tuple[Sequence[Path], bool]:
        """Return the files to look for a definition in, and whether these are all of them."""
        services = self._services
        root = services.edit.workspace.cwd.resolve()
        if tree.root.real == root and not tree.is_protected:
            paths, is_complete = await tree.find_files(None)
            index = services.indexes.of(root)
            candidates = await find_candidates(index, name, paths, services.spawn)
            if candidates is not None:
                return candidates, is_complete
        return await tree.find_files(name)

    async def _references(self, tree: SourceTree, name: str) -> _Answer:
        files, note = await self._find_references(tree, name)
        if not files:
            return _nothing(f"No reference of {name}", note)
        return self._show_references(files, (), _join(note, BY_NAME))

    def _show_references(
        self, files: Sequence[FileReferences], outside: Sequence[str], note: str
    ) -> _Answer:
        shown: list[tuple[str, Sequence[int], Sequence[str], Sequence[CodeSymbol]]] = []
        left = MAX_SHOWN_LINES
        total = 0
        for each in files:
            numbers = list(dict.fromkeys(line for line, _ in each.places))
            total += len(numbers)
            if left > 0:
                source = each.source
                shown.append((self._name_of(source), numbers[:left], source.lines, each.symbols))
            left -= len(numbers)
        more = f"[{-left:,} more: give a path]" if left < 0 else ""
        locations = _locations(files)
        text = _join(format_references(shown), more, _outside_note(outside), note)
        return _Answer(text, locations, f"{total + len(outside):,} found")

    async def _rename(self, tree: SourceTree, name: str, new_name: str) -> _Answer:
        files, note = await self._find_references(tree, name)
        if not files:
            return _nothing(f"No reference of {name}", note)
        changes: list[RenamePreview] = []
        taken: list[str] = []
        for each in files:
            source, lines = each.source, each.source.lines
            new_lines = replace_name(lines, each.places, name, new_name)
            changes.append(RenamePreview(source, new_lines, each.places[0][0], len(each.places)))
            if new_name in source.text and await to_thread.run_sync(
                find_mentions_of, source.data, source.language, new_name
            ):
                taken.append(self._name_of(source))
        clash = f"[{new_name} is a name already in {', '.join(taken)}]" if taken else ""
        return self._show_rename(changes, _join(clash, note, BY_NAME))

    def _show_rename(self, changes: Sequence[RenamePreview], note: str) -> _Answer:
        patches = [
            format_file_patch(self._name_of(each.source), each.source.lines, each.new_lines)
            for each in changes
        ]
        places = f"{sum(each.count for each in changes):,} places in {len(changes):,} files"
        text = _join(
            f"Nothing was changed. To rename the {places}, give this to patch:",
            "*** Begin Patch",
            *patches,
            "*** End Patch",
            note,
        )
        locations = tuple(
            Location(str(each.source.resolved.path), each.first_line) for each in changes
        )
        return _Answer(text, locations[:MAX_SHOWN_DEFINITIONS], places)

    async def _find_references(
        self, tree: SourceTree, name: str
    ) -> tuple[Sequence[FileReferences], str]:
        paths, is_complete = await tree.find_files(name)
        files, coverage = await find_references(tree, name, paths)
        return files, _coverage_note(coverage, is_complete=is_complete)

    def _name_of(self, source: SourceFile) -> str:
        return self._services.edit.display_path(source.resolved.path)


def _check(arguments: SymbolArguments) -> None:
    """Raise a `SymbolError` if an argument that the action needs is missing or invalid."""
    if arguments.action == "outline":
        if not arguments.path:
            raise SymbolError("give path: the file to outline")
        return
    if not SymbolName.parse(arguments.name).last:
        raise SymbolError("give name: the symbol to look for")
    if arguments.action == "rename" and not _NEW_NAME.fullmatch(arguments.new_name):
        raise SymbolError("give new_name: one identifier, without blanks")


def _outline_of(
    resolved: ResolvedPath, symbols: Sequence[CodeSymbol], lines: Sequence[str]
) -> _Answer:
    text = format_outline(symbols, lines)
    return _Answer(text, (Location(str(resolved.path)),), f"{len(symbols):,} symbols")


def _outside_note(places: Sequence[str]) -> str:
    """Return the places outside the workspace; empty if there are none."""
    if not places:
        return ""
    more = ", and more" if len(places) > MAX_SHOWN_DEFINITIONS else ""
    return f"[outside the workspace: {', '.join(places[:MAX_SHOWN_DEFINITIONS])}{more}]"


def _title(action: str, name: str) -> str:
    shown = one_line(name, MAX_TITLE_CHARACTERS)
    titles = {
        "definition": f"Find the definition of `{shown}`",
        "references": f"Find references of `{shown}`",
        "rename": f"Preview a rename of `{shown}`",
    }
    return titles.get(action, f"Find `{shown}`")


def _coverage_note(coverage: LookupCoverage, *, is_complete: bool) -> str:
    """Return what a lookup has left out; empty if nothing."""
    notes = sorted(coverage.missing)
    if coverage.skipped:
        notes.append(f"{coverage.skipped:,} more files with the word were not read: give a path")
    if not is_complete:
        notes.append("the search for files was stopped: give a path")
    return f"[{'; '.join(notes)}]" if notes else ""


def _nothing(sentence: str, note: str) -> _Answer:
    text = f"{sentence} in files of a known language. search_files finds it elsewhere."
    return _Answer(_join(text, note), (), "nothing")


def _locations(files: Sequence[FileReferences]) -> tuple[Location, ...]:
    places = [
        Location(str(each.source.resolved.path), line) for each in files for line, _ in each.places
    ]
    return tuple(places[:MAX_SHOWN_DEFINITIONS])


def _join(*parts: str) -> str:
    return "\n".join(part for part in parts if part)
