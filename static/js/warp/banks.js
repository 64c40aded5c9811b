// The banks of shared memory that a warp's access hits, phase by phase: of 8 and 16 bytes, a half and a quarter of the lanes at once.
import { counted, svgElement } from "../dom.js";

const BANKS = 32;
const WORD = 4;
const LANES = 32;
const [WIDTH, HEIGHT, MARGIN] = [17, 16, 74];

/** The phases of an access: their lanes, the distinct words in each bank, and how often the banks are read.
 * @param {number[]} lanes  the first byte of each lane, -1 of an idle one
 * @param {number} size  bytes that a lane accesses */
export function phasesOf(lanes, size) {
  const together = Math.max(1, Math.floor((LANES * WORD) / Math.max(size, WORD)));
  const made = [];
  for (let first = 0; first < lanes.length; first += together) {
    const banks = Array.from({ length: BANKS }, () => new Set());
    lanes.slice(first, first + together).forEach((address) => {
      if (address < 0) return;
      for (let word = Math.floor(address / WORD); word * WORD < address + size; word += 1) banks[word % BANKS].add(word);
    });
    const words = banks.map((bank) => bank.size);
    if (words.some(Boolean)) made.push({ first, last: Math.min(first + together, lanes.length) - 1, words, ways: Math.max(...words) });
  }
  return made;
}

/** What the phases cost, in a sentence. */
export function bankWords(phases) {
  const passes = phases.reduce((total, { ways }) => total + ways, 0);
  const worst = Math.max(0, ...phases.map(({ ways }) => ways));
  const cost = worst > 1 ? `${worst}-way conflict: ${passes} passes instead of ${phases.length}` : "no bank conflict";
  return `${counted(phases.length, "phase")}, ${cost}`;
}

/** A row for each phase, a column for each bank; a number is how many words of one bank are asked for at once. */
export function drawBanks(phases) {
  const svg = svgElement("svg", { width: MARGIN + WIDTH * BANKS + 44, height: HEIGHT * (phases.length + 1) + 4, "aria-hidden": "true" });
  for (let bank = 0; bank < BANKS; bank += 2) svg.append(svgElement("text", { x: MARGIN + bank * WIDTH + WIDTH / 2, y: HEIGHT - 4, "text-anchor": "middle" }, String(bank)));
  phases.forEach(({ first, last, words, ways }, row) => {
    const top = HEIGHT * (row + 1);
    svg.append(svgElement("text", { x: MARGIN - 6, y: top + 11, "text-anchor": "end" }, `lanes ${first}–${last}`));
    words.forEach((count, bank) => {
      const kind = count > 1 ? "several" : count ? "one" : "none";
      const cell = svgElement("rect", { class: `cell ${kind}`, x: MARGIN + bank * WIDTH, y: top, width: WIDTH, height: HEIGHT });
      cell.append(svgElement("title", {}, `bank ${bank}: ${counted(count, "word")}`));
      svg.append(cell);
      if (count > 1) svg.append(svgElement("text", { class: "lane several", x: MARGIN + bank * WIDTH + WIDTH / 2, y: top + 11 }, String(count)));
    });
    svg.append(svgElement("text", { x: MARGIN + BANKS * WIDTH + 6, y: top + 11 }, ways > 1 ? `${ways} ×` : "1 ×"));
  });
  return svg;
}
