/**
 * Entry of the bundle that is loaded with the view of what the agent works with: MCP servers, skills, memory, saved
 * answers and instructions, as a tree with actions.
 */
import { isAbsolute, join } from "node:path";
import { commands, MarkdownString, ThemeColor, ThemeIcon, TreeItem, TreeItemCollapsibleState, Uri, window, type EventEmitter } from "vscode";
import { messageOf } from "../host/errors.js";
import {
  FORGET_PERMISSION_RULE_METHOD,
  instructionsOf,
  mcpServersOf,
  memoryOf,
  permissionRulesOf,
  RESTART_MCP_SERVER_METHOD,
  setSkillEnabled,
  skillsOf,
  type Instructions,
  type McpServerState,
  type MemoryStore,
  type OverviewSource,
  type PermissionRule,
  type Skill,
} from "../host/overview.js";
import { isRecord } from "../shared/validation.js";
import { t } from "../shared/l10n.js";

/** What the view needs of the host. */
export interface AgentViewHost extends OverviewSource {
  /** Start the agent if need be; return whether it is ready. */
  start(): Promise<boolean>;
  readonly folder: string;
  /** Send a prompt to the shown session, visibly. */
  ask(text: string): Promise<void>;
  /** How full the context window is; empty if the agent does not say. */
  contextUsage(): string;
  /** Ask anew whether the agent may use the servers of `mcp.json`. */
  reviewMcpFile(): Promise<void>;
}

/** A server in this state changes by itself, so it is looked at again. */
const CHANGING: ReadonlySet<string> = new Set(["connecting", "reconnecting"]);
const POLL_MILLISECONDS = 1500;
const MAX_LABEL_CHARACTERS = 120;
/** Items that were loaded ahead count for so long; a group that is closed does not take them. */
const READY_MILLISECONDS = 5000;

interface McpItem extends TreeItem {
  readonly server?: McpServerState;
}

class Node extends TreeItem {
  constructor(
    label: string,
    readonly children: (() => Promise<TreeItem[]> | TreeItem[]) | null,
    readonly data: Readonly<Record<string, string>> = {},
  ) {
    super(label, children === null ? TreeItemCollapsibleState.None : TreeItemCollapsibleState.Collapsed);
  }
}

type Action = (view: AgentView, data: Readonly<Record<string, string>>) => unknown;

const ACTIONS: Readonly<Record<string, Action>> = {
  refreshAgent: () => undefined, // as after any action
  restartMcpServer: ({ host }, { name }) => host.request(RESTART_MCP_SERVER_METHOD, { name }),
  signInMcpServer: ({ host }, { name = "" }) => host.ask(`/mcp sign-in ${name}`),
  signOutMcpServer: ({ host }, { name = "" }) => host.ask(`/mcp sign-out ${name}`),
  editMcpServers: ({ host }) => host.reviewMcpFile(),
  enableSkill: ({ host }, { name = "" }) => setSkillEnabled(host, name, true),
  disableSkill: ({ host }, { name = "" }) => setSkillEnabled(host, name, false),
  addMemory: (view, { store = "memory" }) => view.addMemory(store),
  deleteMemory: (view, { store = "memory", entry = "" }) => view.deleteMemory(store, entry),
  undoMemory: async ({ host }) => {
    await window.showInformationMessage(messageIn(await host.run(["memory", "undo", "--json"])));
  },
  forgetPermission: ({ host }, { id }) => host.request(FORGET_PERMISSION_RULE_METHOD, { id }),
  trustInstructions: (view, { path = "" }) => view.trust(path),
  openAgentFile: (_, { path = "" }) => commands.executeCommand("vscode.open", Uri.file(path)),
};

/** Actions of an item; without one, as while it is being replaced, they do nothing. */
const NEEDING_ITEM: ReadonlySet<string> = new Set(
  ["restartMcpServer", "signInMcpServer", "signOutMcpServer", "enableSkill", "disableSkill", "deleteMemory", "forgetPermission", "trustInstructions"],
);

