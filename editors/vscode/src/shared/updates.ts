/**
 * What the agent's updates make of a session.
 *
 * Owns the meaning of every variant of `session/update`; one that is not known changes nothing.
 * Pure: the same state and update, the same result.
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
import { isRecord } from "./intents.js";
import { emptyCall, type Call, type Item, type SessionState } from "./state.js";
import { NEW_TERMINAL, newsIn, printed } from "./terminals.js";

type Fresh<T> = T extends Item ? Omit<T, "key"> : never;

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
      return withTerminalNews(withCall(session, update), update);
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

/** Return the session with one more entry. */
export function withItem(session: SessionState, item: Fresh<Item>): SessionState {
  const key = `item-${String(session.nextKey)}`;
  const items = [...session.items, { ...item, key }];
  return { ...session, items, nextKey: session.nextKey + 1 };
}

/** Return the session with other options; the mode among them holds for the modes too. */
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
  if (last?.kind === "user" && last.isOurs && repeats(last.blocks, chunk.content)) return session;
  const isSame = index === session.items.length - 1 && messageId !== "";
  if (last?.kind === "user" && isSame && last.messageId === messageId && !last.isOurs) {
    const blocks = [...last.blocks, chunk.content];
    return { ...session, items: replaced(session.items, index, { ...last, blocks }) };
  }
  const blocks = [chunk.content];
  return withItem(session, { kind: "user", messageId, blocks, manner: "turn", isOurs: false });
}

/** Whether a block is what we have shown ourselves, when it was sent. */
function repeats(blocks: readonly ContentBlock[], block: ContentBlock): boolean {
  const written = JSON.stringify(block);
  return blocks.some((ours) => JSON.stringify(ours) === written);
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
  const index = placeOf(session.items, kind, messageId);
  const item = session.items[index];
  if (item?.kind === kind) {
    const longer = { ...item, text: item.text + text };
    return { ...session, items: replaced(session.items, index, longer) };
  }
  return withItem(session, { kind, messageId, text });
}

/**
 * Return where a chunk goes on, or -1.
 *
 * A message that was cut and taken up again goes on across notices, never across calls or prompts.
 */
function placeOf(items: readonly Item[], kind: "agent" | "thought", messageId: string): number {
  for (let index = items.length - 1; index >= 0; index -= 1) {
    const item = items[index];
    if (item?.kind === kind) return item.messageId === messageId ? index : -1;
    if (messageId === "" || item?.kind !== "notice") return -1;
  }
  return -1;
}

function replaced(items: readonly Item[], index: number, item: Item): readonly Item[] {
  const copy = items.slice();
  copy[index] = item;
  return copy;
}

function noticeOf(notice: Notice): Fresh<Item> {
  const { severity, title, description } = notice;
  return { kind: "notice", severity, title, description: description ?? "" };
}

/** Return the session with a call as an update leaves it; one not heard of before appears. */
export function withCall(session: SessionState, update: ToolCallUpdate): SessionState {
  return withCallChanged(session, update.toolCallId, (call) => changedCall(call, update));
}

/** Return the session with a call changed; one not heard of before appears. */
export function withCallChanged(
  session: SessionState,
  id: string,
  change: (call: Call) => Call,
): SessionState {
  const index = session.items.findLastIndex((item) => item.kind === "call" && item.call.id === id);
  const item = session.items[index];
  if (item?.kind !== "call") return withItem(session, { kind: "call", call: change(emptyCall(id)) });
  const changed = { ...item, call: change(item.call) };
  return { ...session, items: replaced(session.items, index, changed) };
}

function changedCall(call: Call, update: ToolCallUpdate): Call {
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
    parentId: parentIn(update) || call.parentId,
    instructions: instructionsIn(update) ?? call.instructions,
  };
}

function parentIn(update: ToolCallUpdate): string {
  const parent = update._meta?.["parentToolUseId"];
  return typeof parent === "string" ? parent : "";
}

/** Return the files of instructions that an update says came along; undefined if it says nothing. */
export function instructionsIn(update: ToolCallUpdate): string[] | undefined {
  const hermes = update._meta?.["hermes"];
  const listed = isRecord(hermes) ? hermes["instructions"] : undefined;
  if (!Array.isArray(listed)) return undefined;
  return listed.filter((path): path is string => typeof path === "string");
}

function withTerminalNews(session: SessionState, update: ToolCallUpdate): SessionState {
  let { terminals } = session;
  for (const news of newsIn(update._meta)) {
    const terminal = terminals[news.id] ?? NEW_TERMINAL;
    if (news.kind === "opened") terminals = { ...terminals, [news.id]: terminal };
    else if (news.kind === "printed") {
      terminals = { ...terminals, [news.id]: printed(terminal, news.data, false) };
    } else terminals = { ...terminals, [news.id]: { ...terminal, exit: news.exit } };
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
  const changed = { ...start, ...compactionNews(start.summary, update) };
  if (known === null) return withItem(session, changed);
  return { ...session, items: replaced(session.items, index, { ...known, ...changed }) };
}

function compactionNews(
  summary: string,
  update: CompactionUpdate | CompactionSummaryChunk,
): { summary: string; status?: string; error?: string } {
  if ("content" in update) return { summary: summary + textOf(update.content) };
  const whole = update.summary?.map(textOf).join("");
  return { summary: whole ?? summary, status: update.status, error: update.error ?? "" };
}

/** Return the text of a block; other content has none. */
export function textOf(block: ContentBlock): string {
  return block.type === "text" ? block.text : "";
}
