/**
 * Entry of the bundle that is loaded if a workspace folder has MCP servers for VS Code (`.vscode/mcp.json`).
 *
 * A server is a command or an address that the workspace names, so it is passed to the agent only after the user
 * has agreed to exactly this list; a changed list is asked about again.
 */
import { createHash } from "node:crypto";
import { homedir } from "node:os";
import { basename, join } from "node:path";
import type { McpServer } from "@agentclientprotocol/sdk";
import { window, type SecretStorage } from "vscode";
import type { WorkspaceState } from "../host/ports.js";
import { isListOf, isRecord, isText } from "../shared/validation.js";
import { t } from "../shared/l10n.js";

const KEY = "mcp servers";
/** A place for the value of an input; the value itself is never searched. */
const INPUT = /\$\{input:([^}]+)\}/g;
const REVIEW = t("Review…");
const NEVER = t("Not in This Workspace");
const OPEN = t("Open mcp.json");

export interface McpContext {
  readonly workspaceState: WorkspaceState;
  /** Where passwords that the file asks for are kept. */
  readonly secrets: Pick<SecretStorage, "get" | "store" | "delete">;
  open(path: string): Promise<void>;
  /** Called after the user has agreed: sessions get the servers when they are loaded again. */
  onAgreed(): void;
}

/** A value that the file has the user asked for. */
interface Input {
  readonly id: string;
  readonly description: string;
  readonly isPassword: boolean;
  readonly defaultValue: string;
  /** The values to choose from; empty for any text. */
  readonly options: readonly string[];
}

/** The content of a file: servers whose texts still name their inputs. */
interface McpFile {
  readonly servers: readonly McpServer[];
  readonly inputs: readonly Input[];
}

/** Return the servers of a file that the user has agreed to; ask if they are new, without waiting for the answer. */
export async function agreedServers(text: string, folder: string, context: McpContext): Promise<McpServer[]> {
  const file = fileOf(text, folder);
  if (file.servers.length === 0) return [];
  const answer = context.workspaceState.get(answerKey(folder));
  if (answer === `yes ${digestOf(file)}`) return withInputs(file, folder, context);
  if (answer !== `no ${digestOf(file)}`) void ask(file, folder, context);
  return [];
}

/** Ask anew whether the agent may use the servers of a file, and for the values of its inputs. */
export async function reviewServers(text: string, folder: string, context: McpContext): Promise<void> {
  const file = fileOf(text, folder);
  if (file.servers.length === 0) {
    await window.showInformationMessage(t("This workspace has no MCP servers for VS Code: there is no .vscode/mcp.json with servers."));
    return;
  }
  for (const input of file.inputs) {
    context.workspaceState.set(inputKey(folder, input), undefined);
    await context.secrets.delete(inputKey(folder, input));
  }
  await confirm(file, folder, context);
}

function answerKey(folder: string): string {
  return `${KEY} ${folder}`;
}

function inputKey(folder: string, { id }: Input): string {
  return `${KEY} ${folder} ${id}`;
}

function digestOf(file: McpFile): string {
  return createHash("sha256").update(JSON.stringify(file.inputs.length === 0 ? file.servers : file)).digest("hex");
}

async function ask(file: McpFile, folder: string, context: McpContext): Promise<void> {
  const names = file.servers.map(({ name }) => name).join(", ");
  const chosen = await window.showInformationMessage(t("This workspace has MCP servers for VS Code: {0}. Should the agent use them too?", names), REVIEW, NEVER);
  if (chosen === NEVER) context.workspaceState.set(answerKey(folder), `no ${digestOf(file)}`);
  if (chosen === REVIEW) await confirm(file, folder, context);
}

/** Ask with the commands and addresses; after the agreement, ask for the values of inputs. */
async function confirm(file: McpFile, folder: string, context: McpContext): Promise<void> {
  const { question, yes, no } = questionAbout(file.servers);
  const remembered = t("“{0}” is remembered in this workspace until the servers in the file change. After “{1}”, you are asked again.", yes, no);
  const detail = [...file.servers.map(addressOf), "", remembered].join("\n");
  const answer = await window.showWarningMessage(question, { modal: true, detail }, { title: yes }, { title: OPEN }, { title: no, isCloseAffordance: true });
  if (answer?.title === OPEN) {
    await context.open(join(folder, ".vscode", "mcp.json"));
    return;
  }
  if (answer?.title !== yes) {
    // An agreement from before ends, too.
    if (context.workspaceState.get(answerKey(folder))?.startsWith("yes") === true) context.workspaceState.set(answerKey(folder), undefined);
    return;
  }
  for (const input of file.inputs) {
    const value = await enteredValue(input);
    if (value === undefined) continue; // the servers that need it are left out
    if (input.isPassword) await context.secrets.store(inputKey(folder, input), value);
    else context.workspaceState.set(inputKey(folder, input), value);
  }
  context.workspaceState.set(answerKey(folder), `yes ${digestOf(file)}`);
  context.onAgreed();
}

