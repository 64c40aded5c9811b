// Runs a step of a program on a device: buffers, pipelines, launches, results and times.
import { bytesOf, randomInputs, unpacked } from "./inputs.js";
import { inParts, partByPart } from "./parts.js";

/** What is submitted at once, and takes longer, is given up. */
export const MAX_SECONDS = 2;
const PASS_SECONDS = 0.1; // how long one measured pass takes at most, unless a single call takes longer
const ALL_SECONDS = 1; // of all repeats of a measurement
const MAX_REPEATS = 15;
const MAX_NUMBER = 4096; // calls in one pass
const QUANTA = 100; // steps of the clock that a measured time has at least
const MEANINGFUL_SECONDS = 2e-3; // and what it is at least: browsers may hide how coarse a clock is

/** What a step or its GPU did wrong. */
export class StepError extends Error {}
/** A call took longer than MAX_SECONDS; the device is gone with it. */
export class TooSlow extends Error {}

const aligned = (bytes) => Math.ceil(bytes / 4) * 4;

/** One step, ready to be called.
 * @param {GPUDevice} device
 * @param {object} program
 * @param {object} step */
export class StepRun {
  constructor(device, program, step) {
    Object.assign(this, { device, program, step });
    this.buffers = [];
  }

  /** Fill the buffers and compile the kernels, which may take long of a model.
   * @param {(what: string) => void} progress is told what comes next */
  async prepare(progress) {
    const { memory } = this.step;
    await this.guarded(async () => {
      this.memory = memory.map((each, at) => {
        progress(`Filling memory ${at + 1} of ${memory.length}`);
        return this.allocated(each);
      });
      this.firstBlock = this.buffer(16, GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST);
      this.calls = await this.compiled(progress);
    });
  }

  /** The launches of the step, whose kernels begin at any block of their grid. */
  async compiled(progress) {
    const { device, step } = this;
    const module = device.createShaderModule({ code: inParts(step.source) });
    const { messages } = await module.getCompilationInfo();
    const errors = messages.filter(({ type }) => type === "error");
    if (errors.length) throw new StepError(errors.map(({ lineNum, message }) => `WGSL line ${lineNum}: ${message}`).slice(0, 3).join("\n"));
    const pipelines = new Map();
    const kernels = new Set(step.launches.map(({ kernel }) => kernel));
    for (const entryPoint of kernels) {
      progress(`Compiling kernel ${pipelines.size + 1} of ${kernels.size}`);
      pipelines.set(entryPoint, await device.createComputePipelineAsync({ layout: "auto", compute: { module, entryPoint } }));
    }
    return step.launches.map((launch) => this.bound(launch, pipelines.get(launch.kernel)));
  }

  /** Run something, and turn what the device objects to into an error. */
  async guarded(work) {
    const { device } = this;
    for (const kind of ["out-of-memory", "validation"]) device.pushErrorScope(kind);
    let thrown = null;
    try {
      await work();
    } catch (error) {
      thrown = error;
    }
    const [validation, memory] = [await device.popErrorScope(), await device.popErrorScope()];
    if (memory) throw new StepError(`the GPU has no memory for it: ${memory.message}`);
    if (thrown) throw thrown instanceof StepError ? thrown : new StepError(thrown.message);
    if (validation) throw new StepError(validation.message);
  }

  buffer(size, usage) {
    const made = this.device.createBuffer({ size: Math.max(16, size), usage });
    this.buffers.push(made);
    return made;
  }

  allocated({ dtype, elements, argument, values: packed }) {
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST | GPUBufferUsage.COPY_SRC;
    const made = this.buffer(aligned(bytesOf(dtype, elements)), usage);
    if (packed) this.write(made, unpacked(packed));
    else if (argument !== null) this.write(made, randomInputs(dtype, elements, this.program.seed, argument, this.program.arguments[argument].range).buffer);
    return made;
  }

  write(buffer, contents) {
    const bytes = new Uint8Array(aligned(contents.byteLength));
    bytes.set(new Uint8Array(contents));
    this.device.queue.writeBuffer(buffer, 0, bytes);
  }

