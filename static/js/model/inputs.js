// The inputs of a model, read from its file in the browser: names, types, and the dimensions that the file leaves open.

/** @typedef {{name: string, dims: (number | string)[], integral: boolean}} Input a dimension that is open has a name */

const WINDOW = 1 << 16; // bytes that are read of a file at once
const TEXT = 4 << 20; // bytes at the beginning of a Keras file in which its configuration lies
const INTEGERS = new Set([2, 3, 4, 5, 6, 7, 9, 12, 13]); // element types of ONNX
const TF_INTEGERS = new Set([3, 4, 5, 6, 9, 10, 17, 22, 23]); // and of TensorFlow
const ZIP_END = (1 << 16) + 22; // bytes at the end of an archive in which its directory is named
const MOST = 1e6; // what is larger is no size, such as -1

/** Reads protocol buffers: of weights, only where they end. */
class Reader {
  constructor(file) {
    this.file = file;
    this.from = 0;
    this.bytes = new Uint8Array(0);
  }

  async byte(at) {
    if (at < this.from || at >= this.from + this.bytes.length) {
      if (at >= this.file.size) throw new RangeError("the file ends early");
      this.bytes = new Uint8Array(await this.file.slice(at, at + WINDOW).arrayBuffer());
      this.from = at;
    }
    return this.bytes[at - this.from];
  }

  /** A number at a place, and where it ends. */
  async varint(at) {
    let value = 0;
    for (let shift = 0; shift < 10; shift += 1) {
      const byte = await this.byte(at + shift);
      value += (byte & 127) * 2 ** (7 * shift);
      if (byte < 128) return [value, at + shift + 1];
    }
    throw new RangeError("not a number");
  }

  /** The fields of a message: {field, value} of numbers, {field, from, to} of all else. */
  async* fields(from, to) {
    let at = from;
    while (at < to) {
      const [key, begin] = await this.varint(at);
      const [field, kind] = [Math.floor(key / 8), key % 8];
      let value;
      [value, at] = kind === 0 || kind === 2 ? await this.varint(begin) : [kind === 1 ? 8 : 4, begin];
      if (kind === 0) yield { field, value };
      else if (kind > 5) throw new RangeError("not a message");
      else {
        yield { field, from: at, to: at + value };
        at += value;
      }
    }
  }

  async text({ from, to }) {
    return new TextDecoder().decode(await this.file.slice(from, to).arrayBuffer());
  }

  /** The fields of one number. */
  async all(message, number) {
    const found = [];
    for await (const field of this.fields(message.from, message.to)) if (field.field === number) found.push(field);
    return found;
  }

  async first(message, number) {
    for await (const field of this.fields(message.from, message.to)) if (field.field === number) return field;
    return null;
  }

  /** What is within messages within messages, by their numbers. */
  async within(message, ...numbers) {
    let inner = message;
    for (const number of numbers) if (inner) inner = await this.first(inner, number);
    return inner;
  }
}

/** @returns {Promise<Input[]>} the inputs of an ONNX model that are no weights */
export async function onnxInputs(file) {
  const reader = new Reader(file);
  const graph = await reader.first({ from: 0, to: file.size }, 7);
  const weights = new Set();
  const values = [];
  for await (const field of reader.fields(graph.from, graph.to)) {
    if (field.field === 5) weights.add(await named(reader, field, 8));
    if (field.field === 11) values.push(field);
  }
  const inputs = [];
  for (const value of values) {
    const name = await named(reader, value, 1);
    const tensor = await reader.within(value, 2, 1);
    const shape = tensor && (await reader.first(tensor, 2));
    if (!shape || weights.has(name)) continue;
    const dims = [];
    for (const dim of await reader.all(shape, 1)) dims.push(await sizeOf(reader, dim, 1, 2));
    inputs.push({ name, dims, integral: INTEGERS.has((await reader.first(tensor, 1))?.value) });
  }
  return nameOpen(inputs);
}

/** @returns {Promise<Input[]>} the placeholders of a frozen graph of TensorFlow */
export async function tensorflowInputs(file) {
  const reader = new Reader(file);
  const inputs = [];
  for (const node of await reader.all({ from: 0, to: file.size }, 1)) {
    if ((await named(reader, node, 2)) !== "Placeholder") continue;
    const attributes = new Map();
    for (const entry of await reader.all(node, 5)) attributes.set(await named(reader, entry, 1), await reader.first(entry, 2));
    const shape = attributes.has("shape") && (await reader.first(attributes.get("shape"), 7));
    if (!shape) continue;
    const dims = [];
    for (const dim of await reader.all(shape, 2)) dims.push(await sizeOf(reader, dim, 1, 2));
    const type = attributes.has("dtype") && (await reader.first(attributes.get("dtype"), 6));
    inputs.push({ name: await named(reader, node, 1), dims, integral: TF_INTEGERS.has(type?.value) });
  }
  return nameOpen(inputs, true);
}

