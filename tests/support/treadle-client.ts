import { spawn } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { GitFiles } from "./components/git-repository.ts";
import { treadleBin } from "./treadle.ts";

export type ClientExit = { code: number | null; stdout: string; stderr: string };
export type ClientOptions = {
  cwd?: string;
  env?: Record<string, string>;
  /** Sent to its stdin; without it stdin is closed. */
  input?: string;
};
export type RunningClient = {
  /** What it has written so far, both streams. */
  text(): string;
  /** As keys pressed in its terminal. */
  type(text: string): void;
  exited: Promise<ClientExit>;
};

export type TreadleClient = {
  home: string;
  run(args: string[], options?: ClientOptions): Promise<ClientExit>;
  /** The parsed stdout of a command that must succeed. */
  json<T>(args: string[], options?: ClientOptions): Promise<T>;
  /** In a terminal of its own, so many columns wide; stdout holds both streams then. */
  terminal(args: string[], options?: ClientOptions & { columns?: number }): RunningClient;
};

/** The real command with a home of its own, so that nobody's profiles reach it. */
export function createClient(home: string, settings: Record<string, string> = {}): TreadleClient {
  const { PATH = "" } = process.env;
  const environment = (env: Record<string, string> = {}) => ({ PATH, HOME: home, ...settings, ...env });

  const run: TreadleClient["run"] = (args, options = {}) =>
    launch(process.execPath, [treadleBin, ...args], {
      cwd: options.cwd ?? home,
      env: environment(options.env),
      input: options.input ?? "",
    }).exited;

  return {
    home,
    run,
    async json<T>(args: string[], options?: ClientOptions) {
      const exit = await run([...args, "--json"], options);
      if (exit.code !== 0)
        throw new Error(`treadle ${args.join(" ")} ended with ${exit.code}:\n${exit.stderr}`);
      return JSON.parse(exit.stdout) as T;
    },
    terminal(args, options = {}) {
      const words = [process.execPath, treadleBin, ...args].map(
        (word) => `'${word.replaceAll("'", "'\\''")}'`,
      );
      const command = `stty cols ${options.columns ?? 100} rows 40; exec ${words.join(" ")}`;
      return launch("script", ["-qec", command, "/dev/null"], {
        cwd: options.cwd ?? home,
        env: environment({ TERM: "xterm-256color", SHELL: "/bin/bash", ...options.env }),
        ...(options.input === undefined ? {} : { input: options.input }),
      });
    },
  };
}

function launch(
  command: string,
  args: string[],
  options: { cwd: string; env: Record<string, string>; input?: string },
): RunningClient {
  const child = spawn(command, args, { cwd: options.cwd, env: options.env, stdio: ["pipe", "pipe", "pipe"] });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  // A command may end without reading its input; its exit code is the reason.
  child.stdin.on("error", () => undefined);
  if (options.input !== undefined) child.stdin.end(options.input);
  const exited = new Promise<ClientExit>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, stdout, stderr }));
  });
  return { text: () => stdout + stderr, type: (text) => void child.stdin.write(text), exited };
}

export async function writeProject(folder: string, files: GitFiles): Promise<string> {
  for (const [path, content] of Object.entries(files)) {
    if (content === null) continue;
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
  return folder;
}

/** What a terminal shows in the end, without colours: what was drawn over is gone. */
export function lastScreen(text: string): string {
  const lines: string[] = [];
  let row = 0;
  let atStart = true;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a terminal's own language
  for (const part of text.split(/(\u001b\[[0-9;?]*[A-Za-z]|\r|\n)/)) {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: a terminal's own language
    const up = /^\u001b\[(\d+)A$/.exec(part);
    if (up) row = Math.max(0, row - Number(up[1]));
    else if (part === "\n") row += 1;
    else if (part === "\u001b[J") lines.length = Math.min(lines.length, row);
    else if (part !== "" && part !== "\r" && !part.startsWith("\u001b")) {
      lines[row] = (atStart ? "" : (lines[row] ?? "")) + part;
      atStart = false;
    }
    if (part === "\n" || part === "\r" || up) atStart = true;
  }
  return Array.from(lines, (line) => line ?? "").join("\n");
}
