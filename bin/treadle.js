#!/usr/bin/env node
// Plain JavaScript on purpose: this file must load on any Node, to say or to fix that the rest cannot.
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import * as module from "node:module";
import { constants } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { setFlagsFromString } from "node:v8";
import { forgetArenas, withFewArenas } from "./allocator.js";
import { findEntry } from "./find-entry.js";
import { discardSecrets, takeSecrets, withoutSecrets } from "./secret-handover.js";

const oldest = [22, 18];
// Half of what Node takes by default: 45 MB less for an idle server, and the flag only works at start.
const memoryFlag = "--max-semi-space-size";
const growthFlag = "--heap-growing-percent";
const serverFlags = [`${memoryFlag}=16`];
const root = dirname(dirname(fileURLToPath(import.meta.url)));

function isRecentEnough(version) {
  const parts = version.split(".").map(Number);
  return parts[0] > oldest[0] || (parts[0] === oldest[0] && parts[1] >= oldest[1]);
}

/** The Node that the `node` package brought along, or null when its install script did not run. */
function findPinnedNode() {
  try {
    const manifest = module.createRequire(import.meta.url).resolve("node/package.json");
    if (!isRecentEnough(JSON.parse(readFileSync(manifest, "utf8")).version)) return null;
    const binary = join(dirname(manifest), "bin", process.platform === "win32" ? "node.exe" : "node");
    return existsSync(binary) ? binary : null;
  } catch (error) {
    if (error.code === "MODULE_NOT_FOUND") return null;
    throw error;
  }
}

const valueOptions = ["--data-dir", "--url", "--api-key", "--workspace", "--profile"];

/** The first word that is neither an option nor an option's value. */
const command = process.argv
  .slice(2)
  .find((word, place, words) => !word.startsWith("-") && !valueOptions.includes(words[place - 1]));
const isServer = ["up", "listener", "agent", "dev"].includes(command);

/** Somebody's own choice of a flag of Node stays. */
function isChosen(flag) {
  return process.execArgv
    .concat(process.env.NODE_OPTIONS || "")
    .join(" ")
    .includes(flag);
}

/**
 * By itself V8 lets the old objects of a server grow fourfold before it collects them, and keeps the buffers they hold:
 * 110 MB more after load. Twice costs some 3 % of the processor time of a run.
 */
function growSlowly() {
  const executes = isServer || command === "worker";
  if (executes && !isChosen(growthFlag)) setFlagsFromString(`${growthFlag}=100`);
}

/** An agent's environment is its project's own. */
function serverEnvironment() {
  if (!isServer) return process.env;
  const isPlatform = command === "up" || command === "listener";
  const hides = isPlatform && process.platform !== "win32";
  return withFewArenas(hides ? withoutSecrets(process.env) : process.env);
}

/** Begins again in the same process, with the server's flags and without secrets in its environment. */
function beginAgain() {
  const possible = typeof process.execve === "function" && process.platform !== "win32" && !process.send;
  if (!possible || !isServer) return;
  const flags = isChosen(memoryFlag) ? [] : serverFlags;
  const environment = serverEnvironment();
  if (flags.length === 0 && environment === process.env) return;
  const rest = [fileURLToPath(import.meta.url)].concat(process.argv.slice(2));
  process.execve(process.execPath, [process.execPath].concat(process.execArgv, flags, rest), environment);
}

function runWith(binary) {
  const flags = isServer ? serverFlags : [];
  const environment = serverEnvironment();
  const child = spawn(binary, flags.concat(fileURLToPath(import.meta.url), process.argv.slice(2)), {
    env: environment,
    // The fourth channel carries nothing: it closes when this process dies, and the child then stops too.
    stdio: ["inherit", "inherit", "inherit", "ipc"],
  });
  ["SIGINT", "SIGTERM", "SIGHUP"].forEach((signal) => {
    process.on(signal, () => child.kill(signal));
  });
  child.on("error", (error) => {
    discardSecrets(environment);
    console.error(
      `Treadle could not start ${binary}: ${error.message}\nRun \`npm rebuild node\` and try again.`,
    );
    process.exit(1);
  });
  child.on("exit", (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));
}

if (isRecentEnough(process.versions.node)) {
  beginAgain();
  takeSecrets();
  forgetArenas();
  growSlowly();
  if (module.enableCompileCache) module.enableCompileCache();
  const entry = findEntry(root);
  if (entry === undefined) {
    console.error(
      `Treadle is incomplete: neither src/main.ts nor dist/main.js is in ${root}. Install it again.`,
    );
    process.exit(1);
  }
  const { main } = await import(pathToFileURL(entry).href);
  await main(process.argv);
} else {
  const pinned = findPinnedNode();
  if (pinned) runWith(pinned);
  else {
    console.error(
      [
        `Treadle needs Node ${oldest.join(".")} or newer; this is Node ${process.versions.node}.`,
        "It normally brings its own, but that one is missing: packages were installed without their install scripts.",
        `Run \`npm rebuild node\` in ${root}, or install a newer Node (https://nodejs.org), and try again.`,
      ].join("\n"),
    );
    process.exit(1);
  }
}
