// Calls a kernel a few blocks at a time: the blocks of a launch know nothing of each other, so that any part of its grid
// can run alone, and no part holds the GPU, and with it the screen, for long.  Nobody knows before how long a block takes
// on a visitor's GPU, so that the first part of a launch is as small as can be, and the next as large as its time allows.

const PART_SECONDS = 0.25; // that a part should take
const GROWTH = 16; // times as many blocks as the part before, at most: blocks may differ in their work

const HEAD = "(@builtin(workgroup_id) blockIdx: vec3<u32>, ";
const HEAD_OF_PART = "(@builtin(workgroup_id) block_of_part: vec3<u32>, ";
const FIRST = "@group(1) @binding(0) var<uniform> first_block_of_part: vec3<u32>;";

/** The kernels of a program with blocks that are counted from a part's first one; each line stays where it is.
 * @param {string} source WGSL of the server */
export function inParts(source) {
  const kernels = source.split(HEAD);
  const begun = kernels.slice(1).map((kernel) => kernel.replace("{", "{ let blockIdx = block_of_part + first_block_of_part;"));
  return `${[kernels[0], ...begun].join(HEAD_OF_PART)}\n${FIRST}\n`;
}

/** Run a launch part by part, along the longest axis of its grid; returns how many parts there were, and their seconds.
 * @param {number[]} blocks along x, y and z
 * @param {(share: number) => void} progress is told after each part
 * @param {(first: number[], size: number[]) => Promise<number>} run runs a part; returns seconds */
export async function partByPart(blocks, progress, run) {
  const axis = blocks.indexOf(Math.max(...blocks));
  const along = (others, value) => others.map((other, at) => (at === axis ? value : other));
  const told = { parts: 0, seconds: 0 };
  for (let at = 0, count = 1; at < blocks[axis];) {
    const size = Math.min(count, blocks[axis] - at);
    const seconds = await run(along([0, 0, 0], at), along(blocks, size));
    told.parts += 1;
    told.seconds += seconds;
    at += size;
    progress(at / blocks[axis]);
    count = Math.max(1, Math.min(size * GROWTH, Math.floor((size * PART_SECONDS) / seconds)));
  }
  return told;
}
