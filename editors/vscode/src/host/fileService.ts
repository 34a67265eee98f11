/**
 * Serves the agent's `fs/read_text_file` and `fs/write_text_file` requests.
 *
 * An open document is read and edited in the editor, including unsaved changes and with undo. All
 * other files are read and written on disk. The server asks for permission before it sends a request,
 * so none is checked here.
 */
import { isAbsolute } from "node:path";
import {
  RequestError,
  type ReadTextFileRequest,
  type ReadTextFileResponse,
  type WriteTextFileRequest,
} from "@agentclientprotocol/sdk";
import { messageOf } from "./errors.js";
import { linesOf } from "../shared/diff.js";
import type { Disk, Documents, OpenDocument } from "./ports.js";

/** Called after every write with the previous text (null for a new file). */
export type OnWritten = (sessionId: string, path: string, before: string | null) => void;

/** Decides which part of a text is written. */
export interface AcceptedTexts {
  /** @throws if the request is not what the user has accepted. */
  textToWrite(request: WriteTextFileRequest, before: string | null): string;
}

export class FileService {
  readonly #documents: Documents;
  readonly #disk: Disk;

  constructor(documents: Documents, disk: Disk) {
    this.#documents = documents;
    this.#disk = disk;
  }

  /** Return a file's text including unsaved changes; null if it does not exist. */
  async readText(path: string): Promise<string | null> {
    return this.#documents.find(path)?.text ?? (await this.#disk.read(path));
  }

  /** Answer `fs/read_text_file`. */
  async read(request: ReadTextFileRequest): Promise<ReadTextFileResponse> {
    requireAbsolute(request.path);
    const readText = await this.readText(request.path);
    if (readText === null) throw RequestError.resourceNotFound(request.path);
    return { content: sliceLines(readText, request.line ?? null, request.limit ?? null) };
  }

  /** Answer `fs/write_text_file`; `proposals` may have the part of the text that the user accepted. */
  async write(request: WriteTextFileRequest, onWritten: OnWritten, proposals?: AcceptedTexts): Promise<void> {
    requireAbsolute(request.path);
    const before = await this.readText(request.path);
    await this.writeText(request.path, acceptedText(request, before, proposals));
    onWritten(request.sessionId, request.path, before);
  }

  /**
   * Replace the text of a file.
   *
   * A document without unsaved changes is saved, because commands read the disk. A document with
   * unsaved changes stays unsaved: only the user may save their own changes.
   */
  async writeText(path: string, readText: string): Promise<void> {
    const document = this.#documents.find(path);
    if (document === undefined) {
      await this.#disk.write(path, readText);
      return;
    }
    const wasDirty = document.isDirty;
    await edit(document, path, readText);
    if (!wasDirty && !(await document.save())) {
      throw RequestError.internalError({ message: `${path} could not be saved` });
    }
  }

  async remove(path: string): Promise<void> {
    await this.#disk.remove(path);
  }
}

/** Return the text that a request may write. */
function acceptedText(request: WriteTextFileRequest, before: string | null, proposals: AcceptedTexts | undefined): string {
  try {
    return proposals?.textToWrite(request, before) ?? request.content;
  } catch (error) {
    throw RequestError.internalError({ message: messageOf(error) });
  }
}

function requireAbsolute(path: string): void {
  if (!isAbsolute(path)) throw RequestError.invalidParams({ message: `${path} is not absolute` });
}

function sliceLines(readText: string, line: number | null, limit: number | null): string {
  if (line === null && limit === null) return readText;
  const start = Math.max((line ?? 1) - 1, 0);
  return linesOf(readText)
    .slice(start, limit === null ? undefined : start + limit)
    .join("");
}

/** Replace only the differing range, so that cursors, folds and decorations elsewhere survive. */
async function edit(document: OpenDocument, path: string, readText: string): Promise<void> {
  const oldText = document.text;
  const newText = withLineEndingsOf(oldText, readText);
  if (oldText === newText) return;
  const limit = Math.min(oldText.length, newText.length);
  let start = 0;
  while (start < limit && oldText[start] === newText[start]) start += 1;
  let suffixLength = 0;
  while (suffixLength < limit - start && oldText.at(-1 - suffixLength) === newText.at(-1 - suffixLength)) suffixLength += 1;
  const replacement = newText.slice(start, newText.length - suffixLength);
  if (!(await document.replace(start, oldText.length - suffixLength, replacement))) {
    throw RequestError.internalError({ message: `the editor refused to change ${path}` });
  }
}

/** Convert a text to the line endings of the open document, as VS Code does on an edit. */
function withLineEndingsOf(oldText: string, readText: string): string {
  const isCrlf = oldText.includes("\r\n");
  return isCrlf ? readText.replaceAll(/\r?\n/g, "\r\n") : readText;
}
