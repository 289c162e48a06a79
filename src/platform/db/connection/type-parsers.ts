import pg from "pg";

const int8 = 20;
const int8Array = 1016;
const date = 1082;

/** Per pool, because the driver's own registry is global to the process. */
export const typeParsers: pg.CustomTypesConfig = {
  getTypeParser(oid: number, format?: string) {
    if (format !== "binary") {
      if (oid === int8) return parseInt8;
      if (oid === int8Array) return parseInt8Array;
      // A calendar date has no time zone; the driver would make it local midnight.
      if (oid === date) return keepText;
    }
    return pg.types.getTypeParser(oid, format === "binary" ? "binary" : "text");
  },
};

/** A number where a number is exact, else the digits as text: never a rounded value. */
function parseInt8(text: string): number | string {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : text;
}

function parseInt8Array(text: string): unknown[] {
  const parse: (text: string) => (string | null)[] = pg.types.getTypeParser(int8Array as number, "text");
  return parse(text).map((item) => (item === null ? null : parseInt8(item)));
}

function keepText(text: string): string {
  return text;
}
