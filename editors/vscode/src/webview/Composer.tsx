/**
 * Prompt input with completions and attachments.
 *
 * Holds the draft: text, images, mentioned files and the attached editor context. The text survives a
 * reload of the view.
 */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { BusyMode, Mention, MentionChoice } from "../shared/events.js";
import type { PastedImage } from "../shared/intents.js";
import type { SessionState, ViewState } from "../shared/state.js";
import { applyCompletion, completionAt, mentionsIn } from "./completion.js";
import { choicesFor, Completions, isTypedPrompt, type CompletionChoice } from "./parts/Completions.js";
import { Attachments, type AttachmentSwitches } from "./parts/Attachments.js";
import { ComposerBar } from "./parts/ComposerBar.js";
import { SUGGESTION_EVENT } from "./parts/Welcome.js";
import { readImages } from "./images.js";
import { droppedUris } from "./droppedUris.js";
import { useHost } from "./hostContext.js";
import { promptsOf, wasSent } from "./sentDraft.js";
import { t } from "../shared/l10n.js";

/** Keys that navigate, accept or close the list of completions. */
const LIST_KEYS: ReadonlySet<string> = new Set(["ArrowDown", "ArrowUp", "Escape", "Enter", "Tab"]);
const DEFAULT_SWITCHES: AttachmentSwitches = { withFile: null, withSelection: true, withProblems: false };

export function Composer({ state }: { state: ViewState }): JSX.Element {
  const { session, editor, connection } = state;
  const host = useHost();
  const input = useRef<HTMLTextAreaElement>(null);
  const [text, setText] = useState(host.savedState.draft);
  const [cursor, setCursor] = useState(0);
  const [images, setImages] = useState<readonly PastedImage[]>([]);
  const [switches, setSwitches] = useState(DEFAULT_SWITCHES);
  const [chosen] = useState(() => new Map<string, Mention>());
  const [active, setActive] = useState(0);
  const [isDismissed, setIsDismissed] = useState(false);
  const lastReturned = useRef(host.savedState.restored);

  const updateText = (next: string): void => {
    setText(next);
    setIsDismissed(false);
    host.saveState({ draft: next, prompts: String(promptsOf(session).length), restored: lastReturned.current });
  };
  useKeptDraft(session, () => {
    if (text === host.savedState.draft) updateText("");
  });
  useReturnedPrompt(state, lastReturned.current, (returnedText, mark) => {
    lastReturned.current = mark;
    updateText([text, returnedText].filter((part) => part !== "").join("\n"));
  });
  useFocusRequests(state, input);
  useSuggestions((suggestion) => {
    updateText(suggestion);
    input.current?.focus();
  });
  useAttached(state, (choices) => {
    for (const { label, mention } of choices) chosen.set(label, mention);
    const added = choices.map(({ label }) => `@${label}`).join(" ");
    updateText(`${text}${text === "" || text.endsWith(" ") ? "" : " "}${added} `);
    input.current?.focus();
  });

  const completion = isDismissed ? null : completionAt(text, cursor);
  const query = completion?.kind === "mention" ? completion.query : null;
  useEffect(() => {
    if (query !== null) host.post({ type: "findMentions", query });
  }, [query, host]);
  useEffect(() => {
    setActive(0);
  }, [completion?.query, completion?.kind]);
  const choices = completion === null ? [] : choicesFor(completion, session.commands, state.mentions);

  const applyChoice = (choice: CompletionChoice): void => {
    if (completion === null) return;
    const next = applyCompletion(text, cursor, completion, choice.inserted);
    if (choice.mention !== null) chosen.set(choice.inserted.slice(1), choice.mention);
    updateText(next.text);
    setCursor(next.cursor);
    requestAnimationFrame(() => input.current?.setSelectionRange(next.cursor, next.cursor));
  };
  const acceptActive = useAcceptance(query, state.mentions.query, () => {
    const choice = choices[active];
    if (choice !== undefined) applyChoice(choice);
  });
  const defaultBusyMode: BusyMode = connection.features.steer ? "steer" : "queue";
  const canSend = isSendable(state, text, images);
  const send = (busyMode: BusyMode): void => {
    if (!canSend) return;
    const withFile = switches.withFile ?? editor.isInWorkspace;
    const draft = { text, images, mentions: mentionsIn(text, chosen), ...switches, withFile };
    host.post({ type: "send", draft, busyMode: session.isRunning ? busyMode : "turn" });
    updateText("");
    setImages([]);
    chosen.clear();
  };
  const onListKey = (event: KeyboardEvent): boolean => {
    if (!LIST_KEYS.has(event.key) || choices.length === 0 || event.shiftKey) return false;
    if (event.key === "Enter" && isTypedPrompt(choices[active], text)) return false; // there is nothing to complete
    if (event.key === "ArrowDown") setActive((active + 1) % choices.length);
    else if (event.key === "ArrowUp") setActive((active + choices.length - 1) % choices.length);
    else if (event.key === "Escape") setIsDismissed(true);
    else acceptActive();
    return true;
  };
  const onWritingKey = (event: KeyboardEvent): boolean => {
    if (event.key === "Escape" && session.isRunning && connection.status === "ready") host.post({ type: "stop" });
    else if (event.key === "Enter" && !event.shiftKey) send(event.altKey ? "queue" : defaultBusyMode);
    else return false;
    return true;
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.isComposing) return;
    if (onListKey(event) || onWritingKey(event)) event.preventDefault();
  };
  const addImages = (files: Iterable<File>): void => {
    if (!connection.features.images) return;
    void readImages(files).then((added) => {
      setImages((before) => [...before, ...added]);
    });
  };
  const updateCursor = (): void => {
    setCursor(input.current?.selectionStart ?? 0);
  };
  return (
    <div
      class="composer"
      onDragOver={(event) => {
        event.preventDefault();
      }}
      onDrop={(event) => {
        event.preventDefault();
        const uris = droppedUris(event.dataTransfer);
        if (uris.length > 0) host.post({ type: "attachUris", uris });
        else addImages(event.dataTransfer?.files ?? []);
      }}
    >
      {choices.length > 0 && <Completions choices={choices} active={active} onChoose={applyChoice} />}
      <Attachments
        editor={editor}
        switches={switches}
        images={images}
        onSwitch={setSwitches}
        onRemove={(index) => {
          setImages(images.filter((_, at) => at !== index));
        }}
      />
      <textarea
        ref={input}
        rows={1}
        value={text}
        placeholder={placeholderFor(state)}
        aria-label={t("Message to the agent")}
        aria-autocomplete="list"
        aria-haspopup="listbox"
        aria-controls={choices.length > 0 ? "completions" : undefined}
        aria-activedescendant={choices.length > 0 ? `completion-${String(active)}` : undefined}
        data-testid="composer-input"
        onInput={(event) => {
          updateText(event.currentTarget.value);
          setCursor(event.currentTarget.selectionStart);
        }}
        onKeyDown={onKeyDown}
        onKeyUp={updateCursor}
        onClick={updateCursor}
        onPaste={(event) => {
          addImages(event.clipboardData?.files ?? []);
        }}
      />
      <ComposerBar
        state={state}
        canSend={canSend}
        onAttach={() => {
          host.post({ type: "attachFiles" });
        }}
        onSend={send}
        onStop={() => {
          host.post({ type: "stop" });
        }}
      />
    </div>
  );
}

