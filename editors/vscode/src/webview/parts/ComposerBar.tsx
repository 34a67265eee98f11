/** Below the input: the agent's choices, how full the window is, and what can be done now. */
import type { JSX } from "preact";
import type { Manner } from "../../shared/events.js";
import type { ViewState } from "../../shared/state.js";
import { Icon, IconButton } from "../Icon.js";
import { Pickers } from "./Pickers.js";
import { UsageRing } from "./UsageRing.js";

interface ComposerBarProps {
  readonly state: ViewState;
  readonly canSend: boolean;
  readonly onSend: (manner: Manner) => void;
  readonly onStop: () => void;
}

export function ComposerBar({ state, canSend, onSend, onStop }: ComposerBarProps): JSX.Element {
  const { session, connection } = state;
  return (
    <div class="composer-bar">
      <div class="pickers">
        <Pickers modes={session.modes} options={session.options} />
      </div>
      <UsageRing usage={session.usage} />
      {session.isRunning && canSend && (
        <>
          {connection.can.steer && (
            <button type="button" class="secondary" title="Say it now (Enter)" data-testid="steer" onClick={() => { onSend("steer"); }}>
              Steer
            </button>
          )}
          <button type="button" class="secondary" title="Send it afterwards (Alt+Enter)" data-testid="queue-prompt" onClick={() => { onSend("queue"); }}>
            Queue
          </button>
        </>
      )}
      {session.isRunning ? (
        <IconButton icon="stop" label="Stop (Escape)" testId="stop" onPress={onStop} />
      ) : (
        <button
          type="button"
          class="send"
          title="Send (Enter)"
          aria-label="Send"
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
  );
}
