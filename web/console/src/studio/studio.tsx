import { QueryClientProvider, useQuery } from "@tanstack/react-query";
import { BookOpen, KeyRound } from "lucide-react";
import { type ReactNode, Suspense, useRef, useState } from "react";
import { Link, Redirect, Route, Router, Switch } from "wouter";
import { ApiError, api } from "../api/client.ts";
import { createQueryClient } from "../query-client.ts";
import { ErrorBoundary } from "../shell/error-boundary.tsx";
import { lazyPage } from "../shell/lazy-page.ts";
import { Mark } from "../shell/mark.tsx";
import { NoSuchPage } from "../shell/no-such-page.tsx";
import { OfflineBanner } from "../shell/offline-banner.tsx";
import { ThemeChoice } from "../shell/theme-choice.tsx";
import { usePageFocus } from "../shell/use-page-focus.ts";
import { studioBase } from "../studio-mode.ts";
import { EmptyState, ErrorState, Skeleton, ToastList } from "../ui/index.ts";
import { WorkspaceProvider } from "../workspace.tsx";
import { ReloadNotice } from "./reload-notice.tsx";
import { signInByLink } from "./sign-in-by-link.ts";
import "./studio.css";

const AgentsPages = lazyPage(() => import("../pages/agents/index.tsx"));
/** Every visitor may do everything: it is one person's server. */
const local = {
  ...{ id: "local", organization_id: "local", name: "This project", role: "admin" as const },
  ...{ created_at: "", updated_at: "" },
};
const home = "/agents/local";

/** The pages of the agents, for one server that stands alone. */
export default function Studio() {
  const [client] = useState(createQueryClient);
  return (
    <QueryClientProvider client={client}>
      <Router base={studioBase}>
        <WorkspaceProvider value={{ current: local, all: [local] }}>
          <div className="studio">
            <header className="studio-bar">
              <Link href={home} className="brand">
                <Mark />
                <span>Treadle studio</span>
              </Link>
              <span className="spread" />
              <a className="nav-link" href="/docs">
                <BookOpen aria-hidden="true" size={17} />
                API reference
              </a>
              <ThemeChoice />
            </header>
            <Main />
          </div>
        </WorkspaceProvider>
      </Router>
      <ToastList />
    </QueryClientProvider>
  );
}

function Main() {
  const main = useRef<HTMLElement>(null);
  usePageFocus(main);
  return (
    <main className="main" id="main" ref={main} tabIndex={-1}>
      <OfflineBanner />
      <Gate>
        <ReloadNotice />
        <Pages />
      </Gate>
    </main>
  );
}

function Pages() {
  return (
    <ErrorBoundary resetOn="">
      <Suspense fallback={<Skeleton lines={6} />}>
        <Switch>
          <Route path="/agents/local/*?" component={AgentsPages} />
          <Route path="/agents">
            <Redirect to={home} replace />
          </Route>
          <Route path="/">
            <Redirect to={home} replace />
          </Route>
          <Route component={NoSuchPage} />
        </Switch>
      </Suspense>
    </ErrorBoundary>
  );
}

/** Signs in with the link one came by, and finds out whether the server lets one in. */
function Gate({ children }: { children: ReactNode }) {
  const entry = useQuery({
    queryKey: ["studio", "entry"],
    queryFn: async () => {
      const refused = await signInByLink();
      await api.post<number>("/assistants/count", {}).catch((error: unknown) => {
        throw isRefusal(error) && refused ? refused : error;
      });
      return true;
    },
    retry: (failures, error) => !isRefusal(error) && failures < 100,
  });
  if (entry.data) return children;
  if (!entry.error) return <Skeleton lines={6} />;
  if (!isRefusal(entry.error)) return <ErrorState error={entry.error} retry={() => entry.refetch()} />;
  return (
    <EmptyState icon={KeyRound} title="This agent server asks who you are">
      {entry.error.message} The command that serves the project prints a link to the studio that signs you in.
    </EmptyState>
  );
}

function isRefusal(error: unknown): error is ApiError {
  return error instanceof ApiError && (error.status === 401 || error.status === 403);
}
