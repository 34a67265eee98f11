/** Changes by the agent that await review; the user keeps or reverts them per file or per hunk. */
import type { JSX } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import type { ChangedFile } from "../../shared/events.js";
import type { Hunk } from "../../shared/hunks.js";
import type { SessionState } from "../../shared/state.js";
import { Icon, IconButton } from "../Icon.js";
import { LineCounts } from "../LineCounts.js";
import { useFold } from "../fold.js";
import { useHost } from "../hostContext.js";
import { PathText } from "../PathText.js";
import { DiffBlock } from "./DiffView.js";
import { filesBelow, MoreBelow } from "./MoreBelow.js";
import { t } from "../../shared/l10n.js";

const MAX_LINES = 40;

export function ChangesPanel({ session: { changes: files, questions, isRunning } }: { session: SessionState }): JSX.Element | null {
  const [isOpen, toggle] = useFold(questions[0]?.id ?? "");
  const { post } = useHost();
  if (files.length === 0) return null;
  const sum = (count: (file: ChangedFile) => number): number =>
    files.reduce((total, file) => total + count(file), 0);
  return (
    <section class="changes" aria-label={t("Changes")} data-testid="changes">
      <div class="changes-head">
        <button
          type="button"
          class="fold"
          aria-expanded={isOpen}
          data-testid="changes-toggle"
          onClick={toggle}
        >
          <Icon name={isOpen ? "chevronDown" : "chevronRight"} />
          <span>
            {files.length === 1 ? t("1 file") : t("{0} files", files.length)}
            <span class="optional-label"> {t("changed")}</span>
          </span>
          <LineCounts added={sum(({ added }) => added)} removed={sum(({ removed }) => removed)} />
        </button>
        <span class="split">
          {/* While the agent works, or asks, its changes can wait. */}
          <button type="button" class={questions.length === 0 && !isRunning ? "primary" : "secondary"} data-testid="keep-all" onClick={() => { post({ type: "keepAll" }); }}>
            {files.length === 1 ? t("Keep") : t("Keep All")}
          </button>
          <button type="button" class="secondary" data-testid="revert-all" onClick={() => { post({ type: "revertAll" }); }}>
            {files.length === 1 ? t("Revert") : t("Revert All")}
          </button>
        </span>
      </div>
      {isOpen && <ChangedFiles files={files} />}
    </section>
  );
}

function ChangedFiles({ files }: { files: readonly ChangedFile[] }): JSX.Element {
  const list = useRef<HTMLUListElement>(null);
  return (
    <>
      <ul class="changed-files" ref={list}>
        {files.map((file) => (
          <ChangedFileRow key={file.path} file={file} />
        ))}
      </ul>
      <MoreBelow list={list} count={files.length} textOf={filesBelow} />
    </>
  );
}

function ChangedFileRow({ file }: { file: ChangedFile }): JSX.Element {
  const [isOpen, setIsOpen] = useState(false);
  const { post } = useHost();
  const { path, label, kind } = file;
  return (
    <li data-testid="changed-file" data-path={path}>
      <div class="file-row">
        <button
          type="button"
          class="fold"
          aria-expanded={isOpen}
          data-testid="changed-file-toggle"
          onClick={() => {
            setIsOpen(!isOpen);
          }}
        >
          <Icon name={isOpen ? "chevronDown" : "chevronRight"} />
          <PathText path={path} />
          <span class="counts">
            {kind !== "changed" && <span class="small">{kind}</span>}
            <LineCounts added={file.added} removed={file.removed} />
          </span>
        </button>
        <IconButton
          icon="diff"
          label={t("Open the diff of {0}", label)}
          testId="open-change"
          onPress={() => {
            post({ type: "openChange", path });
          }}
        />
        <KeepRevertButtons path={path} hunkId="" label={label} />
      </div>
      {isOpen && file.hunks.map((hunk) => <HunkView key={hunk.id} hunk={hunk} path={path} />)}
    </li>
  );
}

function KeepRevertButtons({ path, hunkId, label }: { path: string; hunkId: string; label: string }): JSX.Element {
  const { post } = useHost();
  const scope = hunkId === "" ? "file" : "hunk";
  return (
    <>
      <IconButton
        icon="check"
        label={t("Keep {0}", label)}
        testId={`keep-${scope}`}
        onPress={() => {
          post({ type: "keep", path, hunkId });
        }}
      />
      <IconButton
        icon="discard"
        label={t("Revert {0}", label)}
        testId={`revert-${scope}`}
        onPress={() => {
          post({ type: "revert", path, hunkId });
        }}
      />
    </>
  );
}

function HunkView({ hunk, path }: { hunk: Hunk; path: string }): JSX.Element {
  const { post } = useHost();
  const removed = hunk.removed.map((text) => ({ kind: "removed", text, number: 0 }) as const);
  const added = hunk.added.map((text, index) => ({ kind: "added", text, number: hunk.newLine + index }) as const);
  const all = [...removed, ...added];
  const lines = useMemo(() => all.slice(0, MAX_LINES).map((line) => ({ ...line, text: line.text.replace(/\r?\n$/, "") })), [hunk]);
  const last = hunk.newLine + added.length - 1;
  const position = last > hunk.newLine ? t("Lines {0}–{1}", hunk.newLine, last) : t("Line {0}", hunk.newLine);
  return (
    <div class="hunk" data-testid="hunk">
      <div class="hunk-head">
        <button
          type="button"
          class="link"
          onClick={() => {
            post({ type: "openFile", path, line: hunk.newLine });
          }}
        >
          {position}
        </button>
        <KeepRevertButtons path={path} hunkId={hunk.id} label={position} />
      </div>
      <div class="diff-lines" tabIndex={0} role="group" aria-label={position}>
        <DiffBlock lines={lines} path={path} />
        {all.length > MAX_LINES && <div class="diff-line gap">⋯ {t("{0} more", all.length - MAX_LINES)}</div>}
      </div>
    </div>
  );
}
