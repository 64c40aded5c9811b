// A worker that runs a program on the visitor's GPU, step by step, and tells the page of each.
import { compare } from "./compare.js";
import { beyond, openDevice } from "./device.js";
import { StepRun, TooSlow } from "./run.js";

const LOST_MS = 100; // in which a lost device says so

const tell = (kind, news = {}) => postMessage({ kind, ...news });

addEventListener("message", async ({ data: program }) => {
  try {
    await climb(program);
  } catch (error) {
    tell("failed", { message: error.message });
  }
  close();
});

/** Run all steps, the last one first: it is the fastest as a rule, and a step that is too slow ends the climb. */
async function climb(program) {
  const opened = await openDevice();
  if (!opened) {
    tell("missing");
    return;
  }
  const { device, told } = opened;
  tell("adapter", told);
  for (const step of [...program.steps].reverse()) {
    if (!step.launches.length) continue;
    tell("running", { step: step.step });
    const over = beyond(step, told);
    if (over) tell("problem", { step: step.step, message: over });
    else if (!(await climbed(device, program, step))) return;
  }
  device.destroy();
  tell("done");
}

/** Run one step; returns whether the device can run another. */
async function climbed(device, program, step) {
  const run = new StepRun(device, program, step);
  try {
    await run.prepare((what) => tell("preparing", { what }));
    const first = await run.first((share) => tell("running", { step: step.step, share }));
    const bytes = new Map();
    for (const { argument } of program.results) bytes.set(argument, await run.contents(argument));
    const check = compare(program.results, (argument) => bytes.get(argument));
    const timing = check.ok ? await run.time(first) : null;
    tell("measured", { step: step.step, check, timing });
    run.release();
    return true;
  } catch (error) {
    const slow = error instanceof TooSlow;
    const gone = slow || (await isLost(device));
    tell("problem", { step: step.step, message: error.message, slow });
    if (gone) tell(slow ? "slow" : "lost", { step: step.step });
    else run.release();
    return !gone;
  }
}

/** Whether the device is gone; that is told a moment after what it was asked for has failed. */
const isLost = (device) => Promise.race([device.lost.then(() => true), new Promise((resolve) => { setTimeout(resolve, LOST_MS, false); })]);
