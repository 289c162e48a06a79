import type { LucideIcon } from "lucide-react";
import type { ButtonHTMLAttributes, ReactNode, Ref } from "react";
import { Link } from "wouter";

export type ButtonLook = "plain" | "primary" | "quiet" | "danger";
type Look = { look?: ButtonLook; size?: "normal" | "small"; icon?: LucideIcon };

export type ButtonProps = ButtonHTMLAttributes<HTMLButtonElement> &
  Look & {
    /** An action is in progress: shown, and not clickable again. */
    busy?: boolean;
    ref?: Ref<HTMLButtonElement>;
  };

export function Button({
  look,
  size,
  icon: Icon,
  busy,
  children,
  className,
  disabled,
  ...rest
}: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      className={classes({ look, size }, className)}
      disabled={disabled || busy}
      aria-busy={busy || undefined}
    >
      {busy ? <Spinner /> : Icon && <Icon aria-hidden="true" size={16} />}
      {children}
    </button>
  );
}

/** A button that shows only its icon; `label` is its name, also on hover. */
export function IconButton({
  label,
  icon: Icon,
  look = "quiet",
  size,
  className,
  ...rest
}: ButtonProps & { label: string; icon: LucideIcon }) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      {...rest}
      className={classes({ look, size }, `icon-only ${className ?? ""}`)}
    >
      <Icon aria-hidden="true" size={16} />
    </button>
  );
}

/** A link that looks like a button: for going somewhere. */
export function ButtonLink({
  href,
  look,
  size,
  icon: Icon,
  children,
}: Look & { href: string; children: ReactNode }) {
  return (
    <Link href={href} className={classes({ look, size })}>
      {Icon && <Icon aria-hidden="true" size={16} />}
      {children}
    </Link>
  );
}

export function Spinner() {
  return <span className="spinner" aria-hidden="true" />;
}

function classes({ look = "plain", size = "normal" }: Look, more = ""): string {
  return `button ${look} ${size} ${more}`.trim();
}
