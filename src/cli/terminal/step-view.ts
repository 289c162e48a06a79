import { formatDuration } from "./amounts.ts";
import { createLiveView, frameMs, spinnerAt } from "./live-view.ts";
import { createPaint, type OutputOptions, type Style } from "./output.ts";
import { fitText, padText, plainLine } from "./text.ts";

type Step = {
  label: string;
  state: "waiting" | "active" | "done" | "failed" | "skipped";
  note: string;
  from: number;
  to: number;
};

/** The steps of something that takes a while: drawn in place on a terminal, printed line by line elsewhere. */
export type StepView = {
  /** Whether all lines of the log stay to be read. */
  readonly isLogShown: boolean;
  begin(label: string, note?: string): void;
  note(text: string): void;
  log(line: string): void;
  /** Ends what is active, well or not. */
  end(state: "done" | "failed", note?: string): void;
  close(): void;
};

const shownLines = 5;

export function createStepView(
  labels: readonly string[],
  options: OutputOptions,
  stream: NodeJS.WriteStream = process.stderr,
): StepView {
  const steps = labels.map((label): Step => ({ label, state: "waiting", note: "", from: 0, to: 0 }));
  if (options.json) return silent;
  return stream.isTTY === true ? drawn(steps, options, stream) : printed(steps, stream);
}

const silent: StepView = { isLogShown: false, begin() {}, note() {}, log() {}, end() {}, close() {} };

function move(steps: Step[], label: string, now: number): Step | undefined {
  const next = steps.find((step) => step.label === label);
  if (next === undefined || next.state !== "waiting") return undefined;
  for (const step of steps.filter(({ state }) => state === "active")) {
    // What it was doing last does not matter once it is done.
    Object.assign(step, { state: "done", to: now, note: "" });
  }
  for (const step of steps.slice(0, steps.indexOf(next))) {
    if (step.state === "waiting") Object.assign(step, { state: "skipped", note: "not needed" });
  }
  return Object.assign(next, { state: "active", from: now });
}

function drawn(steps: Step[], options: OutputOptions, stream: NodeJS.WriteStream): StepView {
  const view = createLiveView(stream);
  const paint = createPaint(options, stream);
  const width = Math.max(...steps.map(({ label }) => label.length)) + 2;
  const lines: string[] = [];
  const started = performance.now();
  const marks: Record<Step["state"], () => string> = {
    waiting: () => paint("dim", "·"),
    active: () => paint("cyan", spinnerAt(performance.now() - started)),
    done: () => paint("green", "✓"),
    failed: () => paint("red", "✗"),
    skipped: () => paint("dim", "–"),
  };
  const lineOf = (step: Step): string => {
    const { label, state, note, from } = step;
    const time =
      state === "waiting" || state === "skipped"
        ? ""
        : formatDuration((state === "active" ? performance.now() : step.to) - from);
    const style: Style =
      state === "waiting" || state === "skipped" ? "dim" : state === "failed" ? "red" : "bold";
    const room = view.width - 4 - width - 10;
    const text = fitText(note, Math.max(0, room));
    return `${marks[state]()} ${paint(style, padText(label, width))}${padText(time, 9)}${paint("dim", text)}`.trimEnd();
  };
  const draw = () => {
    const active = steps.some(({ state }) => state === "active");
    const room = Math.min(shownLines, Math.max(0, view.height - steps.length - 2));
    const tail = active && room > 0 ? lines.slice(-room) : [];
    view.draw([
      ...steps.map(lineOf),
      ...tail.map((line) => paint("dim", `  │ ${fitText(line, view.width - 5)}`)),
    ]);
  };
  const timer = setInterval(draw, frameMs);
  draw();
  let closed = false;
  const current = () => steps.find(({ state }) => state === "active");
  return {
    isLogShown: false,
    begin(label, note = "") {
      const step = move(steps, label, performance.now());
      if (step) step.note = plainLine(note);
      draw();
    },
    note(text) {
      const step = current();
      if (step) step.note = plainLine(text);
    },
    log(line) {
      const text = plainLine(line);
      if (text === "") return;
      lines.push(text);
      if (lines.length > shownLines) lines.shift();
    },
    end(state, note) {
      const step = current();
      if (step) Object.assign(step, { state, to: performance.now(), note: plainLine(note ?? step.note) });
    },
    close() {
      if (closed) return;
      closed = true;
      clearInterval(timer);
      for (const step of steps.filter(({ state }) => state === "active")) step.to = performance.now();
      draw();
      view.close();
    },
  };
}

function printed(steps: Step[], stream: NodeJS.WriteStream): StepView {
  let last = "";
  const print = (text: string) => {
    if (text !== last) stream.write(`${text}\n`);
    last = text;
  };
  return {
    isLogShown: true,
    begin(label, note = "") {
      if (move(steps, label, performance.now()))
        print(note === "" ? `${label}…` : `${label}: ${plainLine(note)}`);
    },
    note(text) {
      const step = steps.find(({ state }) => state === "active");
      print(`${step?.label ?? ""}: ${plainLine(text)}`);
    },
    log(line) {
      const text = plainLine(line);
      if (text !== "") print(`  | ${text}`);
    },
    end(state, note) {
      const step = steps.find((each) => each.state === "active");
      if (!step) return;
      Object.assign(step, { state, to: performance.now() });
      const time = formatDuration(step.to - step.from);
      print(
        `${step.label}: ${state === "done" ? `done in ${time}` : `failed after ${time}`}${note ? `. ${plainLine(note)}` : ""}`,
      );
    },
    close() {},
  };
}
