/**
 * One conversation, as the host holds it.
 *
 * Owns its turns: one runs at a time, what is said meanwhile is part of it or waits behind it, and a
 * stop leaves nothing running. Refuses to know how sessions come to be.
 */
import { methods, type ClientContext, type ContentBlock } from "@agentclientprotocol/sdk";
import type { Manner, QueuedPrompt, SessionEvent } from "../shared/events.js";
import { isRecord } from "../shared/intents.js";
import { textOf } from "../shared/updates.js";
import { STEERING_METHOD } from "./connection.js";
import { CUT } from "./endings.js";
import { isAuthRequired, messageOf } from "./failures.js";

interface Waiting extends QueuedPrompt {
  readonly blocks: readonly ContentBlock[];
}

export interface SessionSurroundings {
  readonly agent: ClientContext;
  readonly canSteer: boolean;
  /** Whether the agent is still there. */
  isConnected(): boolean;
  publish(event: SessionEvent): void;
  /** A turn has begun, or ended. */
  onTurn(isRunning: boolean): void;
  onAuthRequired(message: string): void;
  /** Cancel what the session asks the user. */
  cancelQuestions(): void;
  now(): number;
}

export class Session {
  readonly id: string;
  readonly cwd: string;
  title: string;
  readonly #around: SessionSurroundings;
  #queue: Waiting[] = [];
  /** What the agent did not take: it goes back to the user. */
  #unsent: Waiting[] = [];
  #numbered = 0;
  #isRunning = false;
  #isStopped = false;

  constructor(id: string, cwd: string, title: string, around: SessionSurroundings) {
    this.id = id;
    this.cwd = cwd;
    this.title = title;
    this.#around = around;
  }

  get isRunning(): boolean {
    return this.#isRunning;
  }

  /** Send a prompt, in the manner that is possible now. Resolves when it has been answered. */
  async send(blocks: readonly ContentBlock[], manner: Manner): Promise<void> {
    if (blocks.length === 0) return;
    if (!this.#isRunning) await this.#runAll(blocks);
    else if (manner === "steer" && this.#around.canSteer) await this.#steer(blocks);
    else this.#enqueue(blocks);
  }

  /** Stop the turn that runs, and what waits behind it goes back to the user. */
  async stop(): Promise<void> {
    if (!this.#isRunning) return;
    this.#isStopped = true;
    this.#around.cancelQuestions();
    this.#giveBack(this.#queue);
    this.#setQueue([]);
    await this.#around.agent.notify(methods.agent.session.cancel, { sessionId: this.id });
  }

  /** Take a prompt out of the queue, back into the input. */
  unqueue(id: string): void {
    this.#giveBack(this.#queue.filter((each) => each.id === id));
    this.#setQueue(this.#queue.filter((each) => each.id !== id));
  }

  async #runAll(blocks: readonly ContentBlock[]): Promise<void> {
    let next: readonly ContentBlock[] | undefined = blocks;
    while (next !== undefined) {
      const isDone: boolean = await this.#run(next);
      next = isDone ? this.#queue[0]?.blocks : undefined;
      if (next !== undefined) this.#setQueue(this.#queue.slice(1));
    }
    this.#giveBack([...this.#unsent, ...this.#queue]);
    this.#unsent = [];
    if (this.#queue.length > 0) this.#setQueue([]);
  }

  /** Run a turn; return whether what waits may follow. */
  async #run(blocks: readonly ContentBlock[]): Promise<boolean> {
    this.#isRunning = true;
    this.#isStopped = false;
    this.#show(blocks, "turn");
    this.#around.publish({ type: "running", startedAt: this.#around.now() });
    this.#around.onTurn(true);
    const { reason, error } = await this.#ask(blocks);
    this.#isRunning = false;
    this.#around.cancelQuestions();
    this.#around.publish({ type: "ended", reason, error });
    this.#around.onTurn(false);
    return reason !== "cancelled" && reason !== CUT && error === "" && !this.#isStopped;
  }

  async #ask(blocks: readonly ContentBlock[]): Promise<{ reason: string; error: string }> {
    try {
      const { stopReason } = await this.#around.agent.request(methods.agent.session.prompt, {
        sessionId: this.id,
        prompt: [...blocks],
      });
      return { reason: stopReason, error: "" };
    } catch (error) {
      if (this.#isStopped) return { reason: "cancelled", error: "" };
      if (!this.#around.isConnected()) return { reason: CUT, error: "" };
      if (isAuthRequired(error)) {
        this.#around.onAuthRequired(messageOf(error));
        this.#unsent = [{ id: "", text: textIn(blocks), blocks }];
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
    const answer: unknown = await this.#around.agent
      .request(STEERING_METHOD, params)
      .catch(() => ({ outcome: "failed" }));
    const isTaken = isRecord(answer) && answer["outcome"] !== "failed";
    if (isTaken) this.#show(blocks, "steer");
    else await this.send(blocks, "queue");
  }

  #show(blocks: readonly ContentBlock[], manner: Manner): void {
    this.#numbered += 1;
    this.#around.publish({ type: "prompted", id: `p${String(this.#numbered)}`, blocks, manner });
  }

  #enqueue(blocks: readonly ContentBlock[]): void {
    this.#numbered += 1;
    const waiting = { id: `q${String(this.#numbered)}`, text: textIn(blocks), blocks };
    this.#setQueue([...this.#queue, waiting]);
  }

  #setQueue(queue: Waiting[]): void {
    this.#queue = queue;
    const prompts = queue.map(({ id, text }) => ({ id, text }));
    this.#around.publish({ type: "queue", prompts });
  }

  #giveBack(waiting: readonly Waiting[]): void {
    const text = waiting.map((each) => each.text).join("\n\n");
    if (text === "") return;
    this.#numbered += 1;
    this.#around.publish({ type: "restore", text, number: this.#numbered });
  }
}

function textIn(blocks: readonly ContentBlock[]): string {
  return blocks.map(textOf).filter((text) => text !== "").join("\n");
}
