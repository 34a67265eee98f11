"""What no renaming expresses: arguments of other agents that become others of ours. Pure."""

import json
import re
import shlex
from collections.abc import Callable, Mapping

from pydantic import JsonValue

from acp_server.text.json_values import as_list, as_object, as_text
from acp_server.tools.dialects.reading import (
    CallReading,
    UnreadableCallError,
    is_text_list,
    json_value,
    read_items,
    texts,
)
from acp_server.tools.dialects.table import alias_table, squash

MAX_SECONDS = 3_600
"""A longer timeout is given in milliseconds."""
MIN_MILLISECONDS = 1_000
"""Agents that count in milliseconds give at least a second."""
_RANGE = re.compile(r"\s*L?(\d+)\s*(?:-|:|,|\.\.|to)\s*L?(-?\d+)\s*", re.IGNORECASE)
_SHELLS = re.compile(r"(?:/\S*/)?(?:bash|sh|zsh)")
_PATCH_COMMANDS = frozenset({"apply_patch", "applypatch"})
_CHECKBOX = re.compile(r"\s*(?:[-*+]|\d+[.)])?\s*\[(.)\]\s*(.+)")
_CHECKED = {"x": "completed", "X": "completed", "-": "in_progress", "~": "in_progress"}
_SEARCH_REPLACE = re.compile(
    r"^(?:<{5,}|-{5,}) ?SEARCH>?[^\n]*\n(.*?)^={5,}\n(.*?)^(?:>{5,}|\+{5,}) ?REPLACE>?[^\n]*$",
    re.DOTALL | re.MULTILINE,
)


def convert(reading: CallReading, *, gives_milliseconds: bool) -> None:
    """Turn what is left of a foreign call into our arguments.

    Raises:
        UnreadableCallError: It asks for something that the tool cannot do.
    """
    _single_values(reading)
    converter = _CONVERTERS.get(reading.tool)
    if converter is not None:
        converter(reading)
    if "timeout" in reading.schema.properties:
        _convert_timeout(reading, gives_milliseconds=gives_milliseconds)
    for name in [each for each in reading.values if each not in reading.schema.names]:
        reading.unknown[reading.given.get(name, name)] = reading.values.pop(name)


def _single_values(reading: CallReading) -> None:
    """Take the only item of a list where the tool expects a text."""
    for name, value in reading.values.items():
        expected = as_object(reading.schema.properties.get(name)).get("type")
        if expected != "string" or name in {"command", "content", "file_glob", "old_string"}:
            continue
        if isinstance(value, list) and len(value) == 1:
            only = value[0]
            inner = as_object(only)
            reading.values[name] = inner.get(name, inner.get("file_path", only)) if inner else only
        elif isinstance(value, list):
            given = reading.given.get(name, name)
            problem = (
                f"{reading.tool} takes one `{name}` at a time, but `{given}` has {len(value)}: "
                "make one call for each; they may be made together"
            )
            raise UnreadableCallError(problem)


def _convert_read_file(reading: CallReading) -> None:
    values = reading.values
    if reading.take_flag("whole") and "limit" not in values:
        values["limit"] = 5_000
    limit = values.get("limit")
    if isinstance(limit, list) or (isinstance(limit, str) and _RANGE.fullmatch(limit)):
        values["view_range"] = values.pop("limit")
        reading.given["view_range"] = reading.given.pop("limit")
        reading.remarks = [each for each in reading.remarks if not each.endswith("`limit`")]
    view_range = reading.take("view_range")
    if view_range is not None:
        first, last = _line_range(view_range)
        if first is None or last is None:
            given = reading.given["view_range"]
            problem = f"`{given}` must be [first line, last line]; or give offset and limit"
            raise UnreadableCallError(problem)
        values["offset"] = first
        reading.note("view_range", _read_lines(reading, last))
    end_line = reading.take("end_line")
    if end_line is not None:
        last = _whole(end_line)
        if last is None:
            problem = f"`{reading.given['end_line']}` must be a line number"
            raise UnreadableCallError(problem)
        reading.note("end_line", _read_lines(reading, last))


def _line_range(value: JsonValue) -> tuple[int | None, int | None]:
    """Return the first and the last line of `[2, 5]`, `[[2, 5]]`, `"2-5"` or `"[2, 5]"`."""
    if isinstance(value, str):
        found = _RANGE.fullmatch(value)
        value = list[JsonValue](found.groups()) if found else json_value(value)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    match [_whole(each) for each in as_list(value)]:
        case [first, last]:
            return first, last
        case _:
            return None, None


