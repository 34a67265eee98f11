"""Calls as models of other agents make them, or with mistakes, and what must come of each.

The workspace of every call is `FILES`. A call either is applied as it was meant, or is refused with
a text that says how to go on; whatever it is, no other file may differ afterwards.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

from tests.support.user_texts import (
    DOES_NOT_EXIST,
    MUST_BE_JSON_OBJECT,
    NO_SUCH_FOLDER,
    NO_SUCH_TOOL,
    NOT_VALID_JSON,
)

A = "".join(f"line {number}\n" for number in range(1, 13))
APP = "def hello():\n    return 1\n\n\ndef Hello():\n    return 2\n"
FILES: Mapping[str, str] = {
    "a.py": A,
    "src/app.py": APP,
    "src/web/index.ts": "export const answer = 42;\n",
    "README.md": "# Title\n\nwords\n",
    "data.json": '{"a": 1}\n',
}


@dataclass(frozen=True, slots=True)
class Case:
    """A call: `arguments` are an object, or a text that is to be one."""

    tool: str
    arguments: Mapping[str, JsonValue] | str
    says: tuple[str, ...] = ()
    """What the result must contain."""
    says_not: tuple[str, ...] = ()
    writes: Mapping[str, str | None] = field(default_factory=dict[str, str | None])
    """The files that differ afterwards; None is a file that is gone."""
    is_refused: bool = False

    def __str__(self) -> str:
        return f"{self.tool}({self.arguments})"


def ok(tool: str, says: str | tuple[str, ...] = (), /, **arguments: JsonValue) -> Case:
    """Return a call that succeeds and says something."""
    return Case(tool, arguments, (says,) if isinstance(says, str) else says)


def lines(first: int, last: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what a result with only these lines of a.py contains, and what it does not."""
    inside = tuple(f"line {number}\n" for number in (first, last))
    outside = tuple(f"line {number}\n" for number in (first - 1, last + 1) if 0 < number < 13)
    return inside, outside


def page(tool: str, first: int, last: int, /, **arguments: JsonValue) -> Case:
    """Return a read of exactly these lines of a.py."""
    inside, outside = lines(first, last)
    return Case(tool, arguments, inside, outside)


def wrote(tool: str, writes: Mapping[str, str | None], /, **arguments: JsonValue) -> Case:
    """Return a call that changes files."""
    return Case(tool, arguments, writes=writes)


def edited(tool: str, /, **arguments: JsonValue) -> Case:
    """Return a call that replaces line 3 of a.py."""
    return Case(tool, arguments, writes={"a.py": A.replace("line 3", "LINE 3")})


def no(tool: str, says: str, /, **arguments: JsonValue) -> Case:
    """Return a call that is refused."""
    return Case(tool, arguments, (says,), is_refused=True)


def raw(tool: str, arguments: str, says: str = "", *, is_refused: bool = False) -> Case:
    """Return a call with a text for arguments."""
    return Case(tool, arguments, (says,) if says else (), is_refused=is_refused)


OLD, NEW = "line 3", "LINE 3"
OLDS: dict[str, JsonValue] = {"old_string": OLD + "\n", "new_string": NEW + "\n"}
BLOCK = "<<<<<<< SEARCH\nline 3\n=======\nLINE 3\n>>>>>>> REPLACE"
DIFF = " line 2\n-line 3\n+LINE 3\n"
HEAD = "index 12..34 100644\n--- a/a.py\n+++ b/a.py\n@@ -2,2 +2,2 @@\n"
V4A = "*** Begin Patch\n*** Update File: a.py\n@@\n line 2\n-line 3\n+LINE 3\n*** End Patch"

