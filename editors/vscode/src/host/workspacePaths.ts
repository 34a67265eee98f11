/** Paths relative to the workspace's folders. Works for the paths of Windows too. */
import nodePath, { type PlatformPath } from "node:path";

/** Return a path relative to a folder, with slashes on all platforms; null if it is not in the folder. */
export function pathInside(folder: string, path: string, platformPath: PlatformPath = nodePath): string | null {
  if (path === "") return null;
  const { sep } = platformPath;
  const inside = platformPath.relative(folder, path);
  if (inside === "" || inside === ".." || inside.startsWith(`..${sep}`) || platformPath.isAbsolute(inside)) return null;
  return inside.replaceAll(sep, "/");
}

/** Return a path for display: relative to its workspace folder, or absolute outside of the workspace. */
export function labelIn(folders: readonly string[], path: string): string {
  const inside = folders.map((folder) => pathInside(folder, path)).find((label) => label !== null);
  return inside ?? path;
}