def _read_lines(reading: CallReading, last: int) -> str:
    """Set `limit` so that the read ends with a line; -1 is the last line of the file."""
    first = max(1, _whole(reading.values.get("offset")) or 1)
    if last == -1:
        reading.values["limit"] = 5_000
        return f"from line {first} to the end"
    if last < first:
        problem = f"the last line ({last}) is before the first line ({first})"
        raise UnreadableCallError(problem)
    reading.values["limit"] = last - first + 1
    return f"lines {first}-{last}"


def _convert_search_files(reading: CallReading) -> None:
    values = reading.values
    for name in ("before", "after"):
        number = _whole(values.get(name))
        if number is not None:
            del values[name]
            values["context"] = max(number, _whole(values.get("context")) or 0)
            reading.note(name, f"`context` {values['context']}")
    file_type = values.get("file_type")
    if isinstance(file_type, str) and file_type:
        del values["file_type"]
        extension = file_type.lower().lstrip("*.")
        glob = f"*.{alias_table().file_types.get(extension, extension)}"
        reading.set_read("file_type", "file_glob", glob)
    globs = values.get("file_glob")
    if isinstance(globs, str) and "," in globs and "{" not in globs:
        globs = [*map(str.strip, globs.split(","))]
        values["file_glob"] = f"{{{','.join(globs)}}}"
    elif isinstance(globs, list) and globs and is_text_list(globs):
        values["file_glob"] = globs[0] if len(globs) == 1 else f"{{{','.join(texts(globs))}}}"
    if isinstance(values.get("file_glob"), str):
        glob = as_text(values["file_glob"])
        if re.fullmatch(r"\.?\w+", glob) and squash(reading.given.get("file_glob", "")) in {
            "fileextension", "filetypes"
        }:  # fmt: skip
            values["file_glob"] = f"*.{glob.lstrip('.')}"
    if values.get("target") == "files" and "pattern" not in values:
        values["pattern"] = values.pop("file_glob", "*")
    _convert_pattern(reading)
    if reading.take_flag("only_names"):
        reading.set_read("only_names", "output_mode", "files_only")


def _convert_pattern(reading: CallReading) -> None:
    values = reading.values
    pattern = values.get("pattern")
    ignores_case = reading.take_flag("ignore_case") is True
    ignores_case = (reading.take_flag("case_sensitive") is False) or ignores_case
    is_literal = reading.take_flag("literal") is True
    is_literal = (reading.take_flag("is_regex") is False) or is_literal
    is_word = reading.take_flag("whole_word") is True
    if not isinstance(pattern, str) or values.get("target") == "files":
        return  # names are found without regard to case, and by globs
    if (ignores_case or is_word) and not _is_regex(pattern):
        is_literal = True  # as the search itself would take it
    regex = re.escape(pattern) if is_literal else pattern
    regex = rf"\b(?:{regex})\b" if is_word else regex
    regex = f"(?i){regex}" if ignores_case else regex
    if regex != pattern:
        values["pattern"] = regex
        names = ("ignore_case", "case_sensitive", "literal", "is_regex", "whole_word")
        used = " and ".join(f"`{reading.given[each]}`" for each in names if each in reading.given)
        reading.remarks.append(f"{used} as the regex {regex}")


