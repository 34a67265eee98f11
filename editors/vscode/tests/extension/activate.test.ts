/** The whole extension with an agent process. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, test } from "node:test";
import { isRecord } from "../../src/shared/validation.js";
import { TestExtension } from "../support/extension.js";
import { DiagnosticSeverity, editor, Position, Range, TextDocument, Uri, WebviewPanel } from "../support/vscode.js";

const AGENT = join(process.cwd(), "tests", "support", "agent.mjs");
const START_OF_FILE = new Range(new Position(0, 0), new Position(0, 0));

let extension = new TestExtension();

afterEach(() => {
  extension.close();
  extension = new TestExtension();
});

/** Activate the extension in a trusted folder and wait for the agent. */
async function connect(): Promise<TestExtension> {
  editor.isTrusted = true;
  editor.settings.set("acpServer.command", process.execPath);
  editor.settings.set("acpServer.arguments", [AGENT]);
  extension.activate().show().post({ type: "ready", session: "" });
  await extension.until(({ connection, session }) => connection.status === "ready" && session.id !== "");
  return extension;
}

/** Send a prompt and return the agent's answer, parsed as JSON. */
async function promptAgent(text: string): Promise<unknown> {
  const switches = { withSelection: false, withFile: false, withProblems: false };
  const before = extension.state.session.items.length;
  extension.post({ type: "send", draft: { text, images: [], mentions: [], ...switches }, busyMode: "turn" });
  const { session } = await extension.until(
    ({ session: { items, isRunning } }) => !isRunning && items.length >= before + 2,
  );
  const last = session.items.findLast((item) => item.kind === "agent");
  return JSON.parse(last?.kind === "agent" ? last.text : "null");
}

/** Wait for a number of notifications; a test that fails here runs into its time limit. */
async function noticed(count: number): Promise<void> {
  while (editor.notices.length !== count) await new Promise(setImmediate);
}

test("the registered commands match the manifest, and everything is disposed of", async () => {
  extension.activate();
  const manifest: unknown = JSON.parse(await readFile("package.json", "utf8"));
  const contributes = isRecord(manifest) && isRecord(manifest["contributes"]) ? manifest["contributes"] : {};
  const declared = (contributes["commands"] as { command: string }[]).map(({ command }) => command);
  assert.deepEqual([...editor.commands.keys()].sort(), declared.sort());
  assert.ok(editor.calls.includes("view acpServer.chat"));
  const registered = editor.calls.length;
  for (const each of extension.disposables.splice(0)) each.dispose();
  assert.equal(editor.disposed, registered);
});

test("the server does not start in an untrusted workspace, and starts when trust is granted", async () => {
  editor.settings.set("acpServer.command", process.execPath);
  editor.settings.set("acpServer.arguments", [AGENT]);
  extension.activate().show();
  assert.match(extension.html, /src="webview:\/extension\/dist\/webview.js"/);
  extension.post({ type: "not an intent" });
  extension.post({ type: "ready", session: "" });
  await extension.until(({ connection }) => connection.status === "untrusted");
  assert.match(editor.statusBar[0]?.tooltip?.value ?? "", /once this workspace is trusted/);
  assert.deepEqual(editor.channels.get("Hermes Agent"), [
    'warning: ignored an invalid message from the view: {"type":"not an intent"}',
  ]);
  extension.post({ type: "manageTrust" });
  assert.deepEqual(editor.executedCommands.at(-1), ["workbench.trust.manage"]);
  editor.isTrusted = true;
  editor.events.trust.fire(undefined);
  await extension.until(({ connection }) => connection.status === "ready");
});

test("a file with unsaved changes is read and edited as the user has it", async () => {
  await connect();
  const path = join(extension.folder, "a.txt");
  const document = new TextDocument(Uri.file(path), "mine\nold\n", "old\n");
  editor.documents.push(document);
  assert.equal(await promptAgent(`edit ${path}`), "mine\nold\n");
  assert.deepEqual([document.text, document.saved, editor.edits], ["mine\nnew\n", "old\n", [["old", "new"]]]);
  const { session } = await extension.until((state) => state.session.changes.length === 1);
  assert.equal(session.changes[0]?.label, "a.txt");
  extension.post({ type: "openChange", path });
  const isDiff = ([name]: [string, ...unknown[]]): boolean => name === "vscode.diff";
  while (!editor.executedCommands.some(isDiff)) await new Promise((resolve) => setTimeout(resolve, 1));
  const [, left, right, title] = editor.executedCommands.find(isDiff) ?? [];
  assert.equal(editor.contents.get("acp-server-diff")?.(left as Uri), "mine\nold\n");
  assert.deepEqual([String(right), title], [`file:${path}`, "a.txt (before ↔ now)"]);
});