READS = [
    *[
        ok(name, "line 1\n", path="a.py")
        for name in (
            *(
                "Read",
                "read",
                "cat",
                "view",
                "open",
                "READ_FILE",
                "readFile",
                "ReadFile",
                "read-file",
            ),
            *("functions.read_file", "functions.Read", "functions.read_file:0", "tools.read_file"),
            *(
                "default_api.read_file",
                "read_file<|channel|>commentary",
                " read_file ",
                "view_file",
            ),
        )
    ],
    *[
        ok("read_file", ("line 1\n", "as `path`"), **{name: "a.py"})
        for name in (
            *("file_path", "filePath", "filename", "target_file", "absolute_path", "file", "uri"),
        )
    ],
    ok("read_file", "line 1\n", Path="a.py"),
    ok("read_file", "line 1\n", paths=["a.py"]),
    ok("read_file", "line 1\n", files=[{"path": "a.py"}]),
    no("read_file", "make one call for each", paths=["a.py", "README.md"]),
    page("read_file", 3, 5, path="a.py", start_line=3, end_line=5),
    page("Read", 3, 5, file_path="a.py", offset=3, limit=3),
    page("view", 3, 5, path="a.py", view_range=[3, 5]),
    page("view", 3, 5, path="a.py", view_range="3-5"),
    page("view", 3, 5, path="a.py", view_range="[3, 5]"),
    page("view", 3, 12, path="a.py", view_range=[3, -1]),
    page("read_file", 3, 5, path="a.py", startLine=3, endLine=5),
    page("read_file", 3, 5, path="a.py", start_line="3", end_line="5"),
    page("read_file", 1, 4, path="a.py", end_line=4),
    page("read_file", 3, 5, path="a.py", lines="3-5"),
    page(
        "read_file",
        3,
        5,
        target_file="a.py",
        start_line_one_indexed=3,
        end_line_one_indexed_inclusive=5,
        should_read_entire_file=False,
        explanation="to see it",
    ),
    no("read_file", "`view_range` must be", path="a.py", view_range="some"),
    no("read_file", "before the first line", path="a.py", start_line=5, end_line=3),
    ok("read_file", ("line 1\n", "`offset` 0 as 1"), path="a.py", offset=0),
    ok("read_file", ("line 1\n", "`offset` -5 as 1"), path="a.py", offset=-5),
    ok("read_file", ("line 12\n", "`limit` 100,000 as 5,000"), path="a.py", limit=100_000),
    ok("read_file", ("line 1\n", "ignored `encoding`"), path="a.py", encoding="utf-8"),
    ok("read_file", ("line 1\n", "ignored `foo`"), path="a.py", foo=[1]),
    no("read_file", "`offset` must be", path="a.py", offset="first"),
    no("read_file", "`path` is missing"),
    no("read_file", "`pth`; the nearest is `path`", pth="a.py"),
    ok("read_file", "ignored `offsett` (the nearest is `offset`)", path="a.py", offsett=3),
    no("", NO_SUCH_TOOL, path="a.py"),
    no("read_file", "both mean `path` but differ", path="a.py", file_path="README.md"),
    ok("read_file", "line 1\n", path="a.py", file_path="a.py"),
    ok("str_replace_editor", "line 1\n", command="view", path="a.py"),
    page("str_replace_based_edit_tool", 2, 4, command="view", path="a.py", view_range=[2, 4]),
    ok("ls", "README.md", path="."),
    ok("list_dir", "README.md"),
    ok("LS", "app.py", path="src"),
    ok("list_directory", "app.py", dir_path="src"),
    no("read_many_files", "call read_file once for each", paths=["a.py"]),
]

