// Plain JavaScript for any Node, as the file beside it.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

const secretName =
  /(API_KEY|SECRET|SECRET_KEY|ACCESS_KEY|PRIVATE_KEY|TOKEN|PASSWORD|PASSPHRASE|CREDENTIALS)$|^(DATABASE_UR[LI]|POSTGRES_URI(_CUSTOM)?)$/i;
const placeName = "TREADLE_HANDED_OVER";
/** The descriptor after the launcher's channel. */
export const handoverDescriptor = 4;

/**
 * The environment a process was started with stays readable in /proc for its whole life, whatever it deletes later.
 * So a server is started without secrets, and gets them another way.
 */
export function splitEnvironment(environment) {
  const entries = Object.entries(environment);
  const secrets = Object.fromEntries(entries.filter(([name]) => secretName.test(name)));
  const rest = Object.fromEntries(entries.filter(([name]) => !secretName.test(name)));
  return Object.keys(secrets).length === 0 ? { secrets: null, rest } : { secrets, rest };
}

/** For a process that takes the place of this one: no descriptor stays open, so a file in memory that it removes. */
export function leaveInFile({ secrets, rest }) {
  if (secrets === null) return rest;
  const folder = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "treadle-"));
  const file = join(folder, "environment");
  writeFileSync(file, JSON.stringify(secrets), { mode: 0o600 });
  return { ...rest, [placeName]: file };
}

/** For a process that this one starts: written into its own descriptor. */
export function announceDescriptor({ secrets, rest }) {
  return secrets === null ? rest : { ...rest, [placeName]: String(handoverDescriptor) };
}

/** Takes what was handed over into this process's own memory. */
export function takeHandedOver() {
  const place = process.env[placeName];
  if (place === undefined) return;
  delete process.env[placeName];
  const isDescriptor = /^\d+$/.test(place);
  const text = readFileSync(isDescriptor ? Number(place) : place, "utf8");
  if (!isDescriptor) rmSync(dirname(place), { recursive: true });
  Object.assign(process.env, JSON.parse(text));
}
