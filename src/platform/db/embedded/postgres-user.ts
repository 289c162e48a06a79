import { execFile } from "node:child_process";
import { stat } from "node:fs/promises";
import { promisify } from "node:util";
import { AppError } from "../../errors.ts";

const run = promisify(execFile);

/** The user Postgres runs as; undefined when it is the user that runs Treadle. */
export type PostgresUser = { name: string; uid: number; gid: number };

export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/**
 * Postgres refuses to run as root. An existing folder keeps its owner, so that starting once as root
 * does not take the data away from the user it belongs to.
 */
export async function choosePostgresUser(existingFolder: string): Promise<PostgresUser | undefined> {
  if (!isRoot()) return undefined;
  const owner = await stat(existingFolder).catch(() => undefined);
  const known = owner === undefined || owner.uid === 0 ? undefined : await findUser(String(owner.uid));
  if (known !== undefined) return known;
  const found =
    (await findUser("treadle")) ??
    (await findUser("postgres")) ??
    (await createUser()) ??
    (await findUser("nobody"));
  if (found !== undefined) return found;
  throw new AppError({
    code: "database.start_failed",
    kind: "unavailable",
    retryable: false,
    message:
      "PostgreSQL does not run as root, and this machine has no other user for it. Create one (useradd --system treadle), start Treadle as another user, or set DATABASE_URL.",
  });
}

/** By name or number. */
async function findUser(name: string): Promise<PostgresUser | undefined> {
  try {
    const [named, uid, gid] = await Promise.all(
      ["-un", "-u", "-g"].map(async (option) => (await run("id", [option, name])).stdout.trim()),
    );
    const user = { name: named ?? name, uid: Number(uid), gid: Number(gid) };
    return user.uid > 0 && user.gid > 0 ? user : undefined;
  } catch {
    // No such user; initdb would refuse a number without a name, too.
    return undefined;
  }
}

async function createUser(): Promise<PostgresUser | undefined> {
  const options = ["--system", "--user-group", "--no-create-home", "--shell", "/usr/sbin/nologin"];
  // Absent or forbidden in small containers; the next choice is then taken.
  await run("useradd", [...options, "treadle"]).catch(() => undefined);
  return findUser("treadle");
}
