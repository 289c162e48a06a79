import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, it } from "vitest";

const file = JSON.stringify(new URL("./start-garbage.ts", import.meta.url).href);

/** In a process of its own: what it holds is no other test's. Prints the young generation's size as often as asked. */
const start = `
  import { getHeapSpaceStatistics } from "node:v8";
  const { collectStartGarbage } = await import(${file});
  const youngBytes = () => getHeapSpaceStatistics().find((space) => space.space_name === "new_space").space_size;
  globalThis.kept = [];
  const load = (count) => {
    for (let i = 0; i < count; i += 1) {
      kept.push({ i, list: [i] });
      if (kept.length > 60_000) kept = kept.slice(30_000);
    }
  };
  load(2_000_000);
  const grown = youngBytes();
  collectStartGarbage();`;

async function printed(rest: string): Promise<unknown> {
  const child = spawn(
    process.execPath,
    ["--max-semi-space-size=16", "--input-type=module", "-e", start + rest],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  let text = "";
  child.stdout.on("data", (chunk) => {
    text += String(chunk);
  });
  expect(await once(child, "close")).toEqual([0, null]);
  return JSON.parse(text);
}

it("shrinks what a start has let grow, once nothing is done any more", async () => {
  const [grown, after, exposed] = (await printed(`
    import { runInNewContext } from "node:vm";
    const timer = setInterval(() => {
      if (youngBytes() > grown / 4) return;
      clearInterval(timer);
      console.log(JSON.stringify([grown, youngBytes(), typeof gc + runInNewContext("typeof gc")]));
    }, 20);`)) as [number, number, string];
  expect(grown).toBeGreaterThan(16_000_000);
  expect(after).toBeLessThan(grown / 4);
  expect(exposed).toBe("undefinedundefined");
}, 60_000);

it("leaves a process alone that works, and does not keep it alive", async () => {
  const [grown, after] = (await printed(`
    const until = performance.now() + 1_500;
    while (performance.now() < until) {
      load(20_000);
      await new Promise((resolve) => setImmediate(resolve));
    }
    console.log(JSON.stringify([grown, youngBytes()]));`)) as [number, number];
  expect(after).toBe(grown);
}, 60_000);
