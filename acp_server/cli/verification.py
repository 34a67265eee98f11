"""What the demo's project must be once the tour is over, and whether it is.

Trusts nobody's word: the tests are run anew, and git and the files themselves are asked.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio
from pydantic import BaseModel

from acp_server.cli.workspace import FILES, run_git
from acp_server.models.script import Call, parse_script
from acp_server.settings import child_environment
from acp_server.startup.isolation import isolated_python

TEST_SECONDS = 30.0


class Edit(BaseModel):
    """What a scripted call makes of a file: the arguments of `write_file` or of `patch`."""

    path: str
    content: str = ""
    old_string: str = ""
    new_string: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked at, what was found, and what of that is not as it must be."""

    what: str
    result: str
    problems: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """All that was found."""

    findings: Sequence[Finding] = ()

    @property
    def problems(self) -> Sequence[str]:
        """What is not as it must be."""
        return [problem for finding in self.findings for problem in finding.problems]


def expected_changes(script: str, prompt: str) -> Mapping[str, str]:
    """Return the files that a script's answer to a prompt changes, with the text each must have."""
    block = next(block for block in parse_script(script) if block.answers(prompt))
    files = dict(FILES)
    for line in block.lines:
        if isinstance(line, Call) and line.name in {"write_file", "patch"}:
            edit = Edit.model_validate(json.loads(line.arguments))
            is_patch = line.name == "patch"
            old_text = files.get(edit.path, "")
            text = old_text.replace(edit.old_string, edit.new_string) if is_patch else edit.content
            files[edit.path] = text
    return {name: text for name, text in files.items() if text != FILES.get(name)}


async def verify(folder: Path, expected: Mapping[str, str]) -> Verdict:
    """Run the project's tests, and hold what has changed in it against what must have.

    Raises:
        WorkspaceError: git failed.
    """
    return Verdict((await _test(folder), await _compare(folder, expected)))


async def _test(folder: Path) -> Finding:
    """Run the tests."""
    done = None
    with anyio.move_on_after(TEST_SECONDS):
        environment = child_environment({"FORCE_COLOR": None})
        command = isolated_python("-m", "unittest")  # which itself imports from where it runs
        done = await anyio.run_process(command, cwd=folder, env=environment, check=False)
    if done is None:
        return Finding("tests", "stopped", (f"the tests did not end within {TEST_SECONDS:g} s",))
    said = done.stderr.decode("utf-8", "replace").split("\n")
    result = ": ".join(line for line in said if line.startswith(("Ran ", "OK", "FAILED")))
    problems = () if done.returncode == 0 else ("the project's tests do not pass",)
    return Finding("tests", f"{result or 'none'} (run once more by the demo)", problems)


async def _compare(folder: Path, expected: Mapping[str, str]) -> Finding:
    """Hold what git says has changed against what must have."""
    await run_git(folder, "add", "--all")
    counted = await run_git(folder, "diff", "--cached", "--no-renames", "--numstat")
    rows = [line.split("\t") for line in counted.splitlines()]
    names = {name for _, _, name in rows}
    unexpected = [f"{name} has changed" for name in sorted(names - expected.keys())]
    wrong = [
        f"{name} is not what it must be"
        for name, text in expected.items()
        if not await _holds(folder / name, text)
    ]
    result = ", ".join(_change(*row) for row in rows) or "nothing"
    return Finding("git diff", result, (*unexpected, *wrong))


async def _holds(path: Path, text: str) -> bool:
    file = anyio.Path(path)
    return await file.is_file() and await file.read_bytes() == text.encode()


def _change(added: str, removed: str, name: str) -> str:
    return f"{name} +{added}" + (f" -{removed}" if removed != "0" else "")
