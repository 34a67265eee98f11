/** List of sessions with search, open, rename, fork and delete. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { SessionSummary } from "../../shared/events.js";
import type { ViewState } from "../../shared/state.js";
import { formatAge } from "../format.js";
import { Icon, IconButton } from "../Icon.js";
import { useHost } from "../hostContext.js";
import { t } from "../../shared/l10n.js";

export function SessionList({ state, onClose }: { state: ViewState; onClose: () => void }): JSX.Element {
  const [query, setQuery] = useState("");
  const [isArchiveShown, setIsArchiveShown] = useState(false);
  const matching = state.sessions.filter(({ title, agent }) => `${title} ${agent}`.toLowerCase().includes(query.toLowerCase()));
  const archived = matching.filter(({ isArchived }) => isArchived).length;
  const found = matching.filter(({ isArchived }) => isArchived === isArchiveShown);
  const hasAgents = new Set(state.sessions.map(({ agent }) => agent)).size > 1;
  const hasFolders = new Set(state.sessions.map(({ cwd }) => cwd)).size > 1;
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Escape") onClose();
  };
  return (
    <section class="panel" aria-label={t("Sessions")} data-testid="session-list" onKeyDown={onKeyDown}>
      <div class="panel-head">
        <input
          type="search"
          placeholder={t("Search sessions")}
          aria-label={t("Search sessions")}
          data-testid="session-search"
          value={query}
          onInput={(event) => {
            setQuery(event.currentTarget.value);
          }}
        />
        <IconButton icon="close" label={t("Close the session list")} testId="session-list-close" onPress={onClose} />
      </div>
      <div class="panel-body">
        {found.length === 0 && <p class="small empty">{isArchiveShown || query !== "" ? t("No sessions found.") : t("No sessions yet.")}</p>}
        <ul class="sessions">
          {found.map((session) => (
            <SessionRow key={session.id} session={session} folder={hasFolders ? folderOf(session) : ""} agent={hasAgents ? session.agent : ""} state={state} onClose={onClose} />
          ))}
        </ul>
        {(archived > 0 || isArchiveShown) && (
          <button
            type="button"
            class="link small"
            data-testid="session-archive-toggle"
            onClick={() => {
              setIsArchiveShown(!isArchiveShown);
            }}
          >
            {isArchiveShown ? t("Back to the sessions") : t("Archived ({0})", archived)}
          </button>
        )}
      </div>
    </section>
  );
}

function folderOf({ cwd }: SessionSummary): string {
  return cwd.split(/[/\\]/).findLast((part) => part !== "") ?? cwd;
}

interface SessionRowProps {
  readonly session: SessionSummary;
  /** Name of its folder; empty if all sessions have the same. */
  readonly folder: string;
  /** Name of its agent; empty if all sessions have the same. */
  readonly agent: string;
  readonly state: ViewState;
  readonly onClose: () => void;
}

function SessionRow({ session, folder, agent, state, onClose }: SessionRowProps): JSX.Element {
  const { post } = useHost();
  const [isRenaming, setIsRenaming] = useState(false);
  const { id, isRunning, updatedAt, openQuestions } = session;
  const title = session.title === "" ? t("Untitled") : session.title;
  const isShown = id === state.session.id;
  const rename = (name: string): void => {
    setIsRenaming(false);
    if (name.trim() !== title) post({ type: "renameSession", id, title: name });
  };
  if (isRenaming) return <TitleInput title={title} onDone={rename} />;
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
        <span class="session-state">
          {openQuestions > 0 ? (
            <span class="asks" role="img" aria-label={t("Asks you something")} title={t("Asks you something")} data-testid="session-asks">
              <Icon name="bell" />
            </span>
          ) : (
            isRunning && <Icon name="loading" spins />
          )}
        </span>
        <span class="ellipsis" title={title}>
          {title}
        </span>
        {agent !== "" && <span class="small" data-testid="session-agent">{agent}</span>}
        {folder !== "" && <span class="small" title={session.cwd} data-testid="session-folder">{folder}</span>}
        <span class="small age">{isRunning ? t("now") : formatAge(updatedAt, Date.now())}</span>
      </button>
      <span class="row-actions">
        <IconButton
          icon="goToFile"
          label={t("Open {0} in an editor tab", title)}
          testId="session-tab"
          onPress={() => {
            post({ type: "openInTab", id });
            onClose();
          }}
        />
        <IconButton
          icon="archive"
          label={session.isArchived ? t("Take {0} out of the archive", title) : t("Archive {0}", title)}
          testId="session-archive"
          onPress={() => {
            post({ type: "archiveSession", id, isArchived: !session.isArchived });
          }}
        />
        <IconButton
          icon="edit"
          label={t("Rename {0}", title)}
          testId="session-rename"
          onPress={() => {
            setIsRenaming(true);
          }}
        />
        {session.canFork && (
          <IconButton
            icon="fork"
            label={t("Fork {0}", title)}
            testId="session-fork"
            onPress={() => {
              post({ type: "forkSession", id });
              onClose();
            }}
          />
        )}
        {session.canDelete && (
          <IconButton
            icon="trash"
            label={t("Delete {0}", title)}
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

function TitleInput({ title, onDone }: { title: string; onDone: (title: string) => void }): JSX.Element {
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
        aria-label={t("Title of the session")}
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
