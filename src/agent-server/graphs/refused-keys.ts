import type { ProjectConfig } from "./project-config.ts";

/** Keys of a project that would keep its data in a way this server does not have: it is not kept in another. */
export function refusedKeys({ file }: Pick<ProjectConfig, "file">): { key: string; instead: string }[] {
  return [
    ...(file.encryption?.path
      ? [{ key: "encryption.path", instead: "data would be stored unencrypted" }]
      : []),
    ...(file.checkpointer?.path
      ? [{ key: "checkpointer.path", instead: "checkpoints are kept in this server's own database" }]
      : []),
  ];
}
