// The visitor's GPU: its adapter, its limits, and what of a program goes beyond them.
import { bytesOf, isStored } from "./inputs.js";

/** Limits that a device gets as large as its adapter has them. */
const RAISED = [
  "maxBufferSize", "maxStorageBufferBindingSize", "maxStorageBuffersPerShaderStage", "maxComputeWorkgroupStorageSize",
  "maxComputeInvocationsPerWorkgroup", "maxComputeWorkgroupSizeX", "maxComputeWorkgroupSizeY", "maxComputeWorkgroupSizeZ",
  "maxComputeWorkgroupsPerDimension",
];
const FEATURES = ["timestamp-query", "shader-f16"];

/** Open the GPU; null where the browser offers none.
 * @returns {Promise<{device: GPUDevice, told: object} | null>} what is told of it can be sent to the page */
export async function openDevice() {
  const adapter = await navigator.gpu?.requestAdapter({ powerPreference: "high-performance" });
  if (!adapter) return null;
  const requiredLimits = Object.fromEntries(RAISED.map((name) => [name, adapter.limits[name]]));
  const requiredFeatures = FEATURES.filter((name) => adapter.features.has(name));
  const device = await adapter.requestDevice({ requiredLimits, requiredFeatures });
  const { vendor, architecture, device: model, description } = adapter.info ?? {};
  const name = [description || model, [vendor, architecture].filter(Boolean).join(" ")].filter(Boolean).join(" · ");
  const fallback = Boolean(adapter.info?.isFallbackAdapter ?? adapter.isFallbackAdapter);
  return { device, told: { name: name || "a GPU that the browser does not name", fallback, limits: requiredLimits, features: requiredFeatures } };
}

/** Why a step cannot run on a device: the limit that it exceeds, or what the GPU lacks; null if it can.
 * @param {object} step
 * @param {{limits: Record<string, number>, features: string[]}} told */
export function beyond(step, { limits, features }) {
  for (const { name, dtype, elements } of step.memory) {
    if (!isStored(dtype)) return `${name} is of type ${dtype}, which WGSL buffers cannot hold`;
    const bytes = bytesOf(dtype, elements);
    const limit = Math.min(limits.maxBufferSize, limits.maxStorageBufferBindingSize);
    if (bytes > limit) return exceeded(name, bytes, "bytes in one buffer", limit, "maxStorageBufferBindingSize");
  }
  if (/^enable f16;/m.test(step.source) && !features.includes("shader-f16")) return "it computes in float16, and this GPU has no feature shader-f16: compute in float32";
  for (const launch of step.launches) {
    const over = launchBeyond(launch, limits);
    if (over) return over;
  }
  return null;
}

function launchBeyond({ kernel, threads, blocks, shared_bytes: shared, memory }, limits) {
  const [x, y, z] = threads;
  const needs = [
    [x * y * z, "threads a block", "maxComputeInvocationsPerWorkgroup"],
    [x, "threads along x", "maxComputeWorkgroupSizeX"],
    [y, "threads along y", "maxComputeWorkgroupSizeY"],
    [z, "threads along z", "maxComputeWorkgroupSizeZ"],
    [shared, "bytes of shared memory a block", "maxComputeWorkgroupStorageSize"],
    [Math.max(...blocks), "blocks along an axis", "maxComputeWorkgroupsPerDimension"],
    [memory.length, "buffers", "maxStorageBuffersPerShaderStage"],
  ];
  const over = needs.find(([need, , limit]) => need > limits[limit]);
  return over ? exceeded(kernel, over[0], over[1], limits[over[2]], over[2]) : null;
}

const exceeded = (who, need, what, limit, name) =>
  `${who} needs ${need.toLocaleString("en")} ${what}; this GPU allows ${limit.toLocaleString("en")} (${name})`;
