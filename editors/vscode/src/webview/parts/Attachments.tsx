/** What goes with the prompt: the file, the selection, its problems, and pictures. */
import type { JSX } from "preact";
import type { PastedImage } from "../../shared/intents.js";
import type { ViewState } from "../../shared/state.js";
import { Icon, type IconName } from "../Icon.js";

export interface Switches {
  readonly withFile: boolean;
  readonly withSelection: boolean;
  readonly withProblems: boolean;
}

interface AttachmentsProps {
  readonly editor: ViewState["editor"];
  readonly switches: Switches;
  readonly images: readonly PastedImage[];
  readonly onSwitch: (switches: Switches) => void;
  readonly onRemove: (index: number) => void;
}

export function Attachments({ editor, switches, images, onSwitch, onRemove }: AttachmentsProps): JSX.Element | null {
  if (editor.file === "" && images.length === 0) return null;
  const { firstLine, lastLine, problems, label } = editor;
  const hasSelection = firstLine > 0;
  const name = label.split(/[/\\]/).at(-1) ?? label;
  return (
    <div class="attachments" role="group" aria-label="Goes with the prompt">
      {editor.file !== "" && !hasSelection && (
        <Switch
          icon="file"
          text={name}
          title={`Mention ${label}`}
          testId="attach-file"
          isOn={switches.withFile}
          onToggle={(withFile) => {
            onSwitch({ ...switches, withFile });
          }}
        />
      )}
      {hasSelection && (
        <Switch
          icon="file"
          text={`${name}:${String(firstLine)}-${String(lastLine)}`}
          title="Send the selection"
          testId="attach-selection"
          isOn={switches.withSelection}
          onToggle={(withSelection) => {
            onSwitch({ ...switches, withSelection });
          }}
        />
      )}
      {problems > 0 && (
        <Switch
          icon="warning"
          text={problems === 1 ? "1 problem" : `${String(problems)} problems`}
          title={`Send what is wrong with ${label}`}
          testId="attach-problems"
          isOn={switches.withProblems}
          onToggle={(withProblems) => {
            onSwitch({ ...switches, withProblems });
          }}
        />
      )}
      {images.map(({ data, mimeType }, index) => (
        <button
          key={index}
          type="button"
          class="thumbnail"
          title="Remove the picture"
          aria-label="Remove the picture"
          data-testid="attached-image"
          onClick={() => {
            onRemove(index);
          }}
        >
          <img src={`data:${mimeType};base64,${data}`} alt="" />
        </button>
      ))}
    </div>
  );
}

interface SwitchProps {
  readonly icon: IconName;
  readonly text: string;
  readonly title: string;
  readonly testId: string;
  readonly isOn: boolean;
  readonly onToggle: (isOn: boolean) => void;
}

function Switch({ icon, text, title, testId, isOn, onToggle }: SwitchProps): JSX.Element {
  return (
    <button
      type="button"
      class="chip"
      title={title}
      aria-pressed={isOn}
      data-testid={testId}
      onClick={() => {
        onToggle(!isOn);
      }}
    >
      <Icon name={icon} />
      {text}
    </button>
  );
}
