import { useQuery } from "@tanstack/react-query";
import { ArrowRight, KeyRound, TriangleAlert } from "lucide-react";
import { type FormEvent, type ReactNode, useEffect, useState } from "react";
import { session } from "../session.ts";
import { Button, Checkbox, CopyBlock, ErrorState, Field, Input, Skeleton } from "../ui/index.ts";
import { Mark } from "./mark.tsx";
import { useCarried } from "./sign-in-link.ts";
import { problemWords, readWays, signInWithKey, type Ways } from "./sign-in-requests.ts";

/** The page for users who are not signed in: with the provider where there is one, with a key, or by a link. */
export function SignIn({ returnTo }: { returnTo: string }) {
  const found = useQuery({
    queryKey: ["sign-in", "ways"],
    queryFn: ({ signal }) => readWays(signal),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const problem = problemWords[new URLSearchParams(location.search).get("problem") ?? ""];
  const { hadKey } = useCarried();
  return (
    <SignInCard title="Sign in">
      {problem && <Notice title={problem.title}>{problem.text}</Notice>}
      {hadKey && (
        <Notice title="This link no longer works">
          Others can read a key in an address. Paste it below, or use the one-time link that the server
          prints.
        </Notice>
      )}
      {found.data ? (
        <WaysIn ways={found.data} returnTo={returnTo} />
      ) : found.error ? (
        <ErrorState error={found.error} retry={() => found.refetch()} />
      ) : (
        <Skeleton lines={3} height="2.4rem" />
      )}
    </SignInCard>
  );
}

function WaysIn({ ways, returnTo }: { ways: Ways; returnTo: string }) {
  const { oidc, key } = ways;
  return (
    <>
      {oidc && (
        <a
          className="button primary sign-in-provider"
          href={`${oidc.start}?return_to=${encodeURIComponent(returnTo)}`}
        >
          Continue with {oidc.name}
          <ArrowRight aria-hidden="true" size={16} />
        </a>
      )}
      {oidc && key && (
        <p className="sign-in-or" aria-hidden="true">
          or
        </p>
      )}
      {key && <KeyForm second={oidc !== null} />}
      <Help ways={ways} />
    </>
  );
}

function KeyForm({ second }: { second: boolean }) {
  const [apiKey, setApiKey] = useState("");
  const [remember, setRemember] = useState(false);
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string | null>(null);
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
      await signInWithKey(key, remember);
      await session.signedIn();
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error));
      setBusy(false);
    }
  };
  return (
    <form className="stack" onSubmit={submit} noValidate>
      <Field
        label="API key"
        hint="Sent to this server once. The browser keeps a session, never the key."
        error={failure}
      >
        <Input
          type="password"
          name="api-key"
          value={apiKey}
          onChange={(event) => setApiKey(event.target.value)}
          placeholder="trk_…"
          autoComplete="current-password"
          autoFocus={!second}
        />
      </Field>
      <Checkbox
        label="Stay signed in"
        hint="Only on a computer that is yours."
        checked={remember}
        onChange={(event) => setRemember(event.target.checked)}
      />
      <Button type="submit" look={second ? "plain" : "primary"} icon={KeyRound} busy={busy}>
        Sign in
      </Button>
    </form>
  );
}

function Help({ ways }: { ways: Ways }) {
  return (
    <details>
      <summary>{ways.key ? "Where do I find a key?" : "I cannot sign in"}</summary>
      <div className="stack">
        {ways.key && (
          <p className="muted">
            The server prints one on its first start and keeps it in <code>credentials.json</code> in its data
            folder. Create a new one with:
          </p>
        )}
        {ways.key && <CopyBlock label="make a key" text="treadle keys create console" />}
        <p className="muted">
          {ways.key ? "Without a key: this" : "The operator of the server can let you in. This"} prints a
          link, on the server's machine, that signs in once:
        </p>
        <CopyBlock label="make a link" text="treadle login-link" />
      </div>
    </details>
  );
}

export function SignInCard({ title, children }: { title: string; children: ReactNode }) {
  useEffect(() => {
    document.title = `${title} · Treadle`;
  }, [title]);
  return (
    <main className="sign-in">
      <div className="sign-in-card">
        <div className="sign-in-brand">
          <Mark />
          <span>Treadle</span>
        </div>
        <h1>{title}</h1>
        {children}
      </div>
    </main>
  );
}

export function Notice({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div className="sign-in-notice" role="alert">
      <TriangleAlert aria-hidden="true" size={17} />
      <div>
        <strong>{title}</strong>
        <p>{children}</p>
      </div>
    </div>
  );
}