export class AgentView {
  readonly #changed: EventEmitter<TreeItem | undefined>;
  /** The groups whose items are shown. */
  readonly #opened = new Map<string, () => Promise<TreeItem[]>>();
  readonly #ready = new Map<string, { readonly items: TreeItem[]; readonly since: number }>();
  #timer: NodeJS.Timeout | undefined;
  #refreshes = 0;

  constructor(
    readonly host: AgentViewHost,
    changed: EventEmitter<TreeItem | undefined>,
    private readonly isVisible: () => boolean,
  ) {
    this.#changed = changed;
  }

  /**
   * Show what has changed. The items stay until the new ones are loaded: VS Code runs the action of an item that it is
   * replacing without the item. Nothing is loaded while the view is hidden.
   */
  async refresh(): Promise<void> {
    clearTimeout(this.#timer);
    this.#refreshes += 1;
    const number = this.#refreshes;
    const shown = this.isVisible() ? [...this.#opened] : [];
    const found = await Promise.all(shown.map(async ([id, load]) => [id, await loaded(load)] as const));
    if (number !== this.#refreshes) return; // a later one shows more
    for (const [id, items] of found) this.#ready.set(id, { items, since: performance.now() });
    this.#opened.clear(); // VS Code asks again for the groups that are open
    this.#changed.fire(undefined);
  }

  /** Carry out the command of an item, and show what came of it. */
  async run(name: string, [item]: readonly unknown[]): Promise<void> {
    try {
      const isLost = item === undefined && NEEDING_ITEM.has(name);
      if (!isLost) await ACTIONS[name]?.(this, item instanceof Node ? item.data : dataIn(item));
    } catch (error) {
      await window.showErrorMessage(messageOf(error));
    }
    if (name !== "openAgentFile") await this.refresh();
  }

  async childrenOf(parent: TreeItem | undefined): Promise<TreeItem[]> {
    if (parent instanceof Node) return parent.children === null ? [] : loaded(parent.children);
    if (!(await this.host.start())) return [message(t("The agent has not started. The chat shows why."))];
    return [
      this.#group("mcp", t("MCP Servers"), "plug", () => this.#servers()),
      this.#group("skills", t("Skills"), "lightbulb", async () => nonEmpty((await skillsOf(this.host)).map(skillItem), t("No skills."))),
      this.#group("memory", t("Memory"), "notebook", async () => (await memoryOf(this.host)).map(storeItem)),
      this.#group("permissions", t("Permissions"), "shield", async () =>
        nonEmpty((await permissionRulesOf(this.host)).map(ruleItem), t("You have given no lasting answers here.")),
      ),
      this.#contextGroup(),
    ];
  }

  async addMemory(store: string): Promise<void> {
    const text = await window.showInputBox({ title: t("Add to the Memory"), prompt: t("The agent reads it at the start of each session.") });
    if (text === undefined || text.trim() === "") return;
    await this.host.run(["memory", "add", "--target", store, "--", text.trim()]);
  }

  async deleteMemory(store: string, entry: string): Promise<void> {
    const action = t("Delete");
    const chosen = await window.showWarningMessage(t("Delete this entry of the memory?"), { modal: true, detail: entry }, action);
    if (chosen === action) await this.host.run(["memory", "remove", "--target", store, "--", entry]);
  }

  /** Trust a blocked file of instructions with its present content, after the user has confirmed it. */
  async trust(path: string): Promise<void> {
    const action = t("Trust the File");
    const detail = t("It was blocked because it looks like an attempt to mislead the agent. Read it first. It is blocked again if it changes.");
    const chosen = await window.showWarningMessage(t("Trust {0} with its present content?", path), { modal: true, detail }, action);
    if (chosen === action) await this.host.run(["context", "trust", "--", path]);
  }

  async #servers(): Promise<TreeItem[]> {
    const servers = await mcpServersOf(this.host);
    if (servers.some(({ state }) => CHANGING.has(state))) {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => void this.refresh(), POLL_MILLISECONDS).unref();
    }
    return nonEmpty(servers.map(serverItem), t("There are no MCP servers in this session."));
  }

