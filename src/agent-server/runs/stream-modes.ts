import { invalidField } from "../../platform/errors.ts";
import { type StreamMode, streamModes } from "../graphs/graph-call.ts";

/** As queries name them: several, or one text with commas. */
export function parseModes(texts: string[] | undefined): StreamMode[] | undefined {
  if (!texts) return undefined;
  return texts
    .flatMap((text) => text.split(","))
    .filter(Boolean)
    .map((text) => {
      if (!streamModes.includes(text as StreamMode)) {
        throw invalidField(
          ["query", "stream_mode"],
          `stream_mode must be one of ${streamModes.join(", ")}`,
          text,
        );
      }
      return text as StreamMode;
    });
}