SEARCHES = [
    *[
        ok(name, "src/app.py", pattern="hello")
        for name in ("Grep", "grep", "search", "rg", "grep_search", "searchFiles", "GrepTool")
    ],
    *[
        ok(name, ("app.py", "README.md"), pattern=pattern)
        for name, pattern in (("Glob", "*"), ("glob", "**/*"), ("find_files", "*.*"))
    ],
    ok("Glob", "src/app.py", pattern="**/*.py", path="src"),
    ok("find_path", "app.py", glob="**/*.py"),
    ok("file_search", "app.py", query="app"),
    *[
        ok("search_files", "src/app.py", **{name: "hello"})
        for name in ("query", "regex", "search_term", "searchPattern")
    ],
    Case("search_files", {"pattern": "e", "glob": "*.ts"}, ("index.ts",), ("app.py", "README.md:")),
    Case("grep", {"pattern": "e", "include": "*.ts"}, ("index.ts",), ("app.py", "README.md:")),
    Case("grep", {"pattern": "e", "include": ["*.ts"]}, ("index.ts",), ("app.py", "README.md:")),
    Case(
        "grep", {"pattern": "e", "include": ["*.ts", "*.py"]}, ("index.ts", "app.py"), ("README",)
    ),
    Case("grep", {"pattern": "e", "include": "*.ts, *.py"}, ("index.ts", "app.py"), ("README",)),
    Case("Grep", {"pattern": "e", "type": "py"}, ("app.py",), ("index.ts", "README.md:")),
    Case("Grep", {"pattern": "e", "type": "ts"}, ("index.ts",), ("app.py", "README.md:")),
    Case("Grep", {"pattern": "HELLO", "-i": True}, ("def hello", "def Hello")),
    Case("Grep", {"pattern": "HELLO", "-i": "true"}, ("def hello", "def Hello")),
    Case("grep_search", {"query": "HELLO", "case_sensitive": False}, ("def hello", "def Hello")),
    Case("grep", {"pattern": "hello", "case_sensitive": True}, ("def hello",), ("def Hello",)),
    Case("grep_search", {"query": "hello()", "isRegexp": False}, ("def hello()",)),
    Case("grep", {"pattern": "hello()", "literal_text": True}, ("def hello()",)),
    Case("grep", {"pattern": "hello( ", "literal": True}, ("No match",), ("def hello",)),
    Case("grep", {"pattern": "DEF HELLO(", "-i": True}, ("def hello", "def Hello")),
    Case("grep", {"pattern": "hell", "-w": True}, ("No match",), ("def hello",)),
    Case(
        "Grep", {"pattern": "answer", "output_mode": "files_with_matches"}, ("index.ts",), ("42",)
    ),
    Case("Grep", {"pattern": "answer", "output_mode": "count"}, ("index.ts",), ("42",)),
    Case("grep", {"pattern": "answer", "-l": True}, ("index.ts",), ("42",)),
    Case("Grep", {"pattern": "line 6", "-A": 1, "-B": 1}, ("line 5", "line 7"), ("line 4",)),
    Case("Grep", {"pattern": "line 6", "-C": 1}, ("line 5", "line 7"), ("line 4",)),
    Case("Grep", {"pattern": "line", "head_limit": 2}, ("line 2",), ("line 3",)),
    Case("grep", {"pattern": "line", "max_results": 2}, ("line 2",), ("line 3",)),
    Case("Grep", {"pattern": "line 6", "-n": True}, ("line 6",), ("ignored",)),
    Case("Grep", {"pattern": "line 6", "multiline": True}, ("line 6", "ignored `multiline`")),
    Case("search_files", {"pattern": "e", "exclude": "*.py"}, ("ignored `exclude`",)),
    ok("search_files", "src/app.py", pattern="hello", directory="src"),
    ok("search_files", "src/app.py", pattern="hello", paths=["src"]),
    no("search_files", "make one call for each", pattern="hello", paths=["src", "."]),
    ok("search_files", ("line", "`limit` 9,000 as 500"), pattern="line", limit=9_000),
    ok("search_files", ("line", "`context` 99 as 20"), pattern="line", context=99),
    ok("search_files", "app.py", pattern="*.py", target="file"),
    no("search_files", "`target` must be", pattern="x", target="everything"),
    no("search_files", "`pattern` is missing"),
    no("codebase_search", "search_files finds text by regex", query="where is the login"),
    no("WebSearch", "there is no web search", query="x"),
]

WRITES = [
    *[
        wrote(name, {"new.txt": "hi\n"}, path="new.txt", content="hi\n")
        for name in (
            *("Write", "write", "create_file", "write_to_file", "createFile", "save_file"),
            *("functions.write_file", "WriteFile", "WRITE_FILE", "fs_write"),
        )
    ],
    *[
        wrote("write_file", {"new.txt": "hi\n"}, path="new.txt", **{name: "hi\n"})
        for name in ("contents", "file_text", "fileText", "text", "data", "new_content", "code")
    ],
    wrote("Write", {"new.txt": "hi\n"}, file_path="new.txt", content="hi\n"),
    wrote("write_file", {"new.txt": "hi\n"}, filePath="new.txt", content="hi\n", mode=None),
    wrote("write_to_file", {"new.txt": "hi\n"}, path="new.txt", content="hi\n", line_count=1),
    wrote("write_file", {"new.txt": "hi\n"}, path="new.txt", content="hi\n", create_dirs=True),
    wrote("write_file", {"new.txt": "hi\n"}, path="new.txt", content="hi\n", overwrite=True),
    no("write_file", "no argument `overwrite`", path="a.py", content="hi\n", overwrite=False),
    no("write_file", "no argument `append`", path="a.py", content="hi\n", append=True),
    no("write_file", "no argument `mode`", path="a.py", content="hi\n", mode="append"),
    wrote(
        "write_file",
        {"new.json": '{\n  "a": [\n    1\n  ]\n}\n'},
        path="new.json",
        content={"a": [1]},
    ),
    wrote("write_file", {"new.json": "[\n  1\n]\n"}, path="new.json", content=[1]),
    no("write_file", "must be one text", path="new.txt", content=["a", "b"]),
    no("write_file", "`content` is missing", path="new.txt"),
    no("write_file", "`path` is missing", content="x"),
    wrote(
        "str_replace_editor", {"n.txt": "hi\n"}, command="create", path="n.txt", file_text="hi\n"
    ),
    wrote("write_file", {"new.txt": "hi\n"}, path='"new.txt"', content="hi\n"),
    wrote("write_file", {"new.txt": "hi\n"}, path="`new.txt`", content="hi\n"),
    wrote("write_file", {"new.txt": "hi\n"}, path=" new.txt ", content="hi\n"),
    wrote("write_file", {"new.txt": "hi\n"}, arguments={"path": "new.txt", "content": "hi\n"}),
    wrote("write_file", {"new.txt": "hi\n"}, input='{"path": "new.txt", "content": "hi\\n"}'),
    no("create_directory", "write_file makes the folders", path="x"),
]