function placeholderFor({ connection, session, signIn }: ViewState): string {
  if (connection.status === "restarting") return t("You can send once the agent is back");
  if (signIn.isNeeded) return t("Sign in to send messages");
  return session.isRunning ? t("Message the agent while it works") : t("Ask, or type / for commands, @ for files");
}

/** Whether the draft is not empty and the agent is ready for it. */
function isSendable({ connection, session }: ViewState, text: string, images: readonly PastedImage[]): boolean {
  if (connection.status !== "ready" || session.isLoading) return false;
  return text.trim() !== "" || images.length > 0;
}

/**
 * Return a function that accepts a choice as soon as what is typed has been searched.
 *
 * Accepting a choice of an earlier query would drop what was typed since.
 */
function useAcceptance(query: string | null, searched: string, accept: () => void): () => void {
  const [awaited, setAwaited] = useState<string | null>(null);
  const isSearched = query === null || query === searched;
  useEffect(() => {
    if (awaited === null || (awaited === query && !isSearched)) return;
    setAwaited(null);
    if (awaited === query) accept();
  }, [awaited, query, isSearched]);
  return () => {
    if (isSearched) accept();
    else setAwaited(query);
  };
}

/** Drop the draft that the view kept, if it turns out to be sent once the session is there. */
function useKeptDraft(session: SessionState, onSent: () => void): void {
  const { draft, prompts } = useHost().savedState;
  const isPending = useRef(draft !== "");
  const isLoaded = session.id !== "" && !session.isLoading;
  useEffect(() => {
    if (!isLoaded || !isPending.current) return;
    isPending.current = false;
    if (wasSent(draft, Number(prompts), session)) onSent();
  }, [isLoaded]);
}

/** Insert each prompt that could not be sent into the input, once. */
function useReturnedPrompt(state: ViewState, last: string, onReturned: (text: string, mark: string) => void): void {
  const { id, returnedPrompt } = state.session;
  const mark = `${id}:${String(returnedPrompt.number)}`;
  useEffect(() => {
    if (returnedPrompt.number > 0 && mark !== last) onReturned(returnedPrompt.text, mark);
  }, [mark]);
}

function useFocusRequests(state: ViewState, input: { readonly current: HTMLTextAreaElement | null }): void {
  const { action, number } = state.request;
  useEffect(() => {
    if (number > 0 && action === "focusInput") input.current?.focus();
  }, [number]);
}

function useSuggestions(onSuggestion: (text: string) => void): void {
  useEffect(() => {
    const listen = (event: Event): void => {
      if (event instanceof CustomEvent && typeof event.detail === "string") onSuggestion(event.detail);
    };
    document.addEventListener(SUGGESTION_EVENT, listen);
    return () => {
      document.removeEventListener(SUGGESTION_EVENT, listen);
    };
  });
}

/**
 * Mention files that the user attached, once: also those that were attached while the page did not exist, as from
 * the explorer, but not again in the next page.
 */
function useAttached({ attached }: ViewState, onAttached: (choices: readonly MentionChoice[]) => void): void {
  const host = useHost();
  const last = useRef(host.savedState.attached);
  useEffect(() => {
    const mark = String(attached.number);
    if (attached.number === 0 || mark === last.current) return;
    last.current = mark;
    host.saveState({ attached: mark });
    if (attached.choices.length > 0) onAttached(attached.choices);
  }, [attached.number]);
}
