// Plain JavaScript for any Node, as the file beside it.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

const secretName =
  /(API_KEY|PLATFORM_KEY|SECRET|SECRET_KEY|ACCESS_KEY|PRIVATE_KEY|TOKEN|PASSWORD|PASSPHRASE|CREDENTIALS)$|^(DATABASE_UR[LI]|POSTGRES_URI(_CUSTOM)?)$/i;
const urlWithPassword = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*:[^/?#]*@/i;
// Node reads these before any code of ours runs.
const readByNode = /^(NODE_.*|.*_proxy)$/i;
const placeName = "TREADLE_HANDED_OVER";

function isSecret(name, value) {
  return !readByNode.test(name) && (secretName.test(name) || urlWithPassword.test(value));
}

/**
 * The environment a process was started with stays readable in /proc for its whole life, whatever it deletes later.
 * So a server begins without secrets, and takes them from a file that it removes.
 */
export function withoutSecrets(environment) {
  const entries = Object.entries(environment);
  const secrets = entries.filter(([name, value]) => isSecret(name, value));
  if (secrets.length === 0) return environment;
  const rest = Object.fromEntries(entries.filter(([name, value]) => !isSecret(name, value)));
  const file = join(makeFolder(), "environment");
  writeFileSync(file, JSON.stringify(Object.fromEntries(secrets)), { mode: 0o600 });
  return Object.assign(rest, { [placeName]: file });
}

/** In memory where there is such a place; only this user may enter it. */
function makeFolder() {
  try {
    return mkdtempSync("/dev/shm/treadle-");
  } catch {
    return mkdtempSync(join(tmpdir(), "treadle-"));
  }
}

/** Into this process's own memory. */
export function takeSecrets() {
  const file = process.env[placeName];
  if (file === undefined) return;
  delete process.env[placeName];
  Object.assign(process.env, JSON.parse(readFileSync(file, "utf8")));
  discardSecrets({ [placeName]: file });
}

/** For an environment that nobody was started with after all. */
export function discardSecrets(environment) {
  if (environment[placeName] !== undefined)
    rmSync(dirname(environment[placeName]), { recursive: true, force: true });
}
