/** US dollars as a whole number of 10^-18 dollars: costs are added exactly, as the database's `numeric` does. */
export type Cost = bigint;

const places = 18;
const oneDollar = 10n ** BigInt(places);
const maxDollars = 1e15;
const decimal = /^([+-]?)(\d*)\.?(\d*)(?:e([+-]?\d{1,3}))?$/i;

/** A number as it was written, or null for what is no cost. Digits beyond the eighteenth are cut off. */
export function readCost(value: unknown): Cost | null {
  if (typeof value !== "number" && typeof value !== "string") return null;
  const text = String(value).trim();
  const number = Number(text);
  if (text === "" || !Number.isFinite(number) || number < 0 || number > maxDollars) return null;
  const parts = decimal.exec(text);
  if (!parts) return null;
  const [, , whole = "", fraction = "", exponent = "0"] = parts;
  const shift = places - fraction.length + Number(exponent);
  const digits = BigInt(whole + fraction || "0");
  return shift >= 0 ? digits * 10n ** BigInt(shift) : digits / 10n ** BigInt(-shift);
}

/** Plain decimal text without needless zeros. */
export function writeCost(cost: Cost): string {
  const sign = cost < 0n ? "-" : "";
  const size = cost < 0n ? -cost : cost;
  const fraction = (size % oneDollar).toString().padStart(places, "0").replace(/0+$/, "");
  return `${sign}${size / oneDollar}${fraction && `.${fraction}`}`;
}

/** Of so many tokens, at so many dollars per million. */
export function costOf(tokens: number, perMillion: number): Cost {
  return (BigInt(tokens) * (readCost(perMillion) ?? 0n)) / 1_000_000n;
}
