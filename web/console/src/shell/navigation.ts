import {
  Bell,
  Bot,
  Cable,
  FlaskConical,
  Gauge,
  type LucideIcon,
  PackageOpen,
  Rocket,
  Settings,
  Waypoints,
} from "lucide-react";

export type Place = { href: string; label: string; icon: LucideIcon; letter: string };

export const places: readonly Place[] = [
  { href: "/", label: "Overview", icon: Gauge, letter: "o" },
  { href: "/deployments", label: "Deployments", icon: Rocket, letter: "d" },
  { href: "/agents", label: "Agents", icon: Bot, letter: "a" },
  { href: "/traces", label: "Traces", icon: Waypoints, letter: "t" },
  { href: "/datasets", label: "Evaluation", icon: FlaskConical, letter: "v" },
  { href: "/exports", label: "Exports", icon: PackageOpen, letter: "e" },
  { href: "/alerts", label: "Alerts", icon: Bell, letter: "l" },
  { href: "/connections", label: "Connections", icon: Cable, letter: "c" },
  { href: "/settings", label: "Settings", icon: Settings, letter: "s" },
];

export function isCurrent(place: Place, path: string): boolean {
  if (place.href === "/") return path === "/";
  const ofEvaluation = /^\/(o\/[^/]+\/datasets|queues)(\/|$)/.test(path);
  if (place.href === "/datasets" && ofEvaluation) return true;
  if (place.href === "/traces" && path.startsWith("/o/") && !ofEvaluation) return true;
  return path === place.href || path.startsWith(`${place.href}/`);
}
