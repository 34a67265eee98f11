/**
 * One ACP session and its turns.
 *
 * One turn runs at a time. A prompt that arrives meanwhile steers the turn or is queued. Stopping also
 * clears the queue. Sessions are created by `sessionManager`.
 */
import { methods, type ClientContext, type ContentBlock } from "@agentclientprotocol/sdk";
import type { BusyMode, QueuedPrompt, SessionEvent } from "../shared/events.js";
import { isRecord } from "../shared/validation.js";
import { checkpointOf, textOf } from "../shared/sessionUpdates.js";
import { STEERING_METHOD } from "./methodNames.js";
import { INTERRUPTED } from "./turnEndStore.js";
import { isAuthRequired, messageOf } from "./errors.js";

/** Reason of a turn that needs a sign-in first. */
const AUTH_NEEDED = "auth_required";

interface WaitingPrompt extends QueuedPrompt {
  readonly blocks: readonly ContentBlock[];
}

export interface SessionContext {
  readonly agent: ClientContext;
  readonly canSteer: boolean;
  /** Whether the agent is still connected. */
  isConnected(): boolean;
  publish(event: SessionEvent): void;
  /** Called when a turn starts or ends. */
  onTurnChange(isRunning: boolean): void;
  onAuthRequired(message: string): void;
  /** Cancel the session's open questions. */
  cancelQuestions(): void;
  now(): number;
}

export class Session {
  readonly id: string;
  readonly cwd: string;
  title: string;
  readonly #context: SessionContext;
  #queue: WaitingPrompt[] = [];
  /** Prompts that the agent rejected; their text is returned to the input. */
  #unsentPrompts: WaitingPrompt[] = [];
  #lastNumber = 0;
  #isRunning = false;
  #isStopped = false;

  constructor(id: string, cwd: string, title: string, context: SessionContext) {
    this.id = id;
    this.cwd = cwd;
    this.title = title;
    this.#context = context;
  }

  get isRunning(): boolean {
    return this.#isRunning;
  }

  /**
   * Send a prompt: as a new turn if none runs, else steering or queued. A new turn resolves when it
   * and the queue behind it have ended.
   */
  async send(blocks: readonly ContentBlock[], busyMode: BusyMode): Promise<void> {
    if (blocks.length === 0) return;
    if (!this.#isRunning) await this.#runTurns(blocks);
    else if (busyMode === "steer" && this.#context.canSteer) await this.#steer(blocks);
    else this.#enqueue(blocks);
  }

  /** Cancel the running turn and return queued prompts to the input. */
  async stop(): Promise<void> {
    if (!this.#isRunning) return;
    this.#isStopped = true;
    this.#context.cancelQuestions();
    this.#returnToInput(this.#queue);
    this.#setQueue([]);
    await this.#context.agent.notify(methods.agent.session.cancel, { sessionId: this.id });
  }

  /** Move a prompt from the queue back to the input. */
  unqueue(id: string): void {
    this.#returnToInput(this.#queue.filter((each) => each.id === id));
    this.#setQueue(this.#queue.filter((each) => each.id !== id));
  }

  async #runTurns(blocks: readonly ContentBlock[]): Promise<void> {
    let next: readonly ContentBlock[] | undefined = blocks;
    while (next !== undefined) {
      const canContinue: boolean = await this.#runTurn(next);
      next = canContinue ? this.#queue[0]?.blocks : undefined;
      if (next !== undefined) this.#setQueue(this.#queue.slice(1));
    }
    this.#returnToInput([...this.#unsentPrompts, ...this.#queue]);
    this.#unsentPrompts = [];
    if (this.#queue.length > 0) this.#setQueue([]);
  }

  /** Run one turn; return whether queued prompts may follow. */
  async #runTurn(blocks: readonly ContentBlock[]): Promise<boolean> {
    this.#isRunning = true;
    this.#isStopped = false;
    const promptId = this.#publishPrompt(blocks, "turn");
    this.#context.publish({ type: "running", startedAt: this.#context.now() });
    this.#context.onTurnChange(true);
    const { reason, error } = await this.#prompt(blocks, promptId);
    this.#isRunning = false;
    this.#context.cancelQuestions();
    this.#context.publish({ type: "ended", reason, error });
    this.#context.onTurnChange(false);
    return reason !== "cancelled" && reason !== INTERRUPTED && reason !== AUTH_NEEDED && error === "" && !this.#isStopped;
  }

  async #prompt(blocks: readonly ContentBlock[], promptId: string): Promise<{ reason: string; error: string }> {
    try {
      const { stopReason, _meta } = await this.#context.agent.request(methods.agent.session.prompt, {
        sessionId: this.id,
        prompt: [...blocks],
      });
      const checkpoint = checkpointOf(_meta);
      if (checkpoint !== "") this.#context.publish({ type: "checkpoint", promptId, checkpoint });
      return { reason: stopReason, error: "" };
    } catch (error) {
      if (this.#isStopped) return { reason: "cancelled", error: "" };
      if (!this.#context.isConnected()) return { reason: INTERRUPTED, error: "" };
      if (isAuthRequired(error)) {
        this.#context.onAuthRequired(messageOf(error));
        this.#unsentPrompts = [{ id: "", text: textOfBlocks(blocks), blocks }];
        return { reason: AUTH_NEEDED, error: "" }; // the sign-in card or banner says why
      }
      return { reason: "error", error: messageOf(error) };
    }
  }

  async #steer(blocks: readonly ContentBlock[]): Promise<void> {
    const params = {
      sessionId: this.id,
      prompt: blocks,
      _meta: { steering: { idleBehavior: "promptRequired" } },
    };
    const answer: unknown = await this.#context.agent
      .request(STEERING_METHOD, params)
      .catch(() => ({ outcome: "failed" }));
    const isAccepted = isRecord(answer) && answer["outcome"] !== "failed";
    if (isAccepted) this.#publishPrompt(blocks, "steer");
    else await this.send(blocks, "queue");
  }

  /** Publish a prompt; return its id. */
  #publishPrompt(blocks: readonly ContentBlock[], busyMode: BusyMode): string {
    this.#lastNumber += 1;
    const id = `p${String(this.#lastNumber)}`;
    this.#context.publish({ type: "prompted", id, blocks, busyMode });
    return id;
  }

  /** Return a text to the input. */
  returnText(text: string): void {
    this.#returnToInput([{ id: "", text, blocks: [] }]);
  }

  #enqueue(blocks: readonly ContentBlock[]): void {
    this.#lastNumber += 1;
    const prompt = { id: `q${String(this.#lastNumber)}`, text: textOfBlocks(blocks), blocks };
    this.#setQueue([...this.#queue, prompt]);
  }

  #setQueue(queue: WaitingPrompt[]): void {
    this.#queue = queue;
    const prompts = queue.map(({ id, text }) => ({ id, text }));
    this.#context.publish({ type: "queue", prompts });
  }

  #returnToInput(prompt: readonly WaitingPrompt[]): void {
    const text = prompt.map((each) => each.text).join("\n\n");
    if (text === "") return;
    this.#lastNumber += 1;
    this.#context.publish({ type: "restore", text, number: this.#lastNumber });
  }
}

function textOfBlocks(blocks: readonly ContentBlock[]): string {
  return blocks.map(textOf).filter((text) => text !== "").join("\n");
}
