/** What the parts beside our chat need of the host: the view of the agent, and VS Code's own chat. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Controller } from "../host/controller.js";
import type { AgentProcess } from "../host/agentProcess.js";
import { runCommand } from "../host/contextReport.js";
import { contextUsageIn } from "../host/sessionDescription.js";
import { t } from "../shared/l10n.js";
import type { ActionHost } from "./actions.js";
import type { AgentViewHost } from "./agentView.js";
import type { McpContext } from "./mcpServers.js";
import type { ChatHost } from "./participant.js";

/** Do something with the MCP servers of each workspace folder that has a file of them, one after the other. */
export async function mcpFiles<T>(folders: readonly string[], action: (text: string, folder: string) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  for (const folder of folders) {
    const text = await readFile(join(folder, ".vscode", "mcp.json"), "utf8").catch(() => "");
    if (text !== "") results.push(await action(text, folder));
  }
  return results;
}

/** Let VS Code's own chat use the session that ours shows. */
export function chatHostOf(controller: Controller, actions: ActionHost): ChatHost {
  const { viewPublisher } = controller;
  let count = 0;
  return {
    start: () => actions.start(),
    isRunning: () => controller.sessions.shown?.isRunning === true,
    follow: (listener) => {
      const viewId = `participant ${String((count += 1))}`;
      viewPublisher.open(viewId, viewPublisher.shownSessionId);
      viewPublisher.attach((message) => {
        if (message.kind === "events") message.events.forEach(listener);
      }, viewId);
      return () => {
        viewPublisher.close(viewId);
      };
    },
    send: (text, mentions) => actions.send(text, mentions),
    stop: () => controller.handle({ type: "stop" }),
    askInBackground: (text) => actions.askInBackground(text),
  };
}

/** Let the view of what the agent works with ask the server. */
export function agentViewHostOf(controller: Controller, actions: ActionHost, mcpContext: McpContext): AgentViewHost {
  const { viewPublisher, editorWindow } = controller;
  const folder = (): string => editorWindow.folders[0] ?? "";
  // Another agent's program would understand the arguments as it likes.
  const ownServer = (): AgentProcess => {
    const { shown } = controller.agents;
    if (shown.isOwnServer) return shown;
    throw new Error(t("Only the Hermes Agent shows this."));
  };
  return {
    start: () => actions.start(),
    get folder() {
      return folder();
    },
    ask: (text) => actions.ask(text, []),
    request: (method, params) => {
      const sessionId = viewPublisher.shownSessionId;
      return ownServer().agent.request(method, { ...params, sessionId });
    },
    run: (args) => {
      const { serverCommand } = ownServer();
      if (serverCommand === null) throw new Error(t("The server is not running."));
      return runCommand(serverCommand, args, folder());
    },
    contextUsage: () => contextUsageIn(viewPublisher.eventsOf(viewPublisher.shownSessionId)),
    reviewMcpFile: async () => {
      const { reviewServers } = await import("./mcpServers.js");
      const reviewed = await mcpFiles(editorWindow.folders, (text, each) => reviewServers(text, each, mcpContext));
      if (reviewed.length === 0) await reviewServers("", folder(), mcpContext);
    },
  };
}
