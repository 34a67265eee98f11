"""A slash and a name load a skill, without the model having to choose."""

from pathlib import Path

from skills_store.invocation import (
    SkillCommand,
    SkillInvocation,
    list_skill_commands,
    parse_invocation,
    render_invocation,
)
from skills_store.viewing import ViewContext
from tests.skills_store.skill_files import make_library, write_file, write_skill
from tests.support.case_table import each_case

BUILT_IN = frozenset({"help", "model"})
SKILLS = frozenset({"pdf", "git-flow", "a.b_c", "office:charts", "help", "two", "three", "four"})


def parsed(text: str) -> SkillInvocation | None:
    """What a prompt calls."""
    return parse_invocation(text, BUILT_IN.__contains__, SKILLS.__contains__)


@each_case(
    ("text", "names", "rest"),
    [
        ("/pdf", ["pdf"], ""),
        ("/pdf merge them", ["pdf"], "merge them"),
        ("  /pdf\nmerge\n  them  ", ["pdf"], "merge\n  them"),
        ("/pdf /git-flow merge", ["pdf", "git-flow"], "merge"),
        ("/pdf /pdf merge", ["pdf"], "merge"),
        ("/a.b_c x", ["a.b_c"], "x"),
        ("/office:charts x", ["office:charts"], "x"),
        ("/skill:office:charts x", ["office:charts"], "x"),
        ("/skill:help x", ["help"], "x"),
        ("/skill:PDF x", ["PDF"], "x"),
        ("/skill:gone x", ["gone"], "x"),
        ("/pdf /skill:help x", ["pdf", "help"], "x"),
        ("/pdf /help x", ["pdf"], "/help x"),
        ("/pdf /nothing x", ["pdf"], "/nothing x"),
        ("/pdf /etc/hosts", ["pdf"], "/etc/hosts"),
        (
            "/pdf /git-flow /two /three /four /a.b_c x",
            ["pdf", "git-flow", "two", "three", "four"],
            "/a.b_c x",
        ),
    ],
)
def test_a_prompt_that_starts_with_skill_names_invokes_them(
    text: str, names: list[str], rest: str
) -> None:
    assert parsed(text) == SkillInvocation(tuple(names), rest)


@each_case(
    "text",
    [
        *(
            "",
            "pdf",
            "/",
            "/ pdf",
            "//pdf",
            "/help",
            "/help /pdf",
            "/nothing",
            "/etc/hosts is broken",
        ),
        *("/pdf/x", "/pdf, please", "/PDF", "/2pdf", "read /pdf", "/skill:", "/skill: pdf"),
    ],
)
def test_other_prompts_are_text_or_built_in_commands(text: str) -> None:
    assert parsed(text) is None


def test_the_model_receives_everything_it_needs(tmp_path: Path) -> None:
    folder = write_skill(tmp_path / "pdf", fields="prerequisites:\n  commands: [qpdf]")
    write_file(folder / "references/{api}.md")
    write_file(folder / "scripts/merge.py")
    view = make_library(tmp_path).view("pdf", ViewContext())
    assert render_invocation([view], "merge {them}") == (
        '[The user invoked the skill "pdf". Follow it for this message.]\n\n'
        f"{(folder / 'SKILL.md').read_text().strip()}\n\n"
        f"[The skill's folder is `{folder}`. It has these files:\n"
        "- references/{api}.md\n- scripts/merge.py\n"
        "To read one, use `skill_view`, for example with name `pdf` and file_path "
        "`references/{api}.md`. "
        f"To run a script, use its absolute path, for example `{folder}/scripts/merge.py`.]\n\n"
        '[The skill "pdf" needs what is missing here: qpdf. '
        "Before you rely on it, tell the user.]\n\n"
        "[The user's message]\n\nmerge {them}"
    )


def test_stacked_skills_precede_the_text_in_order(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_skill(tmp_path / name)
    library = make_library(tmp_path)
    rendered = render_invocation([library.view("two"), library.view("one")], "")
    assert rendered.index('the skill "two"') < rendered.index('the skill "one"')
    assert rendered.endswith(f"{tmp_path}/one`.]\n\n[The user wrote nothing more.]")


def test_each_skill_has_a_command_that_invokes_it(tmp_path: Path) -> None:
    for name in ("pdf", "help", "2nd", "PDF.2", "with blank", "a/double", "b/double"):
        write_skill(tmp_path / name, f"Does {name}.")
    library = make_library(tmp_path)
    commands = list_skill_commands(library.skills(), library.collection(), BUILT_IN.__contains__)
    assert commands == (
        SkillCommand("pdf", "Does pdf."),
        SkillCommand("skill:2nd", "Does 2nd."),
        SkillCommand("skill:PDF.2", "Does PDF.2."),
        SkillCommand("skill:help", "Does help."),
    )
    for command in commands:
        called = parse_invocation(f"/{command.name} x", BUILT_IN.__contains__, library.is_known)
        assert called == SkillInvocation((command.name.removeprefix("skill:"),), "x")
