import { createSocket } from "node:dgram";
import { once } from "node:events";

/** How the server answers: with its records, that it cannot answer, or not at all. */
export type DnsMood = "answers" | "fails" | "silent";

export type DnsServer = {
  /** As a resolver takes it. */
  address: string;
  /** TXT records by name. */
  records: Map<string, string[]>;
  mood: DnsMood;
  /** The names it was asked for. */
  asked: string[];
  stop(): Promise<void>;
};

const kinds = { txt: 16 };
const codes = { fine: 0, failed: 2, noName: 3 };

/** A DNS server on loopback that knows TXT records and nothing else. */
export async function startDnsServer(): Promise<DnsServer> {
  const socket = createSocket("udp4");
  const server: DnsServer = {
    address: "",
    records: new Map(),
    mood: "answers",
    asked: [],
    async stop() {
      socket.close();
      await once(socket, "close");
    },
  };
  socket.on("message", (message, { address, port }) => {
    const { name, kind, end } = questionOf(message);
    server.asked.push(name);
    if (server.mood === "silent") return;
    const known = server.records.get(name);
    const texts = server.mood === "answers" && kind === kinds.txt ? (known ?? []) : [];
    const code = server.mood === "fails" ? codes.failed : known ? codes.fine : codes.noName;
    const head = Buffer.alloc(12);
    message.copy(head, 0, 0, 2);
    // An answer, with authority, to a question that asked for recursion.
    head.writeUInt16BE(0x8580 | code, 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(texts.length, 6);
    const answers = texts.map((text) => txtRecord(text));
    socket.send(Buffer.concat([head, message.subarray(12, end), ...answers]), port, address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  server.address = `127.0.0.1:${socket.address().port}`;
  return server;
}

function questionOf(message: Buffer): { name: string; kind: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = message[at]!; length > 0; length = message[at]!) {
    labels.push(message.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join(".").toLowerCase(), kind: message.readUInt16BE(at + 1), end: at + 5 };
}

/** Its name is the question's. A text longer than 255 bytes comes in pieces. */
function txtRecord(text: string): Buffer {
  const bytes = Buffer.from(text);
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += 255) {
    const piece = bytes.subarray(at, at + 255);
    pieces.push(Buffer.from([piece.length]), piece);
  }
  const data = Buffer.concat(pieces);
  const head = Buffer.alloc(12);
  head.writeUInt16BE(0xc00c, 0);
  head.writeUInt16BE(kinds.txt, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt32BE(60, 6);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}
