"""Jupyter notebooks as text: cells below marker lines, which can be edited and turned back. Pure.

    %% cell 1 markdown
    # Title
    %% cell 2 code
    print(1)
    %% output
    > 1

`%% cell new code` begins a cell that is new. The text of an output is for reading only; without its
section, the outputs of its cell are removed.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from itertools import product
from pathlib import Path
from typing import Literal

from pydantic import JsonValue

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.text.json_values import Object, as_list, as_object, as_objects, as_text
from acp_server.tools.files.errors import FileError

SUFFIX = ".ipynb"
CELL_MARK = "%% cell"
OUTPUT_MARK = "%% output"
_OUTPUT_INDENT = "> "
KINDS = ("code", "markdown", "raw")
MAX_OUTPUT_CHARACTERS = 1_500
"""How much of the outputs of one cell is shown: their beginning."""
_NEW = "new"
NEW_NOTEBOOK = '{\n "cells": [],\n "metadata": {},\n "nbformat": 4,\n "nbformat_minor": 5\n}\n'
_IDS_SINCE_MINOR = 5
"""From nbformat 4.5 on, every cell has an id."""


class NotebookError(FileError):
    """The text cannot be turned back into a notebook."""


@frozen_dataclass
class NotebookCell:
    """A cell in the text: `number` is its place in the notebook, from 1; None if it is new."""

    number: int | None
    kind: str
    source: str
    output: str | None = None
    """The shown text of its outputs; None if it has none."""

    def render(self) -> str:
        """Return its lines."""
        mark = f"{CELL_MARK} {_NEW if self.number is None else self.number} {self.kind}\n"
        source = f"{self.source}\n" if self.source else ""
        output = "" if self.output is None else f"{OUTPUT_MARK}\n{self.output}"
        return f"{mark}{source}{output}"


@frozen_dataclass
class CellEdit:
    """A change of one cell: `cell` is its number or id, None for the end of the notebook."""

    cell: str | None
    source: str
    kind: str = ""
    """Its new kind; empty for the one that it has."""
    mode: Literal["replace", "insert", "delete"] = "replace"


def is_notebook(path: Path) -> bool:
    """Whether a file is a notebook, by its name."""
    return path.suffix.lower() == SUFFIX


def visible_text(path: Path, text: str) -> str:
    """Return a file's text as the model reads it: a notebook's cells, any other text as it is.

    A notebook that is broken, or whose cells hold marker lines themselves, is read as JSON.
    """
    document = _parse(text) if is_notebook(path) else None
    cells = None if document is None else _cells_of(document)
    return text if not cells else render_cells(cells)


def render_cells(cells: Sequence[NotebookCell]) -> str:
    """Return the text of cells."""
    return "".join(cell.render() for cell in cells)


def notebook_with_cells(text: str, cells_text: str) -> str:
    """Return the JSON of a notebook with the cells of an edited text; the rest stays as it is.

    Raises:
        NotebookError: The text has no such cells.
    """
    document = _parse(text)
    if document is None:
        raise NotebookError("the notebook is not valid JSON")
    originals = as_objects(document["cells"])
    before = _cells_of(document) or []
    has_ids = as_object(document).get("nbformat_minor")
    needs_id = isinstance(has_ids, int) and has_ids >= _IDS_SINCE_MINOR
    cells: list[JsonValue] = []
    used: set[int] = set()
    for cell in parse_cells(cells_text):
        if cell.number is None:
            cells.append(_new_cell(cell, len(cells), needs_id=needs_id))
            continue
        if not 1 <= cell.number <= len(originals) or cell.number in used:
            problem = (
                f"there is no cell {cell.number}, or it is there twice. A new cell begins with "
                f"`{CELL_MARK} {_NEW} {cell.kind}`"
            )
            raise NotebookError(problem)
        used.add(cell.number)
        cells.append(_changed_cell(originals[cell.number - 1], before[cell.number - 1], cell))
    document["cells"] = cells
    return _dump(document, text)


def parse_cells(cells_text: str) -> list[NotebookCell]:
    """Return the cells of a text.

    Raises:
        NotebookError: A line is no part of a cell, or a marker is not complete.
    """
    cells: list[NotebookCell] = []
    lines: list[str] = []
    for line in (*cells_text.removesuffix("\n").split("\n"), CELL_MARK):
        if not line.startswith(CELL_MARK):
            lines.append(line)
            continue
        if cells:
            cells[-1] = _with_lines(cells[-1], lines)
        elif any(map(str.strip, lines)):
            problem = f"a cell begins with `{CELL_MARK} {_NEW} code`; {lines[0]!r} is in none"
            raise NotebookError(problem)
        lines = []
        cells.append(_marked_cell(line))
    return cells[:-1]


def _marked_cell(line: str) -> NotebookCell:
    words = line.removeprefix(CELL_MARK).split()
    number = int(words[0]) if words and words[0].isdecimal() else None
    kind = words[-1] if words else KINDS[0]
    if kind not in KINDS:
        kinds = ", ".join(KINDS)
        raise NotebookError(f"{line!r} must end with the kind of the cell: {kinds}")
    return NotebookCell(number, kind, "")


def _with_lines(cell: NotebookCell, lines: Sequence[str]) -> NotebookCell:
    if OUTPUT_MARK not in lines:
        return replace(cell, source="\n".join(lines))
    start = lines.index(OUTPUT_MARK)
    output = "".join(f"{line}\n" for line in lines[start + 1 :])
    return replace(cell, source="\n".join(lines[:start]), output=output)


def _parse(text: str) -> Object | None:
    try:
        document: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return None
    cells = as_object(document).get("cells")
    is_complete = isinstance(cells, list) and all(isinstance(each, dict) for each in cells)
    return as_object(document) if is_complete else None


def _cells_of(document: Mapping[str, JsonValue]) -> list[NotebookCell] | None:
    """Return the cells of a notebook; None if one holds a marker line or is of no known kind."""
    cells: list[NotebookCell] = []
    for number, cell in enumerate(as_objects(document["cells"]), 1):
        source, kind = _joined(cell.get("source")), as_text(cell.get("cell_type"))
        if kind not in KINDS or any(
            line.startswith((CELL_MARK, OUTPUT_MARK)) for line in source.split("\n")
        ):
            return None
        cells.append(NotebookCell(number, kind, source, _output_of(cell)))
    return cells


def _joined(value: JsonValue) -> str:
    """Return a text that a notebook may hold as a list of lines."""
    return as_text(value) or "".join(map(as_text, as_list(value)))


def _output_of(cell: Mapping[str, JsonValue]) -> str | None:
    outputs = as_objects(cell.get("outputs", []))
    if not outputs:
        return None
    text = "".join(map(_describe_output, outputs))
    shown = text[:MAX_OUTPUT_CHARACTERS]
    lines = shown.rstrip("\n").split("\n")
    if len(text) > len(shown):
        lines.append(f"... ({len(text):,} characters)")
    return "".join(f"{_OUTPUT_INDENT}{line}".rstrip() + "\n" for line in lines)


def _describe_output(output: Mapping[str, JsonValue]) -> str:
    if "ename" in output:
        text = f"{as_text(output['ename'])}: {as_text(output.get('evalue'))}"
    elif "text" in output:
        text = _joined(output["text"])
    else:
        data = as_object(output.get("data"))
        others = ", ".join(each for each in data if each != "text/plain")
        text = _joined(data.get("text/plain")) + (f"\n[{others}]" if others else "")
    return text if text.endswith("\n") else f"{text}\n"


def _changed_cell(raw: Object, before: NotebookCell, cell: NotebookCell) -> JsonValue:
    if cell == before:
        return raw
    changed = dict(raw)
    if cell.source != before.source:
        is_list = isinstance(raw.get("source"), list)
        changed["source"] = [*cell.source.splitlines(keepends=True)] if is_list else cell.source
    if cell.kind != before.kind:
        changed |= _new_cell(cell, 0, needs_id=False) | {"metadata": raw.get("metadata", {})}
        if cell.kind != "code":
            changed.pop("outputs", None)
            changed.pop("execution_count", None)
    elif cell.output is None and before.output is not None:
        changed |= {"outputs": [], "execution_count": None}
    elif cell.output != before.output:
        problem = (
            f"the output of cell {cell.number} cannot be edited. Change its source, or remove the "
            f"whole section `{OUTPUT_MARK}`"
        )
        raise NotebookError(problem)
    return changed


def _new_cell(cell: NotebookCell, position: int, *, needs_id: bool) -> Object:
    source: list[JsonValue] = [*cell.source.splitlines(keepends=True)]
    made: Object = {"cell_type": cell.kind, "metadata": {}, "source": source}
    if cell.kind == "code":
        made |= {"execution_count": None, "outputs": []}
    if needs_id:
        seed = f"{position} {cell.source}".encode(errors="replace")
        made["id"] = blake2b(seed, digest_size=4).hexdigest()
    return dict(sorted(made.items()))


def _dump(document: Object, like: str) -> str:
    """Return JSON in the form of another text, as far as that is a usual one."""
    original: JsonValue = json.loads(like)
    end = like[len(like.rstrip()) :]
    forms = product((False, True), (1, 2, 4, "\t", None))
    is_ascii, indent = next(
        (
            (is_ascii, indent)
            for is_ascii, indent in forms
            if json.dumps(original, ensure_ascii=is_ascii, indent=indent) == like.rstrip()
        ),
        (False, 1),
    )
    return json.dumps(document, ensure_ascii=is_ascii, indent=indent) + end


def edit_cell(text: str, edit: CellEdit) -> tuple[str, int]:
    """Return the JSON of a notebook with one cell changed, and the line of the cell in its text.

    Raises:
        NotebookError: There is no such cell, or the notebook cannot be read as cells.
    """
    document = _parse(text)
    cells = None if document is None else _cells_of(document)
    if document is None or cells is None:
        raise NotebookError("the notebook cannot be read as cells: change its JSON with patch")
    ids = [as_text(each.get("id")) for each in as_objects(document["cells"])]
    index = _cell_index(edit.cell, ids)
    if edit.mode == "insert":
        index = len(cells) if index is None else index + 1
        cells.insert(index, NotebookCell(None, edit.kind or KINDS[0], edit.source))
    elif index is None:
        raise NotebookError("name the cell by its number, as read_file shows it")
    elif edit.mode == "delete":
        del cells[index]
    else:
        kind = edit.kind or cells[index].kind
        cells[index] = replace(cells[index], kind=kind, source=edit.source)
    line = render_cells(cells[:index]).count("\n") + 1
    return notebook_with_cells(text, render_cells(cells)), line


def _cell_index(name: str | None, ids: Sequence[str]) -> int | None:
    """Return the index of the cell with an id or a number (`3`, `cell 3`); None without a name."""
    if name is None:
        return None
    if name in ids:
        return ids.index(name)
    number = name.lower().removeprefix("cell").strip(" -_#")
    if not number.isdecimal() or not 1 <= int(number) <= len(ids):
        raise NotebookError(f"there is no cell {name!r}: there are cells 1 to {len(ids)}")
    return int(number) - 1