EDITS = [
    *[
        edited(name, path="a.py", **OLDS)
        for name in (
            *("Edit", "edit", "str_replace", "search_replace", "replace", "edit_file", "Patch"),
            *("replace_string_in_file", "functions.patch", "StrReplace", "editFile"),
        )
    ],
    *[
        edited("patch", path="a.py", **{old: OLD + "\n", new: NEW + "\n"})
        for old, new in (
            *(("old_str", "new_str"), ("oldText", "newText"), ("oldString", "newString")),
            *(("search", "replace"), ("find", "replace"), ("old", "new"), ("target", "")),
        )
        if new
    ],
    edited("Edit", file_path="a.py", **OLDS, replace_all=False),
    edited("Edit", file_path="a.py", **OLDS, replaceAll=False),
    edited("patch", path="a.py", **OLDS, mode="edit"),
    edited("patch", path="a.py", **OLDS, explanation="why"),
    edited("replace", file_path="a.py", **OLDS, expected_replacements=1, instruction="why"),
    Case(
        "replace",
        {
            "path": "src/app.py",
            "old_string": "return",
            "new_string": "yield",
            "expected_replacements": 2,
        },
        writes={"src/app.py": APP.replace("return", "yield")},
    ),
    no(
        "replace",
        "expected_replacements is 3",
        path="src/app.py",
        old_string="return",
        new_string="yield",
        expected_replacements=3,
    ),
    edited("MultiEdit", file_path="a.py", edits=[OLDS]),
    edited("patch", path="a.py", edits=[{"oldText": OLD + "\n", "newText": NEW + "\n"}]),
    edited("multi_edit", edits=[{"path": "a.py", **OLDS}]),
    Case(
        "MultiEdit",
        {"file_path": "a.py", "edits": [OLDS, {"old_string": "line 5\n", "new_string": "5\n"}]},
        writes={"a.py": A.replace(OLD, NEW).replace("line 5\n", "5\n")},
    ),
    Case(
        "MultiEdit",
        {"file_path": "a.py", "edits": '[{"old_string": "line 3\\n", "new_string": "LINE 3\\n"}]'},
        writes={"a.py": A.replace(OLD, NEW)},
    ),
    no(
        "MultiEdit",
        "edit 2 of 2",
        file_path="a.py",
        edits=[OLDS, {"old_string": "nowhere at all", "new_string": "5\n"}],
    ),
    no(
        "multi_edit",
        "one call for each file",
        edits=[{"path": "a.py", **OLDS}, {"path": "b", **OLDS}],
    ),
    no("MultiEdit", "list of objects", file_path="a.py", edits=["x"]),
    no("MultiEdit", "edits[0].line", file_path="a.py", edits=[{**OLDS, "line": 3}]),
    edited(
        "str_replace_editor",
        command="str_replace",
        path="a.py",
        old_str="line 3\n",
        new_str="LINE 3\n",
    ),
    no(
        "str_replace_editor",
        "needs new_string",
        command="str_replace",
        path="a.py",
        old_str="line 3",
    ),
    no(
        "str_replace_editor", "Use patch", command="insert", path="a.py", insert_line=1, new_str="x"
    ),
    no("str_replace_editor", "with patch", command="undo_edit", path="a.py"),
    no("str_replace_editor", "`command` must be one of", command="dance", path="a.py"),
    no("str_replace_editor", "`command` must be one of", path="a.py"),
    no("patch", "needs new_string", path="a.py", old_string="line 3"),
    no("patch", "needs old_string and new_string", path="a.py"),
    no("patch", "needs path", **OLDS),
    no("patch", "no argument `line`", path="a.py", **OLDS, line=3),
    no("patch", "no argument `dryRun`", path="a.py", edits=[OLDS], dryRun=True),
    no("edit_file", "no argument `code_edit`", target_file="a.py", code_edit="..."),
    edited("apply_patch", input=V4A),
    edited("apply_patch", patch=V4A),
    edited("apply_patch", patchText=V4A),
    edited("applyPatch", diff=V4A),
    edited("patch", mode="v4a", patch=V4A),
    edited("replace_in_file", path="a.py", diff=BLOCK),
    edited(
        "replace_in_file",
        path="a.py",
        diff=BLOCK.replace("<" * 7, "-" * 7).replace(">" * 7, "+" * 7),
    ),
    no("replace_in_file", "text outside", path="a.py", diff=f"Here it is:\n{BLOCK}"),
    wrote("delete_file", {"a.py": None}, target_file="a.py"),
    no("delete_file", "name the file"),
    edited("patch", path="a.py", old_string=["line 3"], new_string=["LINE 3"]),
    no("notebook_edit", DOES_NOT_EXIST, notebook_path="a.ipynb", cell_id="1", new_source="x"),
    no("notebook_edit", "give path, cell", notebook_path="a.ipynb", cell_id="1"),
    *[
        edited("apply_patch", input=V4A.replace("a.py", path))
        for path in ("`a.py`", "A.py", "@a.py", "/a.py", "./a.py", "a.py:3", '"a.py"')
    ],
    wrote("apply_patch", {"n.txt": "hi\n"}, input="*** Begin Patch\n*** Add File: `n.txt`\n+hi\n"),
    edited("apply_patch", input=f"--- a/a.py\n+++ b/a.py\n@@ -2,2 +2,2 @@\n{DIFF}"),
    edited("apply_diff", path="a.py", diff=f"@@ -2,2 +2,2 @@\n{DIFF}"),
    edited("applyDiff", input=f"diff --git a/a.py b/a.py\n{HEAD}{DIFF}"),
    wrote("Edit", {"n.txt": "hi\n"}, file_path="n.txt", old_string="", new_string="hi\n"),
    no("Edit", "is empty", file_path="a.py", old_string="", new_string="hi\n"),
    wrote(
        "MultiEdit",
        {"n.txt": "hi"},
        file_path="n.txt",
        edits=[{"old_string": "", "new_string": "hi"}],
    ),
    no("insert_edit_into_file", "use patch", path="a.py"),
]