/** Return what is asked about servers that are started, connected to, or both, with the titles of its answers. */
function questionAbout(servers: readonly McpServer[]): { readonly question: string; readonly yes: string; readonly no: string } {
  const [{ name } = { name: "" }] = servers;
  const count = servers.length;
  const started = servers.filter((server) => "command" in server).length;
  if (started === 0) {
    const one = t("Connect to the MCP server “{0}” from .vscode/mcp.json?", name);
    return { question: count === 1 ? one : t("Connect to the {0} MCP servers from .vscode/mcp.json?", count), yes: t("Connect"), no: t("Don't Connect") };
  }
  const no = t("Don't Start");
  if (count === 1) return { question: t("Start the MCP server “{0}” from .vscode/mcp.json?", name), yes: t("Start Server"), no };
  const isMixed = started < count;
  const question = isMixed ? t("Start or connect to the {0} MCP servers from .vscode/mcp.json?", count) : t("Start the {0} MCP servers from .vscode/mcp.json?", count);
  return { question, yes: t("Start Servers"), no };
}

async function enteredValue({ id, description, isPassword, defaultValue, options }: Input): Promise<string | undefined> {
  const prompt = description === "" ? id : description;
  if (options.length > 0) return window.showQuickPick([...options], { placeHolder: prompt, ignoreFocusOut: true });
  return window.showInputBox({ title: t("A Value for MCP Servers"), prompt, password: isPassword, value: defaultValue, ignoreFocusOut: true });
}

/** Return the servers with the values of their inputs; those without one are left out. */
async function withInputs({ servers, inputs }: McpFile, folder: string, context: McpContext): Promise<McpServer[]> {
  const values = new Map<string, string>();
  for (const input of inputs) {
    const key = inputKey(folder, input);
    const value = input.isPassword ? await context.secrets.get(key) : context.workspaceState.get(key);
    if (value !== undefined) values.set(input.id, value);
  }
  return servers.flatMap((server) => {
    if (inputsOf(server).some((id) => !values.has(id))) return [];
    return [mapTexts(server, (text) => text.replaceAll(INPUT, (_, id: string) => values.get(id) ?? "")) as McpServer];
  });
}

function addressOf(server: McpServer): string {
  const address = "command" in server ? [server.command, ...server.args].join(" ") : "url" in server ? server.url : "";
  return `${server.name}: ${address}`;
}

/** Return the servers of an `mcp.json` in the protocol's form, and the inputs that they need. Servers with variables that are not known are left out. */
export function fileOf(text: string, folder: string): McpFile {
  const file = parseWithComments(text);
  const entries = isRecord(file) && isRecord(file["servers"]) ? file["servers"] : {};
  const declared = isRecord(file) && Array.isArray(file["inputs"]) ? file["inputs"].flatMap(inputOf) : [];
  const known = new Set(declared.map(({ id }) => id));
  const servers = Object.entries(entries).flatMap(([name, entry]) => {
    const resolved = mapTexts(entry, (value) => resolveVariables(value, folder));
    if (!isRecord(resolved) || JSON.stringify(resolved).replaceAll(INPUT, "").includes("${")) return [];
    return inputsOf(resolved).every((id) => known.has(id)) ? serverOf(name, resolved) : [];
  });
  const needed = new Set(servers.flatMap(inputsOf));
  return { servers, inputs: declared.filter(({ id }) => needed.has(id)) };
}

/** Return an input of the file. One that runs a command is not known here. */
function inputOf(entry: unknown): Input[] {
  if (!isRecord(entry) || typeof entry["id"] !== "string") return [];
  const { id, type, password } = entry;
  const [description, defaultValue] = [entry["description"], entry["default"]].map((each) => (typeof each === "string" ? each : ""));
  const input = { id, description: description ?? "", defaultValue: defaultValue ?? "", isPassword: password === true };
  if (type === "promptString") return [{ ...input, options: [] }];
  if (type !== "pickString" || !Array.isArray(entry["options"])) return [];
  const options = entry["options"].map((each: unknown) => (isRecord(each) ? each["value"] : each));
  return [{ ...input, isPassword: false, options: options.filter((each) => typeof each === "string") }];
}

/** Return the ids of the inputs that the texts of a server name. */
function inputsOf(server: unknown): string[] {
  return [...JSON.stringify(server).matchAll(INPUT)].map(([, id]) => id ?? "");
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

/** Replace the names of the folder and of environment variables in a text. */
function resolveVariables(text: string, folder: string): string {
  return text
    .replaceAll("${workspaceFolder}", folder)
    .replaceAll("${workspaceFolderBasename}", basename(folder))
    .replaceAll("${userHome}", homedir())
    .replaceAll(/\$\{env:(\w+)\}/g, (_, name: string) => process.env[name] ?? "");
}

/** Return a value with all texts in it replaced. */
function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return value.map((each: unknown) => mapTexts(each, change));
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, mapTexts(each, change)]));
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
