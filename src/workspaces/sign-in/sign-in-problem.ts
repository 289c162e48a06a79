/**
 * Why somebody came back from the provider without being signed in. The sign-in page has words for each, so they are
 * part of what the server and that page agree on.
 */
export const signInProblems = [
  "provider_unreachable",
  "provider_refused",
  "denied",
  "expired",
  "clock",
  "email_missing",
  "email_unverified",
  "identity_taken",
  "no_role",
] as const;
export type SignInProblemName = (typeof signInProblems)[number];

export class SignInProblem extends Error {
  readonly problem: SignInProblemName;

  /** `detail` is for the log: it may name what a stranger should not read. */
  constructor(problem: SignInProblemName, detail: string, cause?: unknown) {
    super(detail, { cause });
    this.name = "SignInProblem";
    this.problem = problem;
  }
}
