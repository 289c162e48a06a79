import { ApiError, api } from "../api/client.ts";

/** With the code behind `#`, if one came by a link. It is taken out of the address at once. What was refused is returned. */
export async function signInByLink(): Promise<ApiError | null> {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (code === null) return null;
  history.replaceState(history.state, "", location.pathname + location.search);
  try {
    await api.post("/studio/sign-in", { code });
    return null;
  } catch (error) {
    // A reload with a used link is fine where the browser is signed in already.
    if (error instanceof ApiError && error.status === 401) return error;
    throw error;
  }
}
