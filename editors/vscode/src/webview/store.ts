/** Holds the view's state: reduces the host's events and renders at most once per animation frame. */
import type { HostMessage, ViewEvent } from "../shared/events.js";
import { reduceAll } from "../shared/reducer.js";
import { EMPTY_VIEW, type ViewState } from "../shared/state.js";

export class Store {
  readonly #show: (state: ViewState) => void;
  readonly #schedule: (frame: () => void) => void;
  #state: ViewState = EMPTY_VIEW;
  #pending: ViewEvent[] = [];
  #isScheduled = false;

  constructor(show: (state: ViewState) => void, schedule: (frame: () => void) => void) {
    this.#show = show;
    this.#schedule = schedule;
  }

  get state(): ViewState {
    return this.#state;
  }

  receive(message: Exclude<HostMessage, { kind: "script" }>): void {
    if (message.kind === "replay") {
      this.#state = EMPTY_VIEW;
      this.#pending = [];
    }
    for (const event of message.events) this.#pending.push(event);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#schedule(() => {
      this.#frame();
    });
  }

  #frame(): void {
    this.#isScheduled = false;
    const events = this.#pending;
    this.#pending = [];
    this.#state = reduceAll(this.#state, events);
    this.#show(this.#state);
  }
}
