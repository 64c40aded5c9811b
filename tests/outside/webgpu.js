// Runs kernels one after the other on the page's GPU: each has a program, an entry, buffers and a number of groups.
async (kernels) => {
  const adapter = await navigator.gpu?.requestAdapter();
  if (!adapter) return { missing: "no WebGPU adapter" };
  const device = await adapter.requestDevice();
  const bytesOf = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const textOf = (bytes) => {
    let text = "";
    for (const byte of bytes) text += String.fromCharCode(byte);
    return btoa(text);
  };
  const run = async ({ program, entry, buffers, groups }) => {
    device.pushErrorScope("validation");
    const module = device.createShaderModule({ code: program });
    const info = await module.getCompilationInfo();
    const errors = info.messages.filter((m) => m.type === "error").map((m) => `${m.lineNum}: ${m.message}`);
    if (errors.length) {
      await device.popErrorScope();
      return { error: errors.join("\n") };
    }
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST | GPUBufferUsage.COPY_SRC;
    const memory = buffers.map(({ data, uniform }) => {
      const bytes = bytesOf(data);
      const kind = uniform ? GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST : usage;
      const buffer = device.createBuffer({ size: bytes.length, usage: kind });
      device.queue.writeBuffer(buffer, 0, bytes);
      return buffer;
    });
    const pipeline = device.createComputePipeline({ layout: "auto", compute: { module, entryPoint: entry } });
    const entries = memory.map((buffer, binding) => ({ binding, resource: { buffer } }));
    const group = device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, group);
    pass.dispatchWorkgroups(...groups);
    pass.end();
    const copies = memory.map((buffer, number) => {
      if (buffers[number].uniform) return null;
      const copy = device.createBuffer({ size: buffer.size, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
      encoder.copyBufferToBuffer(buffer, 0, copy, 0, buffer.size);
      return copy;
    });
    device.queue.submit([encoder.finish()]);
    const failure = await device.popErrorScope();
    if (failure) return { error: failure.message };
    const results = [];
    for (const copy of copies) {
      if (!copy) {
        results.push(null);
        continue;
      }
      await copy.mapAsync(GPUMapMode.READ);
      results.push(textOf(new Uint8Array(copy.getMappedRange())));
    }
    return { results };
  };
  const answers = [];
  for (const kernel of kernels) answers.push(await run(kernel));
  return { answers };
};
