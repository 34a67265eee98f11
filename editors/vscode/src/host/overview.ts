/**
 * What the agent works with beside the conversation: MCP servers, skills, memory, saved answers, instructions.
 *
 * Our own server alone is asked: by its extension requests about a session, and by its commands about what is on
 * disk. Every answer is checked, because the server may be of another version.
 */
import { isRecord } from "../shared/validation.js";

export const MCP_SERVERS_METHOD = "_hermes/mcp_servers";
export const RESTART_MCP_SERVER_METHOD = "_hermes/restart_mcp_server";
export const PERMISSION_RULES_METHOD = "_hermes/permission_rules";
export const FORGET_PERMISSION_RULE_METHOD = "_hermes/forget_permission_rule";

export interface McpServerState {
  readonly name: string;
  readonly address: string;
  /** `connecting`, `connected`, `reconnecting`, `signed_out`, `failed`, `closed` or `withheld`. */
  readonly state: string;
  readonly problem: string;
  readonly isSignedIn: boolean;
  readonly tools: readonly { readonly name: string; readonly description: string }[];
  readonly output: readonly string[];
}

export interface Skill {
  readonly name: string;
  readonly description: string;
  /** Where it comes from, such as `bundled` or `user`. */
  readonly from: string;
  /** Path of its `SKILL.md`; empty if it is not known. */
  readonly path: string;
  /** Why the model does not see it; empty if it does. */
  readonly hidden: string;
  readonly isDisabled: boolean;
}

export interface MemoryStore {
  readonly name: "memory" | "user";
  readonly path: string;
  /** How full it is, such as `19/2,200` characters. */
  readonly usage: string;
  readonly entries: readonly string[];
  /** Numbers of the entries that are kept from the model, from 1. */
  readonly blocked: readonly number[];
}

export interface PermissionRule {
  readonly id: string;
  readonly text: string;
  readonly isAllowed: boolean;
  /** Whether it holds in later sessions, too. */
  readonly isSaved: boolean;
}

export interface Instructions {
  readonly path: string;
  /** `loaded`, `blocked` and others. */
  readonly outcome: string;
  readonly reason: string;
}

/** Asks our own server. */
export interface OverviewSource {
  /** Send a request about the shown session. @throws if there is none, or the request fails. */
  request(method: string, params: Readonly<Record<string, unknown>>): Promise<unknown>;
  /** Run a command of the server's program in the workspace, and return its output. @throws if it fails. */
  run(args: readonly string[]): Promise<string>;
}

export async function mcpServersOf(source: OverviewSource): Promise<McpServerState[]> {
  return recordsIn(await source.request(MCP_SERVERS_METHOD, {}), "servers").map((server) => ({
    ...{ name: textIn(server, "name"), address: textIn(server, "address"), state: textIn(server, "state"), problem: textIn(server, "problem") },
    isSignedIn: server["signedIn"] === true,
    tools: recordsIn(server, "tools").map((tool) => ({ name: textIn(tool, "name"), description: textIn(tool, "description") })),
    output: textsIn(server, "output"),
  }));
}

export async function permissionRulesOf(source: OverviewSource): Promise<PermissionRule[]> {
  return recordsIn(await source.request(PERMISSION_RULES_METHOD, {}), "rules").map((rule) => ({
    ...{ id: textIn(rule, "id"), text: textIn(rule, "text") },
    ...{ isAllowed: rule["allowed"] === true, isSaved: rule["saved"] === true },
  }));
}

/** Return the skills of a session in the workspace, and those that the settings disable. */
export async function skillsOf(source: OverviewSource): Promise<Skill[]> {
  const [listed, disabled] = await Promise.all([source.run(["skills", "list", "--json"]), disabledSkills(source)]);
  const found = recordsIn(JSON.parse(listed), "skills").map((skill) => {
    const folder = textIn(skill, "folder");
    const name = textIn(skill, "name");
    return {
      ...{ name, description: textIn(skill, "description"), from: textIn(skill, "from"), hidden: textIn(skill, "hidden") },
      ...{ path: folder === "" ? "" : `${folder}/SKILL.md`, isDisabled: disabled.includes(name) },
    };
  });
  const others = disabled.filter((name) => found.every((skill) => skill.name !== name));
  return [...found, ...others.map((name) => ({ name, description: "", from: "", path: "", hidden: "", isDisabled: true }))];
}

/** Have the settings disable a skill, or no longer. New sessions follow. */
export async function setSkillEnabled(source: OverviewSource, name: string, isEnabled: boolean): Promise<void> {
  const others = (await disabledSkills(source)).filter((each) => each !== name);
  // YAML contains JSON.
  await source.run(["config", "set", "skills.disabled", JSON.stringify(isEnabled ? others : [...others, name])]);
}

async function disabledSkills(source: OverviewSource): Promise<string[]> {
  const settings = recordsIn(JSON.parse(await source.run(["config", "show", "--all", "--json"])), "settings");
  const setting = settings.find((each) => each["key"] === "skills.disabled");
  return setting === undefined ? [] : textsIn(setting, "value");
}

export async function memoryOf(source: OverviewSource): Promise<MemoryStore[]> {
  const stores: unknown = JSON.parse(await source.run(["memory", "show", "--json"]));
  if (!isRecord(stores)) return [];
  return (["memory", "user"] as const).flatMap((name) => {
    const store = stores[name];
    if (!isRecord(store)) return [];
    const blocked = Array.isArray(store["blocked"]) ? store["blocked"].filter((each) => typeof each === "number") : [];
    return [{ name, path: textIn(store, "file"), usage: textIn(store, "usage"), entries: textsIn(store, "entries"), blocked }];
  });
}

export async function instructionsOf(source: OverviewSource): Promise<Instructions[]> {
  const files: unknown = JSON.parse(await source.run(["context", "list", "--json"]));
  return recordsIn({ files }, "files").map((file) => ({
    ...{ path: textIn(file, "path"), outcome: textIn(file, "outcome"), reason: textIn(file, "reason") },
  }));
}

function recordsIn(value: unknown, name: string): Readonly<Record<string, unknown>>[] {
  const list = isRecord(value) ? value[name] : undefined;
  return Array.isArray(list) ? list.filter(isRecord) : [];
}

function textIn(record: Readonly<Record<string, unknown>>, name: string): string {
  const value = record[name];
  return typeof value === "string" ? value : "";
}

function textsIn(record: Readonly<Record<string, unknown>>, name: string): string[] {
  const value = record[name];
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}
