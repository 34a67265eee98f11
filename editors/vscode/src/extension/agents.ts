/**
 * Entry of the bundle that is loaded with the first choice of an agent: which agents there are, and the choice.
 *
 * Known agents are searched for on this machine. The others come from the registry of the protocol, which is read
 * only if the user asks for it. An agent that is downloaded is confirmed with its command line.
 */
import { window, workspace, type QuickPickItem } from "vscode";
import type { AgentChoice } from "../host/agentChoice.js";
import { findProgram } from "../host/serverLocator.js";
import { isListOf, isRecord, isText } from "../shared/validation.js";
import { SECTION } from "./settings.js";
import { t } from "../shared/l10n.js";

export const REGISTRY = "https://cdn.agentclientprotocol.com/registry/v1/latest/registry.json";
const REGISTRY_MILLISECONDS = 15_000;
const OWN_AGENT: AgentItem = { label: "$(hubot) Hermes Agent", description: "acp-server", choice: null };
const MORE_AGENTS: QuickPickItem = { label: `$(cloud-download) ${t("From the registry…")}`, description: t("reads agentclientprotocol.com") };

type KnownAgent = readonly [id: string, name: string, command: string, ...commandArguments: string[]];

/** Agents that are started as programs of their own, with the arguments that make them speak the protocol. */
const KNOWN_AGENTS: readonly KnownAgent[] = [
  ["claude-agent-acp", "Claude Agent", "claude-agent-acp"],
  ["claude-code-acp", "Claude Code", "claude-code-acp"],
  ["codex-acp", "Codex", "codex-acp"],
  ["gemini", "Gemini CLI", "gemini", "--experimental-acp"],
  ["opencode", "OpenCode", "opencode", "acp"],
  ["goose", "Goose", "goose", "acp"],
  ["kimi", "Kimi CLI", "kimi", "--acp"],
  ["copilot", "GitHub Copilot CLI", "copilot", "--acp"],
  ["hermes", "Hermes", "hermes", "acp"],
];

export interface AgentItem extends QuickPickItem {
  /** Null for the own server. */
  readonly choice: AgentChoice | null;
  /** Whether its program is downloaded when it starts. */
  readonly isDownloaded?: boolean;
}

/** Let the user choose an agent; undefined if the choice is dismissed. Null is the own server. */
export async function chooseAgent(environment: NodeJS.ProcessEnv): Promise<AgentChoice | null | undefined> {
  const items = [OWN_AGENT, ...configuredAgents(), ...(await installedAgents(environment)), MORE_AGENTS];
  const options = { title: t("Agent"), placeHolder: t("Which agent should answer in new sessions?"), matchOnDescription: true };
  const chosen = await window.showQuickPick(items, options);
  if (chosen !== MORE_AGENTS) return confirmed(chosen);
  return confirmed(await window.showQuickPick(registryAgents(await readRegistry()), options));
}

/** The agents of the setting `acpServer.agents`. */
export function configuredAgents(): AgentItem[] {
  const setting: unknown = workspace.getConfiguration(SECTION).get("agents");
  if (!isRecord(setting)) return [];
  return Object.entries(setting).flatMap(([name, value]) => {
    if (!isRecord(value) || typeof value["command"] !== "string") return [];
    const commandArguments = isTexts(value["arguments"]) ? value["arguments"] : [];
    return [itemOf({ id: name, name, command: value["command"], arguments: commandArguments, environment: textsIn(value["environment"]) })];
  });
}

/** The known agents whose program is on this machine. */
export async function installedAgents(
  environment: NodeJS.ProcessEnv,
  find: (name: string, environment: NodeJS.ProcessEnv) => Promise<string | null> = findProgram,
): Promise<AgentItem[]> {
  const found = await Promise.all(
    KNOWN_AGENTS.map(async ([id, name, program, ...commandArguments]) => {
      const command = await find(program, environment);
      return command === null ? [] : [itemOf({ id, name, command, arguments: commandArguments, environment: {} })];
    }),
  );
  return found.flat();
}

/** The agents of a registry file that a package runner can start; entries of another form are left out. */
export function registryAgents(registry: unknown): AgentItem[] {
  const listed = isRecord(registry) && Array.isArray(registry["agents"]) ? (registry["agents"] as unknown[]) : [];
  return listed.filter(isRecord).flatMap((entry) => {
    const { id, name, description, distribution } = entry;
    if (typeof id !== "string" || typeof name !== "string" || !isRecord(distribution)) return [];
    const { npx, uvx } = distribution;
    const runner = isRecord(npx) ? { command: "npx", first: ["--yes"], run: npx } : { command: "uvx", first: [], run: uvx };
    if (!isRecord(runner.run) || typeof runner.run["package"] !== "string") return [];
    const extra = isTexts(runner.run["args"]) ? runner.run["args"] : [];
    const commandArguments = [...runner.first, runner.run["package"], ...extra];
    const item = itemOf({ id, name, command: runner.command, arguments: commandArguments, environment: textsIn(runner.run["env"]) });
    return [{ ...item, detail: typeof description === "string" ? description : "", isDownloaded: true }];
  });
}

async function readRegistry(): Promise<unknown> {
  const answer = await fetch(REGISTRY, { signal: AbortSignal.timeout(REGISTRY_MILLISECONDS) });
  if (!answer.ok) throw new Error(t("The registry answered with status {0}.", answer.status));
  return answer.json();
}

/** Return the chosen agent; a download only after the user has confirmed its command line. */
async function confirmed(item: AgentItem | QuickPickItem | undefined): Promise<AgentChoice | null | undefined> {
  if (item === undefined || !("choice" in item)) return undefined;
  if (item.isDownloaded !== true || item.choice === null) return item.choice;
  const question = t("Download and run {0}?", item.choice.name);
  const detail = `${[item.choice.command, ...item.choice.arguments].join(" ")}\n\n${t("It is a program of others. It runs with your rights, and with its own rules for what it asks.")}`;
  const action = t("Download and Run");
  return (await window.showWarningMessage(question, { modal: true, detail }, action)) === action ? item.choice : undefined;
}

function itemOf(choice: AgentChoice): AgentItem {
  return { label: `$(terminal) ${choice.name}`, description: [choice.command, ...choice.arguments].join(" "), choice };
}

function isTexts(value: unknown): value is readonly string[] {
  return isListOf(isText)(value);
}

function textsIn(value: unknown): Record<string, string> {
  const entries = isRecord(value) ? Object.entries(value) : [];
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === "string"));
}
