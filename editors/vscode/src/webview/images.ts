/** Pasted and dropped images, limited by type and size. */
import type { PastedImage } from "../shared/intents.js";
import { t } from "../shared/l10n.js";

const ACCEPTED_TYPES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
const MAX_BYTES = 8 * 1024 * 1024;

/** Read the accepted images among files, as base64. */
export async function readImages(files: Iterable<File>): Promise<PastedImage[]> {
  const accepted = [...files].filter(({ type, size }) => ACCEPTED_TYPES.has(type) && size <= MAX_BYTES);
  return Promise.all(accepted.map(readImage));
}

function readImage(file: File): Promise<PastedImage> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => {
      const dataUrl = typeof reader.result === "string" ? reader.result : "";
      resolve({ mimeType: file.type, data: dataUrl.slice(dataUrl.indexOf(",") + 1) });
    });
    reader.addEventListener("error", () => {
      reject(reader.error ?? new Error(t("{0} could not be read", file.name)));
    });
    reader.readAsDataURL(file);
  });
}
