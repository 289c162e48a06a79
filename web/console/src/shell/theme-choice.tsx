import { Monitor, Moon, Sun } from "lucide-react";
import { themes, useTheme } from "../theme.ts";
import { IconButton } from "../ui/index.ts";

const themeIcons = { system: Monitor, light: Sun, dark: Moon } as const;

export function ThemeChoice() {
  const [theme, setTheme] = useTheme();
  const next = themes[(themes.indexOf(theme) + 1) % themes.length]!;
  return (
    <IconButton
      label={`Colours: ${theme}. Change to ${next}`}
      icon={themeIcons[theme]}
      onClick={() => setTheme(next)}
    />
  );
}
