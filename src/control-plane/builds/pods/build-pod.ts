import { z } from "zod";
import { plainLine } from "../../logs/log.ts";

/** The instructions for a pod, beside its source. */
export const buildWork = z.object({
  revision_id: z.string(),
  config_path: z.string(),
  install_command: z.string().nullable(),
  build_command: z.string().nullable(),
  timeout_ms: z.number(),
  max_bytes: z.number(),
});
export type BuildWork = z.infer<typeof buildWork>;

/** What the platform keeps of it for itself: the pod may say nothing about these. */
export type OwnWork = BuildWork & {
  source: { sha256: string; bytes: number };
  artifact_key: string;
  commit_sha: string | null;
  uses_own_auth: boolean;
  /** Those that the project file names. */
  files: string[];
};

const mostLines = 500;
const longestLine = 20_000;
/** The end of what a tool printed is what explains a failure. */
export const toldLines = 1_000;
const told = z.string().max(64_000);
/** Whoever sends it splits it: a few bytes more here would be a row each in the log. */
const oneLine = z
  .string()
  .max(longestLine)
  .regex(/^[^\n]*$/, "must be one line: split it at its line breaks");

/** Which of the batches of one process it is: one that arrives again, or after a later one of the same process, is stored already. */
const batch = z.object({ sender: z.guid(), number: z.number().int().min(1).max(2_147_483_647) });
export type LineBatch = z.infer<typeof batch>;

/** A line with `progress` also says how far the build is. Pods of older versions do not number what they send. */
export const buildLines = z.object({
  batch: batch.optional(),
  lines: z
    .array(
      z.object({
        text: oneLine,
        origin: z.enum(["platform", "project"]),
        progress: z.number().int().min(25).max(60).optional(),
      }),
    )
    .max(mostLines),
});
export type BuildLine = z.infer<typeof buildLines>["lines"][number];
export const lineLimits = { mostLines, longestLine };
/** Of the log of one build, beside the lines that are kept of a log. */
export const mostLogBytes = 64 * 1024 * 1024;
/** What a pod hears whose build has stored as much as it may. */
export const logFullCode = "build.log_full";

export const buildFailure = z.object({
  message: told,
  tool: z
    .object({
      output: z.array(oneLine).max(toldLines),
      reason: told.nullable(),
      isLogged: z.boolean().optional().describe("The log has the output already. Older pods do not say it."),
    })
    .nullable(),
});
export type BuildFailure = z.infer<typeof buildFailure>;

/** How the build in a pod ended, as its pod says. */
export type BuildReport =
  | { kind: "built"; attempt: string; sha256: string; bytes: number }
  | ({ kind: "failed" } & BuildFailure);

export type BuildPod = {
  id: string;
  revision_id: string;
  deployment_id: string;
  workspace_id: string;
  token_sealed: string;
  work: OwnWork;
  report: BuildReport | null;
};

type BlobOwner = Pick<BuildPod, "id" | "revision_id">;
/** What a pod fetches and hands in; not where builds on this machine are, which is `builds/`. */
export const podBlobPrefix = (revisionId: string) => `pod-builds/${revisionId}/`;
export const sourceBlobKey = ({ id, revision_id }: BlobOwner) =>
  `${podBlobPrefix(revision_id)}${id}-source.tar.zst`;
/** Each attempt to hand it in has a blob of its own: another may be on its way to another server. */
export const resultBlobKey = ({ id, revision_id }: BlobOwner, attempt: string) =>
  `${podBlobPrefix(revision_id)}${id}-${attempt}-result.tar.zst`;

/** Without what no log stores. */
export function plainFailure({ message, tool }: BuildFailure): BuildFailure {
  const plain = (text: string) => text.split("\n").map(plainLine).join("\n");
  return {
    message: plain(message),
    tool: tool && {
      ...tool,
      output: tool.output.map(plainLine),
      reason: tool.reason && plain(tool.reason),
    },
  };
}
