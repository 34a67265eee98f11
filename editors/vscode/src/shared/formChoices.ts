/** Choices of a field in an elicitation's form. Pure functions. */
import type { ElicitationPropertySchema } from "@agentclientprotocol/sdk";
import { isRecord } from "./validation.js";

export interface Choice {
  readonly value: string;
  readonly title: string;
}

/** Return the choices of a field; null for a free-text field. */
export function choicesOf(schema: ElicitationPropertySchema): Choice[] | null {
  const source: unknown = schema.type === "array" && "items" in schema ? schema.items : schema;
  if (!isRecord(source)) return null;
  const titledOptions = source["oneOf"] ?? source["anyOf"];
  if (Array.isArray(titledOptions)) {
    return titledOptions.filter(isRecord).map((each) => ({
      value: String(each["const"]),
      title: typeof each["title"] === "string" ? each["title"] : String(each["const"]),
    }));
  }
  const enumValues = source["enum"];
  return Array.isArray(enumValues) ? enumValues.map((each) => ({ value: String(each), title: String(each) })) : null;
}
