import { KeyRound } from "lucide-react";
import { type FormEvent, useEffect, useState } from "react";
import { ApiError } from "../api/client.ts";
import { session } from "../session.ts";
import { Button, Checkbox, CopyBlock, Field, Input } from "../ui/index.ts";
import { Mark } from "./mark.tsx";

/** Where the key is, for somebody who has just started the platform. */
export function SignIn() {
  const [apiKey, setApiKey] = useState("");
  const [remember, setRemember] = useState(false);
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string | null>(null);
  useEffect(() => {
    document.title = "Sign in · Treadle";
  }, []);

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const key = apiKey.trim();
    if (key === "") {
      setFailure("Paste an API key first.");
      return;
    }
    setBusy(true);
    setFailure(null);
    try {
      await check(key);
      session.signIn(key, { remember, workspaceId: null });
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error));
      setBusy(false);
    }
  };

  return (
    <main className="sign-in">
      <form className="sign-in-card" onSubmit={submit}>
        <div className="sign-in-brand">
          <Mark />
          <span>Treadle</span>
        </div>
        <h1>Sign in</h1>
        <p className="muted">With an API key of your workspace. It stays in this browser.</p>
        <Field label="API key" error={failure}>
          <Input
            type="password"
            name="api-key"
            value={apiKey}
            onChange={(event) => setApiKey(event.target.value)}
            placeholder="trk_…"
            autoComplete="current-password"
            autoFocus
          />
        </Field>
        <Checkbox
          label="Stay signed in"
          hint="Only on a computer that is yours."
          checked={remember}
          onChange={(event) => setRemember(event.target.checked)}
        />
        <Button type="submit" look="primary" icon={KeyRound} busy={busy}>
          Sign in
        </Button>
        <details>
          <summary>Where do I find a key?</summary>
          <div className="stack">
            <p className="muted">
              The server prints one on its first start and keeps it in <code>credentials.json</code> in its
              data folder. A new one is made with:
            </p>
            <CopyBlock label="make a key" text="treadle keys create console" />
          </div>
        </details>
      </form>
    </main>
  );
}

/** Asked without signing in yet: a mistyped key must stay in the field. */
async function check(key: string): Promise<void> {
  const response = await fetch("/v2/workspaces?limit=1", { headers: { "x-api-key": key } }).catch(() => null);
  if (response === null)
    throw new ApiError(0, "The server does not answer. Check that it runs, then try again.");
  // 403: the key opens several workspaces; which one is chosen later.
  if (response.ok || response.status === 403) return;
  if (response.status === 401)
    throw new ApiError(401, "The server does not know this key. Check that it is complete.");
  throw new ApiError(response.status, `The server answered with status ${response.status}. Try again.`);
}
