import { AppError } from "../../platform/errors.ts";

export type Part = { name: string; filename: string | null; contentType: string; bytes: Buffer };

const maxHeaderBytes = 16_384;
const maxParts = 20_000;

export function boundaryOf(contentType: string | null): string {
  const match = /^multipart\/form-data\s*;(?:.*;)?\s*boundary=(?:"([^"]{1,200})"|([^;\s]{1,200}))/i.exec(
    contentType ?? "",
  );
  const boundary = match?.[1] ?? match?.[2];
  if (boundary !== undefined) return boundary;
  throw new AppError({
    code: "traces.not_multipart",
    kind: "unsupported_media_type",
    message: "The body must be multipart/form-data with a boundary.",
  });
}

/**
 * The parts of a body, without copying them. A part that states its length is taken by it, which is faster
 * than looking for the boundary and safe for content that happens to hold it.
 */
export function parseMultipart(body: Buffer, boundary: string): Part[] {
  const opening = Buffer.from(`--${boundary}`);
  const delimiter = Buffer.from(`\r\n--${boundary}`);
  const parts: Part[] = [];
  let position = body.indexOf(opening);
  if (position === -1) throw cutOff();
  position += opening.length;
  for (;;) {
    if (body[position] === dash && body[position + 1] === dash) return parts;
    position = afterLineEnd(body, position);
    const headerEnd = body.indexOf("\r\n\r\n", position - 2);
    if (headerEnd === -1 || headerEnd - position > maxHeaderBytes) throw cutOff();
    const head = readHead(headerEnd <= position ? "" : body.toString("latin1", position, headerEnd));
    const start = headerEnd + 4;
    const end = endOf(body, start, head.length, delimiter);
    parts.push({ ...head.part, bytes: body.subarray(start, end) });
    if (parts.length > maxParts) throw tooMany();
    position = end + delimiter.length;
  }
}

const dash = 0x2d;

function endOf(body: Buffer, start: number, length: number | null, delimiter: Buffer): number {
  if (length !== null) {
    const end = start + length;
    if (
      end + delimiter.length <= body.length &&
      body.compare(delimiter, 0, delimiter.length, end, end + delimiter.length) === 0
    ) {
      return end;
    }
  }
  const end = body.indexOf(delimiter, start);
  if (end === -1) throw cutOff();
  return end;
}

function afterLineEnd(body: Buffer, position: number): number {
  let next = position;
  while (body[next] === 0x20 || body[next] === 0x09) next++;
  if (body[next] !== 0x0d || body[next + 1] !== 0x0a) throw cutOff();
  return next + 2;
}

/** A batch has hundreds of parts and nearly all their heads look alike: those are read in one go. */
function readHead(text: string): { part: Omit<Part, "bytes">; length: number | null } {
  const usual = usualHead.exec(text);
  if (usual) {
    const [, name = "", contentType = "", stated] = usual;
    return { part: { name, filename: null, contentType }, length: wholeNumber(stated) };
  }
  const disposition = dispositionPattern.exec(text)?.[1] ?? "";
  const contentType = typePattern.exec(text)?.[1] ?? "application/octet-stream";
  const stated = lengthPattern.exec(text)?.[1] ?? typeLengthPattern.exec(contentType)?.[1];
  return {
    part: {
      name: parameter(disposition, namePattern) ?? "",
      filename: disposition.includes("filename") ? parameter(disposition, filenamePattern) : null,
      contentType,
    },
    length: wholeNumber(stated),
  };
}

const usualHead =
  /^Content-Disposition: form-data; name="([\w.-]*)"\r\nContent-Type: (application\/json(?:; length=(\d{1,12}))?)$/i;
const dispositionPattern = /(?:^|\r\n)content-disposition:[ \t]*([^\r\n]*)/i;
const typePattern = /(?:^|\r\n)content-type:[ \t]*([^\r\n]*)/i;
const lengthPattern = /(?:^|\r\n)content-length:[ \t]*(\d+)/i;
const typeLengthPattern = /;\s*length=(\d+)/i;
const namePattern = /;\s*name=(?:"((?:[^"\\]|\\.)*)"|([^;\s]*))/i;
const filenamePattern = /;\s*filename=(?:"((?:[^"\\]|\\.)*)"|([^;\s]*))/i;

function parameter(value: string, pattern: RegExp): string | null {
  const match = pattern.exec(value);
  const text = match?.[1] ?? match?.[2];
  if (text === undefined) return null;
  if (plainName.test(text)) return text;
  const unescaped = text.replaceAll(/\\(.)/g, "$1").replaceAll("%22", '"');
  // Header bytes are UTF-8 in practice, although the old standard prescribes otherwise.
  return Buffer.from(unescaped, "latin1").toString("utf8");
}

const plainName = /^[\w.-]*$/;

function wholeNumber(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,12}$/.test(text) ? Number(text) : null;
}

function cutOff(): AppError {
  return new AppError({
    code: "traces.body_cut_off",
    kind: "invalid",
    message:
      "The multipart body is damaged or ends before its closing boundary; nothing of it was kept. Send it again.",
  });
}

function tooMany(): AppError {
  return new AppError({
    code: "traces.too_many_parts",
    kind: "too_large",
    message: `The body has more than ${maxParts} parts. Send smaller batches.`,
  });
}