COMMANDS = [
    *[
        ok(name, "hi", command="echo hi")
        for name in (
            *("Bash", "bash", "shell", "exec_command", "run_shell_command", "execute_command"),
            *(
                "run_terminal_cmd",
                "runInTerminal",
                "container.exec",
                "local_shell",
                "functions.Bash",
            ),
        )
    ],
    ok("exec_command", "hi", cmd="echo hi"),
    ok("shell", "a b", command=["echo", "a b"]),
    ok("shell", "hi", command=["bash", "-lc", "echo hi"]),
    ok("shell", "hi", command='["bash", "-lc", "echo hi"]'),
    ok("shell", "a b", command="echo", args=["a b"]),
    *[
        ok("terminal", ("src\n", "as `workdir`"), command="basename $PWD", **{name: "src"})
        for name in ("cwd", "working_directory", "dir_path", "directory", "workingDir")
    ],
    *[
        ok("terminal", "started in the background", command="true", **{name: True})
        for name in ("run_in_background", "is_background", "isBackground")
    ],
    ok("terminal", "started in the background", command="true", blocking=False),
    ok("terminal", ("hi", "milliseconds (120 s)"), command="echo hi", timeout=120_000),
    ok("Bash", ("hi", "milliseconds (3 s)"), command="echo hi", timeout=3_000),
    Case("terminal", {"command": "echo hi", "timeout": 3_000}, ("hi",), ("milliseconds",)),
    ok("terminal", ("hi", "`timeout` 5"), command="echo hi", timeout_ms=5_000),
    ok("terminal", ("hi", "`timeout` 5"), command="echo hi", timeout="5000ms"),
    ok("terminal", "hi", command="echo hi", timeout="30s"),
    ok("terminal", ("hi", "the default 180"), command="echo hi", timeout=0),
    ok("terminal", ("hi", "as 3,600"), command="echo hi", timeout=9_000_000),
    ok("Bash", "hi", command="echo hi", description="Says hi"),
    Case(
        "exec_command",
        {"cmd": "echo hi", "yield_time_ms": 1_000},
        ("hi", "ignored `yield_time_ms`"),
    ),
    ok("run_terminal_cmd", "hi", command="echo hi", explanation="x", require_user_approval=True),
    ok("execute_command", "hi", command="echo hi", requires_approval=False),
    Case("exec_command", {"cmd": "echo hi", "shell": "/bin/bash"}, ("hi",), ("ignored",)),
    ok("shell", "hi", command=["bash", "-lc", "echo hi"], with_escalated_permissions=False),
    no("shell", "call the tool patch", command=["apply_patch", V4A]),
    no("exec_command", "call the tool patch", cmd=f"apply_patch <<'EOF'\n{V4A}\nEOF"),
    no("terminal", "the nearest is `command`", comand="ls"),
    no("terminal", "no argument `env`", command="echo hi", env={"A": "1"}),
    no("terminal", "no argument `stdin`", command="cat", stdin="hi"),
    no("execute_bash", "no argument `is_input`", command="y", is_input=True),
    ok("execute_bash", "hi", command="echo hi", is_input="false"),
    no("terminal", "`command` is missing"),
    no("terminal", "`command` must not be empty", command=""),
    no("terminal", NO_SUCH_FOLDER, command="touch made", cwd="nowhere"),
    no("python", "run Python code with terminal", code="1"),
    ok("list_bash", "proc_"),
    no("BashOutput", "nothing", bash_id="nothing"),
    no("KillShell", "nothing", shell_id="nothing"),
    no("write_stdin", "nothing", session_id="nothing", chars="y\n"),
    no("process", "`action` must be", action="frobnicate"),
    ok("process", "proc_", action="LIST"),
]