test("a command runs in a VS Code terminal, and its output is bounded", async () => {
  await connect();
  assert.deepEqual(await promptAgent("run"), { length: 100, truncated: true });
  const [terminal] = editor.terminals;
  terminal?.show();
  assert.match(terminal?.written ?? "", /x{5000}\r\n.*\[exit code 0\]/s);
});

test("the agent is notified of the active file and of problems in files that it wrote", async () => {
  await connect();
  const path = join(extension.folder, "b.py");
  const document = new TextDocument(Uri.file(path), "old\n");
  editor.documents.push(document);
  const line = new Position(6, 0);
  editor.active = { document, selection: new Range(line, line) };
  editor.events.editor.fire(undefined);
  await extension.until((state) => state.editor.label === "b.py");
  await promptAgent(`edit ${path}`);
  const range = START_OF_FILE;
  editor.diagnostics.set(path, [{ severity: DiagnosticSeverity.Error, message: "unused", range, source: "ruff" }]);
  editor.events.diagnostics.fire({ uris: [Uri.file(path), new Uri("output", "/log")] });
  await extension.until((state) => state.editor.problems === 1);
  const items = [{ severity: "error", message: "unused", line: 1, endLine: 1, source: "ruff", code: "" }];
  assert.deepEqual(await promptAgent("received"), [
    ["_hermes/active_file", { sessionId: "s", path, line: 7 }],
    ["_hermes/diagnostics", { sessionId: "s", path, items }],
  ]);
});

test("a permission request while the chat is hidden shows a notification that can reject it", async () => {
  await connect();
  extension.isVisible = false;
  const answered = promptAgent("permission");
  await extension.until(({ session }) => session.questions.length === 1);
  await noticed(1);
  assert.deepEqual(editor.notices, ["Hermes asks: Edit it [now] (command:quit) — [Reject](command:acpServer.reject.question-1)"]);
  editor.commands.get("acpServer.reject.question-1")?.();
  assert.deepEqual(await answered, { outcome: { outcome: "selected", optionId: "no" } });
  await noticed(0);
});

test("a notification of a question goes when it is answered in the chat, or when the chat shows it", async () => {
  await connect();
  for (const end of [
    () => { extension.post({ type: "permit", questionId: extension.state.session.questions[0]?.id, optionId: "no", reason: "" }); },
    () => { extension.setVisible(true); },
    () => {
      extension.isVisible = true;
      editor.events.windowState.fire(undefined);
    },
  ]) {
    extension.setVisible(false);
    const turn = promptAgent("permission");
    await extension.until(({ session }) => session.questions.length === 1);
    await noticed(1);
    extension.setVisible(false);
    assert.equal(editor.notices.length, 1);
    end();
    await noticed(0);
    const [question] = extension.state.session.questions;
    if (question !== undefined) extension.post({ type: "permit", questionId: question.id, optionId: "no", reason: "" });
    await turn;
  }
});

test("a notification allows nothing: it shows the chat, where what is asked can be read", async () => {
  await connect();
  extension.isVisible = false;
  editor.choice = "Show Chat";
  const answered = promptAgent("permission");
  const { session } = await extension.until(({ request }) => request.action === "focusQuestion");
  assert.ok(editor.executedCommands.some(([name]) => name === "acpServer.chat.focus"));
  assert.equal(session.questions.length, 1);
  extension.post({ type: "permit", questionId: session.questions[0]?.id, optionId: "yes", reason: "" });
  assert.deepEqual(await answered, { outcome: { outcome: "selected", optionId: "yes" } });
});

test("an agent that ends before it answers is restarted with its last words as the cause", async () => {
  editor.isTrusted = true;
  editor.settings.set("acpServer.command", process.execPath);
  const program = "for (let line = 1; line < 8; line += 1) console.error(`fault ${line}`); process.exit(2)";
  editor.settings.set("acpServer.arguments", ["-e", program, "serve"]);
  extension.activate().show().post({ type: "ready", session: "" });
  const { connection } = await extension.until(({ connection: { status, message } }) => status === "restarting" && message !== "");
  assert.equal(connection.message, "The agent stopped (exit code 2).\nfault 3\nfault 4\nfault 5\nfault 6\nfault 7");
});

test("the view's title is that of the agent that answers", async () => {
  await connect();
  assert.equal(extension.title, "Chat");
  editor.settings.set("acpServer.agents", { Other: { command: process.execPath, arguments: [AGENT] } });
  editor.picks = ["$(terminal) Other"];
  extension.post({ type: "switchAgent" });
  await extension.until(({ connection }) => connection.agent === "Other");
  assert.equal(extension.title, "Other");
});

