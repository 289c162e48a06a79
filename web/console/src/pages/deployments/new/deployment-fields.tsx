import { useListeners } from "../../../api/use-listeners.ts";
import { Button, ButtonLink, Card, ErrorLine, Field, Input, Progress, Select } from "../../../ui/index.ts";
import { type SecretRow, SecretsEditor } from "../secrets-editor.tsx";
import type { Common } from "./common-values.ts";
import type { Stage } from "./use-archive-deploy.ts";

const types = [
  { value: "dev", label: "Development" },
  { value: "prod", label: "Production" },
];

export type DeploymentFieldsProps = {
  text(name: keyof Common): { value: string; onChange(event: { target: { value: string } }): void };
  problem(name: keyof Common): string | null | undefined;
  onName(name: string): void;
  secrets: readonly SecretRow[];
  onSecrets(rows: SecretRow[]): void;
  /** What else belongs to it, such as when it is built. */
  children?: React.ReactNode;
};

/** The fields of every deployment, with any source of its code. */
export function DeploymentFields(props: DeploymentFieldsProps) {
  const { text, problem, onName, secrets, onSecrets, children } = props;
  return (
    <Card className="stack">
      <h2>Deployment</h2>
      <div className="columns">
        <Field label="Name" error={problem("name")}>
          <Input
            spellCheck={false}
            value={text("name").value}
            onChange={(event) => onName(event.target.value)}
          />
        </Field>
        <Field label="Type">
          <Select {...text("type")} options={types} />
        </Field>
      </div>
      <ListenerField {...text("listener")} />
      {children}
      <SecretsEditor rows={secrets} onChange={onSecrets} />
      <details className="more">
        <summary>Build commands</summary>
        <div className="columns">
          <Field
            label="Install command"
            optional
            hint="Default: by the lock file."
            error={problem("installCommand")}
          >
            <Input className="mono" spellCheck={false} placeholder="npm ci" {...text("installCommand")} />
          </Field>
          <Field label="Build command" optional hint="Default: none." error={problem("buildCommand")}>
            <Input
              className="mono"
              spellCheck={false}
              placeholder="npm run build"
              {...text("buildCommand")}
            />
          </Field>
        </div>
      </details>
    </Card>
  );
}

/** Only where the workspace has listeners: most run everything here. */
function ListenerField(field: ReturnType<DeploymentFieldsProps["text"]>) {
  const listeners = useListeners().data?.resources ?? [];
  if (listeners.length === 0) return null;
  const options = listeners.map(({ id, compute_id, presence }) => ({
    value: id,
    label:
      presence === "alive"
        ? compute_id
        : `${compute_id} (${presence === "never" ? "not started yet" : "away"})`,
  }));
  return (
    <Field label="Runs on" hint="A listener runs it in its own network. It cannot be changed later.">
      <Select {...field} options={[{ value: "", label: "This server" }, ...options]} />
    </Field>
  );
}

/** The end of each form: what went wrong, how far it is, and the button. */
export function DeployActions({
  error,
  busy,
  stage = null,
  back = "/deployments",
}: {
  error: unknown;
  busy: boolean;
  stage?: Stage | null;
  /** Where one comes from. */
  back?: string;
}) {
  return (
    <>
      <ErrorLine error={error} />
      {stage && (
        <div className="stage" role="status">
          <span>{stage.words}</span>
          <Progress label={stage.words} value={stage.done} />
        </div>
      )}
      <div className="row">
        <Button type="submit" look="primary" busy={busy}>
          Deploy
        </Button>
        <ButtonLink href={back} look="quiet">
          Cancel
        </ButtonLink>
      </div>
    </>
  );
}
