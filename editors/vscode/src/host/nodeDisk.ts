/**
 * Files on disk.
 *
 * Owns how they are written: beside the file and then in its place, so that nobody reads half of it,
 * with its mode, its links and its byte order mark kept.
 */
import { chmod, mkdir, readFile, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { isMissing } from "./failures.js";
import type { Disk } from "./ports.js";

const BOM = "\uFEFF";

export class NodeDisk implements Disk {
  async read(path: string): Promise<string | null> {
    const text = await readOrNull(path);
    return text?.startsWith(BOM) === true ? text.slice(BOM.length) : text;
  }

  /** Write beside the file and put it in its place, so that nobody reads half of it. */
  async write(path: string, text: string): Promise<void> {
    const old = await readOrNull(path);
    const mark = old?.startsWith(BOM) === true && !text.startsWith(BOM) ? BOM : "";
    if (old === null) {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, text);
      return;
    }
    const { mode, nlink } = await stat(path);
    if (nlink > 1) {
      await writeFile(path, mark + text); // its other names stay names of the same file
      return;
    }
    const real = await realpath(path);
    const beside = `${real}.${process.pid.toString(36)}~`;
    await writeFile(beside, mark + text);
    await chmod(beside, mode);
    await rename(beside, real);
  }

  async remove(path: string): Promise<void> {
    await rm(path, { force: true });
  }
}

async function readOrNull(path: string): Promise<string | null> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}
