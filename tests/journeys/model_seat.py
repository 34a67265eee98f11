"""The model of a journey: programs that react to what they are shown, one per prompt.

    def find_the_test(shown: ShownRequest) -> ModelProgram:
        shown = yield call("search_files", pattern="def test_rounding")
        path = shown.find(r"^(\\S+\\.py)")[1]
        shown = yield call("terminal", command=f"python -m unittest {path}")
        return "It fails." if "FAILED" in shown.text else "It passes."

A program is a generator: it receives the request that its prompt led to, yields an answer, and
resumes with the next request of its turn. It yields a call, several blocks as a tuple, or any turn
of a script (`tests.support.messages_api.script`); what it returns is the last answer.

A request goes to the program of its newest prompt, until that has begun; then by the ids of the
calls whose results it brings, and by a prompt only if it brings none. Requests for a summary are
answered by `summarize`.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TypeAlias

from acp_server.turn.compaction import build_summary_question
from tests.journeys.shown_request import PromptPart, ShownRequest
from tests.support.messages_api import CallTool, ScriptedTurn, reply
from tests.support.messages_api.failures import bad_request
from tests.support.messages_api.script import ReplyBlock, ScriptedReply

ProgramAnswer: TypeAlias = ScriptedTurn | CallTool | tuple[ReplyBlock | str, ...]
ModelProgram: TypeAlias = Generator[ProgramAnswer, ShownRequest, str]
WriteProgram: TypeAlias = Callable[[ShownRequest], ModelProgram]
AT_A_LOSS = "The model of the test is at a loss."


def summary_instruction() -> str:
    """Return the text that asks the model for a summary."""
    return build_summary_question()


def _list_prompts(shown: ShownRequest) -> str:
    prompts = [part.text for part in shown.parts if part.role == "user" and part.text]
    return "The user asked, in this order:\n" + "\n".join(f"- {each[:200]}" for each in prompts)


@dataclass(slots=True)
class RunningProgram:
    """Program of one prompt."""

    prompt: str
    session: str
    """Name of the session that it belongs to."""
    write: WriteProgram
    answers: ModelProgram | None = None
    """None until the first request."""

    def is_asked(self, parts: Sequence[PromptPart]) -> bool:
        """Whether the prompt of this program is among these parts."""
        return any(part.role == "user" and part.text.startswith(self.prompt) for part in parts)


@dataclass(slots=True)
class ModelSeat:
    """Answers all requests of a journey."""

    summarize: Callable[[ShownRequest], str] = _list_prompts
    failure: BaseException | None = None
    """What a program raised; its turn ends with an error."""
    sessions: dict[int, str] = field(default_factory=dict[int, str])
    """Session of each request, by the request's number."""
    summaries: set[int] = field(default_factory=set[int])
    """Numbers of the requests for a summary."""
    _programs: list[RunningProgram] = field(default_factory=list[RunningProgram])
    _callers: dict[str, RunningProgram] = field(default_factory=dict[str, RunningProgram])
    _ids: "count[int]" = field(default_factory=lambda: count(1))

    def play(self, prompt: str, program: WriteProgram, session: str = "") -> None:
        """Answer the requests that this prompt leads to; the newest program of a prompt counts."""
        self._programs.insert(0, RunningProgram(prompt, session, program))

    def answer(self, number: int, shown: ShownRequest) -> ScriptedTurn:
        """Answer a request, which has this number among all requests."""
        try:
            running = self._find(shown)
            self.sessions[number] = running.session
            if any(summary_instruction() in part.text for part in shown.news):
                self.summaries.add(number)
                return self.summarize(shown)
            return self._resume(running, shown)
        except BaseException as error:  # noqa: BLE001  raised again in the test's thread
            self.failure = self.failure or error
            return bad_request(AT_A_LOSS)

    def _find(self, shown: ShownRequest) -> RunningProgram:
        for running in self._programs:
            if running.answers is None and running.is_asked(shown.news):
                return running
        for part in shown.news:
            if part.call_id in self._callers:
                return self._callers[part.call_id]
        for running in self._programs:
            if running.is_asked(shown.parts):
                return running
        raise AssertionError(f"no program for this request: {shown.text}")

    def _resume(self, running: RunningProgram, shown: ShownRequest) -> ScriptedTurn:
        try:
            if running.answers is None:
                running.answers = running.write(shown)
                answer = next(running.answers)
            else:
                answer = running.answers.send(shown)
        except StopIteration as ended:
            answer = str(ended.value)
        match answer:
            case CallTool():
                return self._named(reply(answer), running)
            case tuple():
                return self._named(reply(*answer), running)
            case ScriptedReply():
                return self._named(answer, running)
            case _:
                return answer

    def _named(self, answer: ScriptedReply, running: RunningProgram) -> ScriptedReply:
        """Give each call an id, by which its result finds the program again."""
        blocks = [
            replace(block, id=block.id or f"toolu_{next(self._ids):04}")
            if isinstance(block, CallTool)
            else block
            for block in answer.blocks
        ]
        ids = (block.id for block in blocks if isinstance(block, CallTool))
        self._callers.update((call_id, running) for call_id in ids if call_id is not None)
        return replace(answer, blocks=tuple(blocks))
