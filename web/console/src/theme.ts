import { useEffect, useState } from "react";

export const themes = ["system", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

const name = "treadle.console.theme";

function stored(): Theme {
  return themes.find((known) => known === localStorage.getItem(name)) ?? "system";
}

/** Before the first paint, so that the wrong theme does not flash. */
export function applyTheme(theme: Theme = stored()): void {
  document.documentElement.dataset.theme = theme;
}

/** The system's choice until the person makes one; the styles follow `data-theme` on the root. */
export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState<Theme>(stored);
  useEffect(() => {
    applyTheme(theme);
    localStorage.setItem(name, theme);
  }, [theme]);
  return [theme, setTheme];
}
