/** Registers the view of what the agent works with. Its content is loaded when the view is first shown. */
import { commands, EventEmitter, window, type TreeItem, type TreeView } from "vscode";
import type { Disposable } from "../host/ports.js";
import type { AgentView, AgentViewHost } from "./agentView.js";

export const AGENT_VIEW = "acpServer.agent";
/** Commands of its items; see `AgentView.run`. */
const COMMANDS = [
  ...["refreshAgent", "restartMcpServer", "signInMcpServer", "signOutMcpServer", "editMcpServers", "enableSkill", "disableSkill"],
  ...["addMemory", "deleteMemory", "undoMemory", "forgetPermission", "trustInstructions", "openAgentFile"],
];

export class AgentTree implements Disposable {
  readonly #host: () => AgentViewHost;
  readonly #changed = new EventEmitter<TreeItem | undefined>();
  readonly #registrations: Disposable[];
  readonly #tree: TreeView<TreeItem>;
  #view: AgentView | null = null;
  #shown = "";

  constructor(host: () => AgentViewHost) {
    this.#host = host;
    this.#tree = window.createTreeView<TreeItem>(AGENT_VIEW, {
      showCollapseAll: true,
      treeDataProvider: {
        onDidChangeTreeData: this.#changed.event,
        getTreeItem: (item) => item,
        getChildren: async (parent) => (await this.#load()).childrenOf(parent),
      },
    });
    const registered = COMMANDS.map((name) =>
      commands.registerCommand(`acpServer.${name}`, async (...args: unknown[]) => (await this.#load()).run(name, args)),
    );
    this.#registrations = [this.#tree, ...registered];
  }

  /** Show the state of another session, or that after a turn. The key names the session and whether it runs. */
  update(key: string): void {
    if (key === this.#shown) return;
    this.#shown = key;
    void this.#view?.refresh();
  }

  dispose(): void {
    for (const registration of this.#registrations) registration.dispose();
  }

  async #load(): Promise<AgentView> {
    const module = await import("./agentView.js");
    return (this.#view ??= module.createAgentView(this.#host(), this.#changed, () => this.#tree.visible));
  }
}
