/** Bar below the input: pickers, usage of the context window, and send, steer, queue and stop buttons. */
import type { JSX } from "preact";
import type { BusyMode } from "../../shared/events.js";
import type { ViewState } from "../../shared/state.js";
import { Icon, IconButton } from "../Icon.js";
import { Pickers } from "./Pickers.js";
import { UsageRing } from "./UsageRing.js";
import { t } from "../../shared/l10n.js";

interface ComposerBarProps {
  readonly state: ViewState;
  readonly canSend: boolean;
  readonly onAttach: () => void;
  readonly onSend: (busyMode: BusyMode) => void;
  readonly onStop: () => void;
}

export function ComposerBar({ state, canSend, onAttach, onSend, onStop }: ComposerBarProps): JSX.Element {
  const { session, connection } = state;
  // A server that has stopped does nothing that could be stopped.
  const isRunning = session.isRunning && connection.status === "ready";
  return (
    <div class="composer-bar">
      <IconButton icon="attach" label={t("Attach files")} testId="attach-files" onPress={onAttach} />
      <div class="pickers">
        <Pickers modes={session.modes} options={session.options} />
      </div>
      <div class="composer-end">
        <UsageRing usage={session.usage} />
        {isRunning && canSend && (
          <>
            {connection.features.steer && (
              <button type="button" class="secondary" title={t("Send to the running turn (Enter)")} data-testid="steer" onClick={() => { onSend("steer"); }}>
                {t("Steer")}
              </button>
            )}
            <button type="button" class="secondary" title={t("Send after this turn (Alt+Enter)")} data-testid="queue-prompt" onClick={() => { onSend("queue"); }}>
              {t("Queue")}
            </button>
          </>
        )}
        {isRunning ? (
          <IconButton icon="stop" label={t("Stop (Escape)")} testId="stop" onPress={onStop} />
        ) : (
          <button
            type="button"
            class="send"
            title={t("Send (Enter)")}
            aria-label={t("Send")}
            disabled={!canSend}
            data-testid="send"
            onClick={() => {
              onSend("turn");
            }}
          >
            <Icon name="send" />
          </button>
        )}
      </div>
    </div>
  );
}
