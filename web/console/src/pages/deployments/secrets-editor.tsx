import { Eye, EyeOff, Plus, Trash2 } from "lucide-react";
import { type ClipboardEvent, useState } from "react";
import { Button, IconButton, Input } from "../../ui/index.ts";
import { type Secret, secretMask } from "./deployment-api.ts";
import { parseEnvFile, secretNameProblem } from "./form-rules.ts";

export type SecretRow = Secret & { key: number; kept: boolean };

export function secretRows(secrets: readonly Secret[]): SecretRow[] {
  return secrets.map((secret, index) => ({ ...secret, key: index, kept: secret.value === secretMask }));
}

/** What to send: a kept value goes as the mask, which the server reads as "as before". */
export function secretsOf(rows: readonly SecretRow[]): Secret[] {
  return rows
    .filter(({ name }) => name !== "")
    .map(({ name, value, kept }) => ({ name, value: kept ? secretMask : value }));
}

export function secretsProblem(rows: readonly SecretRow[]): string | null {
  return rows.map((row) => problemOf(row, rows)).find((problem) => problem !== null) ?? null;
}

function problemOf(row: SecretRow, rows: readonly SecretRow[]): string | null {
  if (row.name === "" && row.value !== "") return "Give the value a name.";
  return secretNameProblem(
    row.name,
    rows.filter((other) => other.key < row.key).map(({ name }) => name),
  );
}

/** Names and values; what is stored is never shown, only kept or replaced. A pasted .env file becomes rows. */
export function SecretsEditor({
  rows,
  onChange,
}: {
  rows: readonly SecretRow[];
  onChange(rows: SecretRow[]): void;
}) {
  const [shown, setShown] = useState(false);
  const nextKey = Math.max(0, ...rows.map(({ key }) => key)) + 1;
  const change = (key: number, patch: Partial<SecretRow>) =>
    onChange(rows.map((row) => (row.key === key ? { ...row, ...patch } : row)));
  const paste = (event: ClipboardEvent, row: SecretRow) => {
    const found = parseEnvFile(event.clipboardData.getData("text"));
    if (!found) return;
    event.preventDefault();
    const names = new Set(found.map(({ name }) => name));
    const others = rows.filter((other) => other !== row && !names.has(other.name));
    onChange([
      ...others,
      ...found.map((secret, index) => ({ ...secret, key: nextKey + index, kept: false })),
    ]);
  };
  return (
    <fieldset className="secrets">
      <legend>
        Secrets{" "}
        <span className="optional">environment variables of the agent; paste a .env file into a name</span>
      </legend>
      {rows.map((row, index) => {
        const problem = problemOf(row, rows);
        return (
          <div className="secret" key={row.key}>
            <Input
              aria-label={`Name of secret ${index + 1}`}
              className="mono"
              placeholder="NAME"
              spellCheck={false}
              value={row.name}
              disabled={row.kept}
              aria-invalid={problem !== null || undefined}
              onChange={(event) => change(row.key, { name: event.target.value.trim() })}
              onPaste={(event) => paste(event, row)}
            />
            {row.kept ? (
              <div className="secret-kept">
                <span className="muted">kept as it is</span>
                <Button size="small" onClick={() => change(row.key, { kept: false, value: "" })}>
                  Replace
                </Button>
              </div>
            ) : (
              <Input
                aria-label={`Value of ${row.name || `secret ${index + 1}`}`}
                className="mono"
                type={shown ? "text" : "password"}
                placeholder="value"
                spellCheck={false}
                autoComplete="new-password"
                value={row.value}
                onChange={(event) => change(row.key, { value: event.target.value })}
              />
            )}
            <IconButton
              label={`Remove ${row.name || `secret ${index + 1}`}`}
              icon={Trash2}
              onClick={() => onChange(rows.filter((other) => other !== row))}
            />
            {problem && (
              <p className="field-error" role="alert">
                {problem}
              </p>
            )}
          </div>
        );
      })}
      <div className="row">
        <Button
          size="small"
          icon={Plus}
          onClick={() => onChange([...rows, { key: nextKey, name: "", value: "", kept: false }])}
        >
          Add a secret
        </Button>
        {rows.some(({ kept }) => !kept) && (
          <Button size="small" look="quiet" icon={shown ? EyeOff : Eye} onClick={() => setShown(!shown)}>
            {shown ? "Hide values" : "Show values"}
          </Button>
        )}
      </div>
    </fieldset>
  );
}
