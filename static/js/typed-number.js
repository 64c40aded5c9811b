// Numbers as people type them: 1000000, 1,000,000, 1 000 000, 1_000_000, 0.05, 0,05, 5e-2.
const GROUPED = /^[-+]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?$/; // the page itself writes thousands so
const DECIMAL_COMMA = /^([-+]?\d*),(\d+)$/;
const NUMBER = /^[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?$/i;

/** The number that a text says; null where it says none.
 * @param {string} text */
export function typedNumber(text) {
  const bare = text.replace(/[\s_]/g, "").replace("−", "-");
  const plain = GROUPED.test(bare) ? bare.replaceAll(",", "") : bare.replace(DECIMAL_COMMA, "$1.$2");
  const value = Number(plain);
  return NUMBER.test(plain) && Number.isFinite(value) ? value : null;
}
