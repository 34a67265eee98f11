/**
 * Where the user writes.
 *
 * Owns the draft: its text, pictures, mentioned files and what of the editor goes with it. The text
 * is kept over a reload.
 */
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Manner } from "../shared/events.js";
import type { PastedImage } from "../shared/intents.js";
import type { ViewState } from "../shared/state.js";
import { completed, completingAt, mentioned } from "./completing.js";
import { choicesFor, Completions, type Choice } from "./parts/Completions.js";
import { Attachments, type Switches } from "./parts/Attachments.js";
import { ComposerBar } from "./parts/ComposerBar.js";
import { SUGGESTION_EVENT } from "./parts/Welcome.js";
import { picturesIn } from "./pictures.js";
import { useHost } from "./posting.js";

/** Keys that move in the list of completions, take from it or close it. */
const LIST_KEYS: ReadonlySet<string> = new Set(["ArrowDown", "ArrowUp", "Escape", "Enter", "Tab"]);
const SWITCHED_ON: Switches = { withFile: true, withSelection: true, withProblems: false };

export function Composer({ state }: { state: ViewState }): JSX.Element {
  const { session, editor, connection } = state;
  const host = useHost();
  const input = useRef<HTMLTextAreaElement>(null);
  const [text, setText] = useState(host.kept.draft);
  const [cursor, setCursor] = useState(0);
  const [images, setImages] = useState<readonly PastedImage[]>([]);
  const [switches, setSwitches] = useState(SWITCHED_ON);
  const [chosen] = useState(() => new Map<string, string>());
  const [active, setActive] = useState(0);
  const [isDismissed, setIsDismissed] = useState(false);
  const restored = useRef(host.kept.restored);

  const write = (next: string): void => {
    setText(next);
    setIsDismissed(false);
    host.keep({ draft: next, restored: restored.current });
  };
  useRestored(state, restored.current, (back, mark) => {
    restored.current = mark;
    write([text, back].filter((part) => part !== "").join("\n"));
  });
  useFocusRequests(state, input);
  useSuggestions((suggestion) => {
    write(suggestion);
    input.current?.focus();
  });
  useHeight(input, text);

  const completing = isDismissed ? null : completingAt(text, cursor);
  const query = completing?.kind === "file" ? completing.query : null;
  useEffect(() => {
    setActive(0);
    if (query !== null) host.post({ type: "findFiles", query });
  }, [query, completing?.kind, host]);
  const choices = completing === null ? [] : choicesFor(completing, session.commands, state.files);

  const take = (choice: Choice): void => {
    if (completing === null) return;
    const next = completed(text, cursor, completing, choice.inserted);
    if (choice.path !== "") chosen.set(choice.inserted.slice(1), choice.path);
    write(next.text);
    setCursor(next.cursor);
    requestAnimationFrame(() => input.current?.setSelectionRange(next.cursor, next.cursor));
  };
  const busyManner: Manner = connection.can.steer ? "steer" : "queue";
  const canSend = canBeSent(state, text, images);
  const send = (manner: Manner): void => {
    if (!canSend) return;
    const draft = { text, images, files: mentioned(text, chosen), ...switches };
    host.post({ type: "send", draft, manner: session.isRunning ? manner : "turn" });
    write("");
    setImages([]);
    chosen.clear();
  };
  const onListKey = (event: KeyboardEvent): boolean => {
    if (!LIST_KEYS.has(event.key) || choices.length === 0 || event.shiftKey) return false;
    const choice = choices[active];
    if (event.key === "ArrowDown") setActive((active + 1) % choices.length);
    else if (event.key === "ArrowUp") setActive((active + choices.length - 1) % choices.length);
    else if (event.key === "Escape") setIsDismissed(true);
    else if (choice !== undefined) take(choice);
    return true;
  };
  const onWritingKey = (event: KeyboardEvent): boolean => {
    if (event.key === "Escape" && session.isRunning) host.post({ type: "stop" });
    else if (event.key === "Enter" && !event.shiftKey) send(event.altKey ? "queue" : busyManner);
    else return false;
    return true;
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.isComposing) return;
    if (onListKey(event) || onWritingKey(event)) event.preventDefault();
  };
  const addPictures = (files: Iterable<File>): void => {
    if (!connection.can.images) return;
    void picturesIn(files).then((added) => {
      setImages((before) => [...before, ...added]);
    });
  };
  const follow = (): void => {
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
        addPictures(event.dataTransfer?.files ?? []);
      }}
    >
      {choices.length > 0 && <Completions choices={choices} active={active} onTake={take} />}
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
        placeholder={session.isRunning ? "Say something while it works" : "Ask, or type / for commands, @ for files"}
        aria-label="Message to the agent"
        aria-autocomplete="list"
        aria-haspopup="listbox"
        aria-controls={choices.length > 0 ? "completions" : undefined}
        aria-activedescendant={choices.length > 0 ? `completion-${String(active)}` : undefined}
        data-testid="composer-input"
        onInput={(event) => {
          write(event.currentTarget.value);
          setCursor(event.currentTarget.selectionStart);
        }}
        onKeyDown={onKeyDown}
        onKeyUp={follow}
        onClick={follow}
        onPaste={(event) => {
          addPictures(event.clipboardData?.files ?? []);
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

/** Whether there is something to send, and somebody to take it; until then it stays where it is. */
function canBeSent({ connection, session }: ViewState, text: string, images: readonly PastedImage[]): boolean {
  if (connection.status !== "ready" || session.isLoading) return false;
  return text.trim() !== "" || images.length > 0;
}

/** Put back what could not be sent, once each. */
function useRestored(state: ViewState, last: string, putBack: (text: string, mark: string) => void): void {
  const { id, restored } = state.session;
  const mark = `${id}:${String(restored.number)}`;
  useEffect(() => {
    if (restored.number > 0 && mark !== last) putBack(restored.text, mark);
  }, [mark]);
}

function useFocusRequests(state: ViewState, input: { readonly current: HTMLTextAreaElement | null }): void {
  const { what, number } = state.request;
  useEffect(() => {
    if (number > 0 && what === "focusInput") input.current?.focus();
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

/** The input is as high as its text, up to what the styles allow. */
function useHeight(input: { readonly current: HTMLTextAreaElement | null }, text: string): void {
  useLayoutEffect(() => {
    const node = input.current;
    if (node === null) return;
    node.style.height = "auto";
    node.style.height = `${String(node.scrollHeight)}px`;
  }, [text]);
}
