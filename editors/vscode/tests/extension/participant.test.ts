/** `@hermes` in VS Code's own chat: what is sent, what is streamed back, and what is asked where. */
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import type { CancellationToken, ChatPromptReference, ChatRequest, ChatResponseStream, Command } from "vscode";
import { registerChat } from "../../src/extension/chatParticipant.js";
import { answerRequest, askTool, type ChatHost } from "../../src/extension/participant.js";
import type { Mention, ViewEvent } from "../../src/shared/events.js";
import { editor, Location, Position, Range, resetEditor, Uri } from "../support/vscode.js";

let streamed: string[];
let sent: [string, readonly Mention[]][];
let events: readonly ViewEvent[];
let cancel: () => void;
let stops: number;
let followers: number;
let host: ChatHost;

const update = (of: object): ViewEvent => ({ type: "update", update: of } as ViewEvent);
const ENDED: ViewEvent = { type: "ended", reason: "end_turn", error: "" };

beforeEach(() => {
  resetEditor();
  [streamed, sent, events, stops, followers] = [[], [], [ENDED], 0, 0];
  let listener: (event: ViewEvent) => void = () => undefined;
  host = {
    start: () => Promise.resolve(true),
    isRunning: () => false,
    follow: (each) => {
      listener = each;
      followers += 1;
      return () => (followers -= 1);
    },
    send: (text, mentions) => {
      sent.push([text, mentions]);
      events.forEach((each) => { listener(each); });
      return Promise.resolve();
    },
    stop: () => Promise.resolve(void (stops += 1)),
    askInBackground: (text) => Promise.resolve(`answer to ${text}`),
  };
});

function request(prompt: string, values: readonly unknown[] = []): ChatRequest {
  const references = values.map((value, index): ChatPromptReference => ({ id: String(index), value }));
  return { prompt, references, command: undefined, toolReferences: [], toolInvocationToken: undefined as never, model: undefined as never };
}

const response = {
  markdown: (text: string) => streamed.push(`markdown ${text}`),
  progress: (text: string) => streamed.push(`progress ${text}`),
  reference: (uri: Uri) => streamed.push(`reference ${uri.path}`),
  button: ({ command }: Command) => streamed.push(`button ${command}`),
} as unknown as ChatResponseStream;
const token = {
  isCancellationRequested: false,
  onCancellationRequested: (listener: () => void) => {
    cancel = listener;
    return { dispose: () => undefined };
  },
} as unknown as CancellationToken;

test("a prompt goes to the session with its files, and its answer is streamed back", async () => {
  events = [
    update({ sessionUpdate: "agent_thought_chunk", content: { type: "text", text: "hm" } }),
    update({ sessionUpdate: "tool_call", toolCallId: "1", title: "Read a.ts", locations: [{ path: "/p/a.ts" }] }),
    update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: "It is **here**." } }),
    ENDED,
  ];
  const lines = new Location(Uri.file("/p/b.ts"), new Range(new Position(1, 0), new Position(3, 0)));
  const result = await answerRequest(host, request("Where?", [Uri.file("/p/a.ts"), lines, "a text", new Uri("https", "//x")]), response, token);
  assert.deepEqual(result, {});
  assert.deepEqual(sent, [
    [
      "Where?",
      [
        { kind: "file", path: "/p/a.ts", firstLine: 0, lastLine: 0 },
        { kind: "file", path: "/p/b.ts", firstLine: 2, lastLine: 4 },
      ],
    ],
  ]);
  assert.deepEqual(streamed, ["progress Read a.ts", "reference /p/a.ts", "markdown It is **here**."]);
  assert.equal(followers, 0);
});

test("a question points to the chat, and cancelling stops the turn", async () => {
  events = [{ type: "permission", questionId: "q", call: { toolCallId: "1", title: "Run npm test" }, options: [] }];
  const result = answerRequest(host, request("Test it"), response, token);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(streamed, ["markdown \n\n**Hermes asks: Run npm test**\n\n", "button acpServer.showQuestion"]);
  cancel();
  assert.equal(stops, 1);
  assert.deepEqual(await result, {});
});

test("a failed turn is an error, and a busy or missing agent is named", async () => {
  events = [{ ...ENDED, error: "no credit" }];
  assert.deepEqual(await answerRequest(host, request("x"), response, token), { errorDetails: { message: "no credit" } });
  host.isRunning = () => true;
  await answerRequest(host, request("x"), response, token);
  host.start = () => Promise.resolve(false);
  await answerRequest(host, request("x"), response, token);
  assert.equal(sent.length, 1);
  assert.deepEqual(streamed.filter((each) => each.startsWith("button")), ["button acpServer.focus", "button acpServer.focus"]);
});

test("our tool answers other agents' questions", async () => {
  const { content } = await askTool(host, { input: { question: "why?" }, toolInvocationToken: undefined });
  assert.deepEqual(content.map((part) => (part as { value: string }).value), ["answer to why?"]);
  await assert.rejects(askTool(host, { input: {}, toolInvocationToken: undefined }), /needs a question/);
});

test("a host without a chat of its own is no obstacle", () => {
  assert.deepEqual(registerChat(undefined, undefined, host), []);
  assert.deepEqual(registerChat({}, {}, host), []);
  assert.equal(editor.calls.length, 0);
});
