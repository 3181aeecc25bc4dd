// A file for the person, made in the page: no request is needed.

/** Save a text as a file of the browser's downloads. @param {string} name @param {string} json */
export function download(name, json) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([json], { type: "application/json" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