OTHERS = [
    ok(
        "TodoWrite", "2 items; 1 open", todos=[{"content": "a", "status": "done"}, {"content": "b"}]
    ),
    ok("todo", "2 items; 2 open", todos=["a", "b"]),
    ok("todo", "1 items; 1 open", todos='[{"content": "a", "status": "in-progress"}]'),
    ok(
        "update_plan", "2 items; 1 open", plan=[{"step": "a", "status": "completed"}, {"step": "b"}]
    ),
    ok("update_todo_list", "3 items; 2 open", todos="[x] a\n[-] b\n[ ] c"),
    ok("todo", "2 items; 2 open", todos="- a\n- b"),
    ok(
        "manage_todo_list",
        "1 items; 1 open",
        todoList=[{"id": 1, "title": "a", "status": "not-started"}],
    ),
    ok("TodoWrite", "1 items", todos=[{"content": "a", "activeForm": "b", "priority": "high"}]),
    ok("todo", "1 items; 1 open", todos=[{"id": "1", "content": "a", "status": "IN_PROGRESS"}]),
    ok("todo", ("1 items", "ignored `todos[0].owner`"), todos=[{"content": "a", "owner": "me"}]),
    no("todo", "`todos.0.status` must be", todos=[{"content": "a", "status": "urgent"}]),
    no("todo", "`todos.0.id` is missing", todos=[{"content": "a"}], merge=True),
    ok("todo_read", '"content": "a"'),
    no("WebFetch", "", url="ftp://example.org", prompt="what is it"),
    no("web_fetch", "make one call for each", urls=["https://a.example", "https://b.example"]),
    no("Task", "`tasks`", tasks=3),
    no(
        "AskUserQuestion",
        "one question in a call",
        questions=[{"question": "a"}, {"question": "b"}],
    ),
    no("attempt_completion", "write the answer as text", result="done"),
    no("think", "go on with the next step", thought="hm"),
    no("multi_tool_use.parallel", "make the calls themselves", tool_uses=[]),
    no("frobnicate", "there are read_file", x=1),
    no("read_fil", "the nearest is read_file", path="a.py"),
    no("Gloob", "the nearest is search_files", pattern="*"),
    no("mcp__github__create_issue", NO_SUCH_TOOL, title="x"),
    ok("ListSkills", '"success": true'),
    no("Skill", "nothing", skill="nothing"),
]

