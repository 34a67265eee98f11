"""Requests for the variables that a loaded skill declares: missing ones, and the user's consent.

One question per skill. With the user's consent, commands of the session get the values of
HERMES_HOME/.env or the environment; the model never sees them.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field, replace
from uuid import uuid4

from anyio import to_thread

from acp_server.permissions.effects import PassVariables
from acp_server.permissions.gate import Gate
from acp_server.permissions.modes import Mode
from acp_server.permissions.questions import PermissionChoiceId, PermissionQuestion
from acp_server.permissions.run_rules import SKILL_VARIABLES
from acp_server.session.command_variables import CommandVariables
from acp_server.session.ports.user_questions import UserAsker, UserQuestion, UserQuestionError
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.text.control_characters import replace_unprintable
from acp_server.text.lines import to_single_line
from acp_server.text.value_redaction import MIN_HIDDEN_CHARACTERS
from acp_server.tools.shell.environment import is_control_variable
from acp_server.tools.skills.variable_store import SkillVariableStore
from acp_server.turn.conversation import Text
from acp_server.turn.events import CallAppeared, CallChanged
from acp_server.turn.ports import TurnSink
from skills_store.hermes_fields import DeclaredVariable
from skills_store.identity import skill_identity
from skills_store.viewing import SkillView

MAX_HELP_CHARACTERS = 500
MAX_NAME_CHARACTERS = 100
MAX_VARIABLES = 20
"""The variables of a skill after these are not passed: the user must be able to read a question."""
MAX_FORMS = 5
"""At most so many values are asked for when a skill is loaded."""
TITLE = "Let commands of this session use {names} for the skill {skill}?"
CALL_TITLE = "Variables for the skill {skill}"
EXPLANATION = (
    "The values come from {file} or the environment. Commands can read them, and send them to "
    "hosts that you allow. The model does not see them: in outputs it reads {mark} instead."
)
OWN_KEY = "{name} is a key or token that this server itself uses."
TOO_SHORT = (
    f"{{name}} is shorter than {MIN_HIDDEN_CHARACTERS} characters, so outputs show it as it is."
)
PASSED = "commands have it; in outputs its value is {mark}"
PASSED_AS_IS = "commands have it"
NOT_PASSED = "it is set, but commands do not have it: {reason}"
NOT_READABLE = "it is set, but commands do not have it, because the skill cannot be read: {reason}"
CONTROL = "commands do not get it, because it decides which programs run"
FORM = (
    "The skill {skill} needs {name}.{help}\n\nThe value is stored in {file}, which only you can "
    "read; the model does not see it. Dismiss this to go on without it."
)
MISSING = "The skill {skill} needs {name}, which is not set.{help} To set it: `{command}`"
NOT_STORED = "{name} could not be stored: {reason}"
HELP = " The skill's author says: {text}"
SETUP_COMMAND = "acp-server skills setup {skill}"


@frozen_dataclass
class VariableRequests:
    """Requests for the variables of skills, from one session or sub-agent."""

    variables: CommandVariables
    store: SkillVariableStore
    gate: Gate
    asker: UserAsker
    mode: Callable[[], Mode]
    inherited_names: Collection[str]
    """The variables that commands have anyway."""
    own_names: Collection[str] = field(default=())
    """The variables with keys of this server."""

    async def prepare(
        self, view: SkillView, call_id: str, *, is_by_user: bool = False
    ) -> tuple[SkillView, Sequence[str]]:
        """Request the variables of a skill that is loaded.

        Returns the skill as it is now, and notes for the user. With `is_by_user`, the user has
        called it, and is asked again about what was refused before.
        """
        view = _without_names(view, self.inherited_names)
        declared = [each for each in view.variables if len(each.name) <= MAX_NAME_CHARACTERS]
        declared = [each for each in declared if each.name not in self.inherited_names]
        declared = declared[:MAX_VARIABLES]
        if not declared:
            return view, ()
        found = await to_thread.run_sync(self.store.read)
        missing = [
            each
            for each in declared
            if each.name in view.missing_variables and not found.get(each.name)
        ]
        notes: Sequence[str] = ()
        if missing:
            notes = await self._request_missing(view, missing, call_id, is_by_user=is_by_user)
            found = await to_thread.run_sync(self.store.read)
        values = {each.name: found[each.name] for each in declared if found.get(each.name)}
        if not values:
            return view, notes
        remarks = dict.fromkeys(filter(is_control_variable, values), CONTROL)
        wanted = {name: value for name, value in values.items() if name not in remarks}
        if wanted:
            remarks |= await self._request_consent(view, wanted, call_id, is_by_user=is_by_user)
        view = _without_names(view, values)
        return replace(view, needs=replace(view.needs, variable_notes=remarks)), notes

    async def prepare_for_user(
        self, view: SkillView, sink: TurnSink
    ) -> tuple[SkillView, Sequence[str]]:
        """Do the same for a skill that the user has called, shown as a call of its own.

        ACP asks for permission about tool calls only.
        """
        if all(each.name in self.inherited_names for each in view.variables):
            return _without_names(view, self.inherited_names), ()
        call_id = f"variables_{uuid4().hex[:12]}"
        title = CALL_TITLE.format(skill=view.name)
        await sink.emit(CallAppeared(call_id, SKILL_VARIABLES, "other", title))
        self.gate.enter_queue(call_id, SKILL_VARIABLES)
        is_done = False
        try:
            prepared = await self.prepare(view, call_id, is_by_user=True)
            is_done = True
        finally:
            # Also when cancelled: else the editor shows the call as running forever.
            self.gate.leave_queue(call_id)
            sink.emit_now(CallChanged(call_id, "completed" if is_done else "failed"))
        return prepared

    async def _request_missing(
        self,
        view: SkillView,
        missing: Sequence[DeclaredVariable],
        call_id: str,
        *,
        is_by_user: bool,
    ) -> Sequence[str]:
        """Ask the user for missing values, if possible; return notes about those still missing."""
        notes: list[str] = []
        # A mode that asks nothing has no forms either.
        has_forms = self.asker.is_attended and self.asker.has_forms and self.mode() != "bypass"
        for position, each in enumerate(missing):
            use = (view.name, each.name)
            is_asked = has_forms and (is_by_user or not self.variables.refusal(use))
            if is_asked and position < MAX_FORMS and not is_control_variable(each.name):
                note = await self._request_value(view, each, call_id)
                if note is None:
                    continue
                self.variables.refuse(use, note)
                notes += [note] if note else []
            notes.append(
                MISSING.format(
                    skill=view.name,
                    name=each.name,
                    help=_describe_help(each),
                    command=SETUP_COMMAND.format(skill=view.name),
                )
            )
        return notes

    async def _request_value(
        self, view: SkillView, variable: DeclaredVariable, call_id: str
    ) -> str | None:
        """Ask for a value and store it; return why it is missing, None if it is stored."""
        if self.store.write is None:
            return ""
        form = FORM.format(
            skill=view.name,
            name=variable.name,
            help=_describe_help(variable),
            file=self.store.file,
        )
        try:
            value = await self.asker.ask(UserQuestion(call_id, form))
        except UserQuestionError:
            return ""
        if value is None:
            return ""
        try:
            await to_thread.run_sync(self.store.write, variable.name, value)
        except (OSError, ValueError) as error:
            return NOT_STORED.format(name=variable.name, reason=error)
        return None

    async def _request_consent(
        self, view: SkillView, values: Mapping[str, str], call_id: str, *, is_by_user: bool
    ) -> Mapping[str, str]:
        """Ask whether commands may use variables; return what holds for each of them."""
        try:
            identity = await to_thread.run_sync(skill_identity, view.folder)
        except OSError as error:
            return dict.fromkeys(values, NOT_READABLE.format(reason=error.strerror))
        use = PassVariables(view.name, identity, tuple(values))
        reason = "" if is_by_user else self.variables.refusal(use)
        if not reason and not self.variables.is_granted_for_turn(use):
            reason = await self._authorize(use, values, call_id)
        if reason:
            self.variables.refuse(use, reason)
            return dict.fromkeys(values, NOT_PASSED.format(reason=reason))
        return {
            name: PASSED.format(mark=f"[{name}]") if _is_hidden(value) else PASSED_AS_IS
            for name, value in values.items()
        }

    async def _authorize(self, use: PassVariables, values: Mapping[str, str], call_id: str) -> str:
        """Ask the gate, and grant the variables if it agrees; return why it does not."""
        answers: list[PermissionChoiceId] = []
        marks = ", ".join(f"[{name}]" for name, value in values.items() if _is_hidden(value))
        lines = [EXPLANATION.format(file=self.store.file, mark=marks or "marks")]
        lines += [OWN_KEY.format(name=name) for name in values if name in self.own_names]
        lines += [
            TOO_SHORT.format(name=name) for name, value in values.items() if not _is_hidden(value)
        ]
        question = PermissionQuestion(
            call_id,
            use,
            TITLE.format(names=", ".join(values), skill=use.skill),
            "other",
            (Text("\n\n".join(lines)),),
            note_answer=answers.append,
        )
        refusal = await self.gate.authorize(question)
        if refusal is not None:
            return refusal.reason
        self.variables.grant(values, use, is_lasting="allow_once" not in answers)
        return ""


def _without_names(view: SkillView, names: Collection[str]) -> SkillView:
    """Return a skill without what it says about variables that are missing, but are not."""
    missing = tuple(each for each in view.missing_variables if each not in names)
    if missing == view.missing_variables:
        return view
    needs = view.needs
    helps = {name: text for name, text in needs.variable_help.items() if name in missing}
    is_set_up = not (missing or needs.missing_credential_files or needs.unset_settings)
    setup_help = "" if is_set_up else needs.setup_help
    needs = replace(needs, variable_help=helps, setup_help=setup_help)
    return replace(view, missing_variables=missing, needs=needs)


def _describe_help(variable: DeclaredVariable) -> str:
    """Return the author's words as one line of data; empty if there are none."""
    text = replace_unprintable(to_single_line(variable.help, MAX_HELP_CHARACTERS))
    return HELP.format(text=text) if text else ""


def _is_hidden(value: str) -> bool:
    return len(value) >= MIN_HIDDEN_CHARACTERS
