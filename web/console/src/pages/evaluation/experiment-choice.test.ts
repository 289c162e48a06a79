import { expect, it } from "vitest";
import { compareHref, mostCompared, readChoice } from "./experiment-choice.ts";

const id = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
const read = (text: string) => readChoice(new URLSearchParams(text));

it("reads what it writes, and what the SDK prints", () => {
  const ids = [id(2), id(1)];
  expect(read(compareHref("d", ids).split("?")[1]!)).toEqual(ids);
  expect(read(`selectedSessions=${id(1)}%2C${id(2)}&comparativeExperiment=${id(3)}`)).toEqual([id(1), id(2)]);
  expect(read(`selectedSessions=${id(1)}&selectedSessions=${id(2)}`)).toEqual([id(1), id(2)]);
});

it("leaves out what is no id, what comes twice, and what does not fit", () => {
  expect(read(`selectedSessions=${id(1)},x,${id(1).toUpperCase()},`)).toEqual([id(1)]);
  expect(read("")).toEqual([]);
  expect(read(`selectedSessions=${Array.from({ length: 20 }, (_, n) => id(n))}`)).toHaveLength(mostCompared);
});
