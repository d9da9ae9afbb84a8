// Workflows for clusters, by the rules of what reads them: names, required fields, keys, references.
#include "apps/workflow/export_argo.h"

#include "apps/workflow/yaml.h"
#include "apps/workflow/yaml_text.h"
#include "tests/apps/captured_run.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>

namespace lockring::app::workflow {
namespace {

constexpr char kText[] = R"(
name: two_models
parameters: {epochs: 5}
steps:
  ingest: {uses: data ingest, memoize: {max_age: 14d}}
  cnn:
    uses: train
    with: {epochs: "${epochs}"}
    inputs: {data: "${steps.ingest.data}"}
    resources: {ranks: 2}
    memoize: true
    retries: {limit: 2, backoff: 5s, max: 1m}
    timeout: 90m
  cnn_bn: {uses: train, with: {model: cnn_bn}, inputs: {data: "${steps.ingest.data}"}}
  score:
    run: ./score ${inputs.runs} > ${outputs.accuracy}
    inputs: {runs: ["${steps.cnn.run}", "${steps.cnn_bn.run}", own/file]}
    outputs: {accuracy: value, page: {path: report.html}}
    env: {LEVEL: "${epochs}"}
  serve: {run: "serve --port ${step.port} ${steps.cnn.run}", server: {ready: "tcp:127.0.0.1:${step.port}"}, outputs: {port: value}, needs: score}
  ask: {run: "ask ${steps.score.accuracy} ${steps.serve.host}:${steps.serve.port}", needs: serve, when: "${steps.score.accuracy} > 0.9"}
on_exit: {run: "echo ${run.status}"}
)";

const YamlNode& at(const YamlNode& node, const std::string& path) {
  const YamlNode* found = &node;
  std::istringstream parts(path);
  for (std::string part; std::getline(parts, part, '.');) {
    const bool is_index = std::isdigit(static_cast<unsigned char>(part[0])) != 0;
    const YamlNode* next = !is_index                                ? found->find(part)
                           : std::stoul(part) < found->items.size() ? &found->items[std::stoul(part)]
                                                                    : nullptr;
    if (next == nullptr) throw std::out_of_range("there is no " + path);
    found = next;
  }
  return *found;
}

bool has(const YamlNode& node, const std::string& key) { return node.find(key) != nullptr; }

class WorkflowExport : public testing::Test {
 protected:
  const YamlNode& template_of(const std::string& name) const {
    for (const YamlNode& one : at(argo_, "spec.templates").items)
      if (at(one, "name").text == name) return one;
    throw std::out_of_range("there is no template " + name);
  }
  const YamlNode& task(const std::string& name) const {
    for (const YamlNode& one : at(template_of("main"), "dag.tasks").items)
      if (at(one, "name").text == name) return one;
    throw std::out_of_range("there is no task " + name);
  }
  static std::string args_of(const YamlNode& container) {
    std::string text;
    for (const YamlNode& word : at(container, "args").items) text += word.text + " ";
    return text;
  }

