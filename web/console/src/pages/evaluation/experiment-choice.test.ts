import { expect, it } from "vitest";
import { chosenOf, compareHref, isWithin, mostCompared, readChoice, readNamed } from "./experiment-choice.ts";

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

it("a link of a pairwise evaluation names the comparison, and with it the experiments", () => {
  const named = { experiments_info: [{ id: id(1) }, { id: id(2) }] };
  expect(readNamed(new URLSearchParams(`comparativeExperiment=${id(3)}`))).toBe(id(3));
  expect(readNamed(new URLSearchParams("comparativeExperiment=x"))).toBeNull();
  expect(readNamed(new URLSearchParams(""))).toBeNull();
  expect(chosenOf([], named)).toEqual([id(1), id(2)]);
  expect(chosenOf([id(2)], named)).toEqual([id(2)]);
  expect(chosenOf([], undefined)).toEqual([]);
  expect(isWithin([id(2)], named)).toBe(true);
  expect(isWithin([id(2), id(4)], named)).toBe(false);
  expect(isWithin([id(2)], undefined)).toBe(false);
});
