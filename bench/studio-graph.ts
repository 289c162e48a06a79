import { cpus } from "node:os";
import type { Page } from "playwright-core";
import { longestNames, traceBrowser } from "./browser-trace.ts";
import { startConsoleSubject } from "./console-browser.ts";

/**
 * Is a graph of 200 nodes drawn at 60 frames a second while it is moved and zoomed?
 *   node bench/studio-graph.ts        BENCH_NODES=500 for a larger one
 */
const nodes = Number(process.env.BENCH_NODES ?? 200);
const frames = 600;

/** Layers of ten, each node with an edge to two of the next layer. */
function largeGraph(count: number) {
  const name = (at: number) => `step ${at}`;
  const ids = Array.from({ length: count }, (_, at) => at);
  const edge = (source: string, target: string) => ({ source, target });
  return {
    nodes: [
      { id: "__start__", type: "schema", data: {} },
      ...ids.map((at) => ({ id: name(at), type: "runnable", data: { id: [], name: name(at) } })),
      { id: "__end__", type: "schema", data: {} },
    ],
    edges: [
      edge("__start__", name(0)),
      ...ids.flatMap((at) =>
        [at + 10, at + 10 + (at % 9) + 1].filter((to) => to < count).map((to) => edge(name(at), name(to))),
      ),
      edge(name(count - 1), "__end__"),
    ],
  };
}

type Measured = { frameMs: number[]; longest: number };

/** Turns the wheel once a frame and drags it about meanwhile, as a person does who looks around. */
async function lookAround(page: Page): Promise<Measured> {
  const frame = (await page.locator(".graph-frame").boundingBox())!;
  const middle = { x: frame.x + frame.width / 2, y: frame.y + frame.height / 2 };
  const measured = page.evaluate(`(async () => {
    const frame = document.querySelector(".graph-frame");
    const long = [];
    new PerformanceObserver((list) => long.push(...list.getEntries())).observe({ type: "longtask" });
    const place = { bubbles: true, cancelable: true, clientX: ${middle.x}, clientY: ${middle.y} };
    const frameMs = [];
    let last = await new Promise(requestAnimationFrame);
    for (let i = 0; i < ${frames}; i += 1) {
      frame.dispatchEvent(new WheelEvent("wheel", { ...place, deltaY: i % 120 < 60 ? -20 : 20 }));
      const now = await new Promise(requestAnimationFrame);
      frameMs.push(now - last);
      last = now;
    }
    return { frameMs, longest: Math.max(0, ...long.map(({ duration }) => duration)) };
  })()`) as Promise<Measured>;
  let over = false;
  void measured.finally(() => {
    over = true;
  });
  await page.mouse.move(middle.x, middle.y);
  await page.mouse.down();
  for (let i = 0; !over; i += 1) {
    await page.mouse.move(middle.x + Math.cos(i / 20) * 80, middle.y + Math.sin(i / 20) * 80);
  }
  await page.mouse.up();
  return measured;
}

const subject = await startConsoleSubject();
try {
  const context = await subject.signedIn();
  // The drawing is measured, so the graph need not exist.
  await context.route("**/assistants/*/graph?*", (route) => route.fulfill({ json: largeGraph(nodes) }));
  const page = await context.newPage();
  await page.goto(`${subject.url}/agents/built-in`);
  await page.getByRole("button", { name: "New thread" }).click();
  await page.getByRole("button", { name: `step ${nodes - 1}`, exact: true }).waitFor({ state: "attached" });
  const { result, trace } = await traceBrowser(page, () => lookAround(page));
  const { frameMs, longest } = result;
  const sorted = frameMs.toSorted((a, b) => a - b);
  const mean = frameMs.reduce((sum, ms) => sum + ms, 0) / frameMs.length;
  const late = frameMs.filter((ms) => ms > 25).length;
  console.log(`machine: ${cpus().length} × ${cpus()[0]?.model}, Chromium ${subject.browser.version()}`);
  console.log(
    `graph of ${nodes} nodes: ${(1000 / mean).toFixed(1)} frames/s over ${frames} frames, p99 ${sorted[Math.floor(frames * 0.99)]!.toFixed(1)} ms, ${late} late, longest task ${Math.round(longest)} ms`,
  );
  console.log(
    `processor time per frame: page ${(trace.mainMs / frames).toFixed(1)} ms, drawing ${(trace.drawMs / frames).toFixed(1)} ms; longest task ${trace.taskMs[0]?.toFixed(1)} ms`,
  );
  if (process.env.BENCH_NAMES) console.log(longestNames(trace, frames));
} finally {
  await subject.stop();
}