  Workflow workflow_ = parse_workflow(kText, "w.yaml");
  std::string text_ = argo_text(workflow_, {});
  YamlNode argo_ = parse_yaml(text_, "argo.yaml");
};

const std::regex kLabel("[a-z0-9]([-a-z0-9]*[a-z0-9])?");  // RFC 1123
const std::regex kMemoKey("[a-zA-Z0-9][-a-zA-Z0-9]*");     // Argo
const std::regex kGoDuration("[0-9]+(s|m|h)");

TEST_F(WorkflowExport, NamesAndReferencesFit) {
  EXPECT_EQ(at(argo_, "apiVersion").text, "argoproj.io/v1alpha1");
  EXPECT_EQ(at(argo_, "kind").text, "Workflow");
  EXPECT_EQ(at(argo_, "metadata.generateName").text, "two-models-");
  std::set<std::string> templates;
  for (const YamlNode& one : at(argo_, "spec.templates").items) {
    const std::string name = at(one, "name").text;
    EXPECT_TRUE(std::regex_match(name, kLabel)) << name;
    EXPECT_TRUE(templates.insert(name).second) << name;
    EXPECT_EQ(has(one, "dag") + has(one, "container") + has(one, "resource"), 1) << name;
  }
  EXPECT_TRUE(templates.contains(at(argo_, "spec.entrypoint").text));
  EXPECT_TRUE(templates.contains(at(argo_, "spec.onExit").text));
  std::set<std::string> tasks;
  for (const YamlNode& one : at(template_of("main"), "dag.tasks").items) {
    EXPECT_TRUE(templates.contains(at(one, "template").text));
    tasks.insert(at(one, "name").text);
  }
  EXPECT_EQ(tasks.size(), workflow_.steps.size());
  const std::regex name("[a-z0-9-]+");
  for (const YamlNode& one : at(template_of("main"), "dag.tasks").items) {
    if (!has(one, "depends")) continue;
    const std::string depends = at(one, "depends").text;
    for (std::sregex_iterator word(depends.begin(), depends.end(), name), end; word != end; ++word)
      EXPECT_TRUE(tasks.contains(word->str())) << depends;
  }
  EXPECT_EQ(text_.find("${"), std::string::npos) << "nothing of our own references is left";
}

TEST_F(WorkflowExport, EveryReferenceOfArgosHasWhatItNames) {
  std::set<std::string> parameters;
  for (const YamlNode& one : at(argo_, "spec.arguments.parameters").items) parameters.insert(at(one, "name").text);
  const std::regex reference("\\{\\{([^}]*)\\}\\}");
  for (std::sregex_iterator found(text_.begin(), text_.end(), reference), end; found != end; ++found) {
    const std::string inside = (*found)[1];
    if (inside.starts_with("workflow.parameters.")) {
      EXPECT_TRUE(parameters.contains(inside.substr(20))) << inside;
    } else if (inside.starts_with("inputs.parameters.")) {
      EXPECT_TRUE(inside == "inputs.parameters.score-accuracy" || inside == "inputs.parameters.serve-host") << inside;
    } else if (inside == "tasks.serve.ip") {
      EXPECT_EQ(at(template_of("serve"), "daemon").text, "true") << "only those have an address";
    } else if (inside.starts_with("tasks.")) {
      EXPECT_EQ(inside, "tasks.score.outputs.parameters.accuracy");
      EXPECT_EQ(at(template_of("score"), "outputs.parameters.0.name").text, "accuracy");
    } else {
      EXPECT_TRUE(inside == "workflow.name" || inside == "workflow.status" || inside == "retries") << inside;
    }
  }
}

TEST_F(WorkflowExport, MemoizesByRecipe) {
  const YamlNode& ingest = at(template_of("ingest"), "memoize");
  const std::string key = at(ingest, "key").text;
  EXPECT_TRUE(std::regex_match(key, kMemoKey)) << key;
  EXPECT_TRUE(key.starts_with("ingest-"));
  EXPECT_EQ(at(ingest, "maxAge").text, "1209600s");
  EXPECT_TRUE(std::regex_match(at(ingest, "maxAge").text, kGoDuration));
  EXPECT_TRUE(std::regex_match(at(ingest, "cache.configMap.name").text, kLabel));
  EXPECT_FALSE(has(template_of("score"), "memoize"));
  const auto keys = [](const Parameters& set) { return recipe_keys(parse_workflow(kText, "w.yaml", set)); };
  const std::vector<std::string> five = keys({});
  const std::vector<std::string> six = keys({{"epochs", "6"}});
  EXPECT_EQ(five, keys({}));
  EXPECT_EQ(five[0], six[0]) << "data do not depend on epochs";
  EXPECT_NE(five[1], six[1]);
  EXPECT_NE(five[3], six[3]) << "and what is made of a training does";
}

TEST_F(WorkflowExport, RetriesTimesConditionsAndServers) {
  const YamlNode& cnn = template_of("cnn");
  EXPECT_EQ(at(cnn, "retryStrategy.limit").text, "2");
  EXPECT_FALSE(at(cnn, "retryStrategy.limit").plain) << "a string";
  EXPECT_EQ(at(cnn, "retryStrategy.backoff.duration").text, "5");
  EXPECT_EQ(at(cnn, "activeDeadlineSeconds").text, "5400");
  EXPECT_EQ(at(task("ask"), "arguments.parameters.1.value").text, "{{tasks.serve.ip}}");
  EXPECT_EQ(args_of(at(template_of("ask"), "container")),
            "{{inputs.parameters.score-accuracy}} {{inputs.parameters.serve-host}}:8000 ");
  EXPECT_EQ(at(template_of("serve"), "container.env.0.name").text, "LOCKRING_HOST");
  expect_error(
      ErrorCode::data,
      "w.yaml:1:57: step b: ${steps.a.x} is not known in a cluster, which only knows a server's host and port", [] {
        argo_text(
            parse_workflow("steps: {a: {run: x, server: true, outputs: {x: value}}, b: {run: \"y ${steps.a.x}\"}}",
                           "w.yaml"),
            {});
      });
  EXPECT_EQ(at(task("ask"), "when").text, "{{tasks.score.outputs.parameters.accuracy}} > 0.9");
  EXPECT_EQ(at(task("ask"), "depends").text, "score && serve");
  EXPECT_EQ(at(template_of("serve"), "daemon").text, "true");
  EXPECT_EQ(at(template_of("serve"), "container.readinessProbe.tcpSocket.port").text, "8000");
  EXPECT_EQ(at(template_of("main"), "dag.failFast").text, "true");
  EXPECT_NE(args_of(at(template_of("score"), "container"))
                .find("./score /shared/cnn/run /shared/cnn-bn/run /shared/own/file > /shared/score/accuracy"),
            std::string::npos)
      << args_of(at(template_of("score"), "container"));
  EXPECT_EQ(at(template_of("score"), "container.env.0.value").text, "{{workflow.parameters.epochs}}");
}

// The fields that mpi-operator's v2beta1 requires.
void expect_job(const YamlNode& job) {
  EXPECT_EQ(at(job, "apiVersion").text, "kubeflow.org/v2beta1");
  EXPECT_EQ(at(job, "kind").text, "MPIJob");
  EXPECT_EQ(at(job, "spec.mpiReplicaSpecs.Launcher.replicas").text, "1");
  EXPECT_EQ(at(job, "spec.mpiReplicaSpecs.Worker.replicas").text, "2");
  EXPECT_EQ(at(job, "spec.slotsPerWorker").text, "1");
  const std::set<std::string> policies = {"None", "Running", "All"};
  EXPECT_TRUE(policies.contains(at(job, "spec.runPolicy.cleanPodPolicy").text));
  for (const char* role : {"Launcher", "Worker"}) {
    const YamlNode& pod = at(job, std::string("spec.mpiReplicaSpecs.") + role + ".template.spec");
    EXPECT_TRUE(std::regex_match(at(pod, "containers.0.name").text, kLabel));
    EXPECT_EQ(at(pod, "containers.0.image").text, "lockring:latest");
    EXPECT_EQ(at(pod, "containers.0.volumeMounts.0.name").text, at(pod, "volumes.0.name").text);
  }
  EXPECT_EQ(at(job, "spec.mpiReplicaSpecs.Launcher.template.spec.containers.0.command.0").text, "mpirun");
}

TEST_F(WorkflowExport, ATrainingOnSeveralRanksIsAJob) {
  const YamlNode& cnn = template_of("cnn");
  EXPECT_EQ(at(cnn, "resource.action").text, "create");
  const YamlNode job = parse_yaml(at(cnn, "resource.manifest").text, "job.yaml");
  expect_job(job);
  EXPECT_EQ(at(job, "metadata.name").text, "{{workflow.name}}-cnn");
  const std::string args = args_of(at(job, "spec.mpiReplicaSpecs.Launcher.template.spec.containers.0"));
  EXPECT_EQ(args,
            "-np 2 --hostfile /etc/mpi/hostfile --bind-to none lockring train --epochs {{workflow.parameters.epochs}} "
            "--run-dir /shared/cnn/run "
            "--data-dir /shared/ingest/data --seed 1 --shards 4 --replicas 1 ");
  EXPECT_TRUE(has(template_of("cnn-bn"), "container")) << "one rank needs no job";
  const YamlNode alone = parse_yaml(mpijob_text(workflow_, {}), "jobs.yaml");
  expect_job(alone);
  EXPECT_TRUE(std::regex_match(at(alone, "metadata.name").text, kLabel));
  EXPECT_NE(args_of(at(alone, "spec.mpiReplicaSpecs.Launcher.template.spec.containers.0")).find("--epochs 5 "),
            std::string::npos);
}

TEST_F(WorkflowExport, NamesThatWouldFallTogether) {
  expect_error(ErrorCode::data, "w.yaml:1:24: step A-B: 'a-b' would be the name of two steps in a cluster",
               [] { argo_text(parse_workflow("steps: {a_b: {run: x}, A-B: {run: y}}", "w.yaml"), {}); });
  EXPECT_EQ(cluster_name("cnn_BN-"), "cnn-bn");
  EXPECT_EQ(cluster_name("__"), "x");
}

TEST(WorkflowYamlText, IsReadBackAsItWas) {
  const std::string yaml = yaml_text(
      R"({"a": [1, [2, 3], {"b": "x y", "c": []}], "d": {}, "e": "line\nline 2\n", "f": "true", "g": "1", "h": 2.5, "i": "- x", "j": null, "k": "a\u0000\n", "l": "a\n\n", "m": "\n a\n"})");
  const YamlNode node = parse_yaml(yaml, "w.yaml");
  EXPECT_EQ(at(node, "a.1.1").text, "3");
  EXPECT_EQ(at(node, "a.2.b").text, "x y");
  EXPECT_EQ(at(node, "a.2.c").kind, YamlNode::Kind::list);
  EXPECT_EQ(at(node, "d").kind, YamlNode::Kind::map);
  EXPECT_EQ(at(node, "e").text, "line\nline 2\n");
  for (const char* key : {"f", "g", "i"}) EXPECT_FALSE(at(node, key).plain) << key;
  EXPECT_TRUE(at(node, "h").plain);
  EXPECT_EQ(at(node, "i").text, "- x");
  EXPECT_EQ(at(node, "j").kind, YamlNode::Kind::null);
  EXPECT_EQ(at(node, "k").text, std::string("a\0\n", 3));
  EXPECT_EQ(at(node, "l").text, "a\n\n");
  EXPECT_EQ(at(node, "m").text, "\n a\n");
}

TEST(WorkflowExportCommand, PrintsEither) {
  const TemporaryDirectory directory;
  const std::string file = (directory / "w.yaml").string();
  std::ofstream(file) << kText;
  EXPECT_NE(captured_run({"workflow", "export", file, "--image", "x/y:1"}).out.find("image: \"x/y:1\""),
            std::string::npos);
  EXPECT_NE(captured_run({"workflow", "export", file, "--to", "mpijob"}).out.find("kind: MPIJob"), std::string::npos);
  EXPECT_EQ(captured_run({"workflow", "export", file, "--to", "airflow"}).code, 2);
  std::ofstream(file) << "steps: {a: {run: x}}\n";
  EXPECT_EQ(captured_run({"workflow", "export", file, "--to", "mpijob"}).code, 2);
}

}  // namespace
}  // namespace lockring::app::workflow
