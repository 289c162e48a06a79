import { useEffect, useState } from "react";
import { useLocation, useSearch } from "wouter";
import { session, useSession } from "../session.ts";
import { Button } from "../ui/index.ts";
import { SignIn, SignInCard } from "./sign-in.tsx";
import { forgetCode, tryOnce, useCarried } from "./sign-in-link.ts";
import { pathAfterSignIn, SignInRefusal, signInWithCode } from "./sign-in-requests.ts";

/**
 * `/sign-in`: takes the code of a one-time link and asks before it signs another user out; otherwise the sign-in page.
 */
export function SignInPage() {
  const { code } = useCarried();
  const [, navigate] = useLocation();
  const returnTo = pathAfterSignIn(useSearch());
  const state = useSession();
  const done = code === null && state !== null && typeof state !== "string";
  useEffect(() => {
    if (!done) return;
    // The chat is a page of its own.
    if (/^\/chat(\/|\?|$)/.test(returnTo)) location.replace(returnTo);
    else navigate(returnTo, { replace: true });
  }, [done, navigate, returnTo]);
  // Not before it is known who is signed in: that mounts the page again, and the result of the link would be lost.
  if (code !== null && typeof state !== "string") return <LinkSignIn code={code} />;
  if (state === null) return <SignIn returnTo={returnTo} />;
  return <main className="gate" aria-busy="true" aria-label="Signing in" />;
}

function LinkSignIn({ code }: { code: string }) {
  const [refusal, setRefusal] = useState<SignInRefusal | null>(null);
  const [busy, setBusy] = useState(true);
  const enter = async (replace: boolean) => {
    setBusy(true);
    setRefusal(null);
    try {
      await signInWithCode(code, replace);
      await session.signedIn();
      forgetCode();
    } catch (error) {
      setRefusal(error instanceof SignInRefusal ? error : new SignInRefusal(String(error)));
      setBusy(false);
    }
  };
  useEffect(() => {
    if (tryOnce(code)) void enter(false);
  });
  if (refusal?.code === "sign_in.somebody_else") {
    return (
      <SignInCard title="Sign in as somebody else?">
        <p>{refusal.message}</p>
        <div className="stack">
          <Button look="primary" busy={busy} onClick={() => enter(true)}>
            Sign out and use the link
          </Button>
          <Button onClick={forgetCode}>Stay signed in</Button>
        </div>
      </SignInCard>
    );
  }
  if (refusal) {
    return (
      <SignInCard title="This link does not work">
        <p role="alert">{refusal.message}</p>
        <Button look="primary" onClick={forgetCode}>
          Go to the sign-in page
        </Button>
      </SignInCard>
    );
  }
  return <main className="gate" aria-busy={busy} aria-label="Signing in" />;
}
