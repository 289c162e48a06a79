import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { useLocation, useSearch } from "wouter";
import { api } from "../api/client.ts";
import type { Answers } from "../api/wire.ts";
import { SignInCard } from "./sign-in.tsx";

/** `/open/{slug}`: a user opened the pages of a deployment, and is redirected there with a code that lets them in. */
export function OpenPage() {
  const [path] = useLocation();
  const slug = path.slice("/open/".length);
  const state = new URLSearchParams(useSearch()).get("state") ?? "";
  const entry = useQuery({
    queryKey: ["open-page", slug, state],
    queryFn: () =>
      api.post<Answers["create_page_code"]>(`/v2/deployment-pages/${encodeURIComponent(slug)}/codes`, {
        state,
      }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const { data, error } = entry;
  useEffect(() => {
    // The part after # survived the redirect, and is passed on to the page it is for.
    if (data) location.replace(data.location + location.hash);
  }, [data]);
  if (!error) return <main className="gate" aria-busy="true" aria-label="Opening the page" />;
  return (
    <SignInCard title="This page cannot be opened">
      <p role="alert">{error.message}</p>
      <a className="button" href="/">
        Go to the console
      </a>
    </SignInCard>
  );
}
