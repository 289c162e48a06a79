import { BlockList, isIP, isIPv6 } from "node:net";

export type AddressClass = "public" | "private" | "forbidden";

/** Reachable only from inside: refused unless the operator allows them. */
const privateRanges = [
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "172.16.0.0/12",
  "192.168.0.0/16",
  "::1/128",
  "fc00::/7",
];
/** Never an address anybody means: machine metadata, link-local, multicast, unspecified, reserved, tunnels. */
const forbiddenRanges = [
  "0.0.0.0/8",
  "100.100.100.200/32",
  "169.254.0.0/16",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
  "fd00:ec2::254/128",
  "fe80::/10",
];
/** What the internet assigns; within it, documentation and the forms that carry an IPv4 address inside. */
const assignedV6 = "2000::/3";
const unusableV6 = ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"];

const forbidden = blockList(forbiddenRanges);
const internal = blockList(privateRanges);
const assigned = blockList([assignedV6]);
const unusable = blockList(unusableV6);

/** What an IP address is good for. Text that is no IP address is forbidden. */
export function classifyAddress(address: string): AddressClass {
  const plain = address.replace(/^\[|\]$/g, "").split("%", 1)[0]!;
  if (isIP(plain) === 0) return "forbidden";
  const family = isIPv6(plain) ? "ipv6" : "ipv4";
  // `check` reads an IPv4-mapped IPv6 address as the IPv4 one, so mapped forms are settled first.
  if (family === "ipv6" && isMapped(plain)) return "forbidden";
  if (forbidden.check(plain, family)) return "forbidden";
  if (internal.check(plain, family)) return "private";
  if (family === "ipv4") return "public";
  return assigned.check(plain, family) && !unusable.check(plain, family) ? "public" : "forbidden";
}

/** Whether text is an IP address, or a range of them such as `10.0.0.0/8`. */
export function isAddressRange(text: string): boolean {
  const [address = "", prefix, ...more] = text.split("/");
  const bits = isIP(address) === 6 ? 128 : 32;
  if (isIP(address) === 0 || more.length > 0) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits);
}

/** Recognises addresses that are among these, or in one of these ranges. */
export function addressesIn(ranges: readonly string[]): (address: string) => boolean {
  const list = blockList(
    ranges.map((range) => (range.includes("/") ? range : `${range}/${range.includes(":") ? 128 : 32}`)),
  );
  return (address) => isIP(address) !== 0 && list.check(address, isIPv6(address) ? "ipv6" : "ipv4");
}

/** ::ffff:0:0/96 and ::/96 apart from ::1: an IPv4 address in disguise. */
function isMapped(address: string): boolean {
  const canonical = new URL(`http://[${address}]/`).hostname.slice(1, -1);
  return canonical !== "::1" && /^::(?:ffff:)?(?:[0-9a-f]{1,4}(?::[0-9a-f]{1,4})?)?$/.test(canonical);
}

function blockList(ranges: string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [address, prefix] = range.split("/") as [string, string];
    list.addSubnet(address, Number(prefix), address.includes(":") ? "ipv6" : "ipv4");
  }
  return list;
}
