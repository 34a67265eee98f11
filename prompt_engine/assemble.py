"""The prompt from its facts: three tiers, from what never changes to what changes daily."""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from prompt_engine.inputs import ContextFile, PromptInputs

CONTEXT_HEADING = """\
# Project Context

These instructions of the project were loaded. Follow them."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A system prompt in its tiers; `text` is what is sent."""

    stable: str
    context: str
    volatile: str

    @property
    def text(self) -> str:
        """The tiers that say anything, in order, a blank line between them."""
        return _joined(self.stable, self.context, self.volatile)


def assemble(inputs: PromptInputs) -> Prompt:
    """Return the prompt; the same inputs give the same bytes."""
    return Prompt(
        stable=_joined(_text("identity"), _text("editor"), inputs.environment),
        context=_joined(_workspace(inputs.workspace), _context(inputs.context_files)),
        volatile=f"Today is {inputs.day}.",
    )


def _workspace(path: str) -> str:
    return f"The workspace is {path}." if path else ""


def _context(context_files: tuple[ContextFile, ...]) -> str:
    if not context_files:
        return ""
    return _joined(CONTEXT_HEADING, *(f"## {file.path}\n\n{file.text}" for file in context_files))


def _joined(*parts: str) -> str:
    return "\n\n".join(part.strip() for part in parts if part.strip())


@cache
def _text(name: str) -> str:
    return files("prompt_engine.sections").joinpath("text", f"{name}.md").read_text("utf-8")
