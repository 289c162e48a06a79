import { copyFile, mkdir, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { runCommand } from "./run-command.ts";

/** The shared libraries a program loads, with the loader itself. */
async function librariesOf(program: string): Promise<string[]> {
  const { stdout } = await runCommand("ldd", [program]);
  return [...stdout.matchAll(/(\/\S+) \(0x/g)].map((match) => match[1]!);
}

/**
 * Fills `root` with a file system that runs the given programs of this machine: no registry is needed.
 * Programs go to /usr/bin, libraries keep their paths because programs look for them there.
 */
export async function fillContainerRoot(root: string, programs: string[]): Promise<void> {
  for (const folder of ["bin", "etc", "usr/bin", "tmp", "root"]) {
    await mkdir(join(root, folder), { recursive: true });
  }
  const libraries = new Set((await Promise.all(programs.map(librariesOf))).flat());
  for (const library of libraries) {
    await mkdir(join(root, dirname(library)), { recursive: true });
    await copyFile(library, join(root, library));
  }
  for (const program of programs) await copyFile(program, join(root, "usr/bin", basename(program)));
  await copyFile("/bin/sh", join(root, "bin/sh")); // build steps and shell-form commands look for it here
  await writeFile(
    join(root, "etc/passwd"),
    "root:x:0:0:root:/root:/bin/sh\nnode:x:1000:1000::/tmp:/bin/sh\n",
  );
  await writeFile(join(root, "etc/group"), "root:x:0:\nnode:x:1000:\n");
  // Without it names such as localhost are asked of a name server that does not exist.
  await writeFile(join(root, "etc/nsswitch.conf"), "hosts: files dns\n");
}
