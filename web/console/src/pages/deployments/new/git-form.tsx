import { useState } from "react";
import { ApiError } from "../../../api/client.ts";
import { Card, Field, Input, type Problems, Select, Textarea, useForm } from "../../../ui/index.ts";
import { suggestName } from "../form-rules.ts";
import { type SecretRow, secretsOf, secretsProblem } from "../secrets-editor.tsx";
import { useIntegrations } from "../use-integrations.ts";
import { refusalsIn } from "./common-values.ts";
import { credentialFor } from "./credential-host.ts";
import { DeployActions, DeploymentFields } from "./deployment-fields.tsx";
import { BuildOnPush, checkGit, GitFields, noGit } from "./git-fields.tsx";
import { type Access, type GitValues, useGitDeploy } from "./use-git-deploy.ts";

const publicValue = "public";
const typedValue = "typed";
type Values = GitValues & { access: string; credential: string };

const empty: Values = { ...noGit, access: publicValue, credential: "" };

export function GitForm() {
  const [secrets, setSecrets] = useState<SecretRow[]>([]);
  const [named, setNamed] = useState(false);
  const integrations = useIntegrations();
  const create = useGitDeploy();
  const form = useForm<Values>({
    start: empty,
    check,
    refused: create.error instanceof ApiError ? (refusalsIn(create.error.fields) as Problems<Values>) : {},
    judge: "when changed",
    isBlocked: Boolean(secretsProblem(secrets)),
    send: (values) => create.mutate({ values, access: accessOf(values), secrets: secretsOf(secrets) }),
  });
  const { values, set, follow, text, problem } = form;
  const isSsh = credentialFor(values.repoUrl)?.kind === "ssh_private_key";
  return (
    <form className="stack" onSubmit={form.submit} noValidate>
      <Card className="stack">
        <h2>Git URL</h2>
        <Field label="Repository" hint="The address for git clone." error={problem("repoUrl")}>
          <Input
            inputMode="url"
            spellCheck={false}
            placeholder="https://github.com/you/your-agent"
            value={values.repoUrl}
            onChange={(event) => {
              set({ repoUrl: event.target.value });
              if (!named) follow({ name: suggestName(event.target.value) });
            }}
            autoFocus
          />
        </Field>
        <GitFields {...{ text, problem }} />
        <Field label="Access" hint="Whose credentials clone the repository.">
          <Select
            {...text("access")}
            options={[
              { value: publicValue, label: "Public: no credentials" },
              {
                value: typedValue,
                label: isSsh ? "Private: a key typed here" : "Private: a token typed here",
              },
              ...integrations.map(({ id, name }) => ({ value: id, label: `Integration ${name}` })),
            ]}
          />
        </Field>
        {values.access === typedValue && (
          <Field
            label={isSsh ? "SSH private key" : "Access token"}
            hint="It may read the repository. It is stored encrypted for this host and never shown again."
            error={problem("credential")}
          >
            {isSsh ? (
              <Textarea className="mono" spellCheck={false} {...text("credential")} />
            ) : (
              <Input
                className="mono"
                type="password"
                autoComplete="new-password"
                spellCheck={false}
                {...text("credential")}
              />
            )}
          </Field>
        )}
        <BuildOnPush checked={values.buildOnPush} onChange={(buildOnPush) => set({ buildOnPush })} />
      </Card>
      <DeploymentFields
        {...{ text, problem, secrets }}
        onName={(name) => {
          setNamed(true);
          set({ name });
        }}
        onSecrets={setSecrets}
      />
      <DeployActions error={create.error} busy={create.isPending} />
    </form>
  );
}

function check(values: Values): Problems<Values> {
  const isMissing = values.access === typedValue && values.credential.trim() === "";
  return { ...checkGit(values), credential: isMissing ? "Paste the token or key, or choose Public." : null };
}

function accessOf({ access, credential }: Values): Access {
  if (access === publicValue) return { kind: "public" };
  // A key ends with a line's end; without it OpenSSH does not read it.
  return access === typedValue
    ? { kind: "typed", secret: credential.includes("\n") ? `${credential.trim()}\n` : credential.trim() }
    : { kind: "integration", id: access };
}
