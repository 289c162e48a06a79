import type { Command } from "commander";

/** Only for pods of the Kubernetes runtime, which begin with it. */
export function register(program: Command): void {
  const artifact = program.command("artifact", { hidden: true }).description("what a build made");
  artifact
    .command("fetch")
    .description("fetch a build into a folder")
    .argument("<url>", "its address")
    .argument("<folder>", "where it is unpacked")
    .requiredOption("--token-file <file>", "the file with the token that may fetch it")
    .action(async (url: string, folder: string, { tokenFile }: { tokenFile: string }) => {
      const { fetchArtifact } = await import("./fetch-artifact.ts");
      await fetchArtifact({ url, folder, tokenFile });
    });
  artifact
    .command("build")
    .description("build what the platform says")
    .argument("<url>", "the build's address")
    .argument("<folder>", "where it is built")
    .requiredOption("--token-file <file>", "the file with the token of the build")
    .requiredOption("--environment-file <file>", "the file with the environment of its commands, as JSON")
    .action(async (url: string, folder: string, files: { tokenFile: string; environmentFile: string }) => {
      const { buildArtifact } = await import("./build-artifact.ts");
      if (!(await buildArtifact({ url, folder, ...files }))) process.exitCode = 1;
    });
}
