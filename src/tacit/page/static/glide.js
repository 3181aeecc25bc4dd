// Decodes a glide: the distance of each word's path over the keys from the trail. A port of
// `src/tacit/keyboard/glide.py`, after SHARK² (Kristensson and Zhai 2004).
//
//     location  x_L = 1/N Σ ‖u_i − w_i‖                         u_i of the trail, w_i of the word's path
//     shape     x_S = 1/N Σ ‖(u_i − ū)/s_u − (w_i − w̄)/s_w‖     s: the longer side of the bounding box, at least 1
//
//     ends      x_E = √(‖u_1 − w_1‖² + ‖u_N − w_N‖²)
//
//     cost(word) = ½ (x_L / σ_L)² + ½ (x_S / σ_S)² + ½ (x_E / σ_E)²
//
// Paths of all words would take a second to compute; only those whose ends and length fit a trail are computed, and kept.

import { polyline } from "./lexicon.js";

/**
 * @typedef {{points: number, sigma_location: number, sigma_shape: number, sigma_ends: number, reach: number,
 *   stretch: number, slack: number, beam: number, language: number, nothing: number}} Settings
 */
/** A path of a word: its keys, where it begins and ends, its length; points once they were needed. */
/** @typedef {{place: number, keys: number[], length: number, points: Float32Array | null}} Path */

/**
 * The paths of all words, one or two for each, as keys.
 * @param {import("./lexicon.js").Lexicon} lexicon
 * @returns {Path[]}
 */
export function pathsOf(lexicon) {
  const { letters, x, y } = lexicon.layout;
  const number = new Map(letters.map((letter, i) => [letter, i]));
  /** @type {Path[]} */
  const candidates = [];
  lexicon.spellings.forEach((spelling, place) => {
    for (const turns of new Set([polyline(spelling, true), polyline(spelling, false)])) {
      if (!turns) continue; // a word that is only an apostrophe
      const keys = [...turns].map((c) => number.get(c) ?? 0);
      let length = 0;
      for (let i = 1; i < keys.length; i++) length += Math.hypot(x[keys[i]] - x[keys[i - 1]], y[keys[i]] - y[keys[i - 1]]);
      candidates.push({ place, keys, length, points: null });
    }
  });
  return candidates;
}

/**
 * `count` points at equal distances along a line, including its ends: x and y in turn.
 * @param {number[][]} line
 * @param {number} count
 */
export function resample(line, count) {
  const at = [0];
  for (let i = 1; i < line.length; i++) at.push(at[i - 1] + Math.hypot(line[i][0] - line[i - 1][0], line[i][1] - line[i - 1][1]));
  const whole = at[at.length - 1];
  const points = new Float64Array(2 * count);
  let piece = 0; // the point lies between line[piece] and line[piece + 1]
  for (let i = 0; i < count; i++) {
    const wanted = i === count - 1 ? whole : (whole * i) / (count - 1);
    while (piece < line.length - 2 && at[piece + 1] <= wanted) piece++;
    const [from, to] = [line[piece], line[Math.min(piece + 1, line.length - 1)]];
    const step = at[Math.min(piece + 1, at.length - 1)] - at[piece];
    const share = step > 0 ? Math.min(1, (wanted - at[piece]) / step) : 1;
    points[2 * i] = from[0] + share * (to[0] - from[0]);
    points[2 * i + 1] = from[1] + share * (to[1] - from[1]);
  }
  return points;
}

/** A line of points moved to its mean and scaled to size 1; a line smaller than a key is not enlarged. */
function shape(/** @type {Float64Array | Float32Array} */ line) {
  const n = line.length / 2;
  const low = [Infinity, Infinity];
  const high = [-Infinity, -Infinity];
  const sum = [0, 0];
  for (let i = 0; i < line.length; i++) {
    low[i & 1] = Math.min(low[i & 1], line[i]);
    high[i & 1] = Math.max(high[i & 1], line[i]);
    sum[i & 1] += line[i];
  }
  const size = Math.max(1, high[0] - low[0], high[1] - low[1]);
  return Float64Array.from(line, (value, i) => (value - sum[i & 1] / n) / size);
}

/** The mean distance between two lines, point by point. */
function apart(/** @type {ArrayLike<number>} */ a, /** @type {ArrayLike<number>} */ b) {
  let sum = 0;
  for (let i = 0; i < a.length; i += 2) sum += Math.hypot(a[i] - b[i], a[i + 1] - b[i + 1]);
  return sum / (a.length / 2);
}

/**
 * The words with similar paths, with their costs, at most `beam` above the best.
 * @param {import("./lexicon.js").Lexicon} lexicon
 * @param {Path[]} paths
 * @param {number[][]} trail
 * @param {Settings} settings
 * @returns {{place: number, cost: number}[]}
 */
export function search(lexicon, paths, trail, settings) {
  if (!trail.length) return [];
  const { x, y } = lexicon.layout;
  let far = 0;
  for (let i = 1; i < trail.length; i++) far += Math.hypot(trail[i][0] - trail[i - 1][0], trail[i][1] - trail[i - 1][1]);
  const [start, end] = [trail[0], trail[trail.length - 1]];
  const drawn = resample(trail, settings.points);
  const drawnShape = shape(drawn);
  const away = (/** @type {number} */ key, /** @type {number[]} */ to) => (x[key] - to[0]) ** 2 + (y[key] - to[1]) ** 2;
  /** @type {Map<number, number>} */
  const least = new Map();
  let best = Infinity;
  for (const path of paths) {
    const { keys, length, place } = path;
    if (Math.max(length, far) > settings.stretch * Math.min(length, far) + settings.slack) continue;
    const [first, last] = [away(keys[0], start), away(keys[keys.length - 1], end)];
    if (Math.max(first, last) > settings.reach ** 2) continue;
    path.points ??= Float32Array.from(resample(keys.map((k) => [x[k], y[k]]), settings.points));
    const location = apart(drawn, path.points) / settings.sigma_location;
    const form = apart(drawnShape, shape(path.points)) / settings.sigma_shape;
    const cost = 0.5 * (location * location + form * form + (first + last) / settings.sigma_ends ** 2);
    least.set(place, Math.min(cost, least.get(place) ?? Infinity));
    best = Math.min(best, cost);
  }
  return [...least].filter(([, cost]) => cost <= best + settings.beam).map(([place, cost]) => ({ place, cost }));
}
