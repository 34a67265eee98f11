/** A file's path relative to the session's folder; where it is too long its folders are cut, never its name. */
import type { JSX } from "preact";
import { formatPath } from "./format.js";
import { useFolder } from "./hostContext.js";

export function PathText({ path }: { path: string }): JSX.Element {
  const shown = formatPath(path, useFolder());
  const nameAt = Math.max(shown.lastIndexOf("/"), shown.lastIndexOf("\\")) + 1;
  return (
    <span class="path" title={path}>
      <span class="ellipsis">{shown.slice(0, nameAt)}</span>
      <span class="file-name">{shown.slice(nameAt)}</span>
    </span>
  );
}
