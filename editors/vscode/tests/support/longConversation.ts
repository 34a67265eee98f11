/** A long conversation with everything that strains the layout, for screenshots and layout tests. */
import type { PermissionOption, SessionUpdate } from "@agentclientprotocol/sdk";
import type { SessionEvent, ViewEvent } from "../../src/shared/events.js";
import { SESSION_OPENED } from "./conversation.js";

const update = (of: SessionUpdate): SessionEvent => ({ type: "update", update: of });
const COMMAND =
  "cd services/payments && python -m pytest tests/integration --maxfail=1 -q && " +
  "curl -fsSL https://downloads.example.com/install/very-long-name-of-a-script.sh | sh";
const SCRIPT = "set -e\nfor name in api worker scheduler; do\n  docker build -t \"payments-$name\" \"services/$name\"\ndone\ndocker compose up -d";
export const OPTIONS: readonly PermissionOption[] = [
  { optionId: "allow_once", name: "Allow once", kind: "allow_once" },
  { optionId: "allow_session", name: "Allow `curl` to downloads.example.com for this session", kind: "allow_always" },
  { optionId: "allow_workspace", name: "Always allow `curl` to downloads.example.com in this workspace", kind: "allow_always" },
  { optionId: "reject_once", name: "Reject", kind: "reject_once" },
  { optionId: "reject_workspace", name: "Always reject `curl` to downloads.example.com in this workspace", kind: "reject_always" },
];

const ANSWER = `## What I found

The rounding happens **twice**: once in \`payments/rounding.py:41\` and again in \`invoice.total()\`. See
payments/invoice.py:128 for the second one, and [the rules](docs/rounding.md#L12). AT&amp;T and &eacute;clair show as they should,<br>and this is a new line.

| Service | Where the amount is rounded | Status | Owner |
|---|---|---|---|
| payments-api | \`payments/rounding.py\`, in \`round_half_even\` | mended | billing |
| invoice-worker | \`invoice/totals.py\`, with \`Decimal.quantize\` | unchanged | accounting |

\`\`\`python
def round_half_even(amount: Decimal, places: int = 2) -> Decimal:
    """Round to even, as the bank does; a very long docstring line that does not fit into a narrow side bar at all."""
    return amount.quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_EVEN)
\`\`\`

1. First the tests, so that the difference is visible
2. Then the function
   - its callers
   - the migration of old invoices

> The migration is not reversible.

- [x] tests
- [ ] migration
`;

function call(id: string, title: string, kind: "read" | "search" | "execute" | "edit", rawInput: object, status: "completed" | "pending" = "completed"): SessionEvent {
  return update({ sessionUpdate: "tool_call", toolCallId: id, title, kind, status, rawInput });
}

function turn(n: number): ViewEvent[] {
  const id = String(n);
  return [
    { type: "prompted", id: `p${id}`, blocks: [{ type: "text", text: `Question ${id}: why do the totals of the invoices differ from the sums of their lines?` }], busyMode: "turn" },
    { type: "running", startedAt: 1 },
    update({ sessionUpdate: "agent_thought_chunk", messageId: `t${id}`, content: { type: "text", text: "The totals come from two places, so I compare them line by line before I change anything." } }),
    call(`r${id}`, "Read payments/rounding.py", "read", { path: "payments/rounding.py" }),
    call(`s${id}`, "Search for `quantize` in services/payments and services/invoice-worker", "search", {}),
    call(`x${id}`, "`python -m pytest -q tests/unit`", "execute", { command: "python -m pytest -q tests/unit" }),
    update({ sessionUpdate: "agent_message_chunk", messageId: `m${id}`, content: { type: "text", text: ANSWER } }),
    { type: "ended", reason: "end_turn", error: "" },
  ];
}

