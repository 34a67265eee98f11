/** Attachments of the prompt: the active file, the selection, its problems, and images. */
import type { JSX } from "preact";
import type { PastedImage } from "../../shared/intents.js";
import type { ViewState } from "../../shared/state.js";
import { Icon, type IconName } from "../Icon.js";
import { placeOf } from "../format.js";
import { t } from "../../shared/l10n.js";

export interface AttachmentSwitches {
  /** Null until the user decides: only files in the workspace are attached then. */
  readonly withFile: boolean | null;
  readonly withSelection: boolean;
  readonly withProblems: boolean;
}

interface AttachmentsProps {
  readonly editor: ViewState["editor"];
  readonly switches: AttachmentSwitches;
  readonly images: readonly PastedImage[];
  readonly onSwitch: (switches: AttachmentSwitches) => void;
  readonly onRemove: (index: number) => void;
}

export function Attachments({ editor, switches, images, onSwitch, onRemove }: AttachmentsProps): JSX.Element | null {
  if (editor.file === "" && images.length === 0) return null;
  const { firstLine, lastLine, problems, label } = editor;
  const hasSelection = firstLine > 0;
  const name = label.split(/[/\\]/).at(-1) ?? label;
  return (
    <div class="attachments" role="group" aria-label={t("Attached to the prompt")}>
      {editor.file !== "" && !hasSelection && (
        <ToggleChip
          icon="file"
          text={name}
          title={editor.isInWorkspace ? t("Attach {0}", label) : t("Attach {0}, which is outside of the workspace: the agent asks before it reads it", label)}
          testId="attach-file"
          isOn={switches.withFile ?? editor.isInWorkspace}
          onToggle={(withFile) => {
            onSwitch({ ...switches, withFile });
          }}
        />
      )}
      {hasSelection && (
        <ToggleChip
          icon="file"
          text={placeOf(name, firstLine, lastLine)}
          title={t("Attach the selection")}
          testId="attach-selection"
          isOn={switches.withSelection}
          onToggle={(withSelection) => {
            onSwitch({ ...switches, withSelection });
          }}
        />
      )}
      {problems > 0 && (
        <ToggleChip
          icon="warning"
          text={problems === 1 ? t("1 problem") : t("{0} problems", problems)}
          title={t("Attach the problems in {0}", label)}
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
          title={t("Remove the image")}
          aria-label={t("Remove the image")}
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

interface ToggleChipProps {
  readonly icon: IconName;
  readonly text: string;
  readonly title: string;
  readonly testId: string;
  readonly isOn: boolean;
  readonly onToggle: (isOn: boolean) => void;
}

function ToggleChip({ icon, text, title, testId, isOn, onToggle }: ToggleChipProps): JSX.Element {
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
