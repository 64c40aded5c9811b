// A trace as the server sends it: events, their grouping into steps, and the state after any of them.

/** @typedef {{name: string, dtype: string, shape: number[], local: boolean, original: number[]}} Memory */
/** @typedef {{memory: number, write: boolean, line: number, lanes: number, stride: number, loops: number[]}} Site */

function bytesOf(base64) {
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0)).buffer;
}

export class Trace {
  constructor(data) {
    const { memories, loops, lines, shown, shown_lines: shownLines, name, size, complete, small, models } = data;
    Object.assign(this, { memories, loops, lines, shown, shownLines, name, size, complete, small });
    this.codes = new Int16Array(bytesOf(data.codes));
    this.values = new Int32Array(bytesOf(data.values));
    /** @type {Site[]} */
    this.sites = data.sites.map(([memory, write, line, lanes, stride, around]) => ({ memory, write, line, lanes, stride, loops: around }));
    this.models = models.map((model) => ({ ...model, served: new Int8Array(bytesOf(model.served)), kinds: new Int8Array(bytesOf(model.kinds)) }));
    /** Where each step ends: one execution of a statement, whose accesses come together. */
    this.ends = this.#steps();
  }

  get steps() { return this.ends.length; }

  /** A step ends with what its statement writes; iterations that begin belong to the step after them. */
  #steps() {
    const ends = [];
    for (let event = 0; event < this.codes.length; event += 1) {
      const site = this.sites[this.codes[event]];
      if (!site?.write) continue;
      const next = this.sites[this.codes[event + 1]];
      if (!(next?.write && next.line === site.line && next.lanes < 2 && site.lanes < 2 && this.codes[event + 1] === this.codes[event])) ends.push(event + 1);
    }
    if (!ends.length || ends.at(-1) < this.codes.length) ends.push(this.codes.length);
    return ends;
  }

  beginOf(step) { return step > 0 ? this.ends[step - 1] : 0; }

  /** The loop whose iterations are told apart: the innermost of threads, else the outermost that is parallel. */
  sharing(loops) {
    const kind = (loop) => this.loops[loop].kind;
    return loops.findLast((loop) => kind(loop) === "thread") ?? loops.find((loop) => kind(loop) === "parallel");
  }

  /** The elements of an access, as positions in its memory. */
  elements(event) {
    const { lanes, stride } = this.sites[this.codes[event]];
    return Array.from({ length: lanes }, (_, lane) => this.values[event] + lane * stride);
  }

  /** The accesses of a step.
   * @returns {{event: number, site: Site, elements: number[]}[]} */
  accesses(step) {
    const found = [];
    for (let event = this.beginOf(step); event < this.ends[step]; event += 1) {
      if (this.codes[event] >= 0) found.push({ event, site: this.sites[this.codes[event]], elements: this.elements(event) });
    }
    return found;
  }
}

/** What has happened up to a step; going on is cheap, going back begins anew. */
export class Progress {
  constructor(trace) {
    this.trace = trace;
    this.reset();
  }

  reset() {
    const { memories, loops, models } = this.trace;
    this.step = -1;
    this.touched = memories.map(({ shape }) => new Int32Array(shape.reduce((all, extent) => all * extent, 1)).fill(-1)); // the step of the last use
    this.owner = this.touched.map((cells) => new Int16Array(cells.length).fill(-1)); // the iteration of the parallel loop that wrote it
    this.variables = new Int32Array(loops.length).fill(-1);
    this.served = models.map(({ levels }) => new Array(levels.length + 1).fill(0));
    this.kinds = models.map(() => [0, 0, 0, 0]);
  }

  /** Go to a step. */
  goTo(step) {
    if (step < this.step) this.reset();
    while (this.step < step) this.#advance();
  }

  #advance() {
    const { trace } = this;
    this.step += 1;
    for (let event = trace.beginOf(this.step); event < trace.ends[this.step]; event += 1) {
      const code = trace.codes[event];
      if (code < 0) this.variables[-1 - code] = trace.values[event];
      else this.#access(event, trace.sites[code]);
    }
  }

  #access(event, site) {
    const { trace } = this;
    const shared = trace.sharing(site.loops);
    for (const element of trace.elements(event)) {
      this.touched[site.memory][element] = this.step;
      if (site.write && shared !== undefined) this.owner[site.memory][element] = this.variables[shared];
    }
    trace.models.forEach(({ served, kinds }, model) => {
      this.served[model][served[event]] += 1;
      this.kinds[model][kinds[event]] += 1;
    });
  }

  /** The loops around what a step does, with the values of their variables. */
  around(step) {
    const last = this.trace.accesses(step).at(-1);
    return (last?.site.loops ?? []).map((loop) => ({ ...this.trace.loops[loop], value: this.variables[loop] }));
  }
}
