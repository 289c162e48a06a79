import { describe, expect, it } from "vitest";
import { bubblewrapArguments, type SandboxPlan } from "./bubblewrap.ts";
import { seccompFilter } from "./seccomp.ts";

const plan = (more: Partial<SandboxPlan> = {}): SandboxPlan => ({
  asRoot: false,
  mounts: [{ from: "/usr" }, { from: "/data/artifacts/a", to: "/srv/project" }],
  links: [{ at: "/bin", target: "usr/bin" }],
  files: [{ fd: 5, at: "/etc/passwd" }],
  seccompFd: 4,
  cwd: "/srv/project",
  tmpBytes: 1_000,
  ...more,
});
const text = (more?: Partial<SandboxPlan>) => bubblewrapArguments(plan(more)).join(" ");

describe("the arguments of bubblewrap", () => {
  it("give it namespaces of its own and leave it the network", () => {
    expect(text()).toMatch(/--unshare-ipc --unshare-pid --unshare-uts --unshare-cgroup-try --unshare-user/);
    expect(text()).not.toContain("--unshare-net");
    // Servers outlive the platform that started them.
    expect(text()).not.toContain("--die-with-parent");
  });

  it("show the project read-only and a home writable", () => {
    const shown = text({
      mounts: [
        { from: "/a", to: "/p" },
        { from: "/h", to: "/home", writable: true },
      ],
    });
    expect(shown).toContain("--ro-bind /a /p --bind /h /home");
  });

  it("leave root's sandbox only the rights to become somebody else", () => {
    expect(text({ asRoot: true })).toContain(
      "--cap-drop ALL --cap-add CAP_SETUID --cap-add CAP_SETGID --cap-add CAP_SETPCAP",
    );
  });

  it("make the folders above what is shown passable before anything is put into them", () => {
    const args = bubblewrapArguments(plan());
    expect(args.join(" ")).toContain("--perms 0755 --dir /srv");
    expect(args.indexOf("/srv")).toBeLessThan(args.indexOf("/data/artifacts/a"));
    expect(args.slice(-6).join(" ")).toBe("--remount-ro / --seccomp 4 --chdir /srv/project");
  });
});

describe("the filter of system calls", () => {
  it("is whole instructions with jumps that stay inside", () => {
    for (const architecture of ["x64", "arm64"]) {
      const filter = seccompFilter(architecture)!;
      const count = filter.length / 8;
      expect(Number.isInteger(count)).toBe(true);
      for (let place = 0; place < count; place += 1) {
        const code = filter.readUInt16LE(place * 8);
        if ((code & 0x07) !== 0x05) continue;
        const furthest = Math.max(filter[place * 8 + 2]!, filter[place * 8 + 3]!);
        expect(place + 1 + furthest).toBeLessThan(count);
      }
      // The last one is an answer: allow.
      expect(filter.readUInt16LE((count - 1) * 8)).toBe(0x06);
      expect(filter.readUInt32LE((count - 1) * 8 + 4)).toBe(0x7fff0000);
    }
    expect(seccompFilter("riscv64")).toBeNull();
  });
});
