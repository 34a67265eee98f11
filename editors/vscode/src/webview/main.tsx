/**
 * Where the webview begins.
 *
 * Owns the joining of store, page and host.
 */
import { render } from "preact";
import type { HostMessage } from "../shared/events.js";
import { isRecord, type Intent } from "../shared/intents.js";
import { App } from "./App.js";
import { HostProvider, NOTHING_KEPT, type Host, type Kept } from "./posting.js";
import { Store } from "./store.js";
import "./style.css";

declare function acquireVsCodeApi(): {
  postMessage(message: Intent): void;
  getState(): unknown;
  setState(state: Kept): void;
};

const api = acquireVsCodeApi();
const root = document.getElementById("root");

function keptBefore(): Kept {
  const state = api.getState();
  if (!isRecord(state)) return NOTHING_KEPT;
  const { draft, restored } = state;
  return {
    draft: typeof draft === "string" ? draft : "",
    restored: typeof restored === "string" ? restored : "",
  };
}

if (root !== null) {
  const host: Host = {
    post: (intent) => {
      api.postMessage(intent);
    },
    keep: (kept) => {
      api.setState(kept);
    },
    kept: keptBefore(),
  };
  const show = (): void => {
    render(
      <HostProvider value={host}>
        <App state={store.state} />
      </HostProvider>,
      root,
    );
  };
  const store = new Store(show, requestAnimationFrame.bind(window));
  window.addEventListener("message", ({ data }: MessageEvent<HostMessage>) => {
    store.receive(data);
  });
  show();
  host.post({ type: "ready" });
}
