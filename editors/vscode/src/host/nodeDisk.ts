/**
 * Text files on disk, written atomically.
 *
 * Preserves a file's mode, its links and its byte order mark.
 */
import { chmod, mkdir, readFile, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { isNotFound } from "./errors.js";
import type { Disk } from "./ports.js";

const BOM = "\uFEFF";

export class NodeDisk implements Disk {
  async read(path: string): Promise<string | null> {
    const text = await readOrNull(path);
    return text?.startsWith(BOM) === true ? text.slice(BOM.length) : text;
  }

  /** Write a temporary file and rename it over the original, so that no reader sees a partial file. */
  async write(path: string, text: string): Promise<void> {
    const old = await readOrNull(path);
    const bom = old?.startsWith(BOM) === true && !text.startsWith(BOM) ? BOM : "";
    if (old === null) {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, text);
      return;
    }
    const { mode, nlink } = await stat(path);
    if (nlink > 1) {
      await writeFile(path, bom + text); // a rename would break its other hard links
      return;
    }
    const real = await realpath(path);
    const temporary = `${real}.${process.pid.toString(36)}~`;
    await writeFile(temporary, bom + text);
    await chmod(temporary, mode);
    await rename(temporary, real);
  }

  async remove(path: string): Promise<void> {
    await rm(path, { force: true });
  }
}

async function readOrNull(path: string): Promise<string | null> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (isNotFound(error)) return null;
    throw error;
  }
}
