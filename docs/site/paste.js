// People paste whole messages into the search. Its language has operators (a colon, a star, a quote
// ...) that a message contains by chance: a pasted one is made of plain words.
const OPERATORS = /["'`:*^~+\\]|(?<=^|\s)-+/g;
// The scheduler's sentence on preemption follows every refusal, and tells nothing about this one.
const PREEMPTION = /\bpreemption: .*$/s;

function plainWords(text) {
  return text.replace(PREEMPTION, "").replace(OPERATORS, " ").replace(/\s+/g, " ").trim();
}

if (typeof document !== "undefined") {
  document.addEventListener("paste", (event) => {
    const field = event.target;
    if (!(field instanceof HTMLInputElement) || !field.matches(".md-search__input")) return;
    event.preventDefault();
    const words = plainWords(event.clipboardData.getData("text"));
    field.setRangeText(words, field.selectionStart, field.selectionEnd, "end");
    field.dispatchEvent(new KeyboardEvent("keyup", { bubbles: true }));
  });
}

if (typeof module !== "undefined") module.exports = { plainWords };
