import { spawn } from "node:child_process";

export interface CommandOptions {
  cwd?: string;
  /** Added to the environment of this process. */
  env?: Record<string, string>;
  input?: string | Uint8Array;
  timeoutMs?: number;
}

export interface CommandResult {
  stdout: string;
  stderr: string;
}

/** Runs a command to its end; a failure carries the last lines it wrote. */
export function runCommand(
  command: string,
  args: string[],
  options: CommandOptions = {},
): Promise<CommandResult> {
  const timeoutMs = options.timeoutMs ?? 60_000;
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: options.cwd,
      env: { ...process.env, ...options.env },
      stdio: ["pipe", "pipe", "pipe"],
    });
    const stdout: Buffer[] = [];
    const stderr: Buffer[] = [];
    child.stdout.on("data", (chunk: Buffer) => stdout.push(chunk));
    child.stderr.on("data", (chunk: Buffer) => stderr.push(chunk));
    child.stdin.on("error", () => {}); // the exit code shows why it stopped reading
    child.stdin.end(options.input);
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      child.kill("SIGKILL");
    }, timeoutMs);
    child.once("error", (error) => {
      clearTimeout(timer);
      reject(new Error(`Could not start "${command}": ${error.message}. Is it installed?`, { cause: error }));
    });
    child.once("close", (code, signal) => {
      clearTimeout(timer);
      const result = {
        stdout: Buffer.concat(stdout).toString("utf8"),
        stderr: Buffer.concat(stderr).toString("utf8"),
      };
      if (code === 0) return resolve(result);
      const ending = timedOut
        ? `was ended after ${timeoutMs} ms`
        : `failed (${signal ?? `exit code ${code}`})`;
      const lastLines = `${result.stdout}${result.stderr}`.trimEnd().split("\n").slice(-20).join("\n");
      reject(new Error(`"${[command, ...args].join(" ")}" ${ending}:\n${lastLines}`));
    });
  });
}