/** @returns {Promise<Input[]>} the inputs of the signature of a packed SavedModel that serves */
export async function savedModelInputs(file) {
  const unpacked = await unzipped(file, "saved_model.pb");
  const reader = new Reader(unpacked);
  const meta = await reader.first({ from: 0, to: unpacked.size }, 2);
  const signatures = new Map();
  for (const entry of await reader.all(meta, 5)) signatures.set(await named(reader, entry, 1), await reader.first(entry, 2));
  const serving = signatures.get("serving_default");
  const inputs = [];
  for (const entry of serving ? await reader.all(serving, 1) : []) {
    const tensor = await reader.first(entry, 2);
    const shape = await reader.first(tensor, 3);
    const dims = [];
    for (const dim of shape ? await reader.all(shape, 2) : []) dims.push(await sizeOf(reader, dim, 1, 2));
    const name = (await named(reader, tensor, 1)).replace(/:0$/, "");
    inputs.push({ name, dims, integral: TF_INTEGERS.has((await reader.first(tensor, 2))?.value) });
  }
  return nameOpen(inputs, true);
}

/** A file of a ZIP archive, by the end of its path. */
async function unzipped(file, path) {
  const from = Math.max(0, file.size - ZIP_END);
  const end = new DataView(await file.slice(from).arrayBuffer());
  let at = end.byteLength - 22;
  while (end.getUint32(at, true) !== 0x06054b50) at -= 1;
  const entries = new DataView(await file.slice(end.getUint32(at + 16, true), from + at).arrayBuffer());
  for (let entry = 0; entry < entries.byteLength;) {
    const field = (offset, size = 2) => (size === 2 ? entries.getUint16(entry + offset, true) : entries.getUint32(entry + offset, true));
    const name = new TextDecoder().decode(new Uint8Array(entries.buffer, entry + 46, field(28)));
    if (name.endsWith(path)) {
      const local = new DataView(await file.slice(field(42, 4), field(42, 4) + 30).arrayBuffer());
      const begin = field(42, 4) + 30 + local.getUint16(26, true) + local.getUint16(28, true);
      const packed = file.slice(begin, begin + field(20, 4));
      return field(10) === 0 ? packed : new Response(packed.stream().pipeThrough(new DecompressionStream("deflate-raw"))).blob();
    }
    entry += 46 + field(28) + field(30) + field(32);
  }
  throw new RangeError("no such file in the archive");
}

/** @returns {Promise<Input[]>} the inputs of a Keras model, images with their channels first */
export async function kerasInputs(file) {
  const text = new TextDecoder("latin1").decode(await file.slice(0, TEXT).arrayBuffer());
  const layers = [...text.matchAll(/"class_name":\s*"InputLayer",\s*"config":\s*\{([^{}]*)\}/g)].map(([, config]) => config);
  const inputs = layers.map((config) => {
    const sizes = /"batch(?:_input)?_shape":\s*\[([^\]]*)\]/.exec(config)?.[1].split(",").map(Number) ?? [];
    const dims = sizes.map((size) => (size > 0 ? size : ""));
    if (dims.length === 4) dims.splice(1, 0, dims.pop());
    return { name: /"name":\s*"([^"]*)"/.exec(config)?.[1], dims, integral: /"dtype":\s*"u?int/.test(config) };
  });
  return nameOpen([...new Map(inputs.filter(({ name }) => name).map((input) => [input.name, input])).values()]);
}

async function named(reader, message, number) {
  const field = await reader.first(message, number);
  return field ? reader.text(field) : "";
}

/** The size of a dimension, or its name, which may be empty. */
async function sizeOf(reader, dim, size, name) {
  const { value } = (await reader.first(dim, size)) ?? {};
  if (value > 0 && value < MOST) return value;
  return (await named(reader, dim, name)).replace(/[^\w.*+/-]+/g, "_").replace(/^(?=\d)/, "_");
}

/** Name the dimensions that are open and have no name: equal names are equal sizes. */
function nameOpen(inputs, channelsLast = false) {
  const usual = { 2: ["N", "L"], 3: ["N", "L", "C"], 4: channelsLast ? ["N", "H", "W", "C"] : ["N", "C", "H", "W"], 5: ["N", "C", "D", "H", "W"] };
  return inputs.map(({ dims, ...input }, number) => {
    const open = (index) => `${(usual[dims.length] ?? [])[index] ?? `d${index}`}${number && index ? number + 1 : ""}`;
    return { ...input, dims: dims.map((dim, index) => (dim === "" ? open(index) : dim)) };
  });
}

/** A likely size of an open dimension, by its name, its place, and what else its input has.
 * @param {Input} input
 * @param {number} index */
export function guess({ dims, integral }, index) {
  const name = String(dims[index]).toLowerCase();
  const rank = dims.length;
  if (/batch|^n$|^b$/.test(name)) return 1;
  if (/height|width|^h\d*$|^w\d*$/.test(name)) return extent(dims, rank);
  if (/seq|len|token|time|^l\d*$|^t\d*$/.test(name)) return 128;
  if (/chan|^c\d*$/.test(name) && rank > 3) return 3;
  if (index === 0) return 1;
  if (rank === 4) return index === 1 && !integral && dims[3] > 4 ? 3 : extent(dims, rank);
  if (rank === 5) return index === 1 ? 3 : index === 2 ? 16 : 112;
  return index === 1 || rank < 3 ? 128 : 64;
}

/** The height or width of an image: that of its other side where the file gives it. */
const extent = (dims, rank) => (rank === 4 ? (dims[3] <= 4 ? [dims[1], dims[2]] : [dims[2], dims[3]]).find(Number.isInteger) : undefined) ?? 224;
