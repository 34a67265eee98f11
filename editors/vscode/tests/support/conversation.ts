/** A conversation with every kind of entry, as events: for the view's tests and screenshots. */
import type { SessionUpdate } from "@agentclientprotocol/sdk";
import type { ConnectionEvent, SessionEvent, ViewEvent } from "../../src/shared/events.js";
import { hunksBetween } from "../../src/shared/hunks.js";

const update = (of: SessionUpdate): SessionEvent => ({ type: "update", update: of });
const OLD = 'def greet(name):\n    print("Hello " + name)\n\n\ngreet("world")\n';
const NEW =
  'def greet(name: str) -> str:\n    """Return a greeting."""\n    return f"Hello {name}"\n\n\nprint(greet("world"))\n';
const PATH = "/project/src/greeting.py";

export const READY: ConnectionEvent = {
  type: "connection",
  status: "ready",
  agentId: "",
  agent: "Hermes Agent",
  message: "",
  signInMethods: [
    { id: "api-key", name: "API key", description: "Uses a stored key", isTerminal: false },
    { id: "setup", name: "Sign in from a terminal", description: "Asks for a key", isTerminal: true },
  ],
  canStoreKey: true,
  features: { images: true, steer: true, list: true, load: true, delete: true, fork: true, restore: true },
};

const option = (id: string, name: string, category: string, values: readonly string[]) =>
  ({
    id,
    name,
    category,
    type: "select" as const,
    currentValue: values[0] ?? "",
    options: values.map((value) => ({ value, name: value })),
  });

export const SESSION_OPENED: readonly ViewEvent[] = [
  READY,
  { type: "session", id: "s1", cwd: "/project", title: "Greet with types", isLoading: false },
  {
    type: "choices",
    modes: null,
    options: [
      option("mode", "Mode", "mode", ["Ask before changes", "Accept edits", "Plan only", "Bypass permissions"]),
      option("model", "Model", "model", ["claude-sonnet-5", "claude-opus-5"]),
      option("thinking", "Thinking", "thought_level", ["medium", "high"]),
    ],
  },
  update({
    sessionUpdate: "available_commands_update",
    availableCommands: [
      { name: "compact", description: "Summarize the conversation" },
      { name: "context", description: "Show the system prompt" },
      { name: "review", description: "Review the changes" },
    ],
  }),
  {
    type: "sessions",
    sessions: [
      { id: "s1", title: "Greet with types", cwd: "/project", updatedAt: "2026-11-22T08:00:00Z", isRunning: true, openQuestions: 0, isArchived: false, agent: "Hermes", canFork: true, canDelete: true },
      { id: "s2", title: "Find out why the build is slow", cwd: "/project", updatedAt: "2026-11-21T08:00:00Z", isRunning: false, openQuestions: 0, isArchived: false, agent: "Hermes", canFork: true, canDelete: true },
      { id: "s3", title: "", cwd: "/project", updatedAt: "2026-11-01T08:00:00Z", isRunning: false, openQuestions: 0, isArchived: false, agent: "Hermes", canFork: true, canDelete: true },
    ],
  },
  { type: "editor", file: PATH, label: "src/greeting.py", isInWorkspace: true, firstLine: 1, lastLine: 2, problems: 2 },
  {
    type: "context",
    status: "known",
    message: "",
    instructions: [{ path: "AGENTS.md", outcome: "loaded", reason: "" }],
    skills: [{ name: "code-review", description: "Review a change", from: "bundled" }],
  },
];

const ANSWER_TEXT = `The greeting now **returns** its text, so that it can be tested:

\`\`\`python
def greet(name: str) -> str:
    """Return a greeting."""
    return f"Hello {name}"
\`\`\`

- The caller prints it: see [greeting.py](src/greeting.py#L6)
- \`mypy\` is content

| check | result |
|---|---|
| tests | 12 passed |
| types | no errors |

> Nothing else used the old form.
`;