  bound({ memory, numbers, blocks }, pipeline) {
    const resources = memory.map((position) => ({ buffer: this.memory[position] }));
    if (numbers.length) resources.push({ buffer: this.uniform(numbers) });
    return { pipeline, blocks, groups: [resources, [{ buffer: this.firstBlock }]].map((each, at) => this.group(pipeline, at, each)) };
  }

  group(pipeline, at, resources) {
    const entries = resources.map((resource, binding) => ({ binding, resource }));
    return this.device.createBindGroup({ layout: pipeline.getBindGroupLayout(at), entries });
  }

  uniform(numbers) {
    const bytes = new DataView(new ArrayBuffer(Math.ceil(numbers.length / 4) * 16));
    const write = { int32: "setInt32", uint32: "setUint32", float32: "setFloat32" };
    numbers.forEach(([dtype, value], at) => bytes[write[dtype]](4 * at, value, true));
    const made = this.buffer(bytes.byteLength, GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST);
    this.device.queue.writeBuffer(made, 0, bytes.buffer);
    return made;
  }

  /** Record calls of all launches in one pass. */
  encode(encoder, number, descriptor = {}) {
    const pass = encoder.beginComputePass(descriptor);
    for (let call = 0; call < number; call += 1) {
      for (const launch of this.calls) dispatch(pass, launch, launch.blocks);
    }
    pass.end();
  }

  /** Submit work and wait for it, no longer than it may take; returns the seconds that it took.
   * @param {(encoder: GPUCommandEncoder) => void} record */
  async submitted(record) {
    const { device } = this;
    const encoder = device.createCommandEncoder();
    record(encoder);
    const began = performance.now();
    device.queue.submit([encoder.finish()]);
    let alarm;
    const late = new Promise((resolve, reject) => { alarm = setTimeout(() => reject(new TooSlow(`it takes longer than ${MAX_SECONDS} s`)), MAX_SECONDS * 1000); });
    const lost = device.lost.then(({ message }) => { throw new StepError(`the GPU was lost: ${message || "no reason given"}`); });
    try {
      await Promise.race([device.queue.onSubmittedWorkDone(), late, lost]);
    } finally {
      clearTimeout(alarm);
    }
    return (performance.now() - began) / 1000;
  }

  /** Call it once, part by part; returns seconds by the page's clock.
   * @param {(share: number) => void} progress is told how much is done */
  async first(progress) {
    this.parts = 0;
    let all = 0;
    for (const [at, launch] of this.calls.entries()) {
      const { parts, seconds } = await partByPart(launch.blocks, (share) => progress((at + share) / this.calls.length), (begin, size) => this.part(launch, begin, size));
      this.parts += parts;
      all += seconds;
    }
    this.startAt([0, 0, 0]);
    return all;
  }

  /** Run a part of a launch; returns seconds. */
  part(launch, begin, size) {
    this.startAt(begin);
    return this.checked((encoder) => {
      const pass = encoder.beginComputePass();
      dispatch(pass, launch, size);
      pass.end();
    });
  }

  startAt(block) {
    this.device.queue.writeBuffer(this.firstBlock, 0, new Uint32Array(block));
  }

  /** Submit work as `submitted` does, and turn what the device objects to into an error. */
  async checked(record) {
    this.device.pushErrorScope("validation");
    const done = this.submitted(record);
    const failure = this.device.popErrorScope(); // of what was submitted; a GPU that is busy answers late
    const seconds = await done;
    const objection = await failure;
    if (objection) throw new StepError(objection.message);
    return seconds;
  }

  /** The bytes of an argument. */
  async contents(argument) {
    const source = this.memory[this.step.memory.findIndex((memory) => memory.argument === argument)];
    const copy = this.buffer(source.size, GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST);
    await this.submitted((encoder) => encoder.copyBufferToBuffer(source, 0, copy, 0, source.size));
    await copy.mapAsync(GPUMapMode.READ);
    const bytes = copy.getMappedRange().slice(0);
    copy.destroy();
    return bytes;
  }

