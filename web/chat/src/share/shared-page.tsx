import { useEffect, useState } from "react";
import type { Answers } from "../../../../openapi/wire.d.ts";
import { Mark } from "../icons.tsx";
import { Notice } from "../notices.tsx";
import { Transcript } from "../transcript.tsx";
import { toTurns } from "../turns.ts";
import { useTheme } from "../use-theme.ts";
import { openShared } from "./share-api.ts";

type Shared = Answers["open_shared_conversation"];

/** A conversation that a user shared, read-only. */
export function SharedPage({ token }: { token: string }) {
  const [shared, setShared] = useState<Shared>();
  const [problem, setProblem] = useState<string>();
  useTheme();
  useEffect(() => {
    openShared(token).then(setShared, (error: unknown) => {
      setProblem(error instanceof Error ? error.message : String(error));
    });
  }, [token]);
  useEffect(() => {
    document.title = shared ? `${shared.title} · Treadle` : "Shared conversation · Treadle";
  }, [shared]);
  return (
    <main className="main shared">
      <header className="topbar">
        <Mark />
        <h1 className="shared-title">{shared?.title ?? "Shared conversation"}</h1>
        <a className="button" href="/chat">
          Open the chat
        </a>
      </header>
      <div className="frame">
        <div className="column">
          {problem && (
            <Notice tone="error" title="This link does not work">
              {problem}
            </Notice>
          )}
          {shared && (
            <>
              <p className="muted">
                Shared on {new Date(shared.created_at).toLocaleString()}. You can read it, not change it.
              </p>
              <Transcript
                turns={toTurns(shared.messages)}
                activity="idle"
                stream={undefined}
                onBranch={undefined}
                onRegenerate={undefined}
                onSwitch={undefined}
                branches={undefined}
                links={undefined}
                editing={undefined}
                onEditing={() => undefined}
              />
            </>
          )}
        </div>
      </div>
    </main>
  );
}