function permission(n: number, title: string, command: string): ViewEvent[] {
  const id = `q${String(n)}`;
  const content = [
    { type: "content" as const, content: { type: "text" as const, text: `\`\`\`sh\n${command}\n\`\`\`` } },
    { type: "content" as const, content: { type: "text" as const, text: "`sh` runs its input as code." } },
  ];
  return [
    call(id, title, "execute", { command }, "pending"),
    { type: "permission", questionId: id, call: { toolCallId: id, title, kind: "execute", content, rawInput: { command } }, options: [...OPTIONS] },
  ];
}

const COMMANDS = [
  "agents", "checkpoints", "code-review", "compact", "context", "cost", "debugging", "diff", "forward", "help", "init",
  "mcp", "memory", "mode", "model", "network", "plan", "restore", "review", "skills", "tasks", "test-first", "undo",
];

export const LONG_OPENED: readonly ViewEvent[] = [
  ...SESSION_OPENED,
  { type: "title", title: "Find out why the totals of invoices differ from the sums of their lines in some currencies" },
  {
    type: "sessions",
    sessions: [
      { id: "s1", title: "Find out why the totals of invoices differ from the sums of their lines", cwd: "/project", updatedAt: "2026-11-22T08:00:00Z", isRunning: true, openQuestions: 3, isArchived: false, agent: "Hermes", canFork: true, canDelete: true },
      { id: "s2", title: "Make the nightly build of the documentation reproducible again", cwd: "/project", updatedAt: "2026-11-21T08:00:00Z", isRunning: true, openQuestions: 1, isArchived: false, agent: "Hermes", canFork: true, canDelete: true },
      { id: "s3", title: "Rename the package", cwd: "/project", updatedAt: "2026-11-01T08:00:00Z", isRunning: false, openQuestions: 0, isArchived: false, agent: "Hermes", canFork: true, canDelete: true },
    ],
  },
  update({
    sessionUpdate: "available_commands_update",
    availableCommands: COMMANDS.map((name) => ({ name, description: `What ${name} does, in a sentence that is too long for a narrow view` })),
  }),
];

/** Several finished turns. */
export const LONG_STORY: readonly ViewEvent[] = [...LONG_OPENED, ...[1, 2, 3].flatMap(turn)];

/** Three parallel calls ask; the plan and the changes are there too. */
export const PARALLEL_QUESTIONS: readonly ViewEvent[] = [
  ...LONG_STORY,
  { type: "prompted", id: "p9", blocks: [{ type: "text", text: "Install it, and run everything." }], busyMode: "turn" },
  { type: "running", startedAt: 1 },
  update({
    sessionUpdate: "plan",
    entries: [
      { content: "Compare the totals of all invoices with the sums of their lines, in every currency", priority: "high", status: "completed" },
      { content: "Mend the rounding in payments/rounding.py without changing what old invoices show", priority: "high", status: "in_progress" },
      { content: "Migrate the invoices", priority: "low", status: "pending" },
    ],
  }),
  { type: "changes", files: [{ path: "/project/payments/rounding.py", label: "payments/rounding.py", kind: "changed", added: 12, removed: 3, hunks: [] }] },
  ...permission(1, `\`${COMMAND.slice(0, 120)} …\``, COMMAND),
  ...permission(2, "`set -e …`", SCRIPT),
  ...permission(3, "`make test`", "make test"),
];

/** A prompt that is shorter than its actions are wide, in a view that can restore it. */
export const SHORT_PROMPT: readonly ViewEvent[] = [
  { type: "prompted", id: "p1", blocks: [{ type: "text", text: "go on" }], busyMode: "turn" },
  { type: "checkpoint", promptId: "p1", checkpoint: "c1" },
];

