"""Where each trap of the protocol, and each family of the public checklist, is tested.

The traps are numbered as in our notes on the protocol; the families are those of acp-tck, by name
(its numbered requirements are not quoted here). Tests name in their docstrings what they are for,
and this module fails when the table and the docstrings disagree.

What is served: initialize, session/new, session/prompt, session/cancel, session/set_mode,
session/set_config_option, session/close, authenticate, logout,
$/cancel_request.

    Trap 1       test_cancel test_events test_failures test_prompt test_queue
    Trap 2       test_models test_modes_and_options test_new_session
                 after session/load: not served yet
    Trap 3       test_cancel test_close
    Trap 4       not served yet: session/request_permission
    Trap 5       test_events
    Trap 6       test_cancel test_new_session; MCP connections: not served yet
    Trap 7       test_prompt test_wire; the process's descriptors: tests/wire
    Trap 8       test_prompt test_wire; NaN and parsing: tests/jsonrpc
    Trap 9       test_prompt; above the cap: tests/jsonrpc tests/wire
    Trap 10      test_wire; line by line: tests/jsonrpc
    Trap 11      test_auth test_cancel test_close test_initialize test_modes_and_options
                 test_new_session test_prompt test_wire
    Trap 12      test_initialize; before any slow import: tests/wire
    Trap 13      test_new_session test_prompt; diffs and locations: not served yet
    Trap 14      test_cancel test_queue; session/load during a turn: not served yet
    Trap 15      test_cancel test_close test_many_sessions test_models test_modes_and_options
                 test_queue
    Trap 16      test_events; permissions and terminals: not served yet
    Trap 17      test_wire; signals and exit codes: tests/wire
    Trap 18      test_auth test_close test_modes_and_options
    Trap 19      test_auth test_failures
    Trap 20      test_events test_initialize test_modes_and_options

    ACP-TRANSPORT            test_prompt test_wire; on real pipes: tests/wire tests/smoke
    ACP-JSONRPC              test_initialize test_new_session test_wire
    ACP-INIT                 test_initialize
    ACP-SCHEMA               test_initialize test_new_session; and every message of this folder
    ACP-SESSION              test_many_sessions test_new_session
    ACP-PROMPT               test_prompt test_queue
    ACP-CANCEL               test_cancel
    ACP-LOAD                 not served yet: session/load
    ACP-RESUME               not served yet: session/resume
    ACP-LIST                 not served yet: session/list
    ACP-DELETE               not served yet: session/delete
    ACP-CLOSE                test_cancel test_close
    ACP-ADDDIRS              test_new_session
    ACP-MODES                test_modes_and_options test_new_session
    ACP-CONFIG               test_models test_modes_and_options test_new_session
    ACP-PROMPTCAP            test_prompt
    ACP-AUTH                 test_auth test_initialize
    ACP-CLIENTCAP            test_events test_initialize
    ACP-EXT                  test_wire
    ACP-META                 test_events test_initialize
    ACP-ERROR                test_failures test_wire
    ACP-SHUTDOWN             test_wire; the process: tests/wire tests/smoke
    ACP-STDERR               the process: tests/wire
    ACP-INFO-PARSE           test_wire
    ACP-INFO-INVALIDREQ      test_initialize test_wire
    ACP-INFO-UNKNOWNSESSION  test_close test_modes_and_options test_prompt
"""

import ast
import re
from collections import defaultdict
from pathlib import Path

FOLDER = Path(__file__).parent
POINT = re.compile(r"Trap \d+|ACP-[A-Z]+(?:-[A-Z]+)?")
ROW = re.compile(r" {4}(Trap \d+|ACP-[A-Z-]+) {2,}(.*(?:\n {17}\S.*)*)")


def table() -> dict[str, set[str]]:
    """The modules that the table names, by point."""
    rows = ROW.findall(__doc__ or "")
    return {point: set(re.findall(r"\btest_\w+", where)) for point, where in rows}


def docstrings() -> dict[str, set[str]]:
    """The modules that have a test for a point, by point."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for path in FOLDER.glob("test_*.py"):
        if path.name == Path(__file__).name:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                for point in POINT.findall(ast.get_docstring(node) or ""):
                    found[point].add(path.stem)
    return found


def test_the_table_names_the_test_of_each_checklist_item() -> None:
    assert {point: where for point, where in table().items() if where} == docstrings()


def test_the_table_has_all_twenty_traps() -> None:
    assert {f"Trap {number}" for number in range(1, 21)} <= table().keys()
