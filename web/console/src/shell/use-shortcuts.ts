import { useEffect } from "react";
import { useLocation } from "wouter";
import { isTyping } from "../ui/search-input.tsx";
import { places } from "./navigation.ts";

const withinMs = 1_500;

export type Overlay = "palette" | "keys";

/** `g` and then the letter of a place goes there; Ctrl-K finds anything, `?` lists the keys. */
export function useShortcuts(open: (overlay: Overlay) => void): void {
  const [, navigate] = useLocation();
  useEffect(() => {
    let leaderAt = 0;
    const press = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k") {
        event.preventDefault();
        if (!document.querySelector("dialog[open]")) open("palette");
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (document.querySelector("dialog[open]")) return;
      if (event.key === "?") {
        open("keys");
        return;
      }
      if (event.key === "g") {
        leaderAt = event.timeStamp;
        return;
      }
      const place = places.find(({ letter }) => letter === event.key);
      if (place && leaderAt > 0 && event.timeStamp - leaderAt < withinMs) navigate(place.href);
      leaderAt = 0;
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, [navigate, open]);
}
