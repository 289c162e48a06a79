import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * `npm run test:python`: what needs Python packages of PyPI beside npm and Debian.
 * `--if-possible` prints when this machine cannot have them, and exits with 0.
 */
const packages = ["langsmith==0.14.17"];

type Ended = { code: number; output: string };

function run(command: string, args: string[], environment: Record<string, string> = {}): Promise<Ended> {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      stdio: ["ignore", "inherit", "pipe"],
      env: { ...process.env, ...environment },
    });
    let output = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      process.stderr.write(text);
      output = `${output}${text}`.slice(-2000);
    });
    child.on("error", (error) => resolve({ code: 1, output: error.message }));
    child.on("exit", (code) => resolve({ code: code ?? 1, output }));
  });
}

/** A Python with the packages, or why there is none. */
async function prepare(folder: string): Promise<string | undefined> {
  const made = await run("python3", ["-m", "venv", folder]);
  if (made.code !== 0) return `python3 -m venv failed: ${made.output.trim()}`;
  const pip = ["-m", "pip", "install", "-q", "--retries", "1", "--timeout", "15", ...packages];
  const installed = await run(join(folder, "bin", "python"), pip);
  return installed.code === 0
    ? undefined
    : `pip install ${packages.join(" ")} failed: ${installed.output.trim()}`;
}

const ifPossible = process.argv.includes("--if-possible");
const folder = await mkdtemp(join(tmpdir(), "treadle-python-"));
try {
  const trouble = await prepare(folder);
  if (trouble === undefined) {
    const environment = { TREADLE_TEST_PYTHON: join(folder, "bin", "python") };
    process.exitCode = (await run("vitest", ["run", "tests/python"], environment)).code;
  } else {
    console.error(`The Python tests are NOT run: ${trouble}`);
    process.exitCode = ifPossible ? 0 : 1;
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}
