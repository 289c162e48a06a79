import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { AppError, type CodeAndKind } from "../platform/errors.ts";
import { exitCodes, exitCodeTable } from "./exit-codes.ts";
import { describeFailure } from "./failure.ts";

test("the codes are the numbers from 0 on, each with a meaning in the table", () => {
  const all = Object.values(exitCodes);
  expect(all.map(({ code }) => code)).toEqual([...all.keys()]);
  for (const { code, meaning } of all)
    expect(exitCodeTable()).toContain(`  ${String(code).padEnd(2)}  ${meaning}`);
});

test("the documentation lists the same codes", async () => {
  const page = await readFile(new URL("../../docs/command-line.md", import.meta.url), "utf8");
  const rows = page.split("\n").map((line) => line.split("|").map((cell) => cell.trim()));
  for (const { code, meaning } of Object.values(exitCodes)) {
    expect(rows).toContainEqual(["", String(code), meaning, ""]);
  }
});

test.each([
  ["config.invalid", 3],
  ["server.port_taken", 4],
  ["data_folder.locked", 5],
  ["data_folder.full", 6],
  ["database.unavailable", 7],
  ["migration.newer", 8],
  ["secret.wrong_key", 9],
  ["graph.config_missing", 10],
  ["graph.part_unusable", 10],
  ["run.not_found", 1],
] as const)("%s exits with %i", (code, exitCode) => {
  const error = new AppError({
    ...({ code, kind: "internal" } as unknown as CodeAndKind),
    message: "What happened.",
  });
  expect(describeFailure(error)).toEqual({ code, message: "What happened.", exitCode });
});

test("a defect says how to find out more", () => {
  const { message, exitCode } = describeFailure(new TypeError("x is not a function"));
  expect({ message, exitCode }).toEqual({
    message: expect.stringMatching(/x is not a function[\s\S]*TREADLE_LOG_LEVEL=debug/),
    exitCode: 1,
  });
});
