import { Checkbox, Field, Input } from "../../../ui/index.ts";
import { configPathProblem, refProblem, repoProblem } from "../form-rules.ts";
import { checkCommon, noCommon } from "./common-values.ts";
import type { GitValues } from "./use-git-deploy.ts";

export const noGit: GitValues = {
  ...noCommon,
  repoUrl: "",
  repoRef: "main",
  configPath: "langgraph.json",
  buildOnPush: false,
};

export function checkGit(values: GitValues) {
  return {
    ...checkCommon(values),
    repoUrl: repoProblem(values.repoUrl),
    repoRef: refProblem(values.repoRef),
    configPath: configPathProblem(values.configPath),
  };
}

type Names = "repoRef" | "configPath";

/** Which part of a repository is deployed. */
export function GitFields(props: {
  text(name: Names): { value: string; onChange(event: { target: { value: string } }): void };
  problem(name: Names): string | null | undefined;
}) {
  const { text, problem } = props;
  return (
    <div className="columns">
      <Field label="Branch, tag or commit" error={problem("repoRef")}>
        <Input spellCheck={false} {...text("repoRef")} />
      </Field>
      <Field label="Configuration file" error={problem("configPath")}>
        <Input spellCheck={false} {...text("configPath")} />
      </Field>
    </div>
  );
}

export function BuildOnPush({ checked, onChange }: { checked: boolean; onChange(checked: boolean): void }) {
  return (
    <Checkbox
      label="Build when the branch moves"
      hint="Each new commit becomes a revision by itself."
      checked={checked}
      onChange={(event) => onChange(event.target.checked)}
    />
  );
}
