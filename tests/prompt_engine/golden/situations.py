"""Inputs of the golden prompts, each built from fixed facts."""

from dataclasses import replace
from datetime import date

from prompt_engine.assemble import build_prompt
from prompt_engine.context_file_types import ContextFile, ContextFileNote
from prompt_engine.facts import (
    AgentIdentity,
    HintOverride,
    MachineFacts,
    MemorySnapshot,
    PromptFacts,
    Repository,
    SourcedText,
    SteeringMarker,
    WorkspaceFacts,
)
from prompt_engine.findings import ThreatFinding
from prompt_engine.truncation import truncate
from prompt_engine.trust import blocked_line
from tests.support.user_texts import ONLY_DESCRIPTION_SHOWN, TITLE_HIDDEN

EDITOR_TOOLS = frozenset(
    {"read_file", "write_file", "patch", "search_files", "terminal", "process", "todo"}
)
ALL_TOOLS = EDITOR_TOOLS | {
    "clarify",
    "delegate_task",
    "kanban_show",
    "memory",
    "session_search",
    "skill_manage",
    "skill_view",
    "skills_list",
    "web_fetch",
}

HI = PromptFacts(
    day=date(2026, 11, 21),
    model="claude-opus-5",
    tools=EDITOR_TOOLS,
    environment=MachineFacts("Linux (Ubuntu 24.04.1 LTS)", "x86_64", "bash"),
    workspace=WorkspaceFacts(
        folder="/home/ada/engine",
        repository=Repository(
            "/home/ada/engine",
            "main",
            staged=0,
            changed=2,
            untracked=1,
            conflicted=0,
            commits=(
                '"Oil the wheels"',
                '"Count the teeth"',
                TITLE_HIDDEN,
            ),
        ),
        project="/home/ada/engine",
        manifests=("pyproject.toml", "Makefile"),
        package_managers=("uv",),
        checks=("make test", "uv run pytest", "uv run ruff check"),
    ),
    context_files=(ContextFile("AGENTS.md", "Use tabs. Run `make test` before you finish.", 44),),
    context_notes=(ContextFileNote("AGENTS.md", "loaded", 44, 44),),
)

BASIC = PromptFacts(day=date(2026, 11, 21), model="claude-opus-5", tools=EDITOR_TOOLS)

SOUL = SourcedText("You are Ada's engineer. You like proofs.", "/home/ada/.hermes/SOUL.md")
FINDING = ThreatFinding("hide-from-user", "context", 3, 1)
BLOCKED_ENTRY = "[Blocked: ssh-back-door in line 1 of this entry. It stays on disk.]"
LONG = truncate("Rule: keep the engine dry.\n" * 40, 300, "AGENTS.md")
INDEX = """\
## Skills

Scan this list before you reply.

<available_skills>
writing: how Ada writes
  - release-notes: Notes of a release from its commits
</available_skills>"""


def _files(*files: tuple[str, str]) -> tuple[ContextFile, ...]:
    return tuple(ContextFile(path, text, len(text)) for path, text in files)


FULL = replace(
    HI,
    model="gpt-5.2",
    tools=ALL_TOOLS,
    skills_index=SourcedText(INDEX),
    system_message=SourcedText("Answer in British English.", "agent.system_message"),
    memory=MemorySnapshot(("Project uses pytest with xdist", "CI runs on arm64"), 49, 2_200),
    user=MemorySnapshot(("Name: Ada",), 9, 1_375),
    external_memory=SourcedText("Ada's team meets on Mondays.", "example"),
    session_id="5f1c9f0e",
)

