"""Notebooks are read as cells and edited by cell; everything else in them stays as it is."""

import json
from pathlib import Path

import pytest
from pydantic import JsonValue

from acp_server.tools.files.notebooks import NotebookError, notebook_with_cells, visible_text
from tests.support.case_table import each_case, named_case
from tests.tools.editor_session import ToolEditorSession, open_tool_editor
from tests.tools.typing_model import call

NAME = Path("a.ipynb")
CODE: dict[str, JsonValue] = {
    "cell_type": "code",
    "execution_count": 3,
    "id": "c0de",
    "metadata": {"tags": ["x"]},
    "outputs": [
        {"name": "stdout", "output_type": "stream", "text": ["1\n", "%% cell 9 code\n"]},
        {"data": {"image/png": "iVBOR", "text/plain": ["<Figure>"]}, "output_type": "display_data"},
    ],
    "source": ["x = 1\n", "print(x)"],
}
TITLE: dict[str, JsonValue] = {
    "cell_type": "markdown", "id": "head", "metadata": {}, "source": "# Größe"
}  # fmt: skip
DOCUMENT: dict[str, JsonValue] = {
    "cells": [TITLE, CODE],
    "metadata": {"kernelspec": {"name": "python3"}},
    "nbformat": 4,
    "nbformat_minor": 5,
}
NOTEBOOK = json.dumps(DOCUMENT, indent=1, ensure_ascii=False) + "\n"
CELLS = """\
%% cell 1 markdown
# Größe
%% cell 2 code
x = 1
print(x)
%% output
> 1
> %% cell 9 code
> <Figure>
> [image/png]
"""


def changed(**fields: JsonValue) -> str:
    """Return the notebook with a changed code cell."""
    document = {**DOCUMENT, "cells": [TITLE, {**CODE, **fields}]}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


DOUBLED = changed(source=["x = 2\n", "print(x)"])


def open_notebook(session: ToolEditorSession, text: str = NOTEBOOK) -> Path:
    return session.write_file(NAME.name, text)