/** One call asks to change five files. */
export const FIVE_FILES: readonly ViewEvent[] = [
  ...LONG_STORY,
  { type: "prompted", id: "p9", blocks: [{ type: "text", text: "Add the spread to all that knows averages." }], busyMode: "turn" },
  { type: "running", startedAt: 1 },
  {
    type: "permission",
    questionId: "q5",
    call: {
      toolCallId: "q5",
      title: "Edit 5 files",
      kind: "edit",
      content: ["averages.py", "report.py", "test_report.py", "main.py", "docs.py"].map((name) => ({
        type: "diff" as const,
        path: `/project/${name}`,
        oldText: "def mean(numbers):\n    return sum(numbers) / len(numbers)\n",
        newText: "def mean(numbers):\n    return sum(numbers) / len(numbers)\n\n\ndef spread(numbers):\n    return max(numbers) - min(numbers)\n",
      })),
    },
    options: [...OPTIONS],
  },
];

const LISTED = "def mean(numbers):\n    return sum(numbers) / len(numbers)\n\n\ndef spread(numbers):\n    return max(numbers) - min(numbers)\n\n\nprint(mean([1, 2]))\n";

/** An edit of which one part was rejected in the editor, while it asks. */
export const REJECTED_PART: readonly ViewEvent[] = [
  ...LONG_STORY,
  { type: "prompted", id: "p9", blocks: [{ type: "text", text: "Let both work for empty lists." }], busyMode: "turn" },
  { type: "running", startedAt: 1 },
  {
    type: "permission",
    questionId: "q6",
    call: {
      toolCallId: "q6",
      title: "Edit averages.py",
      kind: "edit",
      content: [{
        type: "diff",
        path: "/project/averages.py",
        oldText: LISTED,
        newText: LISTED.replace("/ len(numbers)", "/ max(len(numbers), 1)").replace("max(numbers) - min(numbers)", "max(numbers, default=0) - min(numbers, default=0)"),
      }],
    },
    options: [...OPTIONS],
  },
  { type: "parts", callId: "q6", total: 2, rejected: [{ diff: 0, oldStart: 1, oldEnd: 2, newStart: 1, newEnd: 2 }] },
];

/** The same edit, after its rest was allowed. */
export const ALLOWED_PART: readonly ViewEvent[] = [
  ...REJECTED_PART,
  {
    type: "prompted",
    id: "p10",
    blocks: [{ type: "text", text: "I accept this change only in part. I rejected these parts, so the files do not have them:\n\n`averages.py`, line 2:\n```diff\n-    return sum(numbers) / len(numbers)\n+    return sum(numbers) / max(len(numbers), 1)\n```" }],
    busyMode: "steer",
  },
  { type: "answered", questionId: "q6", outcome: { outcome: "selected", optionId: "allow_once", name: "Allow once" } },
  update({ sessionUpdate: "tool_call_update", toolCallId: "q6", status: "completed" }),
];

/** A form was answered, and the turn goes on. */
export const ANSWERED_FORM: readonly ViewEvent[] = [
  ...LONG_STORY,
  {
    type: "elicitation",
    questionId: "e1",
    callId: "",
    message: "Which rounding shall the old invoices keep?",
    form: {
      type: "object",
      properties: {
        rounding: { type: "string", title: "Rounding", oneOf: [{ const: "even", title: "Half to even" }, { const: "up", title: "Half up" }] },
        notes: { type: "string", title: "Notes" },
      },
    },
    url: "",
  },
  {
    type: "answered",
    questionId: "e1",
    outcome: { outcome: "selected", optionId: "accept", name: "Answered" },
    content: { rounding: "even", notes: "As the bank does it, and only for invoices before 2024." },
  },
];

/** `count` messages with a tool call between every two, as a reloaded long session has them. */
export function manyMessages(count: number): ViewEvent[] {
  const events: ViewEvent[] = [];
  for (let n = 0; n < count / 2; n += 1) {
    const id = String(n);
    events.push({ type: "prompted", id: `p${id}`, blocks: [{ type: "text", text: `Prompt ${id}` }], busyMode: "turn" });
    events.push(call(`x${id}`, "Read payments/rounding.py", "read", { path: "payments/rounding.py" }));
    events.push(update({ sessionUpdate: "agent_message_chunk", messageId: `m${id}`, content: { type: "text", text: ANSWER } }));
  }
  return [...LONG_OPENED, ...events];
}
