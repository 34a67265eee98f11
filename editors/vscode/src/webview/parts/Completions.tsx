/** List of completions: commands or files that match the query. */
import type { AvailableCommand } from "@agentclientprotocol/sdk";
import type { JSX } from "preact";
import type { ViewState } from "../../shared/state.js";
import { matchingCommands, type CompletionQuery } from "../completion.js";
import { Icon } from "../Icon.js";

const MAX_COMPLETIONS = 12;

export interface CompletionChoice {
  readonly inserted: string;
  readonly detail: string;
  /** Path of the file; empty for a command. */
  readonly path: string;
}

/** Return the choices for a query. Found files are ignored unless they match the current query's prefix. */
export function choicesFor(
  { kind, query }: CompletionQuery,
  commands: readonly AvailableCommand[],
  files: ViewState["files"],
): CompletionChoice[] {
  if (kind === "command") {
    return matchingCommands(commands, query)
      .slice(0, MAX_COMPLETIONS)
      .map(({ name, description }) => ({ inserted: `/${name}`, detail: description, path: "" }));
  }
  if (!query.startsWith(files.query)) return [];
  const found = files.paths.filter(({ label }) => label.toLowerCase().includes(query.toLowerCase()));
  return found.slice(0, MAX_COMPLETIONS).map(({ path, label }) => ({ inserted: `@${label}`, detail: "", path }));
}

interface CompletionsProps {
  readonly choices: readonly CompletionChoice[];
  readonly active: number;
  readonly onChoose: (choice: CompletionChoice) => void;
}

export function Completions({ choices, active, onChoose }: CompletionsProps): JSX.Element {
  return (
    <ul class="completions" id="completions" role="listbox" aria-label="Suggestions" data-testid="completions">
      {choices.map((choice, index) => (
        <li
          key={choice.inserted}
          id={`completion-${String(index)}`}
          role="option"
          aria-selected={index === active}
          data-testid="completion"
          onMouseDown={(event) => {
            event.preventDefault(); // keeps the focus in the input
            onChoose(choice);
          }}
        >
          {choice.path !== "" && <Icon name="file" />}
          <span class="ellipsis">{choice.inserted}</span>
          {choice.detail !== "" && <span class="small ellipsis">{choice.detail}</span>}
        </li>
      ))}
    </ul>
  );
}