  /** Time calls: by the GPU's clock if it has one, else by the page's, in batches.
   * @param {number} first seconds of the first call */
  async time(first) {
    if (first > MAX_SECONDS) return { ...summary([first]), number: 1, clock: `one call in ${this.parts} parts by the page's clock: it takes longer than ${MAX_SECONDS} s` };
    const timer = this.device.features.has("timestamp-query") ? new StampTimer(this) : new BatchTimer(this);
    await timer.prepare();
    let number = 1;
    let seconds = await timer.seconds(number);
    while (!timer.meaningful(seconds) && number < MAX_NUMBER && seconds < PASS_SECONDS) {
      number = Math.min(MAX_NUMBER, number * 2);
      seconds = await timer.seconds(number);
    }
    const times = [seconds / number];
    for (let spent = Math.max(first, seconds); times.length < MAX_REPEATS && spent + seconds < ALL_SECONDS; spent += seconds) {
      times.push((await timer.seconds(number)) / number);
    }
    return { ...summary(times), number, clock: timer.told() };
  }

  release() {
    for (const buffer of this.buffers) buffer.destroy();
  }
}

function dispatch(pass, { pipeline, groups }, blocks) {
  pass.setPipeline(pipeline);
  groups.forEach((group, at) => pass.setBindGroup(at, group));
  pass.dispatchWorkgroups(...blocks);
}

function summary(times) {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
  return { seconds: at(0.5), spread: at(0.75) - at(0.25), repeats: times.length };
}

/** Times a pass by the GPU's own clock, whose steps browsers make coarse. */
class StampTimer {
  constructor(run) {
    this.run = run;
    this.step = 0n; // of the clock, in nanoseconds: the greatest common divisor of all stamps
  }

  async prepare() {
    const { device } = this.run;
    this.stamps = device.createQuerySet({ type: "timestamp", count: 2 });
    this.resolved = this.run.buffer(16, GPUBufferUsage.QUERY_RESOLVE | GPUBufferUsage.COPY_SRC);
  }

  async seconds(number) {
    const { run, stamps } = this;
    const copy = run.buffer(16, GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST);
    await run.submitted((encoder) => {
      run.encode(encoder, number, { timestampWrites: { querySet: stamps, beginningOfPassWriteIndex: 0, endOfPassWriteIndex: 1 } });
      encoder.resolveQuerySet(stamps, 0, 2, this.resolved, 0);
      encoder.copyBufferToBuffer(this.resolved, 0, copy, 0, 16);
    });
    await copy.mapAsync(GPUMapMode.READ);
    const [began, ended] = new BigUint64Array(copy.getMappedRange().slice(0));
    copy.destroy();
    for (const stamp of [began, ended]) this.step = commonDivisor(this.step, stamp);
    return Math.max(0, Number(ended - began)) / 1e9;
  }

  /** Whether a time is many steps of the clock. */
  meaningful(seconds) {
    return seconds >= Math.max(MEANINGFUL_SECONDS, (QUANTA * Number(this.step)) / 1e9);
  }

  told() {
    return `timestamps in steps of ${Number(this.step).toLocaleString("en")} ns`;
  }
}

function commonDivisor(a, b) {
  while (b) [a, b] = [b, a % b];
  return a;
}

/** Times a batch by the page's clock, less what an empty one takes. */
class BatchTimer {
  constructor(run) {
    this.run = run;
    this.empty = 0;
  }

  async prepare() {
    const times = [];
    for (let i = 0; i < 5; i += 1) times.push(await this.run.submitted(() => {}));
    this.empty = times.sort((a, b) => a - b)[2];
  }

  async seconds(number) {
    return Math.max(0, (await this.run.submitted((encoder) => this.run.encode(encoder, number))) - this.empty);
  }

  meaningful(seconds) {
    return seconds >= Math.max(PASS_SECONDS / 2, 10 * this.empty);
  }

  told() {
    return `batches by the page's clock, less ${(this.empty * 1e6).toFixed(0)} µs that an empty one takes: no timestamp-query`;
  }
}
