/** The list of commands or files that fit what is being written. */
import type { AvailableCommand } from "@agentclientprotocol/sdk";
import type { JSX } from "preact";
import type { ViewState } from "../../shared/state.js";
import { fitting, type Completing } from "../completing.js";
import { Icon } from "../Icon.js";

const MOST_SHOWN = 12;

export interface Choice {
  readonly inserted: string;
  readonly detail: string;
  /** The file that is meant; empty for a command. */
  readonly path: string;
}

/** Return what can be chosen; files that were found for an earlier query are none. */
export function choicesFor(
  { kind, query }: Completing,
  commands: readonly AvailableCommand[],
  files: ViewState["files"],
): Choice[] {
  if (kind === "command") {
    return fitting(commands, query)
      .slice(0, MOST_SHOWN)
      .map(({ name, description }) => ({ inserted: `/${name}`, detail: description, path: "" }));
  }
  if (!query.startsWith(files.query)) return [];
  const found = files.paths.filter(({ label }) => label.toLowerCase().includes(query.toLowerCase()));
  return found.slice(0, MOST_SHOWN).map(({ path, label }) => ({ inserted: `@${label}`, detail: "", path }));
}

interface CompletionsProps {
  readonly choices: readonly Choice[];
  readonly active: number;
  readonly onTake: (choice: Choice) => void;
}

export function Completions({ choices, active, onTake }: CompletionsProps): JSX.Element {
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
            event.preventDefault(); // the input keeps the focus
            onTake(choice);
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
