/** What the package consists of: sizes, licences, and the page's policy. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { test } from "node:test";
import { createRequire } from "node:module";
import { compileFunction } from "node:vm";
import type { SessionNotification } from "@agentclientprotocol/sdk";
import { build, type BuildOptions, type BuildResult } from "esbuild";
import type * as Bundled from "../../src/host/connection.js";
import { messageOf } from "../../src/host/errors.js";
import { FakeAgent } from "../support/agent.js";

/** Limit for the files that are loaded at activation and with the view, in bytes. */
const MAX_LOADED_BYTES = 400 * 1024;
const LOADED_AT_FIRST_USE = ["highlight", "diagrams", "math", "review", "symbols", "actions", "agents", "agentView", "participant", "mcpServers", "rewind", "mentionRanking", "links", "questionNotice", "firstRun"];

const bundling = pathToFileURL(join(process.cwd(), "scripts", "bundling.mjs")).href;
/** Whether the diagrams are bundled too, which takes longer than all else: otherwise only their own imports are listed. */
const IS_COMPLETE = process.env["ALL_BUNDLES"] === "1";

const { HOST, VIEW } = (await import(bundling)) as { HOST: BuildOptions; VIEW: BuildOptions };

type InMemory = BuildOptions & { minify: true; metafile: true; write: false };
type Built = Promise<BuildResult<InMemory>>;

const buildInMemory = (options: BuildOptions): Built => build({ ...options, minify: true, metafile: true, write: false });
let host: Built | undefined;
/** The host's bundle, which several tests look at. */
const builtHost = (): Built => (host ??= buildInMemory(HOST));

/** Return how the view is bundled. */
function viewOptions(): BuildOptions[] {
  if (IS_COMPLETE) return [VIEW];
  const { diagrams = "", ...others } = VIEW.entryPoints as Readonly<Record<string, string>>;
  return [{ ...VIEW, entryPoints: others }, { ...VIEW, entryPoints: { diagrams }, packages: "external" }];
}

test("what is loaded at activation and with the view is small, and every bundled package is listed", async () => {
  const built = await Promise.all([builtHost(), ...viewOptions().map(buildInMemory)]);
  const outputs = built.flatMap(({ metafile }) => Object.entries(metafile.outputs));
  const isLoaded = ([name]: [string, unknown]): boolean => !LOADED_AT_FIRST_USE.some((part) => name.includes(`/${part}.`));
  const bytes = outputs.filter(isLoaded).reduce((sum, [, output]) => sum + output.bytes, 0);
  assert.ok(bytes < MAX_LOADED_BYTES, `${String(bytes)} bytes`);
  const inputs = outputs.flatMap(([, output]) => Object.entries(output.inputs).filter(([, { bytesInOutput }]) => bytesInOutput > 0));
  const external = outputs.flatMap(([, output]) => output.imports.filter((each) => each.external === true && !/^(?:node:|vscode$|\.)/.test(each.path)));
  const paths = [...inputs.map(([path]) => path), ...external.map(({ path }) => `node_modules/${path}/`)];
  const names = new Set(paths.flatMap((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*node_modules\/)/.exec(path)?.[1] ?? []));
  const listed = await readFile("THIRD_PARTY.md", "utf8");
  assert.deepEqual([...names].filter((name) => !listed.includes(`| ${name} |`)).sort(), []);
});

test("the chat is alone in its places, so that VS Code puts no further header above it", async () => {
  const manifest = JSON.parse(await readFile("package.json", "utf8")) as { contributes: { views: Readonly<Record<string, readonly { id: string }[]>> } };
  const chats = Object.values(manifest.contributes.views).filter((views) => views.some(({ id }) => /chat$/i.test(id)));
  assert.deepEqual(chats.map((views) => views.map(({ id }) => id)), [["acpServer.chat"], ["acpServer.secondaryChat"]]);
});

test("the buttons that answer a proposal in an editor's title say whether they mean one file or all", async () => {
  const manifest = JSON.parse(await readFile("package.json", "utf8")) as { contributes: { menus: { "editor/title": readonly { command: string; when: string }[] } } };
  const names = JSON.parse(await readFile("package.nls.json", "utf8")) as Readonly<Record<string, string>>;
  const ofProposals = manifest.contributes.menus["editor/title"].filter(({ when }) => when.startsWith("acpServer.isProposal "));
  const shown = ofProposals.map(({ command, when }) => `${when.endsWith("&& acpServer.isOfSeveralFiles") ? "several" : "one"}: ${names[command.replace("acpServer", "command")] ?? ""}`);
  assert.deepEqual(shown.sort(), [
    "one: Accept the Change of This File",
    "one: Reject the Change of This File",
    "several: Accept the Changes of All Proposed Files",
    "several: Reject the Changes of All Proposed Files",
  ]);
});

test("no bundle of the host reads the browser's global `navigator`", async () => {
  const { outputFiles } = await builtHost();
  assert.doesNotMatch(outputFiles[0]?.text ?? "", /\bnavigator\b/);
});

test("the bundled connection, without zod's unused methods, validates what an agent sends", async () => {
  const { outputFiles } = await build({ ...HOST, entryPoints: ["src/host/connection.ts"], minify: true, write: false });
  const module = { exports: {} as typeof Bundled };
  const load = compileFunction(outputFiles[0]?.text ?? "", ["module", "require"]) as (own: typeof module, require: NodeJS.Require) => void;
  load(module, createRequire(import.meta.url));
  const agent = new FakeAgent();
  const updates: SessionNotification[] = [];
  const answers: unknown[] = [];
  const option = { optionId: "once", name: "Allow once", kind: "allow_once" } as const;
  agent.turn = async ({ client, sessionId, say }) => {
    await say("hello");
    answers.push(await client.request("session/request_permission", { sessionId, toolCall: { toolCallId: "c" }, options: [option] }));
    const requestedSchema = { type: "object", properties: { name: { type: "string", minLength: 1 } } } as const;
    answers.push(await client.request("elicitation/create", { sessionId, mode: "form", message: "Who?", requestedSchema }));
    const withoutPath: unknown = { sessionId };
    answers.push(await client.request("fs/read_text_file", withoutPath as { sessionId: string; path: string }).catch(messageOf));
    return { stopReason: "end_turn" };
  };
  const handlers: Partial<Bundled.ClientHandlers> = {
    update: (notification) => updates.push(notification),
    permission: () => Promise.resolve({ outcome: { outcome: "selected", optionId: "once" } }),
    elicit: () => Promise.resolve({ action: "accept", content: { name: "me" } }),
  };
  const { stream, close } = agent.open();
  const connection = await module.exports.connect(stream, handlers as Bundled.ClientHandlers, "1");
  const { sessionId } = await connection.agent.request("session/new", { cwd: "/project", mcpServers: [] });
  const { stopReason } = await connection.agent.request("session/prompt", { sessionId, prompt: [{ type: "text", text: "go" }] });
  close();
  assert.equal(stopReason, "end_turn");
  assert.deepEqual(updates.map(({ update }) => update.sessionUpdate), ["agent_message_chunk"]);
  assert.deepEqual(answers.slice(0, 2), [{ outcome: { outcome: "selected", optionId: "once" } }, { action: "accept", content: { name: "me" } }]);
  assert.match(String(answers[2]), /Invalid params/);
});
