"""Output directories of fleets, as a driver leaves them."""

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import JsonValue

from acp_server.fleet.results import UnitCheck, UnitResult, UnitUsage

PATCH = """\
diff --git a/shop/price.py b/shop/price.py
index 1b2c3d4..5e6f7a8 100644
--- a/shop/price.py
+++ b/shop/price.py
@@ -1,4 +1,4 @@
-from decimal import ROUND_HALF_EVEN, Decimal
+from decimal import ROUND_HALF_UP, Decimal
 def round_price(price):
     return price
 # end
"""


def make_result(number: int, **changes: object) -> UnitResult:
    """Return a passed result of a task."""
    result = UnitResult(
        key=f"key-{number}",
        id=f"task-{number}",
        task=f"task-{number}",
        outcome="done",
        model="claude-opus-5",
        answered_by="claude-opus-5-20260801",
        attempts=1,
        node="local",
        seconds=10.0 + number,
        usage=UnitUsage(3, 1_000, 200, 5_000, 100),
        cost_usd=0.05,
        server="0.1.0",
        digests={"prompt": "a" * 64, "tools": "b" * 64},
    )
    return replace(result, **changes)


def store(
    directory: Path, results: Sequence[UnitResult], findings: Sequence[JsonValue] = ()
) -> Path:
    """Write a journal and the files of each unit; the first gets the findings."""
    directory.mkdir(parents=True, exist_ok=True)
    records: list[JsonValue] = [{"type": "run", "time": 1.0, "version": 1}]
    for result in results:
        facts: dict[str, JsonValue] = {"key": result.key, "id": result.id, "task": result.task}
        facts |= {"repeat": result.repeat, "tags": [*result.tags], "model": result.model}
        records.append({"type": "queued", "time": 1.0, **facts})
    for number, result in enumerate(results):
        if not result.has_run:
            continue
        ended: dict[str, JsonValue] = {"key": result.key, "id": result.id, "is_final": True}
        records.append({"type": "ended", "time": 2.0, **ended, "result": result.as_json()})
        printed: dict[str, JsonValue] = {"outcome": result.outcome, "text": f"Did {result.id}."}
        printed |= {"findings": [], "answer": None}
        if findings and number == 0:
            printed |= {"findings": [*findings], "answer": {"findings": [*findings]}}
        entry: JsonValue = {"id": result.id, "result": printed, "unit": result.as_json()}
        (directory / f"{result.id}.json").write_text(json.dumps(entry))
        (directory / f"{result.id}.log").write_text("read: shop/price.py: done\nedit: done\n")
        if result.patch_sha256:
            (directory / f"{result.id}.patch").write_text(PATCH)
    lines = "".join(f"{json.dumps(each)}\n" for each in records)
    (directory / "journal.jsonl").write_text(lines)
    return directory


def make_fleet(count: int, seed: int = 1) -> list[UnitResult]:
    """Return results of all kinds, always the same for a seed."""
    source = random.Random(seed)  # noqa: S311  not for secrets
    results: list[UnitResult] = []
    for number in range(count):
        outcome = source.choice(["done"] * 6 + ["check_failed", "timeout", "provider_error"])
        check = UnitCheck(0 if outcome == "done" else 1, 1.5, "1 failed, 11 passed in 0.42s")
        results.append(
            make_result(
                number,
                outcome=outcome,
                reason="" if outcome == "done" else f"the reason of {outcome}; look at its log",
                tags=(source.choice(("python", "rust")),),
                model=source.choice(("claude-opus-5", "gpt-5.1")),
                seconds=source.uniform(4, 400),
                attempts=1 + (outcome == "provider_error") * 2,
                cost_usd=source.uniform(0.01, 2),
                check=check,
                patch_sha256="c" * 64 if outcome != "timeout" else "",
            )
        )
    return results
