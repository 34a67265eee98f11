/**
 * Loads the review of changes at first use: most sessions begin without any.
 *
 * The review is a file of its own (`extension/review`), so that it costs nothing before the agent changes a file.
 */
import type { SessionUpdate } from "@agentclientprotocol/sdk";
import type { SessionEvent } from "../shared/events.js";
import type { TextStore } from "./ports.js";
import type { ReviewService } from "./reviewService.js";
import { reviewFileName } from "./reviewStore.js";

export class ReviewLoader {
  readonly #create: () => Promise<ReviewService>;
  readonly #textStore: TextStore;
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

  /** Record the diffs of a completed tool call, for writes that did not use `fs/write_text_file`. */
  async onToolCallUpdate(sessionId: string, update: SessionUpdate): Promise<void> {
    const isEdit = "content" in update && Array.isArray(update.content) && update.content.some((part) => part.type === "diff");
    if (this.#loading !== undefined || isEdit) await (await this.load()).onToolCallUpdate(sessionId, update);
  }

  /** Show what a permission request proposes, until it is answered. */
  async onQuestion(sessionId: string, event: SessionEvent): Promise<void> {
    if (event.type === "answered") await this.#loaded?.proposals.withdraw(event.questionId);
    if (event.type !== "permission") return;
    const { kind, content } = event.call;
    const isEdit = kind === "edit" || content?.some(({ type }) => type === "diff") === true;
    if (isEdit) await (await this.load()).proposals.show(sessionId, event);
  }
}
