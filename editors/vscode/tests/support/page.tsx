/** The view in a jsdom page. */
import { JSDOM } from "jsdom";
import type { Intent } from "../../src/shared/intents.js";
import type { ViewEvent } from "../../src/shared/events.js";

const dom = new JSDOM('<!DOCTYPE html><html lang="en"><head><title>t</title></head><body></body></html>', {
  pretendToBeVisual: true,
  url: "https://view.test/",
});
const { window } = dom;

// Browser globals that the view's modules need; set before the modules are imported.
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
  HTMLScriptElement: window.HTMLScriptElement,
  DOMParser: window.DOMParser,
  CSS: { escape: (text: string) => text },
  requestAnimationFrame: window.requestAnimationFrame.bind(window),
  cancelAnimationFrame: window.cancelAnimationFrame.bind(window),
});

// jsdom reports the page as focused only after an element was focused.
window.document.hasFocus = () => true;
/** Chunks of the transcript that wait to come near the visible part; jsdom has no layout, so tests do that. */
export const observed: { near(): void }[] = [];

class FakeIntersectionObserver {
  readonly #onChange: (entries: { isIntersecting: boolean }[]) => void;

  constructor(onChange: (entries: { isIntersecting: boolean }[]) => void) {
    this.#onChange = onChange;
  }

  observe(): void {
    observed.push({ near: () => { this.#onChange([{ isIntersecting: true }]); } });
  }

  disconnect(): void {
    // Nothing is observed.
  }
}

Object.assign(globalThis, { IntersectionObserver: FakeIntersectionObserver });
window.Element.prototype.scrollIntoView = () => undefined;
// jsdom has no canvas, and axe checks for one.
window.HTMLCanvasElement.prototype.getContext = () => null;

const { createRoot } = await import("preact/compat/client");
const { act } = await import("preact/test-utils");
const { App } = await import("../../src/webview/App.js");
const { HostProvider, EMPTY_SAVED_STATE: NOTHING_KEPT } = await import("../../src/webview/hostContext.js");
const { reduceAll } = await import("../../src/shared/reducer.js");
const { EMPTY_VIEW } = await import("../../src/shared/state.js");
type SavedViewState = typeof NOTHING_KEPT;

export { act, dom };

/** A page of the view. There is one at a time: a new one takes the place of the one before. */
export class TestPage {
  static #current: TestPage | undefined;
  readonly root: HTMLElement;
  readonly posted: Intent[] = [];
  savedState: SavedViewState;
  readonly #renderRoot: ReturnType<typeof createRoot>;
  #state = EMPTY_VIEW;

  constructor(savedState: SavedViewState = NOTHING_KEPT) {
    TestPage.#current?.close();
    TestPage.#current = this;
    this.savedState = savedState;
    document.body.replaceChildren();
    this.root = document.createElement("div");
    document.body.append(this.root);
    this.#renderRoot = createRoot(this.root);
    this.#render();
  }

  /** Apply events to the state and render it. Each page has its own copy of them, as of messages that arrive. */
  async dispatch(...events: readonly ViewEvent[]): Promise<this> {
    this.#state = reduceAll(this.#state, structuredClone(events));
    await act(() => {
      this.#render();
    });
    return this;
  }

  /** Return the first element with this test id. */
  find(testId: string): HTMLElement {
    const found = this.findAll(testId)[0];
    if (found === undefined) throw new Error(`no element has the test id ${testId}: ${this.root.textContent}`);
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

  /** Type into an input. */
  async write(target: HTMLElement, text: string): Promise<void> {
    const field = target as HTMLTextAreaElement;
    await act(() => {
      field.value = text;
      field.setSelectionRange(text.length, text.length);
      field.dispatchEvent(new window.Event("input", { bubbles: true }));
    });
  }

  close(): void {
    this.#renderRoot.unmount();
    this.root.remove();
  }

  #render(): void {
    const host = {
      post: (intent: Intent) => this.posted.push(intent),
      saveState: (savedState: Partial<SavedViewState>) => {
        this.savedState = { ...this.savedState, ...savedState };
      },
      savedState: this.savedState,
    };
    this.#host ??= host;
    this.#renderRoot.render(
      <HostProvider value={this.#host}>
        <App state={this.#state} />
      </HostProvider>,
    );
  }

  #host: { post(intent: Intent): void; saveState(savedState: Partial<SavedViewState>): void; readonly savedState: SavedViewState } | undefined;
}
