"""Commands as the task of a run: what `/undo` does not restore, and how a session is listed."""

from pathlib import Path

from tests.cli.command_line import run
from tests.headless.run.pipeline import make_step
from tests.support.messages_api import call, messages_api_in_thread, reply


def test_a_file_changed_since_the_turn_is_restored_by_the_rule_that_is_named(
    tmp_path: Path,
) -> None:
    script = [reply(call("write_file", path="greet.py", content="turn\n")), "Done."]
    with messages_api_in_thread(script) as api:
        step = make_step(tmp_path, api)
        step.run("Write it")
        greet = step.workspace / "greet.py"
        greet.write_text("mine\n")
        refused = step.run("/undo", "--resume", "last")
        kept = greet.read_text()
        step.run("/undo", "--resume", "last", "--allow", "edit(greet.py)")
    said = (
        "`greet.py` was not restored: it was changed since that turn. To restore it all the same: "
    )
    assert f"{said}`--allow 'edit(greet.py)'`" in refused.stdout
    assert "do not try it in another way" not in refused.stdout + refused.stderr
    assert kept == "mine\n"
    assert not greet.exists()


def test_a_session_that_began_with_a_command_is_listed_under_it(tmp_path: Path) -> None:
    with messages_api_in_thread(["Done."]) as api:
        step = make_step(tmp_path, api)
        step.run("/usage")
        of_command = run(step.home, "sessions", "list").stdout
        step.run("Mend the parser", "--resume", "last")
        of_prompt = run(step.home, "sessions", "list").stdout
    assert "  /usage  " in of_command
    assert "(no title)" not in of_command + of_prompt


def test_a_failed_command_is_shown_with_the_end_of_its_output(tmp_path: Path) -> None:
    command = "printf '%s\\n' one two three four; exit 3"
    with messages_api_in_thread([reply(call("terminal", command=command)), "No."]) as api:
        step = make_step(tmp_path, api)
        step.run("Try it", "--mode", "full")
        session = run(step.home, "sessions", "list").stdout.split()[2]
        shown = run(step.home, "sessions", "show", session).stdout
    assert "(failed)" in shown
    ended = shown.partition("(failed)")[2].splitlines()
    assert "  four" in ended
    assert "  one" not in ended
