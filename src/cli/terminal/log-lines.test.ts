import { expect, test } from "vitest";
import { createLogger } from "../../platform/logger.ts";
import { createLogLines } from "./log-lines.ts";

const plain = (_style: unknown, text: string) => text;

function logged(write: (logger: ReturnType<typeof createLogger>) => void): string {
  let text = "";
  const target = { write: (chunk: string) => (text += chunk) } as unknown as NodeJS.WritableStream;
  write(createLogger({ level: "info", destination: createLogLines(target, plain) }));
  return text;
}

test("an entry is one line: time, level, message, fields", () => {
  const text = logged((logger) =>
    logger.info({ migration: "0001_a.sql", note: "two words" }, "migration applied"),
  );
  expect(text).toMatch(/^\d\d:\d\d:\d\d info migration applied migration=0001_a.sql note="two words"\n$/);
});

test("an error keeps its stack", () => {
  const text = logged((logger) => logger.error({ err: new Error("broken") }, "it failed"));
  expect(text).toMatch(/error it failed \nError: broken\n\s+at /);
});

test("secrets stay masked", () => {
  const text = logged((logger) => logger.info({ token: "very-secret" }, "called"));
  expect(text).toContain("token=********");
});
