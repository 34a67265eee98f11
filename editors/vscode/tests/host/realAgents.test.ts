/**
 * Agents of others, as npm has them, with a model's endpoint on loopback.
 *
 * AGENTS names the directory of their programs, such as `node_modules/.bin` after
 * `npm install @agentclientprotocol/claude-agent-acp @google/gemini-cli opencode-ai`.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { installedAgents } from "../../src/extension/agents.js";
import { ANSWER, ModelEndpoint } from "../support/modelEndpoint.js";
import { ServerSession } from "../support/serverSession.js";

const AGENTS = process.env["AGENTS"] ?? "";
const skip = AGENTS === "" ? "AGENTS does not name the directory of installed agents" : false;
const folders: string[] = [];
const sessions: ServerSession[] = [];
let endpoint: ModelEndpoint;

before(async () => {
  endpoint = await ModelEndpoint.start();
});

after(async () => {
  for (const { host } of sessions) host.dispose();
  await Promise.all(sessions.flatMap(({ ends }) => ends));
  endpoint.close();
  for (const folder of folders) await rm(folder, { recursive: true, force: true, maxRetries: 5 });
});

async function folder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), "acp-server-agents-"));
  folders.push(made);
  return made;
}

/** What makes each agent use the endpoint, and the method that signs it in; empty for none. */
const CONFIGURATIONS: Readonly<Record<string, (url: string) => { environment: Record<string, string>; method: string }>> = {
  "claude-agent-acp": (url) => ({ environment: { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "key", IS_SANDBOX: "1" }, method: "" }),
  gemini: (url) => ({ environment: { GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: "key" }, method: "gemini-api-key" }),
  opencode: (url) => ({ environment: { OPENCODE_CONFIG_CONTENT: openCodeConfig(url) }, method: "" }),
};

function openCodeConfig(url: string): string {
  const provider = { npm: "@ai-sdk/openai-compatible", options: { baseURL: `${url}/v1`, apiKey: "key" }, models: { m: { name: "M" } } };
  return JSON.stringify({ provider: { loopback: provider }, model: "loopback/m", autoupdate: false, share: "disabled" });
}

for (const [id, configure] of Object.entries(CONFIGURATIONS)) {
  test(`${id} is found, and answers a prompt`, { skip }, async () => {
    const [home, workspace] = [await folder(), await folder()];
    const found = await installedAgents({ PATH: `${AGENTS}:${process.env["PATH"] ?? ""}` });
    const choice = found.find((item) => item.choice?.id === id)?.choice;
    assert.ok(choice !== null && choice !== undefined, `${id} is not in ${AGENTS}`);
    const { environment, method } = configure(endpoint.url);
    const all = { ...environment, HOME: home, XDG_CONFIG_HOME: home, XDG_DATA_HOME: home, CLAUDE_CONFIG_DIR: home };
    const session = new ServerSession({ command: choice.command, programArguments: choice.arguments, serveArguments: [], environment: all }, workspace);
    sessions.push(session);
    const { host } = session;
    void host.handle({ type: "ready", session: "" });
    const { signIn } = await session.until((view) => view.connection.status === "ready");
    if (signIn.isNeeded) await host.signIn(method);
    await session.until((view) => view.session.id !== "");
    const switches = { withSelection: false, withFile: false, withProblems: false };
    await host.handle({ type: "send", draft: { text: "Say something.", images: [], mentions: [], ...switches }, busyMode: "turn" });
    const { session: state } = await session.until((view) => !view.session.isRunning && view.session.items.length > 1);
    const texts = state.items.flatMap((item) => (item.kind === "agent" ? [item.text] : []));
    assert.match(texts.join(), new RegExp(ANSWER), JSON.stringify(state.items));
  });
}
