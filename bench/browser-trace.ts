import type { Page } from "playwright-core";

type TraceEvent = {
  name: string;
  ph: string;
  pid: number;
  tid: number;
  ts: number;
  dur?: number;
  /** Processor time of the thread, in microseconds like all times here. */
  tdur?: number;
  args?: { name?: string };
};

export type BrowserTrace = {
  /** Processor time of each task of the page's main thread, in milliseconds, the longest first. */
  taskMs: number[];
  /** Processor time of the page's main thread, and of the threads that draw. */
  mainMs: number;
  drawMs: number;
  /** The five longest of them, with what took the most in each. */
  longest: string[];
  /** What the main thread did, by name, with what it called in it. */
  byName: ReadonlyMap<string, number>;
};

const drawers = /^(Compositor|CompositorTileWorker|ThreadPoolForegroundWorker|VizCompositorThread|CrGpuMain)/;

/** Chromium's own trace: other processes of the machine make tasks last longer by the clock, but not by this. */
export async function traceBrowser<T>(
  page: Page,
  work: () => Promise<T>,
): Promise<{ result: T; trace: BrowserTrace }> {
  const browser = page.context().browser()!;
  const categories = ["toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline"];
  await browser.startTracing(page, { categories, screenshots: false });
  let result: T;
  let content: Buffer;
  try {
    result = await work();
  } finally {
    content = await browser.stopTracing();
  }
  const { traceEvents } = JSON.parse(content.toString("utf8")) as { traceEvents: TraceEvent[] };
  return { result, trace: readTrace(traceEvents) };
}

/** What took the most, per frame; what is named includes what it called. */
export function longestNames({ byName, longest: tasks }: BrowserTrace, frames: number): string {
  const longest = [...byName].sort(([, a], [, b]) => b - a).slice(0, 20);
  const names = longest.map(([name, ms]) => `  ${(ms / frames).toFixed(2)} ms ${name}`);
  return [...names, ...tasks].join("\n");
}

function readTrace(events: readonly TraceEvent[]): BrowserTrace {
  const threadOf = ({ pid, tid }: TraceEvent) => `${pid}.${tid}`;
  const names = new Map<string, string>();
  for (const event of events)
    if (event.name === "thread_name" && event.args?.name) names.set(threadOf(event), event.args.name);
  const timed = events.filter(({ ph, tdur }) => ph === "X" && tdur !== undefined);
  const tasks = timed.filter(
    ({ name }) => name === "ThreadControllerImpl::RunTask" || name === "ThreadPool_RunTask",
  );
  const sumOf = (list: readonly TraceEvent[]) => list.reduce((sum, { tdur }) => sum + tdur! / 1_000, 0);
  // The page's own, and not that of another: the one that did the most.
  const mains = new Map<string, TraceEvent[]>();
  for (const task of tasks.filter((each) => names.get(threadOf(each)) === "CrRendererMain"))
    mains.set(threadOf(task), [...(mains.get(threadOf(task)) ?? []), task]);
  const [main, own] = [...mains].sort(([, a], [, b]) => sumOf(b) - sumOf(a))[0] ?? ["", []];
  const byName = new Map<string, number>();
  for (const event of timed)
    if (threadOf(event) === main) byName.set(event.name, (byName.get(event.name) ?? 0) + event.tdur! / 1_000);
  const ofMain = timed.filter((event) => threadOf(event) === main);
  const longest = own
    .toSorted((a, b) => b.tdur! - a.tdur!)
    .slice(0, 5)
    .map((task) => taskWords(task, ofMain));
  return {
    longest,
    taskMs: own.map(({ tdur }) => tdur! / 1_000).sort((a, b) => b - a),
    mainMs: sumOf(own),
    drawMs: sumOf(tasks.filter((task) => drawers.test(names.get(threadOf(task)) ?? ""))),
    byName,
  };
}

function taskWords(task: TraceEvent, events: readonly TraceEvent[]): string {
  const parts = events
    .filter((each) => each !== task && each.ts >= task.ts && each.ts + each.dur! <= task.ts + task.dur!)
    .toSorted((a, b) => b.tdur! - a.tdur!)
    .slice(0, 8)
    .map(({ name, tdur }) => `${name} ${(tdur! / 1_000).toFixed(1)}`);
  return `${(task.tdur! / 1_000).toFixed(1)} of ${(task.dur! / 1_000).toFixed(1)} ms: ${parts.join(", ")}`;
}
