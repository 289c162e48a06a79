import { type Architecture, syscalls } from "./system-calls.ts";

/** `linux/seccomp.h`, `linux/filter.h`, `linux/audit.h`. */
const loadWord = 0x20;
const jumpIfEqual = 0x15;
const jumpIfAtLeast = 0x35;
const jumpIfAnyBit = 0x45;
const answer = 0x06;
const allow = 0x7fff0000;
const errno = (number: number) => 0x00050000 | number;
const killProcess = 0x80000000;
const EPERM = 1;
const ENOSYS = 38;
const auditArchitecture: Record<Architecture, number> = { x64: 0xc000003e, arm64: 0xc00000b7 };
const numberAt = 0;
const architectureAt = 4;
/** The low half of an argument; both architectures are little-endian. */
const argumentAt = (place: number) => 16 + 8 * place;

/** The flags of `clone` that make namespaces; CLONE_NEWTIME shares its bit with signals and cannot be asked for there. */
const namespaceFlags = 0x7e020000;
const terminalInjection = [0x5412, 0x541c];

type Instruction = { code: number; yes?: number; no?: number; value: number };

/**
 * A filter of system calls for `bwrap --seccomp`: what agents have no use for and attacks on the kernel or on
 * neighbours do. Null on an architecture whose numbers are not known here.
 */
export function seccompFilter(architecture: string): Buffer | null {
  if (architecture !== "x64" && architecture !== "arm64") return null;
  const { refused, absent, clone, ioctl } = syscalls[architecture];
  const program: Instruction[] = [
    { code: loadWord, value: architectureAt },
    { code: jumpIfEqual, value: auditArchitecture[architecture], yes: 1 },
    { code: answer, value: killProcess },
    { code: loadWord, value: numberAt },
    // The x32 calls of x64 are the same calls under other numbers.
    ...(architecture === "x64" ? refuseWhen(jumpIfAtLeast, 0x40000000, EPERM) : []),
    ...refused.flatMap((number) => refuseWhen(jumpIfEqual, number, EPERM)),
    // "Not there" makes libraries fall back to calls whose arguments can be looked at.
    ...absent.flatMap((number) => refuseWhen(jumpIfEqual, number, ENOSYS)),
    { code: jumpIfEqual, value: clone, no: 4 },
    { code: loadWord, value: argumentAt(0) },
    { code: jumpIfAnyBit, value: namespaceFlags, no: 1 },
    { code: answer, value: errno(EPERM) },
    { code: answer, value: allow },
    { code: jumpIfEqual, value: ioctl, no: 1 + terminalInjection.length * 2 },
    { code: loadWord, value: argumentAt(1) },
    ...terminalInjection.flatMap((request) => refuseWhen(jumpIfEqual, request, EPERM)),
    { code: answer, value: allow },
  ];
  return encode(program);
}

function refuseWhen(code: number, value: number, number: number): Instruction[] {
  return [
    { code, value, no: 1 },
    { code: answer, value: errno(number) },
  ];
}

function encode(program: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * 8);
  for (const [place, { code, yes = 0, no = 0, value }] of program.entries()) {
    bytes.writeUInt16LE(code, place * 8);
    bytes.writeUInt8(yes, place * 8 + 2);
    bytes.writeUInt8(no, place * 8 + 3);
    bytes.writeUInt32LE(value >>> 0, place * 8 + 4);
  }
  return bytes;
}
