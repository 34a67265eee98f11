/** Registers `@hermes` and our tool with VS Code's own chat, where the host has one. What they do is loaded at first use. */
import type { chat as hostChat, lm as hostModels } from "vscode";
import type { Disposable } from "../host/ports.js";
import type * as Participant from "./participant.js";

export const PARTICIPANT = "acpServer.hermes";
export const TOOL = "acpServer_ask";

/** Hosts without a chat lack the interfaces, or parts of them. */
export function registerChat(chat: Partial<typeof hostChat> | undefined, models: Partial<typeof hostModels> | undefined, host: Participant.ChatHost): Disposable[] {
  const load = (): Promise<typeof Participant> => import("./participant.js");
  const participant = chat?.createChatParticipant?.(PARTICIPANT, async (request, _, response, token) =>
    (await load()).answerRequest(host, request, response, token),
  );
  const tool = models?.registerTool?.<{ question?: unknown }>(TOOL, { invoke: async (options) => (await load()).askTool(host, options) });
  return [participant, tool].filter((each) => each !== undefined);
}
