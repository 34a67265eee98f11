"""Variables of skills: asked about once, held as long as was answered, hidden in outputs."""

import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest
from pydantic import JsonValue

from acp_server.tools.shell.environment import is_control_variable
from skills_store.identity import skill_identity
from tests.skills_store.skill_files import write_file, write_skill
from tests.support.editor import Editor, Object, json_at, make_configuration, open_editor
from tests.support.user_texts import REJECTED_BY_USER

SCRIPT = """\
prompt: load
call: skill_view
  name: weather
step:
call: terminal
  command: echo "<$WEATHER_KEY|$WEATHER_TOKEN>" "$(printenv LD_PRELOAD)"
step:
say: done

prompt: echo
call: terminal
  command: echo "<$WEATHER_KEY>"
step:
say: done

prompt: *
say: hello
"""
KEY = "wk-0815-4711"
FIELDS = "required_environment_variables: [{name: WEATHER_KEY, help: Look it up.}]"
FORMS: JsonValue = {"elicitation": {"form": {}}}
Answer = Callable[[Object], JsonValue]


def choose(option: str) -> Answer:
    """Answer every permission request of a skill by this option, and others by once."""

    def answer(request: Object) -> JsonValue:
        title = str(json_at(request, "params", "toolCall", "title"))
        chosen = option if "for the skill" in title else "allow_once"
        return {"outcome": {"outcome": "selected", "optionId": chosen}}

    return answer


@dataclass(slots=True)
class VariableSession:
    """A session whose user answers by a policy."""

    editor: Editor
    session_id: str
    answer: Answer
    asked: list[str] = field(default_factory=list[str])
    """Titles of permission requests for skills, and messages of forms."""
    _seen: int = 0

    async def prompt(self, text: str) -> str:
        """Send a prompt, answer its questions; return what the client was shown, as JSON."""
        shown = len(self.editor.updates_of(self.session_id))
        pending = self.editor.start_prompt(self.session_id, text)
        while not pending.is_answered:
            for message in self.editor.messages[self._seen :]:
                self._seen += 1
                if "method" in message and "id" in message:
                    if message["method"] == "elicitation/create":
                        self.asked.append(str(json_at(message, "params", "message")))
                    elif "for the skill" in (title := str(self._title(message))):
                        self.asked.append(title)
                    self.editor.reply(message, self.answer(message))
            await anyio.sleep(0.005)
        assert json_at(await pending.response(), "result", "stopReason") == "end_turn"
        return json.dumps(self.editor.updates_of(self.session_id)[shown:])

    @staticmethod
    def _title(message: Object) -> JsonValue:
        return json_at(message, "params", "toolCall", "title")


@asynccontextmanager
async def open_session(
    folder: Path,
    answer: Answer,
    *,
    options: Sequence[str] = (),
    capabilities: JsonValue = None,
    env: str = f"WEATHER_KEY={KEY}\n",
    fields: str = FIELDS,
) -> AsyncGenerator[VariableSession]:
    home, root = folder / "home", folder / "root"
    root.mkdir(exist_ok=True)
    if not (home / "skills" / "weather").exists():
        write_skill(home / "skills" / "weather", fields=fields)
        write_file(home / ".env", env)
    values = {"--sandbox": "off", **dict(zip(options[::2], options[1::2], strict=True))}
    async with open_editor(make_configuration(home, SCRIPT, options=values)) as editor:
        await editor.initialize(clientCapabilities=capabilities or {})
        yield VariableSession(editor, await editor.new_session(root), answer)


async def test_an_answer_for_the_turn_ends_with_it(tmp_path: Path) -> None:
    async with open_session(tmp_path, choose("allow_once")) as session:
        assert "<[WEATHER_KEY]|>" in await session.prompt("load")
        assert "<>" in await session.prompt("echo")
        assert "<[WEATHER_KEY]|>" in await session.prompt("load")
        title = "Let commands of this session use WEATHER_KEY for the skill weather?"
        assert session.asked == [title, title]
        assert KEY not in json.dumps(session.editor.messages)


async def test_an_answer_for_good_holds_until_the_skill_changes(tmp_path: Path) -> None:
    async with open_session(tmp_path, choose("allow_workspace")) as session:
        assert "<[WEATHER_KEY]|>" in await session.prompt("load")
        assert "<[WEATHER_KEY]>" in await session.prompt("echo")
    rules = (tmp_path / "home/acp/permissions.json").read_text()
    assert skill_identity(tmp_path / "home/skills/weather") in rules
    assert KEY not in rules
    async with open_session(tmp_path, choose("reject_once"), options=("--mode", "bypass")) as later:
        assert "<>" in await later.prompt("echo")
        assert "<[WEATHER_KEY]|>" in await later.prompt("load")
        assert later.asked == []
        write_file(tmp_path / "home/skills/weather/scripts/new.sh", "curl evil.example\n")
        said = await later.prompt("load")
        assert "the user is not asked in this mode" in said
        assert later.asked == []


