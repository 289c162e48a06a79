import { QueryClientProvider } from "@tanstack/react-query";
import { Suspense, useMemo } from "react";
import { Route, Switch, useLocation, useSearch } from "wouter";
import { ApiError } from "./api/client.ts";
import { pages } from "./pages.ts";
import { createQueryClient } from "./query-client.ts";
import { type SessionState, useSession } from "./session.ts";
import { ErrorBoundary } from "./shell/error-boundary.tsx";
import { SignInPage } from "./shell/link-sign-in.tsx";
import { NoSuchPage } from "./shell/no-such-page.tsx";
import { OpenPage } from "./shell/open-page.tsx";
import { Shell } from "./shell/shell.tsx";
import { SignIn } from "./shell/sign-in.tsx";
import { WorkspaceGate } from "./shell/workspace-gate.tsx";
import { ErrorState, Skeleton, ToastList } from "./ui/index.ts";

export function App() {
  const state = useSession();
  const place = typeof state === "string" ? 0 : (state?.place ?? 0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new client per place
  const client = useMemo(createQueryClient, [place]);
  const [location] = useLocation();
  return (
    <QueryClientProvider key={place} client={client}>
      {location === "/sign-in" ? <SignInPage /> : <Inside state={state} />}
      <ToastList />
    </QueryClientProvider>
  );
}

function Inside({ state }: { state: SessionState }) {
  const [path] = useLocation();
  const search = useSearch();
  if (state === "checking") return <main className="gate" aria-busy="true" aria-label="Signing in" />;
  if (state === "away") return <ServerAway />;
  if (state === null) return <SignIn returnTo={search === "" ? path : `${path}?${search}`} />;
  if (path.startsWith("/open/")) return <OpenPage />;
  return (
    <WorkspaceGate session={state}>
      <Shell>
        <Pages />
      </Shell>
    </WorkspaceGate>
  );
}

/** It is not known yet who is signed in; the session asks again automatically. */
function ServerAway() {
  return (
    <main className="gate" aria-busy="true">
      <h1 className="spoken">Treadle</h1>
      <ErrorState
        error={new ApiError(0, "Check that the server runs; this page continues by itself when it is back.")}
      />
    </main>
  );
}

/** Each page folder has its own routes: they are matched by full path there. */
function Pages() {
  const [location] = useLocation();
  return (
    <ErrorBoundary resetOn={location}>
      <Suspense fallback={<PageLoading />}>
        <Switch>
          {pages.map(({ path, component }) => (
            <Route key={path} path={path} component={component} />
          ))}
          <Route component={NoSuchPage} />
        </Switch>
      </Suspense>
    </ErrorBoundary>
  );
}

function PageLoading() {
  return (
    <div className="page page-wide">
      <Skeleton lines={1} height="2.2rem" />
      <Skeleton lines={6} />
    </div>
  );
}
