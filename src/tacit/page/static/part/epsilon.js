// ε of the rounds that one person took part in, where the server adds normal noise of multiplier z to each sum.
//
// Rounds with multipliers z₁, z₂, … are one normal mechanism with μ² = Σ 1/z², and (Balle and Wang 2018, theorem 8)
//
//     δ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ)
//
// It falls with ε, so bisection finds the ε of a δ. No amplification by sampling is counted, as everybody may know who
// takes part. The server is trusted to add that noise.

/**
 * What a person has spent: the rounds in which a masked change left the browser, μ² of them, the least δ, and whether
 * the noise of some cancels in part over rounds.
 * @typedef {{rounds: number, square: number, delta: number, matrix: boolean}} Spent
 */
/** @type {Spent} */
export const NOTHING = { rounds: 0, square: 0, delta: 1, matrix: false };

/** @param {Spent} spent @param {{noise: number, delta: number, mechanism: string}} round @returns {Spent} */
export function spend(spent, { noise, delta, mechanism }) {
  const matrix = spent.matrix || mechanism === "matrix";
  return { rounds: spent.rounds + 1, square: spent.square + 1 / (noise * noise), delta: Math.min(spent.delta, delta), matrix };
}

/** Φ, the normal distribution function, and for small values its logarithm's precision. @param {number} x */
function logPhi(x) {
  if (x > -5) return Math.log(phi(x));
  let sum = 1, term = 1; // Φ(x) = φ(x)/|x| (1 − 1/x² + 3/x⁴ − …), Mills' ratio
  for (let k = 1; k < 8; k++) sum += term *= -(2 * k - 1) / (x * x);
  return -0.5 * x * x - Math.log(-x * Math.sqrt(2 * Math.PI)) + Math.log(sum);
}

/** @param {number} x */
function phi(x) {
  let sum = x, term = x; // Φ(x) = ½ + φ(x) (x + x³/3 + x⁵/(3·5) + …)
  for (let k = 3; Math.abs(term) > 1e-17 * Math.abs(sum) && k < 400; k += 2) sum += term *= (x * x) / k;
  return 0.5 + (sum * Math.exp(-0.5 * x * x)) / Math.sqrt(2 * Math.PI);
}

/** @param {number} epsilon @param {number} mu */
export function deltaOf(epsilon, mu) {
  return Math.exp(logPhi(mu / 2 - epsilon / mu)) - Math.exp(epsilon + logPhi(-mu / 2 - epsilon / mu));
}

/** ε of what was spent; ∞ if a round had no noise. @param {Spent} spent */
export function epsilonOf({ rounds, square, delta }) {
  if (!rounds) return 0;
  const mu = Math.sqrt(square);
  if (!Number.isFinite(mu) || !(delta > 0)) return Infinity;
  let low = 0, high = 1;
  while (deltaOf(high, mu) > delta) high *= 2;
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2;
    if (deltaOf(middle, mu) > delta) low = middle;
    else high = middle;
  }
  return high;
}
