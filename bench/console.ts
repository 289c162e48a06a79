import { randomUUID } from "node:crypto";
import { cpus } from "node:os";
import { type BrowserTrace, longestNames, traceBrowser } from "./browser-trace.ts";
import { apiKey, type ConsoleSubject, startConsoleSubject } from "./console-browser.ts";
import { median } from "./load.ts";

/**
 * How much script does the first page of the console load, packed, and how long until it can be used and is full? How long
 * until a person can write in the chat?
 * How long does it block while ten thousand runs are scrolled through?
 *   node bench/console.ts        BENCH_LOADS=10 for more loads
 */
const loads = Number(process.env.BENCH_LOADS ?? 7);
const limitBytes = 150_000;

type Load = { scriptBytes: number; scripts: number; shellMs: number; fullMs: number };

/** A load with nothing kept, as on a first visit. */
async function firstLoad({ signedIn, url }: ConsoleSubject): Promise<Load> {
  const context = await signedIn();
  try {
    const page = await context.newPage();
    await page.goto(`${url}/`);
    await page.waitForFunction(() => performance.getEntriesByName("treadle.overview").length > 0);
    return (await page.evaluate(`(() => {
      const scripts = performance.getEntriesByType("resource").filter(({ name }) => name.endsWith(".js"));
      const at = (mark) => performance.getEntriesByName(mark)[0].startTime;
      return {
        scriptBytes: scripts.reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0),
        scripts: scripts.length,
        shellMs: at("treadle.shell"),
        fullMs: at("treadle.overview"),
      };
    })()`)) as Load;
  } finally {
    await context.close();
  }
}

/** The chat, from nothing to a field that can be written in. */
async function chatLoad({ signedIn, url }: ConsoleSubject): Promise<number> {
  const context = await signedIn();
  try {
    const page = await context.newPage();
    await page.addInitScript(`(function look() {
      if (document.querySelector("textarea:not(:disabled)")) performance.mark("chat.usable");
      else requestAnimationFrame(look);
    })()`);
    await page.goto(`${url}/chat`);
    await page.waitForFunction(() => performance.getEntriesByName("chat.usable").length > 0);
    return await page.evaluate(() => performance.getEntriesByName("chat.usable")[0]!.startTime);
  } finally {
    await context.close();
  }
}

const manyRuns = 10_000;

async function sendRuns(url: string): Promise<void> {
  const now = Date.now();
  for (let sent = 0; sent < manyRuns; sent += 500) {
    const post = Array.from({ length: 500 }, (_, index) => {
      const id = randomUUID();
      const at = new Date(now - (sent + index) * 1_000).toISOString();
      const payload = {
        messages: [{ role: "user", content: `Question ${sent + index}: why is my invoice higher?` }],
      };
      const names = { name: `run ${sent + index}`, run_type: "chain", session_name: "many" };
      return { id, trace_id: id, ...names, inputs: payload, outputs: payload, start_time: at, end_time: at };
    });
    const headers = { "x-api-key": apiKey, "content-type": "application/json" };
    const body = JSON.stringify({ post });
    const answer = await fetch(`${url}/api/v1/runs/batch`, { method: "POST", headers, body });
    if (!answer.ok) throw new Error(`Runs were refused: ${answer.status} ${await answer.text()}`);
  }
}

type Scrolled = {
  longestMs: number;
  longTasks: number;
  frameP99Ms: number;
  frames: number;
  trace: BrowserTrace;
};

/** From the newest run to the last one, a screenful per frame, while more of them are loaded. */
async function scrollThrough({ signedIn, url }: ConsoleSubject): Promise<Scrolled> {
  const context = await signedIn();
  try {
    const page = await context.newPage();
    await page.goto(`${url}/traces`);
    await page.getByRole("link", { name: "many" }).click();
    await page.getByText("run 0", { exact: true }).waitFor();
    const { result, trace } = await traceBrowser(
      page,
      () =>
        page.evaluate(`(async () => {
      const long = [];
      new PerformanceObserver((list) => long.push(...list.getEntries())).observe({ type: "longtask" });
      const list = document.querySelector('[aria-label="Runs, scrolls"]');
      const isOver = () => document.querySelector(".runs-foot").textContent === "10,000 runs";
      const frames = [];
      let last = performance.now();
      while (!isOver() || list.scrollTop + list.clientHeight < list.scrollHeight - 2) {
        list.scrollTop += list.clientHeight;
        await new Promise(requestAnimationFrame);
        frames.push(performance.now() - last);
        last = performance.now();
      }
      frames.sort((a, b) => a - b);
      const durations = long.map(({ duration }) => duration);
      return {
        longestMs: Math.max(0, ...durations),
        longTasks: durations.length,
        frameP99Ms: frames[Math.floor(frames.length * 0.99)],
        frames: frames.length,
      };
    })()`) as Promise<Omit<Scrolled, "trace">>,
    );
    return { ...result, trace };
  } finally {
    await context.close();
  }
}

const subject = await startConsoleSubject();
const { browser, url } = subject;
try {
  // The first one also packs the files, which the server then keeps.
  await firstLoad(subject);
  const measured: Load[] = [];
  for (let i = 0; i < loads; i += 1) measured.push(await firstLoad(subject));
  const { scriptBytes, scripts } = measured[0]!;
  console.log(
    `machine: ${cpus().length} × ${cpus()[0]?.model}, Chromium ${browser.version()}, ${loads} loads`,
  );
  console.log(`script of the first load: ${(scriptBytes / 1000).toFixed(1)} KB packed in ${scripts} files`);
  console.log(`usable (shell): ${Math.round(median(measured.map(({ shellMs }) => shellMs)))} ms, median`);
  console.log(
    `full (overview with data): ${Math.round(median(measured.map(({ fullMs }) => fullMs)))} ms, median`,
  );
  await chatLoad(subject);
  const chats: number[] = [];
  for (let i = 0; i < loads; i += 1) chats.push(await chatLoad(subject));
  console.log(`chat usable: ${Math.round(median(chats))} ms, median`);
  await sendRuns(url);
  const { longestMs, longTasks, frameP99Ms, frames, trace } = await scrollThrough(subject);
  console.log(
    `scrolling ${manyRuns} runs: frame p99 ${Math.round(frameP99Ms)} ms, ${longTasks} tasks over 50 ms, longest ${Math.round(longestMs)} ms`,
  );
  console.log(
    `processor time of it: longest tasks ${trace.taskMs
      .slice(0, 5)
      .map((ms) => ms.toFixed(1))
      .join(
        ", ",
      )} ms, page ${(trace.mainMs / frames).toFixed(1)} ms and drawing ${(trace.drawMs / frames).toFixed(1)} ms a frame, ${frames} frames`,
  );
  if (process.env.BENCH_NAMES) console.log(longestNames(trace, frames));
  if (scriptBytes > limitBytes) {
    console.error(`The first load is larger than ${limitBytes / 1000} KB.`);
    process.exitCode = 1;
  }
} finally {
  await subject.stop();
}
