/**
 * Files as the agent reads and writes them.
 *
 * Owns the rule: what is open is read and edited as the user has it, undoably, and anything else on
 * disk. Whether the agent may do so is the server's to ask; it asks before it comes here.
 */
import { isAbsolute } from "node:path";
import {
  RequestError,
  type ReadTextFileRequest,
  type ReadTextFileResponse,
  type WriteTextFileRequest,
} from "@agentclientprotocol/sdk";
import { linesOf } from "../shared/diff.js";
import type { Disk, Documents, OpenDocument } from "./ports.js";

/** Told of every write: the text before (null for a new file) and after. */
export type OnWritten = (sessionId: string, path: string, before: string | null) => void;

export class Files {
  readonly #documents: Documents;
  readonly #disk: Disk;

  constructor(documents: Documents, disk: Disk) {
    this.#documents = documents;
    this.#disk = disk;
  }

  /** Return the text of a file as the user has it; null if there is none. */
  async text(path: string): Promise<string | null> {
    return this.#documents.find(path)?.text ?? (await this.#disk.read(path));
  }

  /** Answer `fs/read_text_file`. */
  async read(request: ReadTextFileRequest): Promise<ReadTextFileResponse> {
    requireAbsolute(request.path);
    const text = await this.text(request.path);
    if (text === null) throw RequestError.resourceNotFound(request.path);
    return { content: partOf(text, request.line ?? null, request.limit ?? null) };
  }

  /** Answer `fs/write_text_file`. */
  async write(request: WriteTextFileRequest, onWritten: OnWritten): Promise<void> {
    requireAbsolute(request.path);
    const before = await this.text(request.path);
    await this.put(request.path, request.content);
    onWritten(request.sessionId, request.path, before);
  }

  /**
   * Make this the text of a file.
   *
   * A document without unsaved changes is saved, for commands read the disk; one with some stays
   * unsaved, for those are the user's to save.
   */
  async put(path: string, text: string): Promise<void> {
    const document = this.#documents.find(path);
    if (document === undefined) {
      await this.#disk.write(path, text);
      return;
    }
    const wasDirty = document.isDirty;
    await edit(document, path, text);
    if (!wasDirty && !(await document.save())) {
      throw RequestError.internalError({ message: `${path} could not be saved` });
    }
  }

  async remove(path: string): Promise<void> {
    await this.#disk.remove(path);
  }
}

function requireAbsolute(path: string): void {
  if (!isAbsolute(path)) throw RequestError.invalidParams({ message: `${path} is not absolute` });
}

function partOf(text: string, line: number | null, limit: number | null): string {
  if (line === null && limit === null) return text;
  const start = Math.max((line ?? 1) - 1, 0);
  return linesOf(text)
    .slice(start, limit === null ? undefined : start + limit)
    .join("");
}

/** Edit only what differs, so that cursors, folds and marks elsewhere stay. */
async function edit(document: OpenDocument, path: string, text: string): Promise<void> {
  const old = document.text;
  const fresh = withEndingsOf(old, text);
  if (old === fresh) return;
  const most = Math.min(old.length, fresh.length);
  let start = 0;
  while (start < most && old[start] === fresh[start]) start += 1;
  let same = 0;
  while (same < most - start && old.at(-1 - same) === fresh.at(-1 - same)) same += 1;
  const part = fresh.slice(start, fresh.length - same);
  if (!(await document.replace(start, old.length - same, part))) {
    throw RequestError.internalError({ message: `the editor refused to change ${path}` });
  }
}

/** An open document has one kind of line ending, which an edit takes on. */
function withEndingsOf(old: string, text: string): string {
  const isCrlf = old.includes("\r\n");
  return isCrlf ? text.replaceAll(/\r?\n/g, "\r\n") : text;
}
