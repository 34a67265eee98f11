"""HTML report of a fleet: one file that loads nothing and runs no script.

All texts come from models, tools and repositories: they are escaped, and a content policy allows
nothing but the style sheet, by its digest. Yields pieces, so that only one task is in memory.
"""

import hashlib
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

from acp_server.fleet.outcomes import BY_SEVERITY
from acp_server.fleet.reports.html_escaper import HtmlEscaper
from acp_server.fleet.reports.html_transcript import transcript_pieces
from acp_server.fleet.reports.loading import ReportedUnit
from acp_server.fleet.reports.summary import FleetSummary, GroupSummary, model_of
from acp_server.fleet.reports.texts import (
    HEADINGS,
    cost_text,
    rate_text,
    row_of,
    seconds_text,
    tokens_text,
)
from acp_server.fleet.results import UnitResult
from acp_server.text.json_values import as_object, as_text

STYLES = Path(__file__).with_name("report.css")
MAX_DIFF_LINES = 600
MAX_LOG_LINES = 300
MAX_TEXT_CHARACTERS = 20_000
_LINE_CLASSES = (
    *(("+++ ", "path"), ("--- ", "path"), ("+", "add"), ("-", "del"), ("@@", "hunk")),
    *(
        ("diff --git ", "file"),
        ("index ", "meta"),
        ("new file ", "meta"),
        ("deleted file ", "meta"),
    ),
    *(("similarity ", "meta"), ("rename ", "meta")),
)
"""Classes of the lines of a patch, by their start."""


def html_pieces(
    title: str,
    units: Sequence[ReportedUnit],
    summary: FleetSummary,
    clean: Callable[[str], str],
) -> Iterator[str]:
    """Yield the document; `clean` removes secrets and control characters from a text."""
    styles = STYLES.read_text("utf-8")
    digest = b64encode(hashlib.sha256(styles.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    text = HtmlEscaper(clean)
    yield (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{text.line(title)}</title>\n<style>{styles}</style>\n</head>\n<body>\n"
    )
    yield f"<header><h1>{text.line(title)}</h1>{_tiles(summary.whole)}</header>\n<main>\n"
    if len(summary.by_model) > 1:
        yield _group_table("By model", summary.by_model, text)
    if summary.by_tag:
        yield _group_table("By tag", summary.by_tag, text)
    yield from _task_list(units, text)
    yield "</main>\n</body>\n</html>\n"


def _tiles(whole: GroupSummary) -> str:
    tiles = [
        ("passed", f"{whole.passed} of {whole.total}"),
        ("pass rate (95 %)", rate_text(whole)),
        *((f"pass@{k}", f"{100 * each:.0f} %") for k, each in whole.pass_at.items() if k > 1),
        ("failed", str(whole.failed)),
        *([("not run", str(whole.not_run))] if whole.not_run else []),
        ("cost", cost_text(whole.cost_usd)),
        (
            "tokens in / out",
            f"{tokens_text(whole.input_tokens)} / {tokens_text(whole.output_tokens)}",
        ),
        (
            "time p50 / p90",
            f"{seconds_text(whole.seconds_p50)} / {seconds_text(whole.seconds_p90)}",
        ),
        ("attempts", str(whole.attempts)),
    ]
    shown = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(each)}</dd></div>" for name, each in tiles
    )
    share = 0 if whole.total == 0 else 100 * whole.passed / whole.total
    # A meter is drawn by the browser: no style attribute, which the policy forbids.
    meter = f'<meter min="0" max="100" value="{share:.1f}">{share:.0f} %</meter>'
    return f"<dl>{shown}</dl>{meter}"


def _group_table(title: str, groups: Mapping[str, GroupSummary], text: HtmlEscaper) -> str:
    head = "".join(f"<th>{escape(each)}</th>" for each in ("", *HEADINGS))
    rows = (
        f"<tr><th>{text.line(name)}</th>"
        + "".join(f"<td>{escape(cell)}</td>" for cell in row_of(group))
        + "</tr>"
        for name, group in groups.items()
    )
    return (
        f'<section><h2>{title}</h2><div class="wide"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div></section>\n"
    )