def _is_regex(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True


def _convert_write_file(reading: CallReading) -> None:
    content = reading.values.get("content")
    if isinstance(content, list) and not as_text(reading.values.get("path")).endswith(".json"):
        problem = "`content` must be one text, not a list. Nothing was written."
        raise UnreadableCallError(problem)
    if isinstance(content, dict | list):
        reading.values["content"] = f"{json.dumps(content, ensure_ascii=False, indent=2)}\n"
        reading.note("content", "an object to be written as JSON")


def _convert_patch(reading: CallReading) -> None:
    values = reading.values
    if reading.alias in {"deletefile", "removefile"}:
        _convert_deletion(values)
    _convert_search_replace(reading)
    edits = values.get("edits")
    if isinstance(edits, str):
        edits = json_value(edits)
    if edits is not None:
        values["edits"] = [edits] if isinstance(edits, dict) else edits
        read_items(reading, "edits", ("old_string", "new_string", "replace_all", "path"))
        _take_common_path(reading)
    for name in ("old_string", "new_string"):
        value = values.get(name)
        if isinstance(value, list) and is_text_list(value):
            values[name] = "\n".join(texts(value))
            reading.note(name, "lines")
    cell = values.get("cell")
    if isinstance(cell, int) and not isinstance(cell, bool):
        values["cell"] = str(cell)
    if values.get("mode") == "replace" and values.get("patch") and not values.get("old_string"):
        del values["mode"]


def _convert_deletion(values: dict[str, JsonValue]) -> None:
    path = as_text(values.pop("path", ""))
    if not path:
        problem = "name the file to delete: `path`"
        raise UnreadableCallError(problem)
    lines = ("*** Begin Patch", f"*** Delete File: {path}", "*** End Patch")
    values |= {"mode": "patch", "patch": "\n".join(lines)}


def _convert_search_replace(reading: CallReading) -> None:
    """Turn SEARCH/REPLACE blocks in place of a patch into edits."""
    values = reading.values
    patch = values.get("patch")
    blocks = _SEARCH_REPLACE.findall(patch) if isinstance(patch, str) else []
    if not blocks:
        return
    if _SEARCH_REPLACE.sub("", as_text(patch)).strip():
        problem = f"`{reading.given['patch']}` has text outside its SEARCH/REPLACE blocks"
        raise UnreadableCallError(problem)
    del values["patch"]
    values["edits"] = [{"old_string": old, "new_string": new} for old, new in blocks]
    values.pop("mode", None)


def _take_common_path(reading: CallReading) -> None:
    """Move the path of the edits up, if it is the same in all."""
    edits = as_list(reading.values["edits"])
    if not edits or not all(isinstance(each, dict) for each in edits):
        problem = "`edits` must be a list of objects with old_string and new_string"
        raise UnreadableCallError(problem)
    paths = [as_object(each).pop("path", None) for each in edits]
    named = [each for each in paths if each is not None]
    if len(set(map(str, (*named, reading.values.get("path", (named or [None])[0]))))) > 1:
        problem = "the edits are of several files: make one call for each file"
        raise UnreadableCallError(problem)
    if named:
        reading.values.setdefault("path", named[0])
    if len(edits) == 1:
        only = as_object(edits[0])
        if not {"old_string", "new_string"} & reading.values.keys():
            del reading.values["edits"]
            reading.values |= only


def _command_of(values: Mapping[str, JsonValue]) -> JsonValue:
    """Return the command, which must not be the patch command of another agent."""
    command = values.get("command")
    words = command.split(maxsplit=1) if isinstance(command, str) else as_list(command)
    if words and words[0] in _PATCH_COMMANDS:
        problem = (
            "apply_patch is no command here: call the tool patch with mode=patch, and give the "
            "text as the argument patch. Nothing was run."
        )
        raise UnreadableCallError(problem)
    return command


def _convert_terminal(reading: CallReading) -> None:
    values = reading.values
    command = _command_of(values)
    if isinstance(command, str) and command.lstrip().startswith('["'):
        parsed = json_value(command)
        command = parsed if is_text_list(parsed) else command
    if isinstance(command, list) and is_text_list(command):
        words = texts(command)
        match words:
            case [shell, "-c" | "-lc", script] if _SHELLS.fullmatch(shell):
                values["command"] = script
            case _:
                values["command"] = shlex.join(words)
        reading.note("command", "a shell command")
    arguments = reading.take("arguments")
    if isinstance(arguments, list) and is_text_list(arguments) and isinstance(command, str):
        values["command"] = f"{command} {shlex.join(texts(arguments))}"
        reading.note("arguments", "part of the command")
    elif arguments:
        values["arguments"] = arguments  # not understood
    blocking = reading.take_flag("blocking")
    if blocking is not None:
        reading.set_read("blocking", "background", not blocking)
    if "unconfined" in values and "unconfined" not in reading.schema.properties:
        value = values.pop("unconfined")
        if value is True:  # there is no sandbox to leave
            reading.ignored.append(f"`{reading.given['unconfined']}`")
        reading.remarks = [each for each in reading.remarks if "`unconfined`" not in each]
    shell = reading.unknown.get("shell")
    if isinstance(shell, str) and _SHELLS.fullmatch(shell):
        del reading.unknown["shell"]


def _convert_process(reading: CallReading) -> None:
    values = reading.values
    if values.get("action") == "write" and values.get("data") == "" and reading.alias:
        values["action"] = "poll"
        reading.note("data", "nothing to write, so its news")
    session_id = values.get("session_id")
    if isinstance(session_id, int) and not isinstance(session_id, bool):
        values["session_id"] = str(session_id)


def _convert_timeout(reading: CallReading, *, gives_milliseconds: bool) -> None:
    values = reading.values
    given = values.get("timeout")
    if isinstance(given, str) and re.fullmatch(r"\s*\d+\s*ms\s*", given):
        values["timeout_ms"] = values.pop("timeout")
        reading.given.setdefault("timeout_ms", reading.given["timeout"])
    milliseconds = _number(values.get("timeout_ms"))
    if milliseconds is not None:
        del values["timeout_ms"]
        reading.set_read("timeout_ms", "timeout", _short(milliseconds / 1_000))
        return
    timeout = _number(given)
    if timeout is None:
        return
    least = MIN_MILLISECONDS if gives_milliseconds else MAX_SECONDS + 1
    values["timeout"] = _short(timeout)
    if timeout >= least or timeout > MAX_SECONDS:
        seconds = _short(timeout / 1_000)
        values["timeout"] = seconds
        reading.note("timeout", f"{timeout:,.0f} milliseconds ({seconds:g} s)")


def _convert_todo(reading: CallReading) -> None:
    values = reading.values
    todos = values.get("todos")
    if isinstance(todos, str):
        parsed = json_value(todos)
        todos = parsed if isinstance(parsed, list | dict) else _checklist(todos)
    if isinstance(todos, dict):
        todos = todos.get("todos", todos.get("items", [todos]))
    if not isinstance(todos, list):
        return
    values["todos"] = [{"content": each} if isinstance(each, str) else each for each in todos]
    read_items(reading, "todos", reading.schema.item_properties("todos"))
    items = [each for each in as_list(values["todos"]) if isinstance(each, dict)]
    statuses = alias_table().values["todo"]["status"]
    for item in items:
        status = item.get("status")
        if isinstance(status, str):
            item["status"] = statuses.get(squash(status), status)
        if isinstance(item.get("id"), int | float):
            item["id"] = str(item["id"])
    if values.get("merge") is not True and not any("id" in item for item in items):
        for number, item in enumerate(items, 1):
            item["id"] = str(number)


def _checklist(text: str) -> list[JsonValue]:
    """Return the items of a Markdown list with boxes; of any other text, its lines."""
    items: list[JsonValue] = []
    for line in filter(str.strip, text.splitlines()):
        box = _CHECKBOX.fullmatch(line)
        if box is None:
            items.append({"content": line.strip().removeprefix("- ").strip()})
        else:
            items.append({"content": box[2], "status": _CHECKED.get(box[1], "pending")})
    return items


def _convert_clarify(reading: CallReading) -> None:
    values = reading.values
    questions = reading.take("questions")
    if isinstance(questions, list) and len(questions) > 1:
        problem = "ask one question in a call: `question`, perhaps with `choices`"
        raise UnreadableCallError(problem)
    if isinstance(questions, list) and questions:
        inner = as_object(questions[0])
        values.setdefault("question", inner.get("question", questions[0]))
        values.setdefault("choices", inner.get("options", inner.get("choices", [])))
    choices = values.get("choices")
    if isinstance(choices, str):
        choices = json_value(choices)
    if isinstance(choices, list):
        keys = ("label", "text", "answer", "value", "title", "option")
        values["choices"] = [
            next((each[key] for key in keys if key in each), str(each))
            if isinstance(each, dict)
            else each
            for each in choices
        ]


def _convert_delegate_task(reading: CallReading) -> None:
    if "tasks" in reading.values:
        tasks = reading.values["tasks"]
        if isinstance(tasks, list):
            reading.values["tasks"] = [
                {"goal": each} if isinstance(each, str) else each for each in tasks
            ]
        read_items(reading, "tasks", reading.schema.item_properties("tasks"))


def _convert_memory(reading: CallReading) -> None:
    if "operations" in reading.values:
        read_items(reading, "operations", reading.schema.item_properties("operations"))


_CONVERTERS: Mapping[str, Callable[[CallReading], None]] = {
    "read_file": _convert_read_file,
    "search_files": _convert_search_files,
    "write_file": _convert_write_file,
    "patch": _convert_patch,
    "terminal": _convert_terminal,
    "process": _convert_process,
    "todo": _convert_todo,
    "clarify": _convert_clarify,
    "delegate_task": _convert_delegate_task,
    "memory": _convert_memory,
}


def _number(value: JsonValue) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        value = json_value(value.strip().removesuffix("ms").removesuffix("s").strip())
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _whole(value: JsonValue) -> int | None:
    number = _number(value)
    return int(number) if number is not None and number == int(number) else None


def _short(seconds: float) -> float:
    return int(seconds) if seconds == int(seconds) else seconds
