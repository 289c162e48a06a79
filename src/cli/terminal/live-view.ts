/** Lines at the bottom of a terminal that are drawn again in place. */
export type LiveView = {
  width: number;
  height: number;
  draw(lines: readonly string[]): void;
  /** Leaves the last lines standing and gives the cursor back. */
  close(): void;
};

const hideCursor = "\u001b[?25l";
const showCursor = "\u001b[?25h";

export function createLiveView(stream: NodeJS.WriteStream): LiveView {
  let drawn = 0;
  let open = false;
  const close = () => {
    if (!open) return;
    open = false;
    process.off("exit", close);
    stream.write(showCursor);
  };
  return {
    get width() {
      return stream.columns || 80;
    },
    get height() {
      return stream.rows || 24;
    },
    draw(lines) {
      if (!open) {
        open = true;
        // However the process ends, the cursor must be shown again.
        process.once("exit", close);
        stream.write(hideCursor);
      }
      const back = drawn > 0 ? `\u001b[${drawn}A` : "";
      const text = lines.map((line) => `${line}\u001b[K\n`).join("");
      stream.write(`${back}\r${text}\u001b[J`);
      drawn = lines.length;
    },
    close,
  };
}

export const spinnerFrames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"] as const;
export const frameMs = 100;

export function spinnerAt(ms: number): string {
  return spinnerFrames[Math.floor(ms / frameMs) % spinnerFrames.length] ?? "";
}

/** `━━━━━━────  60 %` in so many columns. */
export function progressBar(share: number, width: number): { done: string; rest: string } {
  const full = Math.round(Math.min(1, Math.max(0, share)) * width);
  return { done: "━".repeat(full), rest: "─".repeat(width - full) };
}
