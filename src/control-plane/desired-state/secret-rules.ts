export type Secret = { name: string; value: string };

export const secretMask = "********";

/** Variables the platform sets itself. */
const reserved = new Set(
  `LANGCHAIN_TRACING_V2 LANGSMITH_TRACING_V2 LANGCHAIN_ENDPOINT LANGCHAIN_PROJECT LANGSMITH_PROJECT
  LANGSMITH_LANGGRAPH_GIT_REPO LANGGRAPH_GIT_REPO_PATH LANGCHAIN_API_KEY LANGSMITH_CONTROL_PLANE_API_KEY POSTGRES_URI
  POSTGRES_PASSWORD DATABASE_URI LANGSMITH_LANGGRAPH_GIT_REF LANGSMITH_LANGGRAPH_GIT_REF_SHA LANGGRAPH_AUTH_TYPE
  LANGSMITH_AUTH_ENDPOINT LANGSMITH_TENANT_ID LANGSMITH_AUTH_VERIFY_TENANT_ID LANGSMITH_HOST_PROJECT_ID
  LANGSMITH_HOST_PROJECT_NAME LANGSMITH_HOST_REVISION_ID LOG_JSON LOG_DICT_TRACEBACKS REDIS_URI
  LANGCHAIN_CALLBACKS_BACKGROUND DD_TRACE_PSYCOPG_ENABLED DD_TRACE_REDIS_ENABLED LANGSMITH_DEPLOYMENT_NAME
  LANGGRAPH_CLOUD_LICENSE_KEY DATABASE_URL HOME NODE_OPTIONS LD_PRELOAD LD_LIBRARY_PATH`.split(/\s+/),
);

/** Set by the platform on a shared service; the operator of an own machine may set them. */
const reservedInCloud = new Set(
  `LANGSMITH_API_KEY LANGSMITH_ENDPOINT POSTGRES_URI_CUSTOM REDIS_URI_CUSTOM MOUNT_PREFIX LSD_ENV LSD_DD_API_KEY
  LSD_DD_ENDPOINT LSD_DEPLOYMENT_TYPE`.split(/\s+/),
);
/** These would move or break the server behind the gateway. */
const structural = new Set(["PATH", "PORT"]);

const namePattern = /^[A-Za-z_][A-Za-z0-9_]{0,254}$/;
const maxValueBytes = 64 * 1024;
const maxSecrets = 500;

/** What is wrong with a list of secrets, as places and sentences; empty when nothing is. */
export function secretProblems(
  secrets: readonly Secret[],
  edition: "self-hosted" | "cloud",
): { index: number; message: string }[] {
  const problems: { index: number; message: string }[] = [];
  const seen = new Set<string>();
  if (secrets.length > maxSecrets) {
    problems.push({ index: maxSecrets, message: `A deployment can have at most ${maxSecrets} secrets.` });
  }
  secrets.forEach(({ name, value }, index) => {
    const refuse = (message: string) => problems.push({ index, message });
    const problem = secretNameProblem(name);
    if (problem) refuse(problem);
    else if (isReserved(name, edition)) {
      refuse(`The secret name ${name} is reserved: the platform sets it. Choose another name.`);
    }
    if (seen.has(name)) refuse(`The secret ${name} is given twice.`);
    seen.add(name);
    if (value.includes("\0")) refuse(`The value of ${name} contains a NUL character.`);
    if (Buffer.byteLength(value) > maxValueBytes) {
      refuse(`The value of ${name} is larger than ${maxValueBytes} bytes.`);
    }
  });
  return problems;
}

export function secretNameProblem(name: string): string | null {
  if (namePattern.test(name)) return null;
  return `The secret name ${JSON.stringify(name)} must be letters, digits and underscores, not starting with a digit.`;
}

export function isReserved(name: string, edition: "self-hosted" | "cloud"): boolean {
  return (
    reserved.has(name) ||
    structural.has(name) ||
    name.startsWith("TREADLE_") ||
    (edition === "cloud" && reservedInCloud.has(name))
  );
}

/** A value that is the mask means "as before"; names that were unknown before cannot be kept. */
export function keepMasked(
  given: readonly Secret[],
  before: readonly Secret[],
): Secret[] | { unknown: string } {
  const known = new Map(before.map(({ name, value }) => [name, value]));
  const merged: Secret[] = [];
  for (const secret of given) {
    if (secret.value !== secretMask) merged.push(secret);
    else {
      const value = known.get(secret.name);
      if (value === undefined) return { unknown: secret.name };
      merged.push({ name: secret.name, value });
    }
  }
  return merged;
}

export function maskSecrets(secrets: readonly Secret[]): Secret[] {
  return secrets.map(({ name }) => ({ name, value: secretMask }));
}
