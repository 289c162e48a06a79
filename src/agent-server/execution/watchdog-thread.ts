import { writeSync } from "node:fs";
import { type Debugger, Session } from "node:inspector";
import { workerData } from "node:worker_threads";
import { runAtWorkKey } from "./run-at-work.ts";
import type { WatchdogThreadData } from "./watchdog.ts";

const { beats, beatMs, timeoutMs, exitCode, record } = workerData as WatchdogThreadData;
const counter = new Int32Array(beats);
const looks = 10;
/** How long the stuck thread may take to report where it is. */
const patienceMs = 5_000;
/** How long recording it in the database may take. */
const recordMs = 4_000;
/**
 * When the process is killed, even if reporting and recording have not finished. On a machine so busy that loops get
 * stuck, loading is slow too.
 */
const lastMs = 30_000;

watch();

/**
 * Looks are counted, not time: a machine that slept has not been stuck. The last beat may have come a beat before the
 * loop got stuck. Waits in the kernel: a turn of an event loop costs many times as much, in every server, all the time.
 */
function watch(): void {
  const never = new Int32Array(new SharedArrayBuffer(4));
  const lookMs = timeoutMs / looks;
  let seen = Atomics.load(counter, 0);
  for (let unchangedMs = 0; unchangedMs < timeoutMs + beatMs; ) {
    Atomics.wait(never, 0, 0, lookMs);
    const now = Atomics.load(counter, 0);
    unchangedMs = now === seen ? unchangedMs + lookMs : 0;
    seen = now;
  }
  end();
}

/**
 * Interrupts the main thread as a debugger would. Only then can it report where it is and for which run, and exit with
 * its own code instead of a signal. A process that does not respond to that is killed.
 */
function end(): void {
  const kill = () => process.kill(process.pid, "SIGKILL");
  // It also keeps this thread alive: with nothing to wait for, the thread would end before the answer is there, and the
  // main thread, released by its debugger, would be stuck for good.
  setTimeout(kill, lastMs);
  let isLate = false;
  const patience = setTimeout(() => {
    isLate = true;
    report("Where is not known.");
    void giveBack("").then(kill);
  }, patienceMs);
  const session = new Session();
  session.connectToMainThread();
  const urls = new Map<string, string>();
  session.on("Debugger.scriptParsed", ({ params }) => urls.set(params.scriptId, params.url));
  session.once("Debugger.paused", ({ params }) => {
    const [frame] = params.callFrames;
    if (!frame || isLate) return;
    clearTimeout(patience);
    report(`It is in ${describe(frame, urls)}.`);
    const { callFrameId } = frame;
    const leave = () =>
      session.post("Debugger.evaluateOnCallFrame", {
        callFrameId,
        expression: `process.reallyExit(${exitCode})`,
      });
    // Asked in that frame: what a run does carries its name along, also through awaits and callbacks.
    const whose = `globalThis[Symbol.for(${JSON.stringify(runAtWorkKey)})]?.() ?? ""`;
    session.post("Debugger.evaluateOnCallFrame", { callFrameId, expression: whose }, (_, answer) => {
      const culprit = answer?.result.value;
      void giveBack(typeof culprit === "string" ? culprit : "").then(leave);
    });
  });
  session.post("Debugger.enable", () => session.post("Debugger.pause"));
}

/** Loaded only now: a process that is never blocked needs no second driver. */
async function giveBack(culprit: string): Promise<void> {
  if (!record) return;
  try {
    const [{ openDatabase }, { createLogger }, { handBackBlocked }, { within }] = await Promise.all([
      import("../../platform/db/connection/open-database.ts"),
      import("../../platform/logger.ts"),
      import("./blocked-process.ts"),
      import("../../platform/within.ts"),
    ]);
    const logger = createLogger({ level: "silent" });
    const database = openDatabase({
      url: record.databaseUrl,
      poolSize: 1,
      logger,
      connectTimeoutMs: recordMs,
    });
    const recorded = handBackBlocked(database, record.processId, culprit);
    recorded.catch(notRecorded);
    await within(recordMs, recorded);
  } catch (error) {
    notRecorded(error);
  }
}

function notRecorded(error: unknown): void {
  writeSync(2, `treadle: the runs of this process wait until their leases end: ${error}\n`);
}

function describe(frame: Debugger.CallFrame, urls: ReadonlyMap<string, string>): string {
  const { functionName, location } = frame;
  const file = urls.get(location.scriptId) ?? frame.url;
  return `${functionName || "an unnamed function"} (${file}:${location.lineNumber + 1})`;
}

/** Written at once: the main thread, which owns the streams, would never get to it. */
function report(where: string): void {
  writeSync(
    2,
    `treadle: the event loop has been blocked for ${timeoutMs / 1000} s, so this process ends. ${where} ` +
      "A node must not compute for that long without awaiting something; TREADLE_WATCHDOG_SECONDS changes the limit.\n",
  );
}