export const CONVERSATION: readonly ViewEvent[] = [
  {
    type: "prompted",
    id: "p1",
    blocks: [
      { type: "text", text: "Make greet() return its text, with types, and run the tests." },
      { type: "resource_link", uri: "file:///project/src/greeting.py", name: "greeting.py" },
    ],
    busyMode: "turn",
  },
  { type: "running", startedAt: 1 },
  update({
    sessionUpdate: "agent_thought_chunk",
    messageId: "t1",
    content: { type: "text", text: "I read the file first.\nThen I look for callers." },
  }),
  update({
    sessionUpdate: "plan",
    entries: [
      { content: "Read the greeting and its callers", priority: "medium", status: "completed" },
      { content: "Return the text, with types", priority: "high", status: "in_progress" },
      { content: "Run the tests", priority: "medium", status: "pending" },
    ],
  }),
  update({
    sessionUpdate: "tool_call",
    toolCallId: "c1",
    title: "Read src/greeting.py",
    kind: "read",
    status: "completed",
    locations: [{ path: PATH, line: 1 }],
    content: [{ type: "content", content: { type: "text", text: "5 lines" } }],
    _meta: { hermes: { instructions: ["src/AGENTS.md"] } },
  }),
  update({
    sessionUpdate: "tool_call",
    toolCallId: "c2",
    title: "Edit src/greeting.py",
    kind: "edit",
    status: "completed",
    locations: [{ path: PATH, line: 1 }],
    content: [{ type: "diff", path: PATH, oldText: OLD, newText: NEW }],
  }),
  { type: "answered", questionId: "gone", outcome: { outcome: "cancelled" } },
  update({
    sessionUpdate: "tool_call",
    toolCallId: "c3",
    title: "`pytest -q`",
    kind: "execute",
    status: "completed",
    content: [{ type: "terminal", terminalId: "t1" }],
  }),
  {
    type: "terminal",
    id: "t1",
    data: "............ \u001b[32m[100%]\u001b[0m\n\u001b[32m\u001b[1m12 passed\u001b[0m in 0.42s\n",
    isTruncated: false,
  },
  { type: "terminalEnded", id: "t1", exit: { exitCode: 0, signal: null } },
  update({ sessionUpdate: "notice", severity: "warning", title: "The model was overloaded and was asked again." }),
  update({ sessionUpdate: "agent_message_chunk", messageId: "m1", content: { type: "text", text: ANSWER_TEXT } }),
  update({ sessionUpdate: "usage_update", used: 48_000, size: 200_000, cost: { amount: 0.1234, currency: "USD" } }),
  {
    type: "changes",
    files: [
      { path: PATH, label: "src/greeting.py", kind: "changed", added: 4, removed: 3, hunks: hunksBetween(OLD, NEW) },
      { path: "/project/tests/test_greeting.py", label: "tests/test_greeting.py", kind: "added", added: 1, removed: 0, hunks: hunksBetween("", "import greeting\n") },
    ],
  },
];

/** Options that are wider than a view of 400 pixels. */
export const MANY_OPTIONS: ViewEvent = {
  type: "choices",
  modes: null,
  options: [
    option("mode", "Mode", "mode", ["Accept edits", "Ask", "Plan", "Bypass"]),
    option("model", "Model", "model", ["Claude Sonnet 5", "Claude Opus 5"]),
    option("thought_level", "Thinking", "thought_level", ["Medium", "High"]),
    { type: "boolean", id: "fast_mode", name: "Fast mode", description: "Answers faster, at a higher price", category: "model_config", currentValue: false },
    option("network", "Network for commands", "_network", ["Known hosts", "Off"]),
  ],
};

/** Why the server stops with `serve --modle x`, and Gemini CLI with an option that it does not have. */
export const WRONG_ARGUMENT = `The agent stopped (exit code 2).
Usage: acp-server serve [OPTIONS]
Try 'acp-server serve --help' for help.

Error: No such option '--modle'. (Did you mean one of: '--mode', '--model'?)
Available options: --model, --mode, --sandbox, --record, --replay, --strict, --unstable, --log-level, --log-file, --help`;
export const UNKNOWN_ARGUMENT = "The agent stopped (exit code 1).\nUnknown arguments: experimental-acpp, experimentalAcpp";

