/** Paths of both platforms, as text. Pure functions without Node, for host and view. */

/** Return the last component of a path. */
export function baseName(path: string): string {
  return path.split(/[/\\]/).findLast((part) => part !== "") ?? path;
}

/** Return a path as VS Code writes it: on Windows, it writes the letter of a drive in lower case. */
export function withLowerDrive(path: string): string {
  return /^[A-Z]:[\\/]/.test(path) ? path.charAt(0).toLowerCase() + path.slice(1) : path;
}
