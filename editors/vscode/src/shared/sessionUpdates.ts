/**
 * Reducer for the agent's `session/update` notifications.
 *
 * Handles every known variant; unknown variants change nothing. Pure.
 */
import type {
  CompactionSummaryChunk,
  CompactionUpdate,
  ContentBlock,
  ContentChunk,
  Notice,
  SessionConfigOption,
  SessionUpdate,
  ToolCallUpdate,
} from "@agentclientprotocol/sdk";
import { isRecord } from "./validation.js";
import { emptyCall, type NestedText, type ToolCallState, type TranscriptItem, type SessionState } from "./state.js";
import { NEW_TERMINAL, terminalUpdatesIn, withOutput } from "./terminalOutput.js";

type WithoutKey<T> = T extends TranscriptItem ? Omit<T, "key"> : never;

/** Return the session after an update. */
export function withUpdate(session: SessionState, update: SessionUpdate): SessionState {
  switch (update.sessionUpdate) {
    case "user_message_chunk":
      return withUserChunk(session, update);
    case "agent_message_chunk":
      return withChunk(session, "agent", update);
    case "agent_thought_chunk":
      return withChunk(session, "thought", update);
    case "tool_call":
    case "tool_call_update":
      return withTerminalUpdates(withCall(session, update), update);
    case "plan":
      return { ...session, plan: update.entries };
    case "available_commands_update":
      return { ...session, commands: update.availableCommands };
    case "current_mode_update":
      return withMode(session, update.currentModeId);
    case "config_option_update":
      return withOptions(session, update.configOptions);
    case "session_info_update":
      return update.title === undefined ? session : { ...session, title: update.title ?? "" };
    case "usage_update":
      return { ...session, usage: update };
    case "notice":
      return withItem(session, noticeOf(update));
    case "compaction_update":
    case "compaction_summary_chunk":
      return withCompaction(session, update);
    default:
      return session;
  }
}

/** Return the session with an entry appended. */
export function withItem(session: SessionState, item: WithoutKey<TranscriptItem>): SessionState {
  const key = `item-${String(session.nextKey)}`;
  const items = [...session.items, { ...item, key }];
  return { ...session, items, nextKey: session.nextKey + 1 };
}

/** Return the session with new options. An option of category `mode` also sets the current mode. */
export function withOptions(
  session: SessionState,
  options: readonly SessionConfigOption[],
): SessionState {
  const mode = options.find((option) => option.category === "mode" && option.type === "select");
  const changed = { ...session, options };
  return mode?.type === "select" ? withMode(changed, mode.currentValue) : changed;
}

function withMode(session: SessionState, modeId: string): SessionState {
  if (session.modes === null) return session;
  return { ...session, modes: { ...session.modes, currentModeId: modeId } };
}

function withUserChunk(session: SessionState, chunk: ContentChunk): SessionState {
  const messageId = chunk.messageId ?? "";
  const index = session.items.findLastIndex((item) => item.kind === "user");
  const last = session.items[index];
  if (last?.kind === "user" && last.isLocalEcho && isEchoOf(last.blocks, chunk.content)) return session;
  const isSame = index === session.items.length - 1 && messageId !== "";
  if (last?.kind === "user" && isSame && last.messageId === messageId && !last.isLocalEcho) {
    const blocks = [...last.blocks, chunk.content];
    return { ...session, items: replaceAt(session.items, index, { ...last, blocks }) };
  }
  const replayed = { messageId, blocks: [chunk.content], promptId: "", checkpoint: checkpointOf(chunk._meta), isLocalEcho: false };
  return withItem(session, { kind: "user", busyMode: "turn", ...replayed });
}

/** Return the checkpoint in a message's or response's `_meta`; empty if it has none. */
export function checkpointOf(meta: Readonly<Record<string, unknown>> | null | undefined): string {
  const hermes = meta?.["hermes"];
  const checkpoint = isRecord(hermes) ? hermes["checkpoint"] : undefined;
  return typeof checkpoint === "string" ? checkpoint : "";
}

/** Whether a block echoes a prompt that the extension already shows. */
function isEchoOf(blocks: readonly ContentBlock[], block: ContentBlock): boolean {
  const written = JSON.stringify(block);
  return blocks.some((own) => JSON.stringify(own) === written);
}

function withChunk(
  session: SessionState,
  kind: "agent" | "thought",
  chunk: ContentChunk,
): SessionState {
  if (chunk.content.type !== "text") {
    return withItem(session, { kind: "media", block: chunk.content });
  }
  const { text } = chunk.content;
  const messageId = chunk.messageId ?? "";
  const parentId = parentIdOf(chunk);
  if (parentId !== "") {
    return withCallChanged(session, parentId, (call) => ({ ...call, texts: withText(call.texts, { kind, messageId, text }) }));
  }
  const index = findMessageToExtend(session.items, kind, messageId);
  const item = session.items[index];
  if (item?.kind === kind) {
    const longer = { ...item, text: item.text + text };
    return { ...session, items: replaceAt(session.items, index, longer) };
  }
  return withItem(session, { kind, messageId, text });
}

