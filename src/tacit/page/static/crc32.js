// CRC-32 as in zlib, four bytes at a step: detects a damaged file before it is used.

const tables = [0, 1, 2, 3].map(() => new Uint32Array(256));
for (let i = 0; i < 256; i++) {
  let value = i;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  tables[0][i] = value;
}
for (let i = 0; i < 256; i++) {
  for (let t = 1; t < 4; t++) {
    const last = tables[t - 1][i];
    tables[t][i] = (last >>> 8) ^ tables[0][last & 255];
  }
}

/**
 * The CRC-32 of bytes, continued from that of earlier ones.
 * @param {Uint8Array} bytes
 * @param {number} [earlier]
 */
export function crc32(bytes, earlier = 0) {
  const [first, second, third, fourth] = tables;
  let crc = ~earlier;
  let i = 0;
  for (; i + 4 <= bytes.length; i += 4) {
    crc ^= bytes[i] | (bytes[i + 1] << 8) | (bytes[i + 2] << 16) | (bytes[i + 3] << 24);
    crc = fourth[crc & 255] ^ third[(crc >>> 8) & 255] ^ second[(crc >>> 16) & 255] ^ first[crc >>> 24];
  }
  for (; i < bytes.length; i++) crc = (crc >>> 8) ^ first[(crc ^ bytes[i]) & 255];
  return ~crc >>> 0;
}
