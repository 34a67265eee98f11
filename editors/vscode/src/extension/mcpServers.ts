/**
 * Entry of the bundle that is loaded if a workspace folder has MCP servers for VS Code (`.vscode/mcp.json`).
 *
 * A server is a command or an address that the workspace names, so it is passed to the agent only after the user
 * has agreed to exactly this list; a changed list is asked about again.
 */
import { createHash } from "node:crypto";
import { join } from "node:path";
import type { McpServer } from "@agentclientprotocol/sdk";
import { window } from "vscode";
import type { WorkspaceState } from "../host/ports.js";
import { isListOf, isRecord, isText } from "../shared/validation.js";
import { t } from "../shared/l10n.js";

const KEY = "mcp servers";
const USE = t("Use Them");
const REVIEW = t("Review…");
const NEVER = t("Not in This Workspace");
const OPEN = t("Open mcp.json");

export interface McpContext {
  readonly workspaceState: WorkspaceState;
  open(path: string): Promise<void>;
  /** Called after the user has agreed: sessions get the servers when they are loaded again. */
  onAgreed(): void;
}

/** Return the servers of a file that the user has agreed to; ask if they are new, without waiting for the answer. */
export function agreedServers(text: string, folder: string, context: McpContext): McpServer[] {
  const servers = serversIn(text, folder);
  if (servers.length === 0) return [];
  const digest = createHash("sha256").update(JSON.stringify(servers)).digest("hex");
  const key = `${KEY} ${folder}`;
  const answer = context.workspaceState.get(key);
  if (answer === `yes ${digest}`) return servers;
  if (answer !== `no ${digest}`) void ask(servers, folder, context, (word) => { context.workspaceState.set(key, `${word} ${digest}`); });
  return [];
}

async function ask(servers: readonly McpServer[], folder: string, context: McpContext, store: (word: "yes" | "no") => void): Promise<void> {
  const names = servers.map(({ name }) => name).join(", ");
  const chosen = await window.showInformationMessage(t("This workspace has MCP servers for VS Code: {0}. Should the agent use them too?", names), REVIEW, NEVER);
  if (chosen === NEVER) store("no");
  if (chosen !== REVIEW) return;
  const detail = servers.map((server) => `${server.name}: ${addressOf(server)}`).join("\n");
  const answer = await window.showWarningMessage(t("The agent starts or connects to:"), { modal: true, detail }, USE, OPEN);
  if (answer === OPEN) await context.open(join(folder, ".vscode", "mcp.json"));
  if (answer !== USE) return;
  store("yes");
  context.onAgreed();
}

function addressOf(server: McpServer): string {
  if ("command" in server) return [server.command, ...server.args].join(" ");
  return "url" in server ? server.url : "";
}

/** Return the servers of an `mcp.json` in the protocol's form. Those that ask for inputs are left out. */
export function serversIn(text: string, folder: string): McpServer[] {
  const file = parseWithComments(text);
  const servers = isRecord(file) && isRecord(file["servers"]) ? file["servers"] : {};
  return Object.entries(servers).flatMap(([name, server]) => {
    const resolved: unknown = resolveVariables(server, folder);
    return isRecord(resolved) && !JSON.stringify(resolved).includes("${") ? serverOf(name, resolved) : [];
  });
}

function serverOf(name: string, server: Readonly<Record<string, unknown>>): McpServer[] {
  const { command, url, type } = server;
  if (typeof command === "string") {
    const args = isListOf(isText)(server["args"]) ? (server["args"] as string[]) : [];
    return [{ name, command, args, env: pairsOf(server["env"]) }];
  }
  if (typeof url !== "string") return [];
  return [{ type: type === "sse" ? "sse" : "http", name, url, headers: pairsOf(server["headers"]) }];
}

function pairsOf(values: unknown): { name: string; value: string }[] {
  return Object.entries(isRecord(values) ? values : {}).map(([name, value]) => ({ name, value: String(value) }));
}

/** Replace `${workspaceFolder}` and `${env:NAME}` in all texts of a value. */
function resolveVariables(value: unknown, folder: string): unknown {
  if (typeof value === "string") {
    return value.replaceAll("${workspaceFolder}", folder).replaceAll(/\$\{env:(\w+)\}/g, (_, name: string) => process.env[name] ?? "");
  }
  if (Array.isArray(value)) return value.map((each: unknown) => resolveVariables(each, folder));
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, resolveVariables(each, folder)]));
}

/** Parse JSON with comments and trailing commas; null if it is not that. */
function parseWithComments(text: string): unknown {
  const withoutComments = text.replaceAll(/("(?:\\.|[^"\\])*")|\/\/[^\n]*|\/\*[^]*?\*\//g, "$1");
  try {
    return JSON.parse(withoutComments.replaceAll(/("(?:\\.|[^"\\])*")|,(?=\s*[}\]])/g, "$1"));
  } catch {
    return null;
  }
}
