import { type Payload, pythonType, pythonView } from "./checkpoint.ts";
import { toMarkedWire, toWire, type Wire } from "./message-wire.ts";

/**
 * A channel's value as the wire JSON it will be sent as, in pieces of UTF-8: versions of one value share the
 * pieces they have in common. Graphs carry it through without looking inside.
 */
export class WireText {
  readonly pieces: readonly Buffer[];

  constructor(pieces: readonly Buffer[]) {
    this.pieces = pieces;
  }

  /** For code that needs the content. */
  toJSON(): Wire {
    return toMarkedWire(JSON.parse(Buffer.concat(this.pieces).toString()));
  }
}

/** A value and its wire text; a list is kept open, because the next version may be the same with more elements. */
type Converted = { payload: Payload; pieces: readonly Buffer[]; isList: boolean };

const listEnd = Buffer.from("]");

/**
 * The wire text of each version of one channel, where it can be made of the stored text alone. A list that
 * only grows, such as messages, is converted once over all its versions: what a version has in common with
 * the next shorter one is taken from there.
 */
export function wireTexts(versions: Iterable<Payload>): Map<Payload, WireText> {
  const wanted = new Set(versions);
  const bases = [...wanted].flatMap(({ grown }) => grown?.base ?? []);
  const texts = new Map<Payload, WireText>();
  let shorter: Converted | undefined;
  for (const payload of [...new Set([...bases, ...wanted])].sort((a, b) => lengthOf(a) - lengthOf(b))) {
    if (payload.type === pythonType) texts.set(payload, new WireText([Buffer.from(viewText(payload.text))]));
    if (payload.type !== "json") continue;
    const converted = (shorter && grow(shorter, payload)) ?? convert(payload);
    if (converted === undefined) continue;
    const { pieces, isList } = converted;
    if (wanted.has(payload)) texts.set(payload, new WireText(isList ? [...pieces, listEnd] : pieces));
    shorter = converted;
  }
  return texts;
}

/** Without putting a text together that is stored in two parts. */
function lengthOf(payload: Payload): number {
  const { grown } = payload;
  return grown ? grown.base.text.length - 1 + grown.added.length : payload.text.length;
}

function convert(payload: Payload): Converted | undefined {
  const json = wireJson(payload.text);
  if (json === undefined) return undefined;
  const isList = payload.text.startsWith("[");
  return { payload, pieces: [Buffer.from(isList ? json.slice(0, -1) : json)], isList };
}

/** Undefined unless it is the shorter list with further elements. */
function grow(shorter: Converted, payload: Payload): Converted | undefined {
  const added = shorter.isList ? addedTo(shorter.payload, payload) : undefined;
  if (added === "]") return { ...shorter, payload };
  // After an empty list's bracket a comma cannot follow, so there is an element before this one.
  const json = added?.startsWith(",") ? wireJson(`[${added.slice(1)}`) : undefined;
  if (json === undefined) return undefined;
  return { payload, pieces: [...shorter.pieces, Buffer.from(`,${json.slice(1, -1)}`)], isList: true };
}

/** What follows in the longer text where the shorter one ends with its bracket; undefined when they differ before. */
function addedTo(shorter: Payload, longer: Payload): string | undefined {
  if (longer.grown?.base === shorter) return longer.grown.added;
  const isSameBase = shorter.grown !== undefined && longer.grown?.base === shorter.grown.base;
  const [short, long] = isSameBase
    ? [shorter.grown!.added, longer.grown!.added]
    : [shorter.text, longer.text];
  const end = short.length - 1;
  // Slices compared, not startsWith: several times as fast on long texts.
  return long.slice(0, end) === short.slice(0, end) ? long.slice(end) : undefined;
}

/** Whether `wireTexts` has a text for it. */
export function hasWireText({ type, text }: Payload): boolean {
  return type === pythonType || (type === "json" && !hasValueRecord(text));
}

/** Undefined for records of values JSON does not have: those mean something to the graph's channels. */
function wireJson(text: string): string | undefined {
  return hasValueRecord(text) ? undefined : JSON.stringify(toWire(JSON.parse(text)));
}

function hasValueRecord(text: string): boolean {
  return text.includes('"lc":2');
}

const viewStart = '{"view":';
const viewEnd = ',"data":"';

/** What a value that only Python has looks like, as it is stored: it need not be read. */
function viewText(text: string): string {
  const end = text.lastIndexOf(viewEnd);
  return text.startsWith(viewStart) && end > 0
    ? text.slice(viewStart.length, end)
    : JSON.stringify(pythonView(text));
}
