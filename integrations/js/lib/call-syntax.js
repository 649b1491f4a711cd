// What a template writes around the name and the arguments of a call, for libraries that know calls as texts around both. Found by
// rendering calls, and believed only if the parser of the template reads what is put together from it.

import { RequestError } from "./errors.js";

const FIRST = "unjinja_first";
const SECOND = "unjinja_second";
const ARGUMENTS = /\{\s*"argument"\s*:\s*"value"\s*\}/;

const asked = [{ role: "user", content: "Hello" }];
const parameters = { type: "object", properties: { argument: { type: "string" } } };
const tools = [FIRST, SECOND].map((name) => ({ type: "function", function: { name, description: "A function.", parameters } }));

const NEXT =
  "\n  = next: let the model continue a text, with `complete` of unjinja/node-llama-cpp: it reads the calls of every template";

function fail(why) {
  throw new RequestError(
    `model: its calls have no form of a text before the name, one before the arguments and one after: ${why}${NEXT}`,
  );
}

function commonStart(one, other) {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return one.slice(0, length);
}

function commonEnd(one, other) {
  let length = 0;
  while (length < one.length && one.at(-1 - length) === other.at(-1 - length)) length += 1;
  return length === 0 ? "" : one.slice(-length);
}

/** The messages of a turn in which these tools are called. Ids differ, because none may be part of the form. */
function turn(names, id) {
  const calls = names.map((name, at) => ({
    id: `${id}0000${at}`,
    type: "function",
    function: { name, arguments: '{"argument": "value"}' },
  }));
  return { role: "assistant", content: "", tool_calls: calls };
}

/** What the template writes for an answer with these calls: after the prompt, or else with the beginning of the turn. */
function written(model, prompt, names, options) {
  const { text } = model.prompt([...asked, turn(names, "call")], { ...options, tools, addGenerationPrompt: false });
  const begun = text.startsWith(prompt.text) ? 0 : prompt.turn.length;
  return text.slice(prompt.text.length - begun);
}

/** A text in three: before the name, between it and the arguments, and after these. */
function divided(text, name) {
  const at = text.indexOf(name);
  if (at < 0) fail("a call is not rendered");
  const rest = text.slice(at + name.length);
  const found = ARGUMENTS.exec(rest);
  if (found === null) fail("the arguments are not JSON after the name");
  return {
    before: text.slice(0, at),
    between: rest.slice(0, found.index),
    json: found[0],
    after: rest.slice(found.index + found[0].length),
  };
}

/** A turn put together from the form of calls. */
function assembled({ call, section = { prefix: "", between: "", suffix: "" } }, names, json) {
  const calls = names.map((name) => call.prefix + name + call.paramsPrefix + json + call.suffix);
  return section.prefix + calls.join(section.between) + section.suffix;
}

/** Whether the template writes these turns as the form says, wherever they are, and the parser reads them. */
function holds(model, prompt, form, turns, json, options) {
  const ids = ["wxyz", "abcd"];
  const results = (message) =>
    message.tool_calls.map(({ id, function: { name } }) => ({ role: "tool", tool_call_id: id, name, content: "5" }));
  const messages = turns.map((names, at) => turn(names, ids[at])).flatMap((message) => [message, ...results(message)]);
  const { text } = model.prompt([...asked, ...messages.slice(0, -turns.at(-1).length)], {
    ...options,
    tools,
    addGenerationPrompt: false,
  });
  return turns.every((names) => {
    const output = assembled(form, names, json);
    const message = model.parse(output, { prompt, tools });
    const isClean = message.content.trim() === "" && message.diagnostics.length === 0;
    const calls = message.toolCalls.filter(({ complete }) => complete).map(({ name }) => name);
    return text.includes(output) && isClean && calls.join() === names.join();
  });
}

/** The form of several calls, from a text with two: the form of one call has to be in it. */
function formOf(text, one, turnEnd) {
  const first = divided(text, FIRST);
  const second = divided(first.after, SECOND);
  const prefix = commonEnd(one.before, second.before);
  const rest = second.before.slice(0, second.before.length - prefix.length);
  const end = without(second.after, turnEnd);
  const suffix = commonStart(rest, end);
  const section = {
    prefix: one.before.slice(0, one.before.length - prefix.length),
    between: rest.slice(suffix.length),
    suffix: end.slice(suffix.length),
  };
  return { call: { prefix, paramsPrefix: one.between, suffix }, section };
}

/** A text without its end. */
function without(text, end) {
  return text.endsWith(end) ? text.slice(0, text.length - end.length) : text;
}

function tried(run) {
  try {
    return run();
  } catch {
    // Some templates refuse several calls, or several turns with calls.
    return undefined;
  }
}

/**
 * The texts around the name and the arguments of a call, and around several calls.
 *
 * @throws {RequestError} if calls of the template have no such form.
 */
export function callSyntax(model, options = {}) {
  const prompt = model.prompt(asked, { ...options, tools });
  const { triggers, stops } = model.grammar({ tools, prompt });
  const ANSWER = "unjinja_answer";
  const answer = model.prompt([...asked, { role: "assistant", content: ANSWER }], {
    ...options,
    addGenerationPrompt: false,
  }).text;
  const turnEnd = answer.slice(answer.lastIndexOf(ANSWER) + ANSWER.length);
  const found = { stops, turnEnd, opensReasoning: model.stream({ prompt }).channel === "reasoning" };
  const whole = divided(written(model, prompt, [FIRST], options), FIRST);
  // Reasoning and layout may come before the call.
  const begins = Math.max(0, ...triggers.map(({ value }) => whole.before.lastIndexOf(value)));
  const one = { ...whole, before: whole.before.slice(begins) };
  if (one.before === "") fail("nothing comes before the name");

  const several = tried(() => formOf(written(model, prompt, [FIRST, SECOND], options), one, turnEnd));
  const turns = [[SECOND, FIRST, SECOND], [FIRST]];
  if (several !== undefined && tried(() => holds(model, prompt, several, turns, one.json, options)))
    return { ...found, ...several };
  const single = { call: { prefix: one.before, paramsPrefix: one.between, suffix: without(one.after, turnEnd) } };
  if (tried(() => holds(model, prompt, single, [[SECOND], [FIRST]], one.json, options))) return { ...found, ...single };
  return fail("they depend on the id, on the place, or twice on the name");
}