SITUATIONS: dict[str, PromptFacts] = {
    "hi_in_an_editor": HI,
    "everything_with_gpt": FULL,
    "everything_with_claude": replace(FULL, model="claude-opus-5"),
    "gemini_in_continuous_integration": replace(
        HI,
        model="google/gemini-3-pro",
        platform="ci",
        environment=replace(HI.environment, container="docker", ci_service="GitHub Actions"),
    ),
    "gpt_without_tools": replace(BASIC, model="gpt-5.2", tools=frozenset()),
    "claude_without_tools": replace(BASIC, tools=frozenset(), platform="cli"),
    "gpt_at_an_endpoint_without_blocks": replace(
        BASIC, model="gpt-5.2", steering=SteeringMarker("[The user says:]", "[End of the user]")
    ),
    "file_hermes_md": replace(BASIC, context_files=_files((".hermes.md", "Speak of engines."))),
    "files_agents_md_nested": replace(
        BASIC,
        context_files=_files(
            ("../../AGENTS.md", "Use tabs."),
            ("../AGENTS.override.md", "Tests lie beside their modules."),
            ("AGENTS.md", "This package must not import the others."),
        ),
    ),
    "file_claude_md": replace(BASIC, context_files=_files(("CLAUDE.md", "Prefer small commits."))),
    "files_cursor_rules": replace(
        BASIC,
        context_files=_files(
            (".cursorrules", "Use named exports."),
            (".cursor/rules/10-style.mdc", "No default exports."),
            (".cursor/rules/20-sql.mdc", "Rule for later: how queries are written."),
        ),
        context_notes=(
            ContextFileNote(".cursor/rules/20-sql.mdc", "named", 900, 0, ONLY_DESCRIPTION_SHOWN),
            ContextFileNote(".cursor/rules/30-tests.mdc", "waiting", 200, 0, "for tests/**"),
        ),
    ),
    "file_blocked_and_the_next_one": replace(
        BASIC,
        context_files=_files(
            (".hermes.md", blocked_line(".hermes.md", (FINDING,))), ("AGENTS.md", "Use tabs.")
        ),
        context_notes=(ContextFileNote(".hermes.md", "blocked", 90, 0, "", (FINDING,)),),
    ),
    "file_truncated": replace(
        BASIC,
        context_files=(ContextFile("AGENTS.md", LONG.text, LONG.total_characters),),
        context_notes=(
            ContextFileNote("AGENTS.md", "cut", LONG.total_characters, LONG.kept_characters),
        ),
    ),
    "file_undecodable": replace(
        BASIC,
        context_notes=(ContextFileNote("AGENTS.md", "undecodable", reason="byte 0 is not UTF-8"),),
    ),
    "additional_roots": replace(
        BASIC,
        workspace=WorkspaceFacts(
            "/home/ada/engine/web",
            additional=("/home/ada/notes",),
            repository=Repository("/home/ada/engine"),
            project="/home/ada/engine",
            manifests=("package.json",),
            package_managers=("pnpm",),
            checks=("pnpm run test",),
            dropped=("git took too long: counts",),
        ),
        context_files=_files(
            ("AGENTS.md", "Use tabs."), ("/home/ada/notes/AGENTS.md", "Write in German.")
        ),
    ),
    "soul_is_the_identity": replace(BASIC, identity=AgentIdentity(soul=SOUL)),
    "soul_is_blocked": replace(
        BASIC,
        identity=AgentIdentity(
            soul=SourcedText("", SOUL.source, "blocked", "hide-from-user in line 3")
        ),
    ),
    "caller_has_an_identity": replace(
        HI, identity=AgentIdentity(soul=SOUL, custom_text="You review pull requests of the engine.")
    ),
    "sub_agent": replace(
        HI, identity=AgentIdentity(soul=SOUL, skips_context_files=True), platform="ci"
    ),
    "sub_agent_with_soul": replace(
        HI, identity=AgentIdentity(soul=SOUL, skips_context_files=True, loads_soul=True)
    ),
    "worker_of_a_task_board": replace(
        BASIC,
        tools=EDITOR_TOOLS | {"kanban_show"},
        board=SourcedText("You work on task 7 of the board.", "kanban"),
        platform="cron",
    ),
    "wsl_at_alibaba": replace(
        BASIC,
        model="qwen3-coder-plus",
        provider="alibaba",
        environment=MachineFacts(
            "Linux (Ubuntu 24.04.1 LTS)",
            "x86_64",
            "zsh",
            is_wsl=True,
            python="Python has no pip here: use `uv pip`.",
            hints=(SourcedText("The database listens on port 5433.", "agent.environment_hint"),),
            profile="work",
        ),
    ),
    "telegram_with_an_addition": replace(
        BASIC,
        platform="telegram",
        hint_overrides={"telegram": HintOverride(append="No emoji, please.")},
    ),
    "memory_with_a_blocked_entry": replace(
        BASIC,
        tools=EDITOR_TOOLS | {"memory"},
        memory=MemorySnapshot(
            (
                "CI runs on arm64",
                BLOCKED_ENTRY,
            ),
            1_474,
            2_200,
            "/home/ada/.hermes/memories/MEMORY.md",
            "blocked",
            "1 of 2 entries were blocked",
        ),
    ),
}


def render_situation(facts: PromptFacts) -> str:
    """Return a prompt as stored: its text, then the notices to the user about it."""
    prompt = build_prompt(facts)
    notices = "\n".join(f"- {entry.notice}" for entry in prompt.report.entries if entry.notice)
    notice_text = f"\n---\n\nWhat the user is told:\n\n{notices}\n" if notices else ""
    return f"{prompt.text}\n{notice_text}"