async def test_a_notebook_is_read_as_cells(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        open_notebook(session)
        updates = await session.run_one(call("read_file", path=NAME.name))
        numbered = CELLS.replace("print(x)", "5|print(x)").replace("> [image", "10|> [image")
        assert updates.text.startswith(numbered)
        assert "`%% cell new code` begins a new one" in updates.text


CELL_EDITS: dict[str, dict[str, JsonValue]] = {
    "text": {"path": "a.ipynb", "old_string": "x = 1", "new_string": "x = 2"},
    "V4A": {
        "mode": "patch",
        "patch": "*** Update File: a.ipynb\n@@\n %% cell 2 code\n-x = 1\n+x = 2\n",
    },
    "JSON": {"path": "a.ipynb", "old_string": '"x = 1\\n"', "new_string": '"x = 2\\n"'},
    "cell": {"path": "a.ipynb", "cell": "2", "new_string": "x = 2\nprint(x)"},
    "id of a cell": {"path": "a.ipynb", "cell": "c0de", "new_string": "x = 2\nprint(x)"},
}


async def test_a_cell_is_edited_and_nothing_else_changes(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        for name, arguments in CELL_EDITS.items():
            with named_case(name):
                path = open_notebook(session)
                await session.run_one(call("read_file", path=NAME.name))
                updates = await session.run_one(call("patch", **arguments))
                assert (updates.status, path.read_text()) == ("completed", DOUBLED)
                assert "changed" not in updates.text


async def test_an_edit_by_cell_of_another_agent_is_understood(tmp_path: Path) -> None:
    made: list[dict[str, JsonValue]] = [
        {"cell_id": "2", "new_source": "x = 2\nprint(x)"},
        {"cell_number": 1, "new_source": "Why", "edit_mode": "insert", "cell_type": "markdown"},
        {"cell_id": "head", "edit_mode": "delete"},
    ]
    async with open_tool_editor(tmp_path) as session:
        path = open_notebook(session)
        for each in made:
            updates = await session.run_one(call("NotebookEdit", notebook_path=NAME.name, **each))
            assert updates.status == "completed"
        kept = json.loads(path.read_text())["cells"]
        assert [(cell["cell_type"], cell["source"]) for cell in kept] == [
            ("markdown", ["Why"]),
            ("code", ["x = 2\n", "print(x)"]),
        ]


async def test_reading_and_editing_by_cell_is_no_change_by_the_user(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        path = open_notebook(session)
        await session.run_one(call("read_file", path=NAME.name))
        await session.run_one(call("patch", path=NAME.name, old_string="x = 1", new_string="x = 2"))
        sources = CELLS.replace("x = 1", "x = 3")
        updates = await session.run_one(call("write_file", path=NAME.name, content=sources))
        assert updates.status == "completed"
        assert path.read_text() == changed(source=["x = 3\n", "print(x)"])
        assert "Changed since" not in str(session.model.requests[-1].messages)


async def test_a_new_notebook_is_written_as_cells(tmp_path: Path) -> None:
    cells = "%% cell new markdown\n# T\n%% cell new code\nx = 1\n"
    async with open_tool_editor(tmp_path) as session:
        await session.run_one(call("write_file", path="new.ipynb", content=cells))
        text = (session.root / "new.ipynb").read_text()
        kinds = [(each["cell_type"], each["source"]) for each in json.loads(text)["cells"]]
        assert kinds == [("markdown", ["# T"]), ("code", ["x = 1"])]


@each_case("indent", [1, 2, 4, "\t", None])
@each_case("is_ascii", [False, True])
@each_case("end", ["", "\n"])
def test_the_form_of_the_json_is_kept(
    indent: int | str | None, end: str, *, is_ascii: bool
) -> None:
    text = json.dumps(DOCUMENT, indent=indent, ensure_ascii=is_ascii) + end
    assert visible_text(NAME, text) == CELLS
    assert notebook_with_cells(text, CELLS) == text


def test_cells_are_added_moved_turned_and_removed() -> None:
    cells = "%% cell 2 code\nx = 1\nprint(x)\n%% cell new raw\nnew\n%% cell 1 code\n# Größe\n"
    made = json.loads(notebook_with_cells(NOTEBOOK, cells))["cells"]
    assert [(each["cell_type"], each.get("outputs")) for each in made] == [
        ("code", []),
        ("raw", None),
        ("code", []),
    ]
    assert [each["id"] for each in made][::2] == ["c0de", "head"]
    assert json.loads(notebook_with_cells(NOTEBOOK, "%% cell 1 markdown\n# Größe\n"))["cells"] == [
        TITLE
    ]


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        pytest.param(CELLS.replace("> 1\n", "> 2\n"), "output of cell 2", id="an output"),
        pytest.param(CELLS.replace("cell 1", "cell 7"), "no cell 7", id="no such cell"),
        pytest.param(CELLS.replace("cell 2", "cell 1"), "twice", id="a cell twice"),
        pytest.param(f"text\n{CELLS}", "is in none", id="text in no cell"),
        pytest.param(CELLS.replace("markdown", "prose"), "code, markdown, raw", id="a kind"),
    ],
)
def test_a_text_that_is_no_notebook_is_refused(cells: str, reason: str) -> None:
    with pytest.raises(NotebookError, match=reason):
        notebook_with_cells(NOTEBOOK, cells)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("{", id="no JSON"),
        pytest.param('{"cells": 3}', id="no cells"),
        pytest.param(
            '{"cells": [{"cell_type": "code", "source": "%% cell 1"}]}', id="marker lines"
        ),
        pytest.param('{"cells": [{"cell_type": "other", "source": ""}]}', id="another kind"),
    ],
)
def test_what_cannot_be_read_as_cells_is_read_as_it_is(text: str) -> None:
    assert visible_text(NAME, text) == text
    assert visible_text(Path("a.json"), NOTEBOOK) == NOTEBOOK
