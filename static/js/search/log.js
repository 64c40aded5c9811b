// Logs of searches: lines of JSON as Strata writes them, and as the three tuners of TVM do.

import { toast } from "../dom.js";
import { state } from "../state.js";

export const LOG = "search.jsonl"; // beside the script: links keep it, and the next search goes on from it
const MOST_BYTES = 480 * 1024; // of a log that stays with the script
export const MOST_TRIALS = 2000;
const MOST_WORDS = 1000; // characters that name a workload
const MOST_SECONDS = 1e6; // as of MAX_SECONDS of app/panes/searches.py

export function parse(line) {
  try {
    return JSON.parse(line);
  } catch {
    return null; // cut off, or not a log
  }
}

export const isDecision = (line) => parse(line)?.is_decision === true;

const isValue = (value) => typeof value === "boolean" || (typeof value === "string" ? value.length <= 200 : [value].flat().every(Number.isSafeInteger) && [value].flat().length <= 16);
export const isChoice = (choice) => Array.isArray(choice) && choice.length === 2 && typeof choice[0] === "string" && choice[0].length <= 200 && isValue(choice[1]);
const number = (value) => (Number.isFinite(value) ? value : null);

/** A record as the server draws it; null for what is none, or a decision. */
export function read(line) {
  const { workload, kind, seconds, message, predicted, error, timestamp, choices, features, is_decision } = parse(line) ?? {};
  if (typeof kind !== "string" || is_decision || !(choices === null || (Array.isArray(choices) && choices.every(isChoice)))) return null;
  return {
    workload: String(workload).slice(0, MOST_WORDS), kind, seconds: seconds > 0 && seconds < MOST_SECONDS ? seconds : null, message: String(message || ""),
    predicted: number(predicted), error: number(error), timestamp: Number(timestamp) || 0, choices,
    ...(Array.isArray(features) && features.every(Number.isFinite) ? { features } : {}),
  };
}

/** The lines, or if they are too long for a file beside the script, the newest, the fastest, and what is decided. */
export function fitting(lines) {
  const best = new Map(); // by workload
  for (const line of lines) {
    const { workload, seconds } = read(line) ?? {};
    if (seconds && !(seconds >= best.get(workload)?.seconds)) best.set(workload, { seconds, line });
  }
  const needed = new Set([...best.values()].map(({ line }) => line));
  let over = lines.reduce((sum, line) => sum + line.length + 1, 0) - MOST_BYTES;
  const kept = lines.filter((line) => {
    if (over <= 0 || needed.has(line) || isDecision(line)) return true;
    over -= line.length + 1;
    return false;
  });
  return `${kept.join("\n")}\n`;
}

const NO_TIME = 1e9; // seconds that stand for an error
const ERRORS = { autotvm: ["ok", "template", "compile", "device", "runtime", "wrong", "build timeout", "run timeout"], ansor: ["ok", "instantiation", "compile host", "compile device", "runtime", "wrong", "build timeout", "run timeout"] };

const TUNERS = ["AutoTVM’s ", "auto_scheduler’s ", "MetaSchedule’s "]; // what the workloads of translated records begin with
export const isForeign = ({ workload }) => TUNERS.some((tuner) => workload.startsWith(tuner));

/** What a tuner of TVM noted of a candidate; its choices are of that tuner's own space. */
function foreign(line) {
  const found = parse(line);
  if (Array.isArray(found?.input) && Array.isArray(found.result)) {
    const [target, task, args] = found.input, [costs, error, , timestamp] = found.result;
    return record(`${TUNERS[0]}${task} ${JSON.stringify(args)} ${target}`, found.config?.entity?.map(([name, , value]) => [name, value]), costs, ERRORS.autotvm[error], timestamp);
  }
  if (Array.isArray(found?.i) && Array.isArray(found.r)) {
    const [[task, target], [, steps = []] = []] = found.i, [costs, error, , timestamp] = found.r;
    return record(`${TUNERS[1]}${task} ${target}`, steps.filter(({ length }) => length).map((step, at) => (step.every(Number.isInteger) ? [`tiles ${at}`, step] : step.length === 2 ? step : [`${at}.${step[0]}`, step.slice(1)])), costs, ERRORS.ansor[error], timestamp);
  }
  const [place, made] = Array.isArray(found) ? found : [found?.workload, found?.record];
  if (!Number.isInteger(place) || !Array.isArray(made) || !Array.isArray(made[0]?.[1])) return null;
  const [instructions, decisions] = made[0];
  const sizes = instructions.filter(([, inputs]) => inputs.some(Number.isInteger)).map(([kind, inputs]) => [`${kind} ${inputs[0]}`, inputs.filter(Number.isInteger)]);
  const chosen = decisions.length ? decisions.map(([at, value]) => [`decision ${at}`, value]) : sizes; // nothing was sampled where Strata wrote it
  return record(`${TUNERS[2]}workload ${place}`, chosen, made[1], made[1] ? "ok" : "error", 0);
}

function record(workload, choices, costs, kind = "error", timestamp = 0) {
  const made = choices?.map(([name, value]) => [String(name).slice(0, 200), isValue(value) ? value : JSON.stringify(value).slice(0, 200)]) ?? [];
  const seconds = kind === "ok" && Array.isArray(costs) ? costs.reduce((sum, cost) => sum + cost, 0) / costs.length : NO_TIME;
  const failed = !(seconds < NO_TIME);
  return JSON.stringify({ v: 1, workload: workload.slice(0, MOST_WORDS), structure: "", choices: made, kind: failed && kind === "ok" ? "error" : kind, seconds: failed ? null : seconds, message: "", features: [], timestamp: Number(timestamp) || 0 });
}

function beside(lines) {
  const text = fitting(lines), kept = text.split("\n").length - 1;
  if (kept < lines.length) toast(`${kept} of ${lines.length} lines of the log are kept, as many as a link holds: the newest, the fastest of each function, and what was decided`);
  return new File([text], LOG);
}

const isProgram = (line) => { const found = parse(line); return Array.isArray(found) && found.length === 2 && found.every((part) => typeof part === "string"); };

/** Files as logs beside the script.
 * @param {File[]} files
 * @returns {Promise<File[]>} */
export async function asLogs(files) {
  const texts = await Promise.all(files.map(async (file) => (await file.text()).split("\n").filter(Boolean)));
  const made = files.map((file, at) => asLog(file, texts[at])), logs = made.flat();
  const none = made.find(([{ name }, translated]) => !translated && name !== LOG && !name.endsWith(".json"))?.[0]; // which is what scripts read
  if (none) toast(`${none.name} lies beside the script now, but is not the log of a search: none of its lines is a record`);
  const programs = files.find((_, at) => texts[at].length && texts[at].every(isProgram));
  if (programs && !logs.some(({ name }) => name === LOG) && !state.files.has(LOG)) toast(`${programs.name} has the programs that MetaSchedule tuned; to see what it measured of them, drop database_tuning_record.json, which lies beside it, too`);
  return logs;
}

/** A file as a log, and itself too if it is one of TVM's, which the script may read; only itself if it is no log. */
function asLog(file, lines) {
  if (lines.some((line) => read(line) || isDecision(line))) return [beside(lines)];
  const translated = lines.map((line) => { try { return foreign(line); } catch { return null; } }).filter(Boolean);
  return translated.length ? [file, beside(translated)] : [file];
}