def _task_list(units: Sequence[ReportedUnit], text: HtmlEscaper) -> Iterator[str]:
    failed = sum(not each.result.is_passed for each in units)
    yield (
        '<section class="tasks"><h2>Tasks</h2>\n'
        '<input type="radio" name="shown" id="all" checked><label for="all">'
        f'all {len(units)}</label>\n<input type="radio" name="shown" id="failed">'
        f'<label for="failed">not passed {failed}</label>\n'
        '<div class="head"><span>task</span><span>outcome</span><span>model</span>'
        '<span class="n">attempts</span><span class="n">time</span>'
        '<span class="n">cost</span></div>\n'
    )
    for unit in sorted(units, key=_worst_first):
        yield _task(unit, text)
    yield "</section>\n"


def _worst_first(unit: ReportedUnit) -> int:
    return BY_SEVERITY.index(unit.result.outcome)


def _task(unit: ReportedUnit, text: HtmlEscaper) -> str:
    result = unit.result
    kind = "ok" if result.is_passed else "skip" if not result.has_run else "bad"
    cells = (
        f'<span class="id">{text.line(result.id)}</span>',
        f'<span><b class="{kind}">{escape(result.outcome.replace("_", " "))}</b></span>',
        f"<span>{text.line(model_of(result))}</span>",
        f'<span class="n">{result.attempts or ""}</span>',
        f'<span class="n">{seconds_text(result.seconds) if result.has_run else ""}</span>',
        f'<span class="n">{cost_text(result.counted_usd) if result.has_run else ""}</span>',
    )
    content = "".join(_content(unit, text))
    return f'<details class="{kind}"><summary>{"".join(cells)}</summary>\n{content}</details>\n'


def _content(unit: ReportedUnit, text: HtmlEscaper) -> Iterator[str]:
    result = unit.result
    if result.reason:
        yield f'<p class="reason">{text.line(result.reason)}</p>'
    if not result.has_run:
        return
    answer = as_text(as_object(unit.details().get("result")).get("text"))
    if answer:
        yield f"<h3>Answer</h3><pre>{text.cut_block(answer, MAX_TEXT_CHARACTERS)}</pre>"
    if result.check is not None:
        state = "passed" if result.check.is_passed else "failed"
        output = text.block(result.check.output.strip())
        yield f"<h3>Check: {state}, {seconds_text(result.check.seconds)}</h3>"
        yield f"<pre>{output}</pre>" if output else ""
    if patch := unit.patch():
        yield f'<h3>Changes</h3><pre class="diff">{_diff(text.lines(patch.rstrip()))}</pre>'
    transcript = "".join(
        transcript_pieces(unit.transcript(), text, f"{result.id}.transcript.jsonl")
    )
    if transcript:
        yield f'<h3>Transcript</h3><div class="transcript">{transcript}</div>'
    # The log has little more, but what went wrong outside of the conversation.
    if (not transcript or not result.is_passed) and (log := unit.log().strip()):
        lines = text.lines(log)
        hidden = len(lines) - MAX_LOG_LINES
        more = f"<i>{hidden} earlier lines</i>\n" if hidden > 0 else ""
        shown = "\n".join(lines[-MAX_LOG_LINES:])
        yield f"<h3>Log</h3><pre>{more}{shown}</pre>"
    yield f"<h3>Run</h3><dl>{''.join(_facts(result, text))}</dl>"


def _facts(result: UnitResult, text: HtmlEscaper) -> Iterator[str]:
    usage = result.usage
    read = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    tokens = f"{tokens_text(read)} in, {tokens_text(usage.output_tokens)} out"
    facts = {
        "model asked for": result.model,
        "model that answered": result.answered_by,
        "requests": str(usage.model_calls),
        "tokens": tokens,
        "tags": ", ".join(result.tags),
        "node": result.node,
        "acp-server": result.server,
        **{f"{name} digest": each[:12] for name, each in result.digests.items()},
    }
    for name, value in facts.items():
        if value:
            yield f"<div><dt>{text.line(name)}</dt><dd>{text.line(value)}</dd></div>"


def _diff(lines: Sequence[str]) -> str:
    """Return the lines of an escaped patch with a class for each kind."""
    shown = [f"<span{_class_of(line)}>{line or ' '}</span>" for line in lines[:MAX_DIFF_LINES]]
    if len(lines) > MAX_DIFF_LINES:
        shown.append(f"<i>{len(lines) - MAX_DIFF_LINES} more lines</i>")
    return "".join(shown)


def _class_of(line: str) -> str:
    found = next((name for start, name in _LINE_CLASSES if line.startswith(start)), "")
    return f' class="{found}"' if found else ""
