"""`acp-server run "/undo"`: what is not restored, and the rule that would allow it."""

from pathlib import Path

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
