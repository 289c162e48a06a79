/** A file to be sent with a message. */
export type Attachment = {
  id: string;
  name: string;
  mimeType: string;
  kind: "image" | "pdf" | "text";
  data: string;
};

export type Block = Record<string, unknown> & { type: string };

const maxFiles = 5;
const maxBytes = 4_000_000;
const textTypes = /^(text\/|application\/(json|xml|x-yaml|yaml|toml|javascript|typescript|sql|x-sh)\b)/;
const textNames =
  /\.(txt|md|markdown|csv|tsv|json|jsonl|ya?ml|toml|xml|html?|css|[cm]?[jt]sx?|py|rb|go|rs|java|kt|c|h|cpp|cs|php|sh|sql|log|ini|env|diff|patch)$/i;

/** Undefined for a file no model reads. */
export function kindOf(file: { name: string; type: string }): Attachment["kind"] | undefined {
  if (/^image\/(png|jpeg|gif|webp)$/.test(file.type)) return "image";
  if (file.type === "application/pdf") return "pdf";
  return textTypes.test(file.type) || textNames.test(file.name) ? "text" : undefined;
}

/** Why a file cannot be attached; undefined where it can. */
export function refusalOf(
  file: { name: string; type: string; size: number },
  given: { attached: number; textOnly: boolean },
): string | undefined {
  const kind = kindOf(file);
  if (given.attached >= maxFiles) return `A message can have at most ${maxFiles} files.`;
  if (kind === undefined) return `“${file.name}” is neither an image, a PDF nor text.`;
  if (given.textOnly && kind !== "text") {
    return `The offline model reads text only, so “${file.name}” cannot be attached. Choose a real model first.`;
  }
  if (file.size > maxBytes) return `“${file.name}” is larger than ${maxBytes / 1_000_000} MB.`;
  return undefined;
}

export async function readAttachment(file: File): Promise<Attachment> {
  const kind = kindOf(file)!;
  const data = kind === "text" ? await file.text() : toBase64(new Uint8Array(await file.arrayBuffer()));
  return { id: crypto.randomUUID(), name: file.name, mimeType: file.type, kind, data };
}

function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 8_192)
    text += String.fromCharCode(...bytes.subarray(at, at + 8_192));
  return btoa(text);
}

/**
 * The content of a message: plain text, or blocks in the forms that chat models of both languages take. Text files
 * become text, which every model reads.
 */
export function toContent(text: string, attachments: readonly Attachment[]): string | Block[] {
  if (attachments.length === 0) return text;
  return [...(text === "" ? [] : [{ type: "text", text }]), ...attachments.map(toBlock)];
}

function toBlock({ kind, name, mimeType, data }: Attachment): Block {
  if (kind === "image") return { type: "image_url", image_url: { url: `data:${mimeType};base64,${data}` } };
  if (kind === "pdf") {
    return { type: "file", source_type: "base64", mime_type: mimeType, data, metadata: { filename: name } };
  }
  return { type: "text", text: `${fileMark(name)}\n${data}` };
}

const fileMark = (name: string) => `[File: ${name.replace(/[\r\n\]]/g, " ")}]`;
const marked = /^\[File: ([^\]\n]+)\]\n/;

/** What a message of a person shows of its files. */
export type ShownFile = { name: string; image?: string; text?: string };

/** Text and files of a message. */
export function readContent(content: unknown): { text: string; files: ShownFile[] } {
  if (typeof content === "string") return { text: content, files: [] };
  if (!Array.isArray(content)) return { text: "", files: [] };
  const texts: string[] = [];
  const files: ShownFile[] = [];
  for (const block of content as Block[]) {
    const file = fileOf(block);
    if (file) files.push(file);
    else if (typeof block.text === "string") texts.push(block.text);
  }
  return { text: texts.join("\n"), files };
}

function fileOf(block: Block): ShownFile | undefined {
  if (block.type === "text") {
    const [mark, name] = marked.exec(String(block.text ?? "")) ?? [];
    return mark === undefined ? undefined : { name: name!, text: String(block.text).slice(mark.length) };
  }
  if (block.type === "image_url") {
    const image = (block.image_url as { url?: unknown } | undefined)?.url ?? block.image_url;
    return { name: "Image", ...(isImageData(image) ? { image } : {}) };
  }
  if (block.type === "image" || block.type === "file") {
    const metadata = (block.metadata ?? {}) as { filename?: unknown; name?: unknown };
    const name = String(metadata.filename ?? metadata.name ?? (block.type === "image" ? "Image" : "File"));
    const type = String(block.mime_type ?? block.mimeType ?? "");
    const image = `data:${type};base64,${String(block.data ?? block.base64 ?? "")}`;
    return { name, ...(block.type === "image" && isImageData(image) ? { image } : {}) };
  }
  return undefined;
}

/** Never an address: drawing a picture from elsewhere would tell that server who reads. */
function isImageData(url: unknown): url is string {
  return typeof url === "string" && /^data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+$/.test(url);
}
