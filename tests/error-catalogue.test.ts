import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { errorCatalogues } from "../scripts/error-catalogues.ts";

/** The compiler refuses a code that no catalogue has. These hold what it cannot see. */
const source = fileURLToPath(new URL("../src/", import.meta.url));
const texts = readdirSync(source, { recursive: true, encoding: "utf8" })
  .filter(
    (name) => name.endsWith(".ts") && !name.endsWith(".test.ts") && !name.endsWith("error-catalogue.ts"),
  )
  .map((name) => readFileSync(`${source}${name}`, "utf8"))
  .join("\n");
const codes = Object.values(errorCatalogues).flatMap((catalogue) => Object.keys(catalogue));

describe("the catalogues of errors", () => {
  it("name each code once", () => {
    expect(codes.filter((code, index) => codes.indexOf(code) !== index)).toEqual([]);
  });

  it("name no code that is never used", () => {
    expect(codes.filter((code) => !texts.includes(`"${code}"`))).toEqual([]);
  });

  it("are all in the document", () => {
    const folders = readdirSync(source, { recursive: true, encoding: "utf8" });
    const files = folders.filter((name) => name.endsWith("error-catalogue.ts"));
    expect(files).toHaveLength(Object.keys(errorCatalogues).length);
  });
});
