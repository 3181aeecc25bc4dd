// A case that Python wrote (tests/page/train/cases.py), in node or in a browser: {task, expected}.

/** @param {string} json @param {ArrayBuffer} bytes */
export function parse(json, bytes) {
  const { arrays, ...task } = JSON.parse(json);
  const numbers = new Float32Array(bytes);
  const [params, carried, expected] = [{}, [], {}];
  for (const [label, shape, at] of arrays) {
    const array = numbers.slice(at, at + shape.reduce((a, b) => a * b, 1));
    if (label.startsWith("params/")) params[label.slice(7)] = array;
    else if (label.startsWith("carried/")) carried.push(array);
    else expected[label] = array;
  }
  return { task: { ...task, params, carried }, expected };
}

/** The largest difference of two arrays. */
export function apart(a, b) {
  if (a.length !== b.length) return Infinity;
  return a.reduce((most, x, i) => Math.max(most, Number.isNaN(x - b[i]) ? Infinity : Math.abs(x - b[i])), 0);
}

/** How far an answer is from Python's reply, of the rule `mean`: the largest difference of a parameter, and of a moment. */
export function against(answer, expected) {
  const weight = expected["reply/message/1"][0];
  const far = { update: 0, moments: 0, largest: 0 };
  for (const [name, update] of Object.entries(answer.update)) {
    const wanted = expected[`reply/message/0/${name}`].map((x) => x / weight);
    far.update = Math.max(far.update, apart(update, wanted));
    far.largest = wanted.reduce((most, x) => Math.max(most, Math.abs(x)), far.largest);
  }
  answer.carried.forEach((array, i) => {
    const wanted = expected[`reply/carried/0/${i}`].map((x) => x / weight);
    far.moments = Math.max(far.moments, apart(array, wanted));
  });
  return far;
}
