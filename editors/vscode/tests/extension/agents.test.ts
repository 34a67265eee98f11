/** Which agents can be chosen, and what is confirmed before one is downloaded. */
import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";
import { chooseAgent, configuredAgents, installedAgents, REGISTRY, registryAgents } from "../../src/extension/agents.js";
import { chosenAgent, storeAgentChoice } from "../../src/host/agentChoice.js";
import { FakeWorkspaceState } from "../support/fakes.js";
import { editor, resetEditor } from "../support/vscode.js";

const FILE = {
  version: "1.0.0",
  agents: [
    { id: "one", name: "One", description: "An agent", distribution: { npx: { package: "@a/one@1.2.3", args: ["--acp"], env: { MODE: "acp" } } } },
    { id: "two", name: "Two", distribution: { uvx: { package: "two==1.0" } } },
    { id: "binary", name: "Binary", distribution: { binary: { "linux-x86_64": { archive: "https://example.com/b.tgz", cmd: "./b" } } } },
    { id: "broken", name: 3, distribution: { npx: { package: "x" } } },
    "no entry",
  ],
};

beforeEach(() => {
  resetEditor();
});

test("the known agents on this machine are offered, with the arguments that they need", async () => {
  const paths: Record<string, string> = { gemini: "/bin/gemini", goose: "/opt/goose" };
  const found = await installedAgents({}, (name) => Promise.resolve(paths[name] ?? null));
  assert.deepEqual(found.map(({ choice }) => [choice?.id, choice?.command, choice?.arguments]), [
    ["gemini", "/bin/gemini", ["--experimental-acp"]],
    ["goose", "/opt/goose", ["acp"]],
  ]);
});

test("agents of the settings are offered, and entries without a command are not", () => {
  editor.settings.set("acpServer.agents", { Mine: { command: "/x/mine", arguments: ["acp"], environment: { A: "b", C: 1 } }, Bad: {} });
  assert.deepEqual(configuredAgents().map(({ choice }) => choice), [{ id: "Mine", name: "Mine", command: "/x/mine", arguments: ["acp"], environment: { A: "b" } }]);
});

test("of a registry, the agents that a package runner starts are offered", () => {
  assert.deepEqual(registryAgents(FILE).map(({ choice, isDownloaded }) => [choice?.command, choice?.arguments, choice?.environment, isDownloaded]), [
    ["npx", ["--yes", "@a/one@1.2.3", "--acp"], { MODE: "acp" }, true],
    ["uvx", ["two==1.0"], {}, true],
  ]);
  assert.deepEqual(registryAgents({ agents: "none" }), []);
});

test("the registry is read only on request, and a download is confirmed with its command line", async () => {
  const requests: string[] = [];
  const fetched = mock.method(globalThis, "fetch", (url: string) => {
    requests.push(url);
    return Promise.resolve(Response.json(FILE));
  });
  const picks = ["$(hubot) Hermes Agent"];
  const choose = (): Promise<unknown> => {
    editor.picks = [...picks];
    return chooseAgent({ PATH: "/nowhere" });
  };
  assert.equal(await choose(), null);
  assert.deepEqual(requests, []);
  picks.splice(0, 1, "$(cloud-download) From the registry…", "$(terminal) One");
  assert.equal(await choose(), undefined, "it was not confirmed");
  assert.deepEqual(requests, [REGISTRY]);
  assert.match(editor.calls.at(-1) ?? "", /Download and run One\?.*npx --yes @a\/one@1\.2\.3 --acp/);
  editor.choice = "Download and Run";
  assert.deepEqual((await choose()), { id: "one", name: "One", command: "npx", arguments: ["--yes", "@a/one@1.2.3", "--acp"], environment: { MODE: "acp" } });
  fetched.mock.restore();
});

test("a choice is kept, and one that cannot be read is none", () => {
  const state = new FakeWorkspaceState();
  const choice = { id: "x", name: "X", command: "x", arguments: [], environment: {} };
  storeAgentChoice(state, choice);
  assert.deepEqual(chosenAgent(state), choice);
  state.set("agent", '{"id": "x", "command": 3}');
  assert.equal(chosenAgent(state), null);
  storeAgentChoice(state, null);
  assert.equal(state.get("agent"), undefined);
});
