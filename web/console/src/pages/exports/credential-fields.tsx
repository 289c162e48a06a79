import { Field, Input } from "../../ui/index.ts";
import { keyProblem, secretProblem } from "./form-rules.ts";

export type Credentials = { key: string; secret: string; token: string };
export const noCredentials: Credentials = { key: "", secret: "", token: "" };

export function credentialsBody({ key, secret, token }: Credentials) {
  return {
    access_key_id: key.trim(),
    secret_access_key: secret,
    ...(token.trim() === "" ? {} : { session_token: token.trim() }),
  };
}

export type CredentialProblems = Partial<Record<keyof Credentials, string | null | undefined>>;

export function credentialProblems({ key, secret }: Credentials): CredentialProblems {
  return { key: keyProblem(key, secret), secret: secretProblem(key, secret) };
}

export function CredentialFields({
  value,
  onChange,
  problems,
  optional = false,
}: {
  value: Credentials;
  onChange(patch: Partial<Credentials>): void;
  problems: CredentialProblems;
  optional?: boolean;
}) {
  return (
    <>
      <div className="columns">
        <Field label="Access key ID" error={problems.key} optional={optional}>
          <Input
            className="mono"
            spellCheck={false}
            value={value.key}
            onChange={(event) => onChange({ key: event.target.value })}
          />
        </Field>
        <Field label="Secret access key" error={problems.secret} optional={optional}>
          <Input
            className="mono"
            type="password"
            autoComplete="new-password"
            value={value.secret}
            onChange={(event) => onChange({ secret: event.target.value })}
          />
        </Field>
      </div>
      <Field label="Session token" optional hint="Only with temporary credentials." error={problems.token}>
        <Input
          className="mono"
          type="password"
          autoComplete="new-password"
          value={value.token}
          onChange={(event) => onChange({ token: event.target.value })}
        />
      </Field>
    </>
  );
}
