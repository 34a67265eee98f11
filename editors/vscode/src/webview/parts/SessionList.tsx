/**
 * The sessions there are: take one up, name it, fork it, delete it.
 *
 * Owns the search and which title is being written.
 */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { SessionSummary } from "../../shared/events.js";
import type { ViewState } from "../../shared/state.js";
import { agoOf } from "../format.js";
import { Icon, IconButton } from "../Icon.js";
import { useHost } from "../posting.js";

export function SessionList({ state, onClose }: { state: ViewState; onClose: () => void }): JSX.Element {
  const [wanted, setWanted] = useState("");
  const found = state.sessions.filter(({ title }) => title.toLowerCase().includes(wanted.toLowerCase()));
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Escape") onClose();
  };
  return (
    <section class="panel" aria-label="Sessions" data-testid="session-list" onKeyDown={onKeyDown}>
      <div class="panel-head">
        <input
          type="search"
          placeholder="Search sessions"
          aria-label="Search sessions"
          data-testid="session-search"
          value={wanted}
          onInput={(event) => {
            setWanted(event.currentTarget.value);
          }}
        />
        <IconButton icon="close" label="Close the sessions" testId="session-list-close" onPress={onClose} />
      </div>
      {found.length === 0 && <p class="small empty">No sessions yet.</p>}
      <ul class="sessions">
        {found.map((session) => (
          <Row key={session.id} session={session} state={state} onClose={onClose} />
        ))}
      </ul>
    </section>
  );
}

interface RowProps {
  readonly session: SessionSummary;
  readonly state: ViewState;
  readonly onClose: () => void;
}

function Row({ session, state, onClose }: RowProps): JSX.Element {
  const { post } = useHost();
  const [isNaming, setIsNaming] = useState(false);
  const { id, isRunning, updatedAt } = session;
  const title = session.title === "" ? "Untitled" : session.title;
  const { can } = state.connection;
  const isShown = id === state.session.id;
  const rename = (name: string): void => {
    setIsNaming(false);
    if (name.trim() !== title) post({ type: "renameSession", id, title: name });
  };
  if (isNaming) return <Naming title={title} onDone={rename} />;
  return (
    <li class={isShown ? "session shown" : "session"} data-testid="session" data-session-id={id}>
      <button
        type="button"
        class="session-open"
        aria-current={isShown}
        data-testid="session-open"
        onClick={() => {
          post({ type: "openSession", id });
          onClose();
        }}
      >
        {isRunning && <Icon name="loading" spins />}
        <span class="ellipsis">{title}</span>
        <span class="small">{agoOf(updatedAt, Date.now())}</span>
      </button>
      <span class="row-actions">
        <IconButton
          icon="edit"
          label={`Rename ${title}`}
          testId="session-rename"
          onPress={() => {
            setIsNaming(true);
          }}
        />
        {can.fork && (
          <IconButton
            icon="fork"
            label={`Fork ${title}`}
            testId="session-fork"
            onPress={() => {
              post({ type: "forkSession", id });
              onClose();
            }}
          />
        )}
        {can.delete && (
          <IconButton
            icon="trash"
            label={`Delete ${title}`}
            testId="session-delete"
            onPress={() => {
              post({ type: "deleteSession", id });
            }}
          />
        )}
      </span>
    </li>
  );
}

function Naming({ title, onDone }: { title: string; onDone: (title: string) => void }): JSX.Element {
  const onKeyDown = (event: KeyboardEvent): void => {
    const { value } = event.currentTarget as HTMLInputElement;
    if (event.key === "Enter") onDone(value);
    if (event.key !== "Escape") return;
    event.stopPropagation();
    onDone(title);
  };
  return (
    <li class="session">
      <input
        type="text"
        aria-label="Title of the session"
        data-testid="session-title-input"
        defaultValue={title}
        ref={(input) => input?.select()}
        onKeyDown={onKeyDown}
        onBlur={(event) => {
          onDone(event.currentTarget.value);
        }}
      />
    </li>
  );
}
