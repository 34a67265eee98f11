"""Rewrites the golden prompts: `uv run python -m tests.prompt_engine.golden.rewrite`."""

from pathlib import Path

from tests.prompt_engine.golden.situations import SITUATIONS, render_situation

EXPECTED = Path(__file__).parent / "expected"


def main() -> None:
    for path in EXPECTED.glob("*.md"):
        path.unlink()
    for name, facts in SITUATIONS.items():
        (EXPECTED / f"{name}.md").write_text(render_situation(facts), "utf-8", newline="\n")


if __name__ == "__main__":
    main()
