import { Bot, Cable, Gauge, type LucideIcon, PackageOpen, Rocket, Settings, Waypoints } from "lucide-react";

export type Place = { href: string; label: string; icon: LucideIcon; letter: string };

export const places: readonly Place[] = [
  { href: "/", label: "Overview", icon: Gauge, letter: "o" },
  { href: "/deployments", label: "Deployments", icon: Rocket, letter: "d" },
  { href: "/agents", label: "Agents", icon: Bot, letter: "a" },
  { href: "/traces", label: "Traces", icon: Waypoints, letter: "t" },
  { href: "/exports", label: "Exports", icon: PackageOpen, letter: "e" },
  { href: "/connections", label: "Connections", icon: Cable, letter: "c" },
  { href: "/settings", label: "Settings", icon: Settings, letter: "s" },
];

export function isCurrent(place: Place, path: string): boolean {
  if (place.href === "/") return path === "/";
  if (place.href === "/traces" && path.startsWith("/o/")) return true;
  return path === place.href || path.startsWith(`${place.href}/`);
}
