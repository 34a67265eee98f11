from acp_server.permissions.shell.assessment import assess
from acp_server.permissions.shell.patterns import could_match_name
from tests.permissions.shell.attempts import ATTEMPTS
from tests.permissions.shell.secrets import HOME, PATTERNS, SECRETS, WORKSPACE
from tests.support.case_table import each_case


@each_case("command", ATTEMPTS.values(), ids=ATTEMPTS.keys())
def test_no_attempt_is_allowed_without_permission(command: str) -> None:
    found = assess(command, WORKSPACE, HOME)
    assert (found.verdict, bool(found.reason)) == ("asks", True)


@each_case(("command", "paths"), SECRETS.items(), ids=SECRETS.keys())
def test_a_path_is_reported_however_it_is_written(command: str, paths: tuple[str, ...]) -> None:
    found = assess(command, WORKSPACE, HOME)
    assert (found.verdict, set(paths) - set(found.reads)) == ("reads", set())


@each_case(("command", "found"), PATTERNS.items(), ids=PATTERNS.keys())
def test_a_pattern_that_may_match_a_secret_is_reported(
    command: str, found: tuple[str, str]
) -> None:
    pattern, name = found
    globs = assess(command, WORKSPACE, HOME).globs
    assert pattern in globs
    assert could_match_name(pattern, name)


def test_the_table_of_attempts_has_the_required_length() -> None:
    assert len(ATTEMPTS) + len(SECRETS) + len(PATTERNS) >= 160
