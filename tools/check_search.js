// Asks the built site's own search for messages that people paste: node tools/check_search.js
// [build/html]. The page of each has to come first. The search is the theme's worker, as a browser
// runs it.
"use strict";
const fs = require("node:fs");
const path = require("node:path");
const vm = require("node:vm");
const { plainWords } = require("../docs/site/paste.js");

const ROOT = path.dirname(__dirname);
const TABLE = path.join(ROOT, "tests", "data", "site-searches.tsv");
// Types of messages between the theme's page and its worker.
const SETUP = 0;
const QUERY = 2;

function startSearch(site) {
  const folder = path.join(site, "assets", "javascripts", "workers");
  const file = fs.readdirSync(folder).find((name) => /^search\..*\.js$/.test(name));
  const replies = [];
  let listener;
  const worker = {
    console: { warn() {} },
    addEventListener: (_, receive) => (listener = receive),
    postMessage: (message) => replies.shift()(message),
  };
  worker.self = worker;
  vm.runInNewContext(fs.readFileSync(path.join(folder, file), "utf8"), worker);
  return (type, data) =>
    new Promise((resolve) => {
      replies.push(resolve);
      listener({ data: { type, data } });
    });
}

function readTable() {
  const lines = fs.readFileSync(TABLE, "utf8").split("\n");
  return lines.filter((line) => line && !line.startsWith("#")).map((line) => line.split("\t"));
}

async function main(site) {
  const ask = startSearch(site);
  const index = JSON.parse(
    fs.readFileSync(path.join(site, "search", "search_index.json"), "utf8"),
  );
  await ask(SETUP, { ...index, options: { suggest: false } });
  const failures = [];
  const rows = readTable();
  for (const [page, message] of rows) {
    const reply = await ask(QUERY, plainWords(message));
    const pages = reply.data.items.map((group) => group[0].location.split("#")[0]);
    if (pages[0] !== page) {
      failures.push(`${message}\n  wanted ${page}\n  found  ${pages.slice(0, 3).join(", ") || "nothing"}`);
    }
  }
  failures.forEach((failure) => console.error(failure));
  console.log(`${rows.length - failures.length} of ${rows.length} messages find their page first`);
  process.exitCode = failures.length || !rows.length ? 1 : 0;
}

main(process.argv[2] ?? path.join(ROOT, "build", "html"));
