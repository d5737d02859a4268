// People paste whole messages into the search. Its language has operators (a colon, a star, a quote
// ...) that a message contains by chance: a pasted one is made of plain words.
const OPERATORS = /["'`:*^~+\\()[\]{}]+[.,-]*|(?<=^|\s)[.,-]+/g;
// The scheduler's sentence on preemption follows every refusal, and tells nothing about this one.
const PREEMPTION = /\b(no new claims to deallocate, )?preemption: .*$/s;
// The scheduler counts the nodes, and then the nodes of each cause, those of other plug-ins too.
const COUNTED = /^.*?\b\d+\/\d+ nodes are available: (?=\d)/s;
const NEXT_CAUSE = /, (?=\d+ )/;
// The causes of DRA: claims and devices, and resources whose names have a domain.
const OWN_CAUSE = /claim|device|\bInsufficient [\w.-]+\//i;
// What differs from cluster to cluster: the head of a line of a log, its pairs after the error, UIDs,
// quoted names with a number, and the names of drivers.
const OWN_WORDS = [
  /(?<=\b(claim|device|pod) )[a-z0-9.-]+\/[^\s,]*|(?<=\bResourceClaim )[a-z0-9./-]+(?=:)/g,
  /\b[IWEF]\d{4} [\d:.]+ +\d+ [\w.-]+:\d+\] /g,
  /\b(pod|podUID|key|driver|claim|logger|requestID|request)="(\\.|[^"\\])*"/g,
  /\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g,
  /\\?"[^"\s\\]*\d[^"\s\\]*\\?"/g,
  /(?<=\b(resourceclaim|claim template|resource\.k8s\.io) )\\?"[^"\s\\]*\\?"/gi,
  // Endings of one or many, and the key and value of a taint.
  /(?<=\w)\(s\)/g,
  /(?<=\btaint) \{.*?\}/g,
  /\b[a-z0-9-]+\.[a-z0-9-]+\.(com|ai|net|org)\b/g,
  /\(?regex used for validation is .*$/s,
  // A list of causes: the first is enough. Before it stand the kind and name of the object.
  /^.*\bis invalid: \[?/s,
  /, (spec|metadata)\..*$/s,
  /(?<=\bspec\.)spec\./,
  /(?<=\b(Invalid|Duplicate|Unsupported) value: |\bNot found: )(\\?"(\\.|[^"\\])*"|[\w.]*\{.*?\}(?=:)|\[.*?\](?=:)|[^\s:,]+)/g,
  // The places in lists, and numbers.
  /\[\d+\]/g,
  /(?<=^|\s)\d+(?=\s|$)/g,
];
// Messages of a few words that many pages share: the name of their own page takes their place.
const PAGES_OF_SHORT_MESSAGES = [
  [/^\s*device class \S+ does not exist\.?\s*$/i, "device class does not exist class-missing"],
  [/^\s*resourceclaim\.resource\.k8s\.io \S+ not found\.?\s*$/i, "claim-missing"],
  [/^\s*DRA (driver|plugin) \S+ is not registered\.?\s*$/i, "FailedPrepareDynamicResources"],
];
// The search asks for each word.
const MAX_WORDS = 40;

function plainWords(text) {
  const known = PAGES_OF_SHORT_MESSAGES.find(([message]) => message.test(text));
  if (known) return known[1];
  const cause = chooseCause(text.replace(PREEMPTION, ""));
  const general = OWN_WORDS.reduce((part, own) => part.replace(own, " "), cause);
  const words = general.replace(OPERATORS, " ").trim().split(/\s+/);
  return words.filter((word) => /[\p{L}\p{N}]/u.test(word)).slice(0, MAX_WORDS).join(" ");
}

function chooseCause(text) {
  if (!COUNTED.test(text)) return text;
  const causes = text.replace(COUNTED, "").split(NEXT_CAUSE);
  return causes.find((cause) => OWN_CAUSE.test(cause)) ?? causes[0];
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
