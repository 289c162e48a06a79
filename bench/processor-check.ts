import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { openCheckout } from "./earlier-checkout.ts";
import type { ProcessorFigure } from "./processor.ts";

/**
 * Whether a run costs more processor time than at the commit in `recorded.json`. Both are measured here and now, in
 * turn: a figure of another machine, or of this one on another day, would say little.
 */
const recordedFile = fileURLToPath(new URL("recorded.json", import.meta.url));
const root = fileURLToPath(new URL("..", import.meta.url));
const allowedGrowth = 1.1;
/** Other work on the machine can only make one of the two look worse; it rarely does so each time. */
const attempts = 3;

type Recorded = { commit: string };

export function recordProcessor(): void {
  const commit = execFileSync("git", ["rev-parse", "HEAD"], { cwd: root, encoding: "utf8" }).trim();
  const recorded: Recorded = { commit };
  writeFileSync(recordedFile, `${JSON.stringify(recorded, null, 2)}\n`);
}

export async function checkProcessor(): Promise<boolean> {
  const { commit } = JSON.parse(readFileSync(recordedFile, "utf8")) as Recorded;
  if (!commit) throw new Error("bench/recorded.json names no commit.");
  const earlier = await openCheckout(root, commit);
  if (!earlier) {
    console.error(
      `NOT checked: this checkout does not have commit ${commit}, which bench/recorded.json names.`,
    );
    return true;
  }
  try {
    for (let attempt = 1; attempt <= attempts; attempt += 1) {
      const growth = compare(earlier.folder);
      const sentence = `An echo run costs ${growth.toFixed(2)} times the processor time that it cost at ${commit.slice(0, 8)}`;
      if (growth <= allowedGrowth) {
        console.log(`${sentence}; ${allowedGrowth} may not be exceeded.`);
        return true;
      }
      console.error(`${sentence}, more than ${allowedGrowth}.`);
    }
    return false;
  } finally {
    await earlier.remove();
  }
}

/** In turn, and the other way round: what changes on the machine meanwhile falls on both. */
function compare(before: string): number {
  const [first, second, third, fourth] = [before, root, root, before].map(measure);
  return (second! + third!) / (first! + fourth!);
}

function measure(checkout: string): number {
  const printed = execFileSync(process.execPath, ["bench/processor.ts", "--json"], {
    cwd: checkout,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  return (JSON.parse(printed) as ProcessorFigure).ratio;
}
