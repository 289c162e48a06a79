type Environment = Readonly<Record<string, string | undefined>>;

/** Runs are traced by the graph library itself, as its environment says. */
export type LibraryTracing = {
  /** The one project its key may write to; undefined when it may write to any. */
  onlyProject?: string | undefined;
};

/** Undefined where the environment does not turn tracing on. The key of a deployment writes to one project. */
export function libraryTracing(
  environment: Environment,
  { isDeployed }: { isDeployed: boolean },
): LibraryTracing | undefined {
  const setting = (name: string) => environment[`LANGSMITH_${name}`] || environment[`LANGCHAIN_${name}`];
  if ((setting("TRACING_V2") ?? setting("TRACING")) !== "true") return undefined;
  return isDeployed ? { onlyProject: setting("PROJECT") ?? "default" } : {};
}
