"use strict";
// Shows what /openapi.json and the models' metadata say.

async function read(path) {
  const response = await ask(path);
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  return response.json();
}

function showExamples(model, input) {
  const shape = [1, ...input.shape.slice(1)];
  const tensor = `{"name": "${input.name}", "datatype": "UINT8", "shape": [${shape}], "data": [0, 0, ...]}`;
  $("infer").textContent = `curl ${location.origin}/v2/models/${model}/infer -d '{"inputs": [${tensor}]}'`;
  $("python").textContent = `import numpy, tritonclient.http as http
client = http.InferenceServerClient("${location.host}")
image = http.InferInput("${input.name}", [${shape.join(", ")}], "FP32")
image.set_data_from_numpy(numpy.zeros((${shape.join(", ")}), numpy.float32))
print(client.infer("${model}", [image]).as_numpy("probabilities"))`;
}

async function showModels() {
  const { models } = await read("/v2/models");
  for (const name of models) {
    const metadata = await read(`/v2/models/${encodeURIComponent(name)}`);
    if (name === models[0]) showExamples(name, metadata.inputs[0]);
    const box = element("div", "endpoint");
    const tensors = (list) => list.map((one) => `${one.name} ${one.datatype} [${one.shape.join(", ")}]`).join("; ");
    const kind = ` ${metadata.platform}, version ${metadata.versions}`;
    box.append(element("strong", "", name), element("span", "hint", kind), element("br"),
      element("code", "", `in: ${tensors(metadata.inputs)}`), element("br"),
      element("code", "", `out: ${tensors(metadata.outputs)}`));
    $("models").append(box);
  }
}

async function showPaths() {
  const api = await read("/openapi.json");
  const boxes = [];
  for (const [path, verbs] of Object.entries(api.paths)) {
    for (const [verb, operation] of Object.entries(verbs)) {
      const box = element("div", "endpoint");
      box.append(element("span", "method", verb), " ", element("code", "", path), element("br"), operation.summary,
        element("span", "hint", `  answers ${Object.keys(operation.responses).join(", ")}`));
      boxes.push(box);
    }
  }
  $("paths").replaceChildren(...boxes);
}

for (const place of document.querySelectorAll(".origin")) place.textContent = location.origin;
showModels().catch((error) => $("models").append(error.message));
showPaths().catch((error) => { $("paths").textContent = error.message; });
