/**
 * Loads the review of changes at first use: most sessions begin without any.
 *
 * The review is a file of its own (`extension/review`), so that it costs nothing before the agent changes a file.
 */
import type { SessionUpdate, ToolCallUpdate } from "@agentclientprotocol/sdk";
import type { SessionEvent } from "../shared/events.js";
import type { TextStore } from "./ports.js";
import type { ReviewService } from "./reviewService.js";
import { reviewFileName } from "./reviewStore.js";

export class ReviewLoader {
  readonly #create: () => Promise<ReviewService>;
  readonly #textStore: TextStore;
  /** Running calls that have shown a diff: the update at their end may be without it. */
  readonly #calls = new Set<string>();
  #loading: Promise<ReviewService> | undefined;
  #loaded: ReviewService | undefined;

  constructor(create: () => Promise<ReviewService>, textStore: TextStore) {
    this.#create = create;
    this.#textStore = textStore;
  }

  /** The review, if it has been loaded. */
  get loaded(): ReviewService | undefined {
    return this.#loaded;
  }

  load(): Promise<ReviewService> {
    this.#loading ??= this.#create().then((service) => (this.#loaded = service));
    return this.#loading;
  }

  /** Restore the changes that were saved when the session was last open. */
  async restore(sessionId: string): Promise<void> {
    const isSaved = this.#loading !== undefined || (await this.#textStore.read(reviewFileName(sessionId))) !== null;
    if (isSaved) await (await this.load()).restore(sessionId);
  }

  /** Record the end of a tool call with diffs, for writes that did not use `fs/write_text_file`. */
  async onToolCallUpdate(sessionId: string, update: SessionUpdate): Promise<void> {
    if (update.sessionUpdate !== "tool_call" && update.sessionUpdate !== "tool_call_update") return;
    const call = `${sessionId} ${update.toolCallId}`;
    if (hasDiff(update)) this.#calls.add(call);
    const hasEnded = update.status === "completed" || update.status === "failed";
    if (hasEnded && this.#calls.delete(call)) await (await this.load()).onToolCallEnd(sessionId, update);
  }

  /** Show what a permission request proposes, until it is answered. */
  async onQuestion(sessionId: string, event: SessionEvent): Promise<void> {
    if (event.type === "answered") await this.#loaded?.proposals.withdraw(event.questionId);
    if (event.type !== "permission") return;
    if (hasDiff(event.call)) this.#calls.add(`${sessionId} ${event.call.toolCallId}`);
    if (event.call.kind === "edit" || hasDiff(event.call)) await (await this.load()).proposals.show(sessionId, event);
  }
}

function hasDiff({ content }: Pick<ToolCallUpdate, "content">): boolean {
  return content?.some(({ type }) => type === "diff") === true;
}
