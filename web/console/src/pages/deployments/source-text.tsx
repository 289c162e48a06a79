import type { Deployment } from "./deployment-api.ts";

const sourceWords: Readonly<Record<string, string>> = {
  internal_source: "uploaded source",
  internal_template: "template",
  external_docker: "container image",
  internal_docker: "container image",
};

/** Where the code comes from, short. */
export function SourceText({
  deployment,
}: {
  deployment: Pick<Deployment, "source" | "source_config" | "source_revision_config">;
}) {
  const { source, source_config: config, source_revision_config: revision } = deployment;
  if (config.repo_url === null || revision.source_tarball_path !== null) {
    const from = source === "github" ? "internal_source" : source;
    return <span className="muted">{revision.image_uri ?? sourceWords[from] ?? from}</span>;
  }
  const short = config.repo_url.replace(/^(https?|ssh|file):\/\//, "").replace(/\.git$/, "");
  return (
    <span className="source" title={config.repo_url}>
      <span className="break">{short}</span>
      {revision.repo_ref && <code>{revision.repo_ref}</code>}
    </span>
  );
}

export function Commit({ sha }: { sha: string | null }) {
  if (sha === null) return <span className="muted">–</span>;
  return <code title={sha}>{sha.slice(0, 10)}</code>;
}