JSON = [
    Case("apply_patch", V4A, writes={"a.py": A.replace("line 3", "LINE 3")}),
    raw("read_file", '{"path": "a.py",}', "a trailing comma"),
    raw("read_file", '{"path": "a.py", "offset": 2,\n}', "line 2"),
    raw("todo", '{"todos": [{"content": "a"},]}', "1 items"),
    Case(
        "write_file",
        '{"path": "new.txt", "content": "a\nb\t,}\n"}',
        ("raw control characters",),
        writes={"new.txt": "a\nb\t,}\n"},
    ),
    Case("write_file", '{"path": "n.txt", "content": "a,}",}', writes={"n.txt": "a,}"}),
    raw("read_file", '"{\\"path\\": \\"a.py\\"}"', "a string that held JSON"),
    raw("read_file", '{{"path": "a.py"}}', "doubled braces"),
    raw("read_file", '{}{"path": "a.py"}', "an empty object before it"),
    raw("read_file", '[{"path": "a.py"}]', "a list around the object"),
    raw("read_file", '```json\n{"path": "a.py"}\n```', "a code fence"),
    raw("search_files", r'{"pattern": "line \d\d"}', "line 10"),
    raw("search_files", '{"pattern": "\\bline\\n\\d"}', NOT_VALID_JSON, is_refused=True),
    raw("read_file", '{"path": "a.py"', NOT_VALID_JSON, is_refused=True),
    raw("read_file", "{path: a.py}", NOT_VALID_JSON, is_refused=True),
    raw("read_file", "{'path': 'a.py'}", NOT_VALID_JSON, is_refused=True),
    raw("read_file", '{"path": "a.py"} {"path": "README.md"}', NOT_VALID_JSON, is_refused=True),
    raw("read_file", '["a.py"]', MUST_BE_JSON_OBJECT, is_refused=True),
    raw("read_file", "", "`path` is missing", is_refused=True),
    raw("write_file", '{"path": "a.py", "content": "half', NOT_VALID_JSON, is_refused=True),
]

PATHS = [
    *[
        ok("read_file", ("line 1\n", f"`{path}` as `a.py`"), path=path)
        for path in (
            *("`a.py`", '"a.py"', "'a.py'", " a.py ", "@a.py", "a.py:1", "A.PY", "file://a.py"),
            *("/a.py", "a/a.py", "b/a.py", "workspace/a.py", ".\\a.py", "`@a.py`", "A.py", "@A.PY"),
        )
        if path != ".\\a.py"
    ],
    ok("read_file", "line 1\n", path="./a.py"),
    ok("read_file", "def hello", path="src\\app.py"),
    ok("read_file", "def hello", path="SRC/App.py"),
    ok("read_file", ("def hello", "`Src\\App.PY` as `src/app.py`"), path="Src\\App.PY"),
    page("read_file", 4, 12, path="a.py:4"),
    page("read_file", 4, 6, path="a.py:4-6"),
    page("read_file", 4, 6, path="a.py#L4-L6"),
    page("read_file", 4, 12, path="a.py(4)"),
    page("read_file", 2, 3, path="a.py:4", offset=2, limit=2),
    edited("patch", path="`a.py`", **OLDS),
    edited("patch", path="A.py", **OLDS),
    edited("patch", path="@a.py", **OLDS),
    edited("patch", path="a.py:3", **OLDS),
    ok("search_files", "app.py", pattern="hello", path="`src`"),
    ok("search_files", "app.py", pattern="hello", path="SRC"),
    ok("terminal", "src\n", command="basename $PWD", workdir='"src"'),
    no("read_file", DOES_NOT_EXIST, path="b.py:2"),
    no("read_file", DOES_NOT_EXIST, path="@nowhere.py"),
    no("patch", DOES_NOT_EXIST, path="nowhere.py", **OLDS),
    no("read_file", "path is empty", path="  "),
]

TABLE: Mapping[str, list[Case]] = {
    "reads": READS,
    "searches": SEARCHES,
    "writes": WRITES,
    "edits": EDITS,
    "commands": COMMANDS,
    "other tools": OTHERS,
    "broken JSON": JSON,
    "paths": PATHS,
}
