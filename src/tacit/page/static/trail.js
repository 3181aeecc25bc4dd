// The trail of a glide, drawn over the keys: thick where the finger is, thinner and thinner where it was.
//
// Pieces overlap, so each is opaque, and style.css makes the whole canvas translucent.

const LIFE = 600; // milliseconds that a point stays visible

/**
 * @param {HTMLCanvasElement} canvas
 * @returns {{add: (x: number, y: number) => void, end: () => void}} points in CSS pixels of the canvas
 */
export function makeTrail(canvas) {
  const pen = canvas.getContext("2d");
  /** @type {{x: number, y: number, time: number}[]} */
  let points = [];
  let running = false;

  function draw(/** @type {number} */ now) {
    if (!pen) return;
    const ratio = window.devicePixelRatio || 1;
    const { clientWidth: width, clientHeight: height } = canvas;
    if (canvas.width !== Math.round(width * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    points = points.filter((p) => now - p.time < LIFE);
    pen.strokeStyle = getComputedStyle(canvas).color;
    pen.lineCap = "round";
    for (let i = 1; i < points.length; i++) {
      const left = 1 - (now - points[i].time) / LIFE;
      pen.lineWidth = 10 * Math.sqrt(Math.max(0, left));
      pen.beginPath();
      pen.moveTo(points[i - 1].x, points[i - 1].y);
      pen.lineTo(points[i].x, points[i].y);
      pen.stroke();
    }
    running = points.length > 0;
    if (running) requestAnimationFrame(draw);
  }

  return {
    add(x, y) {
      points.push({ x, y, time: performance.now() });
      if (!running) {
        running = true;
        requestAnimationFrame(draw);
      }
    },
    end() {
      if (matchMedia("(prefers-reduced-motion: reduce)").matches) points = [];
    },
  };
}
