import { useEffect, useState } from "react";

export type Theme = "system" | "light" | "dark";

const name = "treadle.chat.theme";
const themes: readonly Theme[] = ["system", "light", "dark"];

/** The system's choice until the person makes one; the styles follow `data-theme` on the root. */
export function useTheme(): [Theme, () => void] {
  const [theme, setTheme] = useState<Theme>(
    () => themes.find((known) => known === localStorage.getItem(name)) ?? "system",
  );
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
    localStorage.setItem(name, theme);
  }, [theme]);
  return [theme, () => setTheme((now) => themes[(themes.indexOf(now) + 1) % themes.length]!)];
}
