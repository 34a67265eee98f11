"""The table of read-only commands is complete and means what it says."""

import re
import subprocess
import sys
from collections import Counter
from dataclasses import fields

from acp_server.permissions.shell.command_judges import ARGUMENTS_JUDGES, WORDS_JUDGES
from acp_server.permissions.shell.git_commands import GIT_JUDGES
from acp_server.permissions.shell.options import AllowedOptions
from acp_server.permissions.shell.read_only_commands import (
    ReadOnlyCommand,
    load_read_only_commands,
)
from tests.support.case_table import each_case

TABLE = load_read_only_commands()
COMMANDS = {
    **{name: (each, False) for name, each in TABLE.commands.items()},
    **{f"git {name}": (each, True) for name, each in TABLE.git.items()},
}
SHORT = ("flags", "value_flags", "file_flags", "optional_value_flags")
LONG = ("long_flags", "long_value_flags", "long_file_flags")


@each_case(("command", "is_git"), COMMANDS.values(), ids=COMMANDS.keys())
def test_each_command_has_a_judge_or_a_reason_to_ask(
    command: ReadOnlyCommand, *, is_git: bool
) -> None:
    judged = GIT_JUDGES if is_git else {*ARGUMENTS_JUDGES, *WORDS_JUDGES}
    assert ("judge" in command.table) != ("asks" in command.table)
    assert "asks" in command.table or command.table.get("judge") in judged


@each_case("command", [each for each, _ in COMMANDS.values()], ids=COMMANDS.keys())
def test_each_flag_has_one_meaning(command: ReadOnlyCommand) -> None:
    options = command.options
    letters = Counter("".join("".join(sorted(set(getattr(options, kind)))) for kind in SHORT))
    words = Counter(word for kind in LONG for word in set(getattr(options, kind).split()))
    assert [each for each, count in (letters + words).items() if count > 1] == []
    assert all(letter.isalnum() or letter == "." for letter in letters)
    is_find = command.table.get("judge") == "find"
    assert is_find or all(re.fullmatch(r"[a-zA-Z0-9-]+", word) for word in words)
    for field in fields(AllowedOptions):
        assert isinstance(
            getattr(options, field.name), bool if field.type == "bool" else str | bool
        )
    re.compile(options.short_words)


def test_a_command_is_listed_once() -> None:
    tables = {id(each.table): each.table for each, _ in COMMANDS.values()}.values()
    aliases = [alias for table in tables for alias in table.get("aliases", ())]
    assert len(aliases) == len(set(aliases))


def test_the_table_is_loaded_at_the_first_command_only() -> None:
    script = (
        "import acp_server.permissions.gate, acp_server.permissions.shell.assessment as shell\n"
        "from acp_server.permissions.shell.read_only_commands import load_read_only_commands\n"
        "assert load_read_only_commands.cache_info().currsize == 0\n"
        "shell.assess('ls', '/')\n"
        "assert load_read_only_commands.cache_info().currsize == 1\n"
    )
    subprocess.run([sys.executable, "-I", "-c", script], check=True)
