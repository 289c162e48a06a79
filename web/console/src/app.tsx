import { QueryClientProvider } from "@tanstack/react-query";
import { Suspense, useMemo } from "react";
import { Route, Switch, useLocation } from "wouter";
import { pages } from "./pages.ts";
import { createQueryClient } from "./query-client.ts";
import { useSession } from "./session.ts";
import { ErrorBoundary } from "./shell/error-boundary.tsx";
import { Shell } from "./shell/shell.tsx";
import { SignIn } from "./shell/sign-in.tsx";
import { WorkspaceGate } from "./shell/workspace-gate.tsx";
import { ButtonLink, EmptyState, Page, Skeleton, ToastList } from "./ui/index.ts";

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

function NoSuchPage() {
  return (
    <Page title="Not found">
      <h1 className="spoken">Not found</h1>
      <EmptyState title="There is no such page" action={<ButtonLink href="/">Go to the overview</ButtonLink>}>
        The address may be mistyped, or what it led to is gone.
      </EmptyState>
    </Page>
  );
}