  #group(id: string, label: string, icon: string, load: () => Promise<TreeItem[]>): TreeItem {
    const item = new Node(label, async () => {
      this.#opened.set(id, load);
      const ready = this.#ready.get(id);
      this.#ready.delete(id);
      return ready !== undefined && performance.now() - ready.since < READY_MILLISECONDS ? ready.items : load();
    });
    item.id = id;
    item.contextValue = `group.${id}`;
    item.iconPath = new ThemeIcon(icon);
    return item;
  }

  #contextGroup(): TreeItem {
    const { folder } = this.host;
    const found = this.#group("context", t("Context"), "book", async () =>
      nonEmpty((await instructionsOf(this.host)).map((file) => instructionsItem(file, folder)), t("No instruction files.")),
    );
    found.description = this.host.contextUsage();
    found.tooltip = found.description;
    return found;
  }
}

export function createAgentView(
  host: AgentViewHost,
  changed: EventEmitter<TreeItem | undefined>,
  isVisible: () => boolean,
): AgentView {
  return new AgentView(host, changed, isVisible);
}

/** Return the children of an item, or why there are none. */
async function loaded(children: () => Promise<TreeItem[]> | TreeItem[]): Promise<TreeItem[]> {
  try {
    return await children();
  } catch (error) {
    const item = message(messageOf(error).split("\n")[0] ?? "");
    item.iconPath = new ThemeIcon("warning");
    return [item];
  }
}

function message(text: string): TreeItem {
  const item = new Node("", null);
  item.description = text;
  item.tooltip = text;
  return item;
}

function nonEmpty(items: TreeItem[], text: string): TreeItem[] {
  return items.length === 0 ? [message(text)] : items;
}

/** The icon, its colour, and the words for each state of a server. */
const SERVER_STATES: Readonly<Record<string, readonly [icon: string, color: string, text: string]>> = {
  connecting: ["loading~spin", "", t("connecting")],
  connected: ["pass", "testing.iconPassed", t("connected")],
  reconnecting: ["loading~spin", "", t("connection lost, reconnecting")],
  signed_out: ["key", "list.warningForeground", t("waits for you to sign in")],
  failed: ["error", "list.errorForeground", t("failed")],
  closed: ["circle-outline", "", t("closed")],
  withheld: ["circle-slash", "", t("not started")],
};

function serverItem(server: McpServerState): McpItem {
  const { name, state, tools, isSignedIn, problem, address, output } = server;
  const [icon, color, text] = SERVER_STATES[state] ?? ["question", "", state];
  const item = new Node(name, tools.length === 0 ? null : () => tools.map(toolItem), { name });
  item.id = `mcp ${name}`;
  item.iconPath = color === "" ? new ThemeIcon(icon) : new ThemeIcon(icon, new ThemeColor(color));
  const count = tools.length === 0 ? "" : tools.length === 1 ? t("1 tool") : t("{0} tools", tools.length);
  item.description = [text, count].filter((part) => part !== "").join(" · ");
  item.contextValue = `mcp.${state}${isSignedIn ? ".signedIn" : ""}`;
  const tooltip = new MarkdownString();
  tooltip.appendText([address, text, problem].filter((part) => part !== "").join("\n\n"));
  if (output.length > 0) tooltip.appendCodeblock(output.join("\n"));
  item.tooltip = tooltip;
  return item;
}

function toolItem({ name, description }: McpServerState["tools"][number]): TreeItem {
  const item = new Node(name, null);
  item.description = description.split("\n")[0] ?? "";
  item.tooltip = description;
  item.iconPath = new ThemeIcon("tools");
  return item;
}

