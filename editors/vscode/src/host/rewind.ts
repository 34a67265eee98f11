/** Restores a session to the state before a prompt: its files, its conversation, or both. */
import type { ContentBlock } from "@agentclientprotocol/sdk";
import type { SessionEvent } from "../shared/events.js";
import { isRecord } from "../shared/validation.js";
import type { Intent, RestoreScope } from "../shared/intents.js";
import { checkpointOf } from "../shared/sessionUpdates.js";
import { RESTORE_METHOD } from "./methodNames.js";
import type { IntentHost } from "./intentHandlers.js";
import { t } from "../shared/l10n.js";

const UNDO = t("Undo");

/** Restore a checkpoint. The prompt's text returns to the input, or is sent again. */
export async function restore(intent: Extract<Intent, { type: "restore" }>, host: IntentHost): Promise<void> {
  const { checkpoint, scope, text, isSentAgain } = intent;
  const session = host.sessions.shown;
  if (session === undefined) return;
  if (session.isRunning) throw new Error(t("Stop the turn before you restore an earlier state."));
  const blocks = sentBlocks(host.viewPublisher.eventsOf(session.id), checkpoint) ?? [{ type: "text", text }];
  const answer = await request(host, session.id, checkpoint, scope);
  if (scope !== "files") {
    host.viewPublisher.record(session.id, { type: "rewound", checkpoint });
    host.answers.onRewound(session.id, host.viewPublisher.eventsOf(session.id));
    if (isSentAgain) void session.send(blocks, "turn");
    else if (text !== "") session.returnText(text);
  }
  if (scope !== "conversation") await host.reviews.loaded?.refresh(session.id);
  if (!isSentAgain) report(host, session.id, scope, answer);
}

/** Return the blocks of the prompt with a checkpoint, with its pictures and mentions; undefined for a replayed one. */
function sentBlocks(events: readonly SessionEvent[], checkpoint: string): readonly ContentBlock[] | undefined {
  const named = events.find((event) => event.type === "checkpoint" && event.checkpoint === checkpoint);
  if (named?.type !== "checkpoint") return undefined;
  const prompted = events.findLast((event) => event.type === "prompted" && event.id === named.promptId);
  return prompted?.type === "prompted" ? prompted.blocks : undefined;
}

interface RestoreAnswer {
  readonly restored: readonly string[];
  /** Paths that were not restored, with the reasons. */
  readonly left: readonly string[];
  /** Names the state before the restore. */
  readonly checkpoint: string;
}

async function request(host: IntentHost, sessionId: string, checkpoint: string, scope: RestoreScope): Promise<RestoreAnswer> {
  const answer: unknown = await host.agentOf(sessionId).request(RESTORE_METHOD, { sessionId, checkpoint, scope });
  const { restored, left, _meta } = isRecord(answer) ? answer : {};
  return {
    restored: Array.isArray(restored) ? restored.filter((path) => typeof path === "string") : [],
    left: Array.isArray(left) ? left.filter(isRecord).map((each) => `${host.labelOf(String(each["path"]))}: ${String(each["reason"])}`) : [],
    checkpoint: checkpointOf(isRecord(_meta) ? _meta : undefined),
  };
}

/** Say which files were restored. Files alone can be brought back; a removed conversation has left the view. */
function report(host: IntentHost, sessionId: string, scope: RestoreScope, answer: RestoreAnswer): void {
  if (scope === "conversation") return;
  const count = answer.restored.length === 1 ? t("1 file was restored.") : t("{0} files were restored.", answer.restored.length);
  const left = answer.left.length === 0 ? "" : " " + t("Not restored: {0}", answer.left.join("; "));
  const canUndo = scope === "files" && answer.checkpoint !== "" && answer.restored.length > 0;
  const actions = canUndo ? [UNDO] : [];
  const { editorWindow } = host;
  const shown = left === "" ? editorWindow.showInformation(count, actions) : editorWindow.showWarning(count + left, actions);
  void shown.then(async (chosen) => {
    if (chosen !== UNDO) return;
    await request(host, sessionId, answer.checkpoint, "files");
    await host.reviews.loaded?.refresh(sessionId);
  });
}
