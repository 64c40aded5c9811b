// Random inputs: the generator of app/recorder/random_inputs.py, bit by bit; what it says of the values holds here.

const GOLDEN = 0x9e3779b9;
const FLOAT32_BITS = 23; // of the fraction that a number gives
const FLOAT16_BITS = 10;

/** Scramble a 32-bit number: the finaliser of MurmurHash3. */
function mix(x) {
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return (x ^ (x >>> 16)) >>> 0;
}

/** What stands for an element in memory, by data type: the array that holds elements, and the element of a number. */
const TYPES = {
  float32: { array: Float32Array, element: (word) => 0.5 + (word >>> (32 - FLOAT32_BITS)) * 2 ** -FLOAT32_BITS },
  float16: { array: Uint16Array, element: (word) => halfAround1(word >>> (32 - FLOAT16_BITS)) },
  int32: { array: Int32Array, element: (word) => word >>> 29 },
  uint32: { array: Uint32Array, element: (word) => word >>> 29 },
};

/** The bits of the half-precision number 0.5 + fraction / 1024. */
const halfAround1 = (fraction) => (fraction < 512 ? 0x3800 + 2 * fraction : 0x3c00 + fraction - 512);

/** Whether a buffer can hold elements of a data type. */
export const isStored = (dtype) => Object.hasOwn(TYPES, dtype);

export const bytesOf = (dtype, elements) => TYPES[dtype].array.BYTES_PER_ELEMENT * elements;

/** The elements of an argument, as they are in memory.
 * @param {string} dtype
 * @param {number} elements
 * @param {number} seed
 * @param {number} argument its position
 * @param {[number, number] | null} range of a weight, which is of type float32 */
export function randomInputs(dtype, elements, seed, argument, range = null) {
  const { array, element } = TYPES[dtype];
  const key = mix((seed + Math.imul(argument + 1, GOLDEN)) | 0);
  const made = new array(elements);
  for (let i = 0; i < elements; i += 1) made[i] = element(mix(i ^ key));
  return range ? inRange(made, range) : made;
}

function inRange(values, [low, high]) {
  const width = Math.fround(high - low);
  return values.map((value) => Math.fround(low) + Math.fround(width * (value - 0.5)));
}

/** The numbers that bytes of a data type are: an array of them, or what reads one of half precision.
 * @returns {(index: number) => number} */
export function reader(dtype, buffer) {
  const values = new TYPES[dtype].array(buffer);
  return dtype === "float16" ? (index) => fromHalf(values[index]) : (index) => values[index];
}

function fromHalf(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? (1 + fraction / 1024) * 2 ** (exponent - 15) : fraction * 2 ** -24);
}

/** The bytes of a text in base64. */
export function unpacked(text) {
  const characters = atob(text);
  const bytes = new Uint8Array(characters.length);
  for (let i = 0; i < characters.length; i += 1) bytes[i] = characters.charCodeAt(i);
  return bytes.buffer;
}
