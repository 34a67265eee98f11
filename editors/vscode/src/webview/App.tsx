/**
 * Root component: header, transcript, and the dock with plan, changes, queue and composer.
 *
 * Its only own state is which panel is open.
 */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { ViewState } from "../shared/state.js";
import { Composer } from "./Composer.js";
import { ConnectionBanner } from "./parts/ConnectionBanner.js";
import { ChangesPanel } from "./parts/ChangesPanel.js";
import { FolderProvider } from "./hostContext.js";
import { ContextPanel } from "./parts/ContextPanel.js";
import { Header, type PanelName } from "./parts/Header.js";
import { DockedPlan } from "./parts/Plan.js";
import { focusQuestion, QuestionDock } from "./parts/QuestionDock.js";
import { Queue } from "./parts/Queue.js";
import { SessionList } from "./parts/SessionList.js";
import { Welcome } from "./parts/Welcome.js";
import { Transcript } from "./Transcript.js";

export function App({ state }: { state: ViewState }): JSX.Element {
  const [panel, setPanel] = useState<PanelName>("none");
  const { session, request } = state;
  useEffect(() => {
    if (request.number === 0) return;
    if (request.action === "showSessions") setPanel("sessions");
    else if (request.action === "showContext") setPanel("context");
    else if (request.action === "focusQuestion") {
      setPanel("none");
      requestAnimationFrame(focusQuestion);
    } else setPanel("none");
  }, [request.number, request.action]);
  const close = (): void => {
    setPanel("none");
  };
  const isReady = state.connection.status === "ready" || state.connection.status === "restarting";
  const isEmpty = session.items.length === 0 && !session.isLoading && session.questions.length === 0;
  return (
    <FolderProvider value={session.cwd}>
      <main class="app" data-testid="app" aria-label="Hermes Agent">
        {(isReady || state.connection.status === "starting") && <Header state={state} panel={panel} onPanel={setPanel} />}
        <ConnectionBanner state={state} />
        {panel === "sessions" && <SessionList state={state} onClose={close} />}
        {panel === "context" && <ContextPanel state={state} onClose={close} />}
        {isReady && !isEmpty ? <Transcript state={state} /> : <Welcome state={state} />}
        {isReady && (
          <div class="dock">
            <DockedPlan session={session} />
            <ChangesPanel session={session} />
            <QuestionDock key={session.id} session={session} isConnected={state.connection.status === "ready"} />
            <Queue prompts={session.queue} />
            <Composer state={state} />
          </div>
        )}
        <div class="visually-hidden" role="status" aria-live="polite" data-testid="announcer">
          {state.announcement}
        </div>
      </main>
    </FolderProvider>
  );
}
