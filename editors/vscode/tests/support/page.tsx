/** The view in a page of jsdom. */
import { JSDOM } from "jsdom";
import type { Intent } from "../../src/shared/intents.js";
import type { ViewEvent } from "../../src/shared/events.js";

const dom = new JSDOM('<!DOCTYPE html><html lang="en"><head><title>t</title></head><body></body></html>', {
  pretendToBeVisual: true,
  url: "https://view.test/",
});
const { window } = dom;

// What the view's modules look for in a browser's global scope, before they are imported.
Object.assign(globalThis, {
  window,
  document: window.document,
  Node: window.Node,
  Element: window.Element,
  HTMLElement: window.HTMLElement,
  HTMLTextAreaElement: window.HTMLTextAreaElement,
  HTMLInputElement: window.HTMLInputElement,
  HTMLSelectElement: window.HTMLSelectElement,
  CustomEvent: window.CustomEvent,
  FileReader: window.FileReader,
  requestAnimationFrame: window.requestAnimationFrame.bind(window),
  cancelAnimationFrame: window.cancelAnimationFrame.bind(window),
});

// The user is here: jsdom counts a page as focused only once a part of it was.
window.document.hasFocus = () => true;
// There is nothing to draw on, and axe asks whether there is.
window.HTMLCanvasElement.prototype.getContext = () => null;

const { createRoot } = await import("preact/compat/client");
const { act } = await import("preact/test-utils");
const { App } = await import("../../src/webview/App.js");
const { HostProvider, NOTHING_KEPT } = await import("../../src/webview/posting.js");
const { reduceAll } = await import("../../src/shared/reducer.js");
const { EMPTY_VIEW } = await import("../../src/shared/state.js");
type Kept = typeof NOTHING_KEPT;

export { act, dom };

export class Page {
  readonly root: HTMLElement;
  readonly posted: Intent[] = [];
  kept: Kept;
  readonly #drawing: ReturnType<typeof createRoot>;
  #state = EMPTY_VIEW;

  constructor(kept: Kept = NOTHING_KEPT) {
    this.kept = kept;
    document.body.replaceChildren();
    this.root = document.createElement("div");
    document.body.append(this.root);
    this.#drawing = createRoot(this.root);
    this.#draw();
  }

  /** Show what events make of what is shown. */
  async tell(...events: readonly ViewEvent[]): Promise<this> {
    this.#state = reduceAll(this.#state, events);
    await act(() => {
      this.#draw();
    });
    return this;
  }

  /** Return the part with this test id; the first one. */
  find(testId: string): HTMLElement {
    const found = this.findAll(testId)[0];
    if (found === undefined) throw new Error(`nothing is called ${testId}: ${this.root.textContent}`);
    return found;
  }

  findAll(testId: string): HTMLElement[] {
    return [...this.root.querySelectorAll<HTMLElement>(`[data-testid="${testId}"]`)];
  }

  async press(testId: string): Promise<void> {
    await act(() => {
      this.find(testId).click();
    });
  }

  async key(target: Element, key: string, more: KeyboardEventInit = {}): Promise<void> {
    await act(() => {
      const event = new window.KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more });
      target.dispatchEvent(event);
    });
  }

  /** Write into an input, as a user does. */
  async write(target: HTMLElement, text: string): Promise<void> {
    const field = target as HTMLTextAreaElement;
    await act(() => {
      field.value = text;
      field.setSelectionRange(text.length, text.length);
      field.dispatchEvent(new window.Event("input", { bubbles: true }));
    });
  }

  close(): void {
    this.#drawing.unmount();
    this.root.remove();
  }

  #draw(): void {
    const host = {
      post: (intent: Intent) => this.posted.push(intent),
      keep: (kept: Kept) => {
        this.kept = kept;
      },
      kept: this.kept,
    };
    this.#host ??= host;
    this.#drawing.render(
      <HostProvider value={this.#host}>
        <App state={this.#state} />
      </HostProvider>,
    );
  }

  #host: { post(intent: Intent): void; keep(kept: Kept): void; readonly kept: Kept } | undefined;
}
