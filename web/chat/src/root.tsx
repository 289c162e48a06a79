import { lazy, Suspense, useEffect } from "react";
import { App } from "./app.tsx";
import { readPlace } from "./use-thread-address.ts";

const SharedPage = lazy(() =>
  import("./share/shared-page.tsx").then((module) => ({ default: module.SharedPage })),
);

/** A shared conversation is read by its link alone: nothing else of the page is loaded. */
export function Root() {
  const { shared } = readPlace(location.hash);
  useEffect(() => {
    const follow = () => {
      if (readPlace(location.hash).shared !== shared) location.reload();
    };
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, [shared]);
  if (shared === null) return <App />;
  return (
    <Suspense fallback={null}>
      <SharedPage token={shared} />
    </Suspense>
  );
}