/** Return texts with one more, which extends that of the same message: several sub-agents write at once. */
function withText(texts: readonly NestedText[], added: NestedText): readonly NestedText[] {
  const index = texts.findLastIndex((each) => each.kind === added.kind && each.messageId === added.messageId);
  const found = texts[index];
  return found === undefined ? [...texts, added] : texts.with(index, { ...found, text: found.text + added.text });
}

/**
 * Return the index of the message that a chunk extends, or -1 for a new message.
 *
 * A message that was interrupted by a retry continues after its notices, but never after tool calls or
 * prompts.
 */
function findMessageToExtend(items: readonly TranscriptItem[], kind: "agent" | "thought", messageId: string): number {
  for (let index = items.length - 1; index >= 0; index -= 1) {
    const item = items[index];
    if (item?.kind === kind) return item.messageId === messageId ? index : -1;
    if (messageId === "" || item?.kind !== "notice") return -1;
  }
  return -1;
}

function replaceAt(items: readonly TranscriptItem[], index: number, item: TranscriptItem): readonly TranscriptItem[] {
  const copy = items.slice();
  copy[index] = item;
  return copy;
}

function noticeOf(notice: Notice): WithoutKey<TranscriptItem> {
  const { severity, title, description } = notice;
  return { kind: "notice", severity, title, description: description ?? "" };
}

/** Return the session with an update applied to its tool call; an unknown call is added. */
export function withCall(session: SessionState, update: ToolCallUpdate): SessionState {
  return withCallChanged(session, update.toolCallId, (call) => updatedCall(call, update));
}

/** Return the session with a tool call changed; an unknown call is added. */
export function withCallChanged(
  session: SessionState,
  id: string,
  change: (call: ToolCallState) => ToolCallState,
): SessionState {
  const index = findCall(session.items, id);
  const item = session.items[index];
  if (item?.kind !== "call") return withItem(session, { kind: "call", call: change(emptyCall(id)) });
  const changed = { ...item, call: change(item.call) };
  return { ...session, items: replaceAt(session.items, index, changed) };
}

/** Return the index of a tool call, or -1. A loop: opening a session searches for each of its calls in vain. */
function findCall(items: readonly TranscriptItem[], id: string): number {
  for (let index = items.length - 1; index >= 0; index -= 1) {
    const item = items[index];
    if (item?.kind === "call" && item.call.id === id) return index;
  }
  return -1;
}

function updatedCall(call: ToolCallState, update: ToolCallUpdate): ToolCallState {
  return {
    ...call,
    title: update.title ?? call.title,
    name: update.name ?? call.name,
    kind: update.kind ?? call.kind,
    status: update.status ?? call.status,
    content: update.content ?? call.content,
    locations: update.locations ?? call.locations,
    rawInput: update.rawInput ?? call.rawInput,
    rawOutput: update.rawOutput ?? call.rawOutput,
    parentId: parentIdOf(update) || call.parentId,
    instructions: instructionsOf(update) ?? call.instructions,
  };
}

function parentIdOf(update: ToolCallUpdate | ContentChunk): string {
  const parent = update._meta?.["parentToolUseId"];
  return typeof parent === "string" ? parent : "";
}

/** Return the instruction files loaded with an update; undefined if the update does not report any. */
export function instructionsOf(update: ToolCallUpdate): string[] | undefined {
  const hermes = update._meta?.["hermes"];
  const listed = isRecord(hermes) ? hermes["instructions"] : undefined;
  if (!Array.isArray(listed)) return undefined;
  return listed.filter((path): path is string => typeof path === "string");
}

function withTerminalUpdates(session: SessionState, update: ToolCallUpdate): SessionState {
  let { terminals } = session;
  for (const terminalUpdate of terminalUpdatesIn(update._meta)) {
    const terminal = terminals[terminalUpdate.id] ?? NEW_TERMINAL;
    if (terminalUpdate.kind === "opened") terminals = { ...terminals, [terminalUpdate.id]: terminal };
    else if (terminalUpdate.kind === "printed") {
      terminals = { ...terminals, [terminalUpdate.id]: withOutput(terminal, terminalUpdate.data, false) };
    } else terminals = { ...terminals, [terminalUpdate.id]: { ...terminal, exit: terminalUpdate.exit } };
  }
  return terminals === session.terminals ? session : { ...session, terminals };
}

function withCompaction(
  session: SessionState,
  update: CompactionUpdate | CompactionSummaryChunk,
): SessionState {
  const id = update.compactionId;
  const index = session.items.findLastIndex(
    (item) => item.kind === "compaction" && item.id === id,
  );
  const found = session.items[index];
  const known = found?.kind === "compaction" ? found : null;
  const start = known ?? { kind: "compaction" as const, id, status: "in_progress", summary: "", error: "" };
  const changed = { ...start, ...compactionChange(start.summary, update) };
  if (known === null) return withItem(session, changed);
  return { ...session, items: replaceAt(session.items, index, { ...known, ...changed }) };
}

function compactionChange(
  summary: string,
  update: CompactionUpdate | CompactionSummaryChunk,
): { summary: string; status?: string; error?: string } {
  if ("content" in update) return { summary: summary + textOf(update.content) };
  const whole = update.summary?.map(textOf).join("");
  return { summary: whole ?? summary, status: update.status, error: update.error ?? "" };
}

/** Return the text of a text block, empty for other blocks. */
export function textOf(block: ContentBlock): string {
  return block.type === "text" ? block.text : "";
}
