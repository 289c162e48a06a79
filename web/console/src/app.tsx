import { QueryClientProvider } from "@tanstack/react-query";
import { Suspense, useMemo } from "react";
import { Route, Switch, useLocation } from "wouter";
import { createQueryClient } from "./query-client.ts";
import { useSession } from "./session.ts";
import { ErrorBoundary } from "./shell/error-boundary.tsx";
import { lazyPage } from "./shell/lazy-page.ts";
import { Shell } from "./shell/shell.tsx";
import { SignIn } from "./shell/sign-in.tsx";
import { WorkspaceGate } from "./shell/workspace-gate.tsx";
import { ButtonLink, EmptyState, Page, Skeleton, ToastList } from "./ui/index.ts";

const Overview = lazyPage(() => import("./pages/overview/index.tsx"));
const Deployments = lazyPage(() => import("./pages/deployments/index.tsx"));
const Agents = lazyPage(() => import("./pages/agents/index.tsx"));
const Traces = lazyPage(() => import("./pages/traces/index.tsx"));
const Exports = lazyPage(() => import("./pages/exports/index.tsx"));
const Connections = lazyPage(() => import("./pages/connections/index.tsx"));
const Settings = lazyPage(() => import("./pages/settings/index.tsx"));

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
          <Route path="/" component={Overview} />
          <Route path="/deployments/*?" component={Deployments} />
          <Route path="/agents/*?" component={Agents} />
          <Route path="/traces/*?" component={Traces} />
          <Route path="/o/*?" component={Traces} />
          <Route path="/exports/*?" component={Exports} />
          <Route path="/connections/*?" component={Connections} />
          <Route path="/settings/*?" component={Settings} />
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
