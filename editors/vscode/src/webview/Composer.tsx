/**
 * Prompt input with completions and attachments.
 *
 * Holds the draft: text, images, mentioned files and the attached editor context. The text survives a
 * reload of the view.
 */
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { BusyMode } from "../shared/events.js";
import type { PastedImage } from "../shared/intents.js";
import type { ViewState } from "../shared/state.js";
import { applyCompletion, completionAt, mentionedFiles } from "./completion.js";
import { choicesFor, Completions, type CompletionChoice } from "./parts/Completions.js";
import { Attachments, type AttachmentSwitches } from "./parts/Attachments.js";
import { ComposerBar } from "./parts/ComposerBar.js";
import { SUGGESTION_EVENT } from "./parts/Welcome.js";
import { readImages } from "./images.js";
import { useHost } from "./hostContext.js";

/** Keys that navigate, accept or close the list of completions. */
const LIST_KEYS: ReadonlySet<string> = new Set(["ArrowDown", "ArrowUp", "Escape", "Enter", "Tab"]);
const DEFAULT_SWITCHES: AttachmentSwitches = { withFile: true, withSelection: true, withProblems: false };

export function Composer({ state }: { state: ViewState }): JSX.Element {
  const { session, editor, connection } = state;
  const host = useHost();
  const input = useRef<HTMLTextAreaElement>(null);
  const [text, setText] = useState(host.savedState.draft);
  const [cursor, setCursor] = useState(0);
  const [images, setImages] = useState<readonly PastedImage[]>([]);
  const [switches, setSwitches] = useState(DEFAULT_SWITCHES);
  const [chosenFiles] = useState(() => new Map<string, string>());
  const [active, setActive] = useState(0);
  const [isDismissed, setIsDismissed] = useState(false);
  const returnedMark = useRef(host.savedState.restored);

  const updateText = (next: string): void => {
    setText(next);
    setIsDismissed(false);
    host.saveState({ draft: next, restored: returnedMark.current });
  };
  useReturnedPrompt(state, returnedMark.current, (returnedText, mark) => {
    returnedMark.current = mark;
    updateText([text, returnedText].filter((part) => part !== "").join("\n"));
  });
  useFocusRequests(state, input);
  useSuggestions((suggestion) => {
    updateText(suggestion);
    input.current?.focus();
  });
  useHeight(input, text);

  const completion = isDismissed ? null : completionAt(text, cursor);
  const query = completion?.kind === "file" ? completion.query : null;
  useEffect(() => {
    setActive(0);
    if (query !== null) host.post({ type: "findFiles", query });
  }, [query, completion?.kind, host]);
  const choices = completion === null ? [] : choicesFor(completion, session.commands, state.files);

  const applyChoice = (choice: CompletionChoice): void => {
    if (completion === null) return;
    const next = applyCompletion(text, cursor, completion, choice.inserted);
    if (choice.path !== "") chosenFiles.set(choice.inserted.slice(1), choice.path);
    updateText(next.text);
    setCursor(next.cursor);
    requestAnimationFrame(() => input.current?.setSelectionRange(next.cursor, next.cursor));
  };
  const defaultBusyMode: BusyMode = connection.features.steer ? "steer" : "queue";
  const canSend = isSendable(state, text, images);
  const send = (busyMode: BusyMode): void => {
    if (!canSend) return;
    const draft = { text, images, files: mentionedFiles(text, chosenFiles), ...switches };
    host.post({ type: "send", draft, busyMode: session.isRunning ? busyMode : "turn" });
    updateText("");
    setImages([]);
    chosenFiles.clear();
  };
  const onListKey = (event: KeyboardEvent): boolean => {
    if (!LIST_KEYS.has(event.key) || choices.length === 0 || event.shiftKey) return false;
    const choice = choices[active];
    if (event.key === "ArrowDown") setActive((active + 1) % choices.length);
    else if (event.key === "ArrowUp") setActive((active + choices.length - 1) % choices.length);
    else if (event.key === "Escape") setIsDismissed(true);
    else if (choice !== undefined) applyChoice(choice);
    return true;
  };
  const onWritingKey = (event: KeyboardEvent): boolean => {
    if (event.key === "Escape" && session.isRunning) host.post({ type: "stop" });
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
        addImages(event.dataTransfer?.files ?? []);
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
        placeholder={session.isRunning ? "Message the agent while it works" : "Ask, or type / for commands, @ for files"}
        aria-label="Message to the agent"
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
        onSend={send}
        onStop={() => {
          host.post({ type: "stop" });
        }}
      />
    </div>
  );
}

/** Whether the draft is not empty and the agent is ready for it. */
function isSendable({ connection, session }: ViewState, text: string, images: readonly PastedImage[]): boolean {
  if (connection.status !== "ready" || session.isLoading) return false;
  return text.trim() !== "" || images.length > 0;
}

/** Insert each prompt that could not be sent into the input, once. */
function useReturnedPrompt(state: ViewState, last: string, onReturned: (text: string, mark: string) => void): void {
  const { id, returnedPrompt: returnedMark } = state.session;
  const mark = `${id}:${String(returnedMark.number)}`;
  useEffect(() => {
    if (returnedMark.number > 0 && mark !== last) onReturned(returnedMark.text, mark);
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

/** Fit the input's height to its text; the style sheet limits it. */
function useHeight(input: { readonly current: HTMLTextAreaElement | null }, text: string): void {
  useLayoutEffect(() => {
    const node = input.current;
    if (node === null) return;
    node.style.height = "auto";
    node.style.height = `${String(node.scrollHeight)}px`;
  }, [text]);
}
