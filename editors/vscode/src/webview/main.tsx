/** Entry point of the webview: connects the store, the root component and the host. */
import "./translations.js";
import { render } from "preact";
import { hostMessageOf } from "../shared/hostMessages.js";
import type { Intent } from "../shared/intents.js";
import { isRecord } from "../shared/validation.js";
import { App } from "./App.js";
import { HostProvider, EMPTY_SAVED_STATE, type Host, type SavedViewState } from "./hostContext.js";
import { highlighterFrom } from "./markdown/highlight.js";
import { sandboxedRenderers } from "./markdown/sandbox.js";
import { Store } from "./store.js";
import "./style.css";

declare function acquireVsCodeApi(): {
  postMessage(message: Intent): void;
  getState(): unknown;
  setState(state: SavedViewState): void;
};

const api = acquireVsCodeApi();
const root = document.getElementById("root");
const { currentScript } = document;
if (currentScript instanceof HTMLScriptElement) {
  highlighterFrom(currentScript);
  sandboxedRenderers.nonce = currentScript.nonce;
}

function loadSavedState(): SavedViewState {
  const state = api.getState();
  if (!isRecord(state)) return EMPTY_SAVED_STATE;
  const textOf = (name: string): string => (typeof state[name] === "string" ? state[name] : "");
  return { draft: textOf("draft"), prompts: textOf("prompts"), session: textOf("session"), restored: textOf("restored"), attached: textOf("attached") };
}

if (root !== null) {
  let saved = loadSavedState();
  const host: Host = {
    post: (intent) => {
      api.postMessage(intent);
    },
    saveState: (savedState) => {
      api.setState((saved = { ...saved, ...savedState }));
    },
    savedState: saved,
  };
  const show = (): void => {
    const { id } = store.state.session;
    if (id !== "" && id !== saved.session) host.saveState({ session: id });
    render(
      <HostProvider value={host}>
        <App state={store.state} />
      </HostProvider>,
      root,
    );
  };
  const store = new Store(show, requestAnimationFrame.bind(window));
  sandboxedRenderers.loadScript = (name) => {
    host.post({ type: "loadScript", name });
  };
  window.addEventListener("message", ({ data, source }: MessageEvent<unknown>) => {
    if (sandboxedRenderers.receive(data, source)) return;
    const message = hostMessageOf(data);
    if (message?.kind === "script") sandboxedRenderers.onScript(message.name, message.text);
    else if (message !== null) store.receive(message);
  });
  show();
  host.post({ type: "ready", session: saved.session });
}
