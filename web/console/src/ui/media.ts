/** A picture, sound or document that a message or a payload holds. */
export type Media = {
  kind: "image" | "audio" | "pdf";
  url: string;
  name?: string;
  /** At another host: it is never loaded automatically. */
  isForeign: boolean;
};

const types: readonly (readonly [RegExp, Media["kind"]])[] = [
  [/^image\/(png|jpe?g|gif|webp|avif|bmp|svg\+xml)$/, "image"],
  [/^audio\/[\w.+-]+$/, "audio"],
  [/^application\/pdf$/, "pdf"],
];

const extensions: readonly (readonly [RegExp, Media["kind"]])[] = [
  [/\.(png|jpe?g|gif|webp|avif|bmp|svg)$/i, "image"],
  [/\.(mp3|wav|ogg|m4a|flac|webm)$/i, "audio"],
  [/\.pdf$/i, "pdf"],
];

const dataUrl = /^data:([\w.+-]+\/[\w.+-]+)(?:;[\w=.+-]+)*;base64,[A-Za-z0-9+/_=\s-]+$/;
const base64 = /^[A-Za-z0-9+/_=\s-]{8,}$/;

function kindOf(type: string): Media["kind"] | undefined {
  return types.find(([pattern]) => pattern.test(type.toLowerCase()))?.[1];
}

/** The medium an address leads to; `wanted` where the address itself does not tell. */
export function mediaAt(url: unknown, wanted?: Media["kind"], name?: string): Media | undefined {
  if (typeof url !== "string") return undefined;
  const named = name ? { name } : {};
  if (url.startsWith("data:")) {
    const type = dataUrl.exec(url)?.[1];
    const kind = type && kindOf(type);
    return kind ? { kind, url, isForeign: false, ...named } : undefined;
  }
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) return undefined;
  const path = new URL(url).pathname;
  const kind = wanted ?? extensions.find(([pattern]) => pattern.test(path))?.[1];
  return kind ? { kind, url, isForeign: true, ...named } : undefined;
}

/** The medium of a content block, in any of the spellings that models and libraries have for it. */
export function mediaOf(block: unknown): Media | undefined {
  if (!isRecord(block)) return undefined;
  const type = String(block.type ?? "");
  const name = textOf(block.filename) ?? textOf(block.name) ?? textOf(block.title);
  const wanted = /image/.test(type) ? "image" : /audio/.test(type) ? "audio" : undefined;
  for (const part of [
    block.image_url,
    block.input_audio,
    block.file,
    block.source,
    block.inline_data,
    block,
  ]) {
    const found =
      typeof part === "string"
        ? mediaAt(part, wanted, name)
        : isRecord(part)
          ? mediaIn(part, wanted, name)
          : undefined;
    if (found) return found;
  }
  return undefined;
}

function mediaIn(
  part: Record<string, unknown>,
  wanted: Media["kind"] | undefined,
  name: string | undefined,
): Media | undefined {
  const called = textOf(part.filename) ?? name;
  const type = textOf(part.mime_type) ?? textOf(part.mimeType) ?? textOf(part.media_type);
  const spelled = type ?? (textOf(part.format) && wanted ? `${wanted}/${part.format}` : undefined);
  const address = part.url ?? part.file_data ?? part.file_url;
  const found = mediaAt(address, wanted ?? (type ? kindOf(type) : undefined), called);
  if (found) return found;
  const content = part.data ?? part.base64;
  if (typeof content !== "string") return undefined;
  if (content.startsWith("data:")) return mediaAt(content, wanted, called);
  if (!spelled || !kindOf(spelled) || !base64.test(content)) return undefined;
  return mediaAt(`data:${spelled};base64,${content}`, wanted, called);
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
