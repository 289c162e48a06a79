import { AppError } from "../../../platform/errors.ts";
import type { GitCredentials } from "../build-request.ts";
import { StepFailed } from "../build-step.ts";

type Asked = { url: string; ref: string | null; credentials: GitCredentials };

export function sourceRefused(message: string): AppError {
  return new AppError({ code: "build.source_refused", kind: "invalid", message });
}

export async function explained<T>(asked: Asked, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StepFailed) throw sourceRefused(gitProblem(asked, error.tail(8)));
    throw error;
  }
}

/** git's words, turned into what to do. */
function gitProblem({ url, ref, credentials }: Asked, output: string): string {
  if (/No space left|Out of diskspace|unable to write file/i.test(output)) {
    return "The disk of this machine is full. Free some space and deploy again.";
  }
  if (/REMOTE HOST IDENTIFICATION HAS CHANGED|Host key verification failed/i.test(output)) {
    return `The host key of ${url} has changed: somebody may be intercepting the connection. If the host has really changed its key, an operator must remove the old one from known-hosts in the data folder.`;
  }
  if (
    /Authentication failed|could not read Username|terminal prompts disabled|HTTP Basic: Access denied|error: 401|error: 403|Permission denied/i.test(
      output,
    )
  ) {
    return credentials === null
      ? `${url} needs a credential. Create an integration with a token for it and send its id as integration_id.`
      : `${url} refused the credential of the integration. Check that its token is valid and may read the repository.`;
  }
  if (/not found|does not exist|does not appear to be a git repository|error: 404/i.test(output)) {
    return `${url} is not a git repository, or the credential may not see it. Check repo_url and integration_id.`;
  }
  if (
    /Could not resolve host|Failed to connect|Connection refused|timed out|Couldn't connect|unable to access/i.test(
      output,
    )
  ) {
    return `${url} cannot be reached. Check repo_url, the network and the name of the host.\n${output}`;
  }
  if (
    /unadvertised object|not our ref|reference is not a tree|did not match|bad object|upload-pack: not our ref/i.test(
      output,
    )
  ) {
    return `${url} has no commit ${ref}. Check repo_ref.`;
  }
  return `git could not read ${url}:\n${output}`;
}
