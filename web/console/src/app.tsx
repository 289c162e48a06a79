import { QueryClientProvider } from "@tanstack/react-query";
import { Suspense, useMemo } from "react";
import { Route, Switch, useLocation } from "wouter";
import { pages } from "./pages.ts";
import { createQueryClient } from "./query-client.ts";
import { useSession } from "./session.ts";
import { ErrorBoundary } from "./shell/error-boundary.tsx";
import { NoSuchPage } from "./shell/no-such-page.tsx";
import { Shell } from "./shell/shell.tsx";
import { SignIn } from "./shell/sign-in.tsx";
import { WorkspaceGate } from "./shell/workspace-gate.tsx";
import { Skeleton, ToastList } from "./ui/index.ts";

export function App() {
  const session = useSession();
  const place = session?.place ?? 0;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new client per place
  const client = useMemo(createQueryClient, [place]);
  return (
    <QueryClientProvider key={place} client={client}>
      {session ? (
        <WorkspaceGate session={session}>
          <Shell>
            <Pages />
          </Shell>
        </WorkspaceGate>
      ) : (
        <SignIn />
      )}
      <ToastList />
    </QueryClientProvider>
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
