import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import type { ExtensionContext } from "vscode";
import { activate } from "../../src/extension/extension.js";
import { pageOf } from "../../src/extension/page.js";
import { isRecord } from "../../src/shared/intents.js";
import * as vscode from "../support/vscode.js";

interface Posted {
  readonly kind: string;
  readonly events: readonly { readonly type: string; readonly status?: string }[];
}

function begin(): { dispose(): void }[] {
  const subscriptions: { dispose(): void }[] = [];
  const workspaceState = { get: () => undefined, update: () => Promise.resolve() };
  const context = {
    subscriptions,
    workspaceState,
    extensionUri: vscode.Uri.file("/extension"),
    extension: { packageJSON: { version: "1" } },
  };
  activate(context as unknown as ExtensionContext);
  return subscriptions;
}

test("what is registered is what the manifest promises, and all of it is disposed of", async () => {
  const owned = begin();
  const manifest: unknown = JSON.parse(await readFile("package.json", "utf8"));
  const contributes = isRecord(manifest) && isRecord(manifest["contributes"]) ? manifest["contributes"] : {};
  const promised = (contributes["commands"] as { command: string }[]).map(({ command }) => command);
  assert.deepEqual([...vscode.commandsThere.keys()].sort(), promised.sort());
  assert.ok(vscode.asked.includes("view acpServer.chat"));
  const registered = vscode.asked.filter((what) => !what.startsWith("run ")).length;
  for (const each of owned) each.dispose();
  assert.equal(vscode.disposed, registered);
});

test("a view gets its page and, where nothing is trusted, the way to trust", async () => {
  const owned = begin();
  const posted: Posted[] = [];
  let receive: (message: unknown) => void = () => undefined;
  const webview = {
    options: {},
    html: "",
    cspSource: "vscode-resource:",
    asWebviewUri: (uri: { path: string }) => `webview:${uri.path}`,
    postMessage: (message: Posted) => {
      posted.push(message);
      return Promise.resolve(true);
    },
    onDidReceiveMessage: (listener: (message: unknown) => void) => {
      receive = listener;
      return {};
    },
  };
  const view = { webview, visible: true, badge: undefined, onDidDispose: () => ({}) };
  vscode.providers.at(-1)?.resolveWebviewView(view);
  assert.match(webview.html, /src="webview:\/extension\/dist\/webview.js"/);
  receive({ type: "not an intent" });
  assert.equal(posted.length, 0);
  receive({ type: "ready" });
  await new Promise((resolve) => setTimeout(resolve, 50));
  const told = posted.flatMap(({ events }) => events);
  assert.equal(told.findLast(({ type }) => type === "connection")?.status, "untrusted");
  for (const each of owned) each.dispose();
});

test("the page may load our script and styles and nothing else", () => {
  const page = pageOf({ source: "https://x.test", script: "s.js", styles: "s.css" });
  const policy = /content="([^"]+)"/.exec(page)?.[1] ?? "";
  const nonce = /nonce="([^"]+)"/.exec(page)?.[1] ?? "-";
  assert.deepEqual(policy.split("; "), [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    "style-src https://x.test",
    "img-src https://x.test data:",
    "base-uri 'none'",
    "form-action 'none'",
  ]);
});
