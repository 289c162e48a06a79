/** Numbers of system calls, from the kernel's own headers (`asm/unistd_64.h`, `asm-generic/unistd.h`). */
export type Architecture = "x64" | "arm64";

type Numbers = { refused: readonly number[]; absent: readonly number[]; clone: number; ioctl: number };

/*
 * Other processes' memory and descriptors: ptrace, process_vm_readv, process_vm_writev, process_madvise,
 *   kcmp, pidfd_getfd.
 * Mounts and namespaces: mount, umount2, pivot_root, chroot, setns, unshare, open_tree, move_mount, fsopen,
 *   fsconfig, fsmount, fspick, mount_setattr, open_by_handle_at, name_to_handle_at.
 * Parts of the kernel with a long record of holes: bpf, perf_event_open, userfaultfd, keyctl, add_key,
 *   request_key, fanotify_init.
 * The machine itself: init_module, finit_module, delete_module, kexec_load, kexec_file_load, reboot, swapon,
 *   swapoff, acct, quotactl, quotactl_fd, syslog, settimeofday, clock_settime, clock_adjtime, adjtimex,
 *   sethostname, setdomainname, iopl, ioperm, modify_ldt, vhangup, lookup_dcookie, uselib, nfsservctl.
 */
export const syscalls: Record<Architecture, Numbers> = {
  x64: {
    refused: [
      // Other processes' memory and descriptors.
      ...[101, 310, 311, 440, 312, 438],
      // Mounts and namespaces.
      ...[165, 166, 155, 161, 308, 272, 428, 429, 430, 431, 432, 433, 442, 304, 303],
      // Parts of the kernel with a long record of holes.
      ...[321, 298, 323, 250, 248, 249, 300],
      // The machine itself.
      ...[
        175, 313, 176, 246, 320, 169, 167, 168, 163, 179, 443, 103, 164, 227, 305, 159, 170, 171, 172, 173,
        154, 153, 212, 134, 180,
      ],
    ],
    // io_uring_setup, io_uring_enter, io_uring_register, clone3
    absent: [425, 426, 427, 435],
    clone: 56,
    ioctl: 16,
  },
  arm64: {
    refused: [
      // Other processes' memory and descriptors.
      ...[117, 270, 271, 440, 272, 438],
      // Mounts and namespaces.
      ...[40, 39, 41, 51, 268, 97, 428, 429, 430, 431, 432, 433, 442],
      // Parts of the kernel with a long record of holes.
      ...[280, 241, 282, 219, 217, 218, 262],
      // The machine itself.
      ...[105, 273, 106, 104, 294, 142, 224, 225, 89, 60, 443, 116, 170, 112, 266, 171, 161, 162, 58, 18, 42],
    ],
    absent: [425, 426, 427, 435],
    clone: 220,
    ioctl: 29,
  },
};