/** The changes of one file. */
export const ONE_CHANGE: ViewEvent = {
  type: "changes",
  files: [{ path: PATH, label: "src/greeting.py", kind: "changed", added: 4, removed: 3, hunks: hunksBetween(OLD, NEW) }],
};

const STEPS = [
  "Read the greeting and its callers",
  "List who still uses the printed form",
  "Return the text, with types",
  "Print it where it was printed",
  "Adapt the documentation",
  "Write a test for each caller",
  "Run the tests and mypy",
  "Describe the change in the changelog",
  "Tag the release candidate",
  "Tell the owners of the callers",
  "Open the pull request",
  "Watch the first build",
  "Remove the old form",
];

/** A plan that is longer than its place, with the work near its end. */
export const LONG_PLAN: ViewEvent = update({
  sessionUpdate: "plan",
  entries: STEPS.map((content, index) => ({ content, priority: "medium", status: index < 9 ? "completed" : index === 9 ? "in_progress" : "pending" })),
});

const CHECK = "for version in 3.11 3.12 3.13; do uv run --python $version pytest -q tests/test_greeting.py || exit 1; done";

/** A command that its title would cut, with its output. */
export const LONG_COMMAND: readonly ViewEvent[] = [
  { type: "prompted", id: "p1", blocks: [{ type: "text", text: "Run the tests of the greeting with each Python that we support." }], busyMode: "turn" },
  { type: "running", startedAt: 1 },
  update({
    sessionUpdate: "tool_call",
    toolCallId: "c1",
    title: `\`${CHECK}\``,
    kind: "execute",
    status: "in_progress",
    rawInput: { command: CHECK },
    content: [{ type: "terminal", terminalId: "t1" }],
  }),
  { type: "terminal", id: "t1", data: "............ \u001b[32m[100%]\u001b[0m\n\u001b[32m\u001b[1m12 passed\u001b[0m in 0.42s\n", isTruncated: false },
];

export const PERMISSION_REQUEST: readonly ViewEvent[] = [
  update({
    sessionUpdate: "tool_call",
    toolCallId: "c4",
    title: "`git push origin main`",
    kind: "execute",
    status: "pending",
  }),
  {
    type: "permission",
    questionId: "q1",
    call: {
      toolCallId: "c4",
      title: "`git push origin main`",
      content: [{ type: "content", content: { type: "text", text: "`git push` can contact other machines." } }],
    },
    options: [
      { optionId: "once", name: "Allow once", kind: "allow_once" },
      { optionId: "always", name: "Always allow `git push` in this workspace", kind: "allow_always" },
      { optionId: "no", name: "Reject", kind: "reject_once" },
    ],
  },
];

export const FORM_REQUEST: ViewEvent = {
  type: "elicitation",
  questionId: "q2",
  callId: "",
  message: "Which greeting shall it be?",
  form: {
    type: "object",
    properties: {
      choice: {
        type: "string",
        title: "Your choice",
        oneOf: [
          { const: "hello", title: "Hello" },
          { const: "hi", title: "Hi" },
        ],
      },
      answer: { type: "string", title: "Other answer (replaces the choice)" },
      count: { type: "integer", title: "How often", default: 1 },
      loud: { type: "boolean", title: "Loud" },
      names: { type: "array", title: "For whom", items: { type: "string", enum: ["Ada", "Bob"] } },
    },
  },
  url: "",
};

export const QUEUED_PROMPT: ViewEvent = { type: "queue", prompts: [{ id: "q1", text: "And then write the changelog." }] };

export const FULL_CONVERSATION: readonly ViewEvent[] = [
  ...SESSION_OPENED.map((event) => (event.type === "sessions" ? { ...event, sessions: event.sessions.map((each) => ({ ...each, openQuestions: each.id === "s1" ? 1 : 0 })) } : event)),
  ...CONVERSATION,
  ...PERMISSION_REQUEST,
];