function skillItem({ name, description, from, path, hidden, isDisabled }: Skill): TreeItem {
  const item = new Node(name, null, { name, path });
  item.id = `skill ${name}`;
  const state = isDisabled ? t("disabled") : hidden;
  item.description = state === "" ? from : `${from} (${state})`.trim();
  item.tooltip = description;
  item.iconPath = new ThemeIcon(state === "" ? "lightbulb" : "circle-slash");
  item.contextValue = isDisabled ? "skill.disabled" : "skill.enabled";
  if (path !== "") item.command = openCommand(path);
  return item;
}

function storeItem(store: MemoryStore): TreeItem {
  const label = store.name === "user" ? t("What It Knows About You") : t("Notes of the Agent");
  const item = new Node(label, () => nonEmpty(store.entries.map((_, index) => entryItem(store, index)), t("Nothing yet.")), {
    ...{ store: store.name, path: store.path },
  });
  item.id = `memory ${store.name}`;
  item.description = store.usage;
  item.tooltip = `${label}: ${t("{0} characters", store.usage)}`;
  item.iconPath = new ThemeIcon(store.name === "user" ? "account" : "notebook");
  item.contextValue = "memory.store";
  return item;
}

function entryItem({ name, path, entries, blocked }: MemoryStore, index: number): TreeItem {
  const entry = entries[index] ?? "";
  const line = entry.replaceAll(/\s+/g, " ");
  const item = new Node(line.length > MAX_LABEL_CHARACTERS ? `${line.slice(0, MAX_LABEL_CHARACTERS)}…` : line, null, { store: name, entry });
  const isBlocked = blocked.includes(index + 1);
  item.description = isBlocked ? t("blocked: the model does not see it") : "";
  item.tooltip = entry;
  item.iconPath = new ThemeIcon(isBlocked ? "warning" : "note");
  item.id = ["entry", name, index, entry].join(" "); // else an action after a refresh would be without its entry
  item.contextValue = "memory.entry";
  item.command = openCommand(path);
  return item;
}

function ruleItem({ id, text, isAllowed, isSaved }: PermissionRule): TreeItem {
  const item = new Node(text.replaceAll("`", ""), null, { id });
  item.id = `rule ${id}`;
  const answer = isAllowed ? t("allowed") : t("rejected");
  item.description = isSaved ? answer : `${answer} · ${t("this session")}`;
  item.tooltip = [text, isAllowed ? t("always allowed") : t("always rejected"), isSaved ? t("this workspace") : t("this session")].join(" · ");
  item.iconPath = isAllowed
    ? new ThemeIcon("pass", new ThemeColor("testing.iconPassed"))
    : new ThemeIcon("circle-slash", new ThemeColor("list.errorForeground"));
  item.contextValue = "permission";
  return item;
}

function instructionsItem({ path, outcome, reason }: Instructions, folder: string): TreeItem {
  const absolute = isAbsolute(path) ? path : join(folder, path);
  const item = new Node(path, null, { path: absolute });
  item.id = `instructions ${path}`;
  item.description = outcome;
  item.tooltip = [absolute, outcome, reason].filter((part) => part !== "").join("\n");
  item.iconPath = new ThemeIcon(outcome === "blocked" ? "warning" : "book");
  item.contextValue = `instructions.${outcome}`;
  item.command = openCommand(absolute);
  return item;
}

function openCommand(path: string): { command: string; title: string; arguments: unknown[] } {
  return { command: "acpServer.openAgentFile", title: t("Open"), arguments: [{ path }] };
}

/** Return the fields of an argument that is no item, such as that of the command of one. */
function dataIn(argument: unknown): Readonly<Record<string, string>> {
  return isRecord(argument) && typeof argument["path"] === "string" ? { path: argument["path"] } : {};
}

/** Return the message of a command's answer. */
function messageIn(output: string): string {
  const answer: unknown = JSON.parse(output);
  return isRecord(answer) && typeof answer["message"] === "string" ? answer["message"] : output;
}
