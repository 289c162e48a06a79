import { useEffect } from "react";
import { useLocation } from "wouter";
import { isTyping } from "../ui/search-input.tsx";
import { places } from "./navigation.ts";

const withinMs = 1_500;

/** `g` and then the letter of a place goes there. */
export function useShortcuts(): void {
  const [, navigate] = useLocation();
  useEffect(() => {
    let leaderAt = 0;
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (document.querySelector("dialog[open]")) return;
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
  }, [navigate]);
}
