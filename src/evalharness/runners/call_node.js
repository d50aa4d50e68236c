// The child that calls a JavaScript function: the question on stdin, one line of JSON on descriptor 3.
"use strict";
const fs = require("node:fs");
const path = require("node:path");
const { pathToFileURL } = require("node:url");
const vm = require("node:vm");

const wanted = process.argv[2];
const [name, method] = wanted.split(".");
const question = JSON.parse(fs.readFileSync(0, "utf8"));
const LONGEST_ERROR = 500;
const ONLY_IN_MODULES = /\b(import|export)\b|^await is only valid/;

class NotPlain extends Error {}

function plain(value) {
  if (value === null || value === undefined) return null;
  switch (typeof value) {
    case "boolean":
    case "string":
      return value;
    case "number":
      if (Number.isFinite(value)) return value;
      return { float: Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf" };
    case "bigint":
      return { int: value.toString() };
    case "object":
      break;
    default:
      throw new NotPlain(`the result contains a ${typeof value}, which JSON does not support`);
  }
  if (Array.isArray(value) || ArrayBuffer.isView(value)) return Array.from(value, plain);
  if (value instanceof Set) return { set: Array.from(value, plain) };
  if (value instanceof Map) return { dict: members(Array.from(value, ([key, item]) => [String(key), item])) };
  if (typeof value.toJSON === "function") return plain(value.toJSON());
  return { dict: members(Object.entries(value)) };
}

function members(entries) {
  // A key such as __proto__ is a key like any other.
  const found = Object.create(null);
  for (const [key, item] of entries) found[key] = plain(item);
  return found;
}

function described(error) {
  if (error instanceof NotPlain) return error.message;
  if (error instanceof RangeError && /call stack/i.test(error.message)) return `RangeError: ${error.message}`;
  const text = error instanceof Error ? `${error.name}: ${error.message}` : `it threw ${String(error)}`;
  const line = /answer\.m?js:(\d+)/.exec((error && error.stack) || "");
  return text.slice(0, LONGEST_ERROR) + (line ? ` (line ${line[1]} of the code)` : "");
}

function send(replied) {
  const bytes = Buffer.from(JSON.stringify(replied) + "\n");
  for (let sent = 0; sent < bytes.length; ) sent += fs.writeSync(3, bytes, sent);
  process.reallyExit(0);
}

function compiled() {
  // Nothing of the code has run yet, so it can still be taken for a module.
  try {
    return new vm.Script(question.code, { filename: "answer.js" });
  } catch (error) {
    if (error instanceof SyntaxError && ONLY_IN_MODULES.test(error.message)) return null;
    throw error;
  }
}

function fromScript(script) {
  const module = { exports: {} };
  Object.assign(globalThis, { module, exports: module.exports, require });
  script.runInThisContext();
  // Only a script of the same context sees what `const` and `let` defined at the top.
  const called = vm.runInThisContext(`typeof ${name} === "undefined" ? undefined : ${name}`);
  return called ?? module.exports[name] ?? (module.exports.name === name ? module.exports : undefined);
}

async function fromModule() {
  const folder = fs.mkdtempSync(path.resolve("module-"));
  const file = path.join(folder, "answer.mjs");
  // Only the module itself sees what it defines and does not export.
  const hands = `\n;globalThis[Symbol.for("answer")] = typeof ${name} === "undefined" ? undefined : ${name};\n`;
  try {
    fs.writeFileSync(file, question.code + hands);
    const exported = await import(pathToFileURL(file));
    const unnamed = exported.default?.name === "default" ? exported.default : undefined;
    return exported[name] ?? globalThis[Symbol.for("answer")] ?? exported.default?.[name] ?? unnamed;
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

function called(found) {
  // Of `Class.method` it is the method of an object made without arguments, or else the class's own.
  if (method === undefined || found === undefined || found === null) return found;
  const owner = typeof found === "function" && typeof found[method] !== "function" ? new found() : found;
  return typeof owner[method] === "function" ? owner[method].bind(owner) : undefined;
}

async function main() {
  const script = compiled();
  const found = called(script ? fromScript(script) : await fromModule());
  if (typeof found !== "function") return { error: `the code defines no function '${wanted}'` };
  const keywords = Object.keys(question.kwargs).length ? [question.kwargs] : [];
  return { value: plain(await found(...question.args, ...keywords)) };
}

main().then(send, (error) => send({ error: described(error) }));