async def test_what_was_rejected_is_asked_again_only_if_the_user_calls_the_skill(
    tmp_path: Path,
) -> None:
    async with open_session(tmp_path, choose("reject_once")) as session:
        said = await session.prompt("load")
        assert f"commands do not have it: {REJECTED_BY_USER}" in said
        assert "<|>" in said
        assert "<|>" in await session.prompt("load")
        assert len(session.asked) == 1
        session.answer = choose("allow_session")
        said = await session.prompt("/weather today?")
        assert "Variables for the skill weather" in said
        assert len(session.asked) == 2
        assert "<[WEATHER_KEY]>" in await session.prompt("echo")
        assert "<[WEATHER_KEY]|>" in await session.prompt("load")
        assert len(session.asked) == 2


async def test_a_missing_variable_is_asked_for_stored_and_never_told_to_the_model(
    tmp_path: Path,
) -> None:
    def answer(request: Object) -> JsonValue:
        if request["method"] == "elicitation/create":
            return {"action": "accept", "content": {"answer": KEY}}
        return choose("allow_session")(request)

    async with open_session(tmp_path, answer, capabilities=FORMS, env="OTHER=1\n") as session:
        assert "<[WEATHER_KEY]|>" in await session.prompt("load")
        form, _ = session.asked
        assert "needs WEATHER_KEY. The skill's author says: Look it up." in form
        assert str(tmp_path / "home/.env") in form
        updates = json.dumps(session.editor.updates_of(session.session_id))
        assert KEY not in updates
    assert (tmp_path / "home/.env").read_text() == f"OTHER=1\nWEATHER_KEY={KEY}\n"


@pytest.mark.parametrize("has_forms", [True, False])
async def test_a_variable_that_stays_missing_is_named_with_the_command(
    tmp_path: Path, *, has_forms: bool
) -> None:
    async with open_session(
        tmp_path,
        lambda request: (
            {"action": "cancel"}
            if request["method"] == "elicitation/create"
            else choose("allow_once")(request)
        ),
        capabilities=FORMS if has_forms else {},
        env="OTHER=1\n",
    ) as session:
        said = await session.prompt("load")
        assert "Look it up. To set it: `acp-server skills setup weather`" in said
        assert len(session.asked) == has_forms
        assert (tmp_path / "home/.env").read_text() == "OTHER=1\n"


async def test_keys_of_this_server_and_short_values_are_named_and_programs_are_not_chosen(
    tmp_path: Path,
) -> None:
    names = ("WEATHER_KEY", "WEATHER_TOKEN", "ANTHROPIC_API_KEY", "LD_PRELOAD", "HOME")
    env = f"WEATHER_KEY={KEY}\nWEATHER_TOKEN=short\nANTHROPIC_API_KEY=sk-of-nobody\nLD_PRELOAD=/x\n"
    fields = f"prerequisites: {{env_vars: [{', '.join(names)}]}}"
    async with open_session(tmp_path, choose("allow_session"), env=env, fields=fields) as session:
        said = await session.prompt("load")
        assert "<[WEATHER_KEY]|short>" in said
        (title,) = session.asked
        assert "use WEATHER_KEY, WEATHER_TOKEN, ANTHROPIC_API_KEY for the skill" in title
        questions = json.dumps([each for each in session.editor.messages if "id" in each])
        assert "ANTHROPIC_API_KEY is a key or token that this server itself uses." in questions
        assert "WEATHER_TOKEN is shorter than 8 characters" in questions


async def test_the_editors_terminals_get_no_secret(tmp_path: Path) -> None:
    terminals: JsonValue = {"terminal": True}
    async with open_session(tmp_path, choose("allow_session"), capabilities=terminals) as session:
        assert "<[WEATHER_KEY]|>" in await session.prompt("load")
        methods = {str(each.get("method")) for each in session.editor.messages}
        assert not any(each.startswith("terminal/") for each in methods)


def test_a_skill_is_another_one_if_any_file_differs(tmp_path: Path) -> None:
    folder = write_skill(tmp_path / "weather")
    before = skill_identity(folder)
    write_file(folder / "scripts/__pycache__/a.pyc", "x")
    assert skill_identity(folder) == before
    write_file(folder / "scripts/a.sh", "x")
    assert skill_identity(folder) != before


@pytest.mark.parametrize(
    "name", ["PATH", "LD_PRELOAD", "GIT_SSH_COMMAND", "PYTHONPATH", "BASH_ENV"]
)
def test_variables_that_choose_programs_are_known(name: str) -> None:
    assert is_control_variable(name)


@pytest.mark.parametrize("name", ["WEATHER_KEY", "GITHUB_TOKEN", "GIT_TOKEN", "HOME_ASSISTANT_URL"])
def test_plain_variables_are_not_taken_for_such(name: str) -> None:
    assert not is_control_variable(name)