test("an open question shows in the badge and the status bar until it is answered", async () => {
  await connect();
  const answered = promptAgent("permission");
  const { session } = await extension.until((state) => state.session.questions.length === 1);
  assert.deepEqual(extension.badge, { value: 1, tooltip: "1 question is waiting for you" });
  assert.equal(editor.statusBar[0]?.text, "$(bell-dot) Hermes asks");
  assert.match(editor.statusBar[0].accessibilityInformation?.label ?? "", /1 question waits for you\./);
  assert.equal(editor.statusBar[0].command, "acpServer.showQuestion");
  assert.deepEqual(editor.notices, [], "a notification appeared although the chat is visible");
  extension.post({ type: "permit", questionId: session.questions[0]?.id, optionId: "no", reason: "" });
  await answered;
  assert.deepEqual([extension.badge, editor.statusBar[0].text], [undefined, "$(hubot) Hermes"]);
});

test("commands reach the view, and a change of server settings offers a restart", async () => {
  await connect();
  for (const [command, call] of [
    ["focus", "focusInput"],
    ["showSessions", "showSessions"],
    ["showContext", "showContext"],
    ["addSelection", "focusInput"],
  ] as const) {
    const { number } = extension.state.request;
    extension.run(command);
    const { request } = await extension.until((state) => state.request.number > number);
    assert.equal(request.action, call);
    assert.ok(editor.executedCommands.some(([name]) => name === "acpServer.chat.focus"));
  }
  await extension.run("toggleFollow");
  await extension.until((state) => state.isFollowing);
  await extension.run("signIn");
  assert.ok(editor.calls.some((call) => call.startsWith("warning The agent offers no sign-in method")));
  await extension.run("showLog");
  assert.ok(editor.calls.includes("show Hermes Agent"));
  editor.choice = "Restart the Server";
  editor.events.configuration.fire({ affectsConfiguration: (name) => name === "acpServer.trace" });
  editor.events.configuration.fire({ affectsConfiguration: (name) => name === "acpServer.command" });
  await extension.until(({ connection }) => connection.status === "starting");
  await extension.until(({ connection }) => connection.status === "ready");
  const offers = editor.calls.filter((call) => call.includes("settings changed"));
  assert.equal(offers.length, 1);
});

test("a reopened view gets the whole state", async () => {
  await connect();
  await promptAgent("received");
  extension.closeView();
  const { session } = extension.state;
  extension.show().post({ type: "ready", session: "" });
  await extension.until((state) => state.session.items.length === session.items.length);
  assert.deepEqual(extension.state.session, session);
});

test("messages are traced as JSON lines if the setting is on", async () => {
  editor.settings.set("acpServer.trace", "messages");
  await connect();
  const lines = editor.channels.get("Hermes Agent Trace") ?? [];
  const methods = lines.map((line) => JSON.stringify(JSON.parse(line))).join("\n");
  assert.match(methods, /"method":"initialize"/);
  assert.match(methods, /"method":"session\/new"/);
});

test("a tab has a page of its own, a title, and is revealed when its session asks", async () => {
  await connect();
  await extension.run("openTab");
  const [panel] = editor.panels;
  panel?.post({ type: "ready", session: "" });
  await extension.until(() => panel?.posted.some(({ events }) => events.some(({ type }) => type === "session")) === true);
  assert.match(panel?.webview.html ?? "", /src="webview:\/extension\/dist\/webview.js"/);
  extension.run("focus");
  assert.ok(editor.calls.includes("reveal Hermes Agent"));
  panel?.close();
  extension.run("focus");
  assert.deepEqual(editor.executedCommands.at(-1), ["acpServer.chat.focus"]);
  await extension.run("openWindow");
  assert.deepEqual(editor.executedCommands.at(-1), ["workbench.action.moveEditorToNewWindow"]);
  await extension.run("openSecondarySideBar");
  assert.deepEqual(editor.executedCommands.at(-1), ["acpServer.secondaryChat.focus"]);
  await editor.panelSerializer?.deserializeWebviewPanel(new WebviewPanel("restored"));
});

test("an action outside of the chat reveals it, starts the agent and sends its prompt", async () => {
  editor.isTrusted = true;
  editor.settings.set("acpServer.command", process.execPath);
  editor.settings.set("acpServer.arguments", [AGENT]);
  extension.activate().show();
  const path = join(extension.folder, "a.txt");
  editor.active = { document: new TextDocument(Uri.file(path), "one\ntwo\n"), selection: START_OF_FILE };
  const done = extension.run("explain");
  extension.post({ type: "ready", session: "" });
  await done;
  const { session } = await extension.until(({ session: { items } }) => items.length > 0);
  assert.match(JSON.stringify(session.items[0]), /Explain this code/);
  assert.deepEqual(editor.executedCommands.some(([name]) => name === "acpServer.chat.focus"), true);
  assert.equal((await editor.codeActionProviders[0]?.provideCodeActions(new TextDocument(Uri.file(path), ""), START_OF_FILE, { diagnostics: [] }))?.length, 0);
});
