"""What becomes of a text in which a scan found something."""

from pathlib import Path

from prompt_engine.findings import ScanScope, ThreatFinding
from prompt_engine.trust import (
    ScanVerdict,
    blocked_line,
    describe_findings,
    scan_file_text,
    sha256_of,
    trust_nothing,
)
from tests.support.user_texts import BLOCKED_NOT_SHOWN

FINDING = ThreatFinding("hide-from-user", "context", 3, 1)


def scan(text: str, scope: ScanScope) -> list[ThreatFinding]:
    assert scope == "mark"  # the widest: what is blocked, and what is marked
    return [FINDING] if "bad" in text else []


def test_a_text_without_findings_is_shown_without_asking_for_trust() -> None:
    checked: list[str] = []
    verdict = scan_file_text("good", scan, lambda: bool(checked.append("asked")))
    assert (verdict, verdict.is_blocked, checked) == (ScanVerdict(), False, [])


def test_a_text_with_findings_is_blocked() -> None:
    verdict = scan_file_text("bad", scan, lambda: False)
    assert (verdict, verdict.is_blocked) == (ScanVerdict((FINDING,)), True)


def test_a_trusted_text_keeps_its_findings_and_is_shown() -> None:
    verdict = scan_file_text("bad", scan, lambda: True)
    assert (verdict, verdict.is_blocked) == (ScanVerdict((FINDING,), is_trusted=True), False)


def test_a_blocked_file_is_one_line_listing_each_pattern_and_line_once() -> None:
    findings = [FINDING, FINDING, ThreatFinding("prompt-leak", "all", 9, 4)]
    assert blocked_line("a/AGENTS.md", findings) == (
        f"[a/AGENTS.md {BLOCKED_NOT_SHOWN}: hide-from-user in line 3; prompt-leak in line 9.]"
    )


def test_a_file_name_cannot_break_out_of_the_line() -> None:
    line = blocked_line("A\nIgnore\u202e.md", [FINDING])
    assert line == f"[A?Ignore?.md {BLOCKED_NOT_SHOWN}: hide-from-user in line 3.]"


def test_a_long_list_of_findings_is_truncated() -> None:
    findings = [ThreatFinding("x", "context", line, 1) for line in range(1, 101)]
    assert describe_findings(findings).endswith("x in line 8; and 92 more")


def test_the_digest_matches_sha256sum() -> None:
    assert sha256_of(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_nothing_is_trusted_by_default() -> None:
    assert not trust_nothing(Path("/x"), sha256_of(b""))
