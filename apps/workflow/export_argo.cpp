#include "apps/workflow/export_argo.h"

#include "apps/shell_word.h"
#include "apps/workflow/builtin.h"
#include "apps/workflow/graph.h"
#include "apps/workflow/scope.h"
#include "apps/workflow/yaml_text.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <set>

namespace lockring::app::workflow {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kServerPort = 8000;
constexpr int kMpiUser = 1000;
constexpr char kVolume[] = "shared";

bool is_job(const StepSpec& step) { return find_builtin(step.uses).trains && step.resources.ranks > 1; }

std::string seconds_text(double seconds) { return fmt::format("{:.0f}", std::ceil(seconds)); }

// What the engine does on one machine, said in Argo's words.
class Exporter {
 public:
  Exporter(const Workflow& workflow, const ExportOptions& options)
      : workflow_(workflow), options_(options), graph_(make_graph(workflow)), keys_(recipe_keys(workflow)) {
    std::set<std::string> names = {"main", "on-exit"};
    for (const StepSpec& step : workflow.steps)
      if (!names.insert(cluster_name(step.name)).second)
        fail_at(workflow.file, step.place,
                fmt::format("step {}: '{}' would be the name of two steps in a cluster", step.name,
                            cluster_name(step.name)));
  }

  Json workflow() const {
    Json parameters = Json::array();
    for (const auto& [name, value] : workflow_.parameters) parameters.push_back({{"name", name}, {"value", value}});
    Json templates = Json::array({main_template()});
    for (std::size_t i = 0; i < workflow_.steps.size(); ++i) templates.push_back(step_template(i));
    if (workflow_.on_exit) templates.push_back(container_template("on-exit", *workflow_.on_exit));
    const std::string name = cluster_name(workflow_.name);
    Json spec = {{"entrypoint", "main"}};
    if (workflow_.on_exit) spec["onExit"] = "on-exit";
    if (!parameters.empty()) spec["arguments"] = {{"parameters", parameters}};
    spec["volumeClaimTemplates"] = Json::array(
        {{{"metadata", {{"name", kVolume}}},
          {"spec",
           {{"accessModes", {"ReadWriteMany"}}, {"resources", {{"requests", {{"storage", options_.volume}}}}}}}}});
    spec["templates"] = templates;
    return {{"apiVersion", "argoproj.io/v1alpha1"},
            {"kind", "Workflow"},
            {"metadata", {{"generateName", name + "-"}}},
            {"spec", spec}};
  }

  std::vector<Json> jobs() const {
    std::vector<Json> jobs;
    for (const StepSpec& step : workflow_.steps)
      if (is_job(step)) jobs.push_back(job(step, cluster_name(workflow_.name + "-" + step.name), kVolume, false));
    return jobs;
  }

 private:
  Json main_template() const {
    Json tasks = Json::array();
    for (std::size_t i = 0; i < workflow_.steps.size(); ++i) {
      const StepSpec& step = workflow_.steps[i];
      Json task = {{"name", cluster_name(step.name)}, {"template", cluster_name(step.name)}};
      std::string depends;
      for (const int before : graph_.before[i])
        depends +=
            (depends.empty() ? "" : " && ") + cluster_name(workflow_.steps[static_cast<std::size_t>(before)].name);
      if (!depends.empty()) task["depends"] = depends;
      Json values = Json::array();
      for (const Reference& value : taken_values(step))
        values.push_back(
            {{"name", value_name(value)},
             {"value", step_called(value.step).server ? fmt::format("{{{{tasks.{}.ip}}}}", cluster_name(value.step))
                                                      : fmt::format("{{{{tasks.{}.outputs.parameters.{}}}}}",
                                                                    cluster_name(value.step), value.name)}});
      if (!values.empty()) task["arguments"] = {{"parameters", values}};
      if (step.when) task["when"] = condition(step);
      tasks.push_back(std::move(task));
    }
    return {{"name", "main"}, {"dag", {{"failFast", !workflow_.keep_going}, {"tasks", tasks}}}};
  }

  Json step_template(std::size_t index) const {
    const StepSpec& step = workflow_.steps[index];
    const std::string name = cluster_name(step.name);
    Json result = is_job(step) ? job_template(name, step) : container_template(name, step);
    if (step.memoize.on) {
      Json memoize = {{"key", name + "-" + keys_[index]}};
      if (step.memoize.max_age) memoize["maxAge"] = seconds_text(*step.memoize.max_age) + "s";
      memoize["cache"] = {{"configMap", {{"name", cluster_name(workflow_.name) + "-cache"}}}};
      result["memoize"] = memoize;
    }
    if (step.retries.limit > 0) {
      Json retry = {{"limit", std::to_string(step.retries.limit)}, {"retryPolicy", "Always"}};
      if (step.retries.backoff > 0)
        retry["backoff"] = {{"duration", seconds_text(step.retries.backoff)},
                            {"factor", static_cast<int>(std::lround(step.retries.factor))},
                            {"maxDuration", seconds_text(step.retries.most * step.retries.limit)}};
      result["retryStrategy"] = retry;
    }
    if (step.timeout > 0) result["activeDeadlineSeconds"] = static_cast<std::int64_t>(std::ceil(step.timeout));
    return result;
  }

  Json container_template(const std::string& name, const StepSpec& step) const {
    Json result = {{"name", name}};
    add_values(step, result);
    if (step.server) result["daemon"] = true;
    Json env = Json::array();
    for (const auto& [variable, value] : step.env)
      env.push_back({{"name", variable}, {"value", value.fill(resolver(step, false))}});
    // Else `lockring serve` answers its own pod alone.
    if (step.server) env.push_back({{"name", "LOCKRING_HOST"}, {"value", "0.0.0.0"}});
    const std::vector<std::string> command = words(step);
    Json container = {{"image", options_.image},
                      {"command", {command.front()}},
                      {"args", std::vector<std::string>(command.begin() + 1, command.end())}};
    if (!env.empty()) container["env"] = env;
    if (step.server) {
      container["ports"] = Json::array({{{"containerPort", kServerPort}}});
      container["readinessProbe"] = {{"tcpSocket", {{"port", kServerPort}}}};
    } else {
      const std::string cores = std::to_string(step.resources.slots);
      container["resources"] = {{"requests", {{"cpu", cores}}}, {"limits", {{"cpu", cores}}}};
    }
    container["volumeMounts"] = mounts();
    result["container"] = container;
    return result;
  }

  Json job_template(const std::string& name, const StepSpec& step) const {
    Json result = {{"name", name}};
    add_values(step, result);
    const Json manifest = job(step, "{{workflow.name}}-" + name, "{{workflow.name}}-" + std::string(kVolume), true);
    result["resource"] = {{"action", "create"},
                          {"setOwnerReference", true},
                          {"successCondition", "status.replicaStatuses.Launcher.succeeded > 0"},
                          {"failureCondition", "status.replicaStatuses.Launcher.failed > 0"},
                          {"manifest", yaml_text(manifest.dump())}};
    return result;
  }

  // As scripts/deploy/mpijob.yaml, whose image's own command is the workers'. `templated`: inside of an Argo workflow,
  // which fills in its own references.
  Json job(const StepSpec& step, const std::string& name, const std::string& claim, bool templated) const {
    StepSpec alone = step;
    alone.resources.ranks = 1;  // the launcher starts them
    std::vector<std::string> args = {
        "-np", std::to_string(step.resources.ranks), "--hostfile", "/etc/mpi/hostfile", "--bind-to", "none"};
    for (const std::string& word : command_of(alone, resolver(step, !templated), "lockring")) args.push_back(word);
    const auto replica = [&](const char* container, int count, Json more) {
      Json one = {{"name", container}, {"image", options_.image}, {"securityContext", {{"runAsUser", kMpiUser}}}};
      one.update(more);
      one["volumeMounts"] = mounts();
      return Json{
          {"replicas", count},
          {"template",
           {{"spec",
             {{"containers", Json::array({one})},
              {"volumes", Json::array({{{"name", kVolume}, {"persistentVolumeClaim", {{"claimName", claim}}}}})}}}}}};
    };
    const std::string cores = std::to_string(step.resources.replicas);
    const Json launcher = replica("launcher", 1, {{"command", {"mpirun"}}, {"args", args}});
    const Json worker = replica("worker", step.resources.ranks, {{"resources", {{"limits", {{"cpu", cores}}}}}});
    return {{"apiVersion", "kubeflow.org/v2beta1"},
            {"kind", "MPIJob"},
            {"metadata", {{"name", name}}},
            {"spec",
             {{"slotsPerWorker", 1},
              {"runPolicy", {{"cleanPodPolicy", "Running"}}},
              {"sshAuthMountPath", "/var/lib/mpiuser/.ssh"},
              {"mpiReplicaSpecs", {{"Launcher", launcher}, {"Worker", worker}}}}}};
  }

  Json mounts() const { return Json::array({{{"name", kVolume}, {"mountPath", options_.mount}}}); }

  // Values of others come as parameters, its own leave as parameters.
  void add_values(const StepSpec& step, Json& result) const {
    Json taken = Json::array();
    for (const Reference& value : taken_values(step)) taken.push_back({{"name", value_name(value)}});
    if (!taken.empty()) result["inputs"] = {{"parameters", taken}};
    Json made = Json::array();
    for (const OutputSpec& output : step.outputs)
      if (output.kind == OutputKind::value && !step.server)
        made.push_back({{"name", output.name}, {"valueFrom", {{"path", place_of(step, output)}}}});
    if (!made.empty()) result["outputs"] = {{"parameters", made}};
  }

  std::vector<Reference> taken_values(const StepSpec& step) const {
    std::vector<Reference> values;
    for_each_reference(step, [&](const Reference& reference, Place) {
      if (reference.kind != Reference::Kind::step_output || std::ranges::find(values, reference) != values.end())
        return;
      const StepSpec& other = step_called(reference.step);
      const bool is_value = other.find_output(reference.name)->kind == OutputKind::value;
      if (is_value && (!other.server || reference.name == kServerHost)) values.push_back(reference);
    });
    return values;
  }

  const StepSpec& step_called(const std::string& name) const {
    return workflow_.steps[static_cast<std::size_t>(workflow_.find(name))];
  }

  static std::string value_name(const Reference& value) { return value.step + "-" + value.name; }

  std::string place_of(const StepSpec& step, const OutputSpec& output) const {
    return output.path.empty() ? fmt::format("{}/{}/{}", options_.mount, cluster_name(step.name), output.file_name)
                               : in_volume(output.path);
  }

  // What is relative to the workflow's folder is so to the volume.
  std::string in_volume(const std::string& path) const {
    return path.starts_with('/') ? path : options_.mount + "/" + path;
  }

  // The folder of its outputs first.
  std::vector<std::string> words(const StepSpec& step) const {
    const std::vector<std::string> command = command_of(step, resolver(step, false), "lockring");
    if (step.outputs.empty()) return command;
    std::set<std::string> folders;
    for (const OutputSpec& output : step.outputs)
      folders.insert(shell_word(std::filesystem::path(place_of(step, output)).parent_path().string()));
    const std::vector<std::string> names(folders.begin(), folders.end());
    std::vector<std::string> wrapped = {"sh", "-c", fmt::format("mkdir -p {} && exec \"$@\"", joined(names, " ")),
                                        "sh"};
    wrapped.insert(wrapped.end(), command.begin(), command.end());
    return wrapped;
  }

  // `concrete`: with the values of parameters instead of Argo's references to them.
  Resolver resolver(const StepSpec& step, bool concrete) const {
    return [this, &step, concrete](const Reference& reference) { return values_of(step, reference, concrete); };
  }

  std::vector<std::string> values_of(const StepSpec& step, const Reference& reference, bool concrete) const {
    switch (reference.kind) {
      case Reference::Kind::parameter:
        if (concrete) return {*workflow_.find_parameter(reference.name)};
        return {"{{workflow.parameters." + reference.name + "}}"};
      case Reference::Kind::input: {
        std::vector<std::string> values;
        for (const Template& text : step.find_input(reference.name)->values) {
          const std::string value = text.fill(resolver(step, concrete));
          const bool is_output = text.is_reference() && text.parts[0].reference.kind == Reference::Kind::step_output;
          values.push_back(is_output || value.starts_with("{{") ? value : in_volume(value));
        }
        return values;
      }
      case Reference::Kind::output:
        return {place_of(step, *step.find_output(reference.name))};
      case Reference::Kind::step_output: {
        const StepSpec& other = step_called(reference.step);
        const OutputSpec& output = *other.find_output(reference.name);
        if (output.kind != OutputKind::value) return {place_of(other, output)};
        // A pod has an address of its own, and there all servers listen on the same port.
        if (other.server && reference.name == "port") return {std::to_string(kServerPort)};
        if (other.server && reference.name != kServerHost)
          fail_at(workflow_.file, step.place,
                  fmt::format("step {}: {} is not known in a cluster, which only knows a server's host and port",
                              step.name, reference.text()));
        return {"{{inputs.parameters." + value_name(reference) + "}}"};
      }
      case Reference::Kind::step:
        return {step_word(step, reference.name)};
      case Reference::Kind::run:
        break;
    }
    if (reference.name == "program") return {"lockring"};
    return {reference.name == "id" ? "{{workflow.name}}" : "{{workflow.status}}"};
  }

  static std::string step_word(const StepSpec& step, const std::string& name) {
    if (name == "name") return step.name;
    if (name == "seed") return std::to_string(step.seed);
    if (name == "ranks") return std::to_string(step.resources.ranks);
    if (name == "replicas") return std::to_string(step.resources.replicas);
    if (name == "slots") return std::to_string(step.resources.slots);
    return name == "port" ? std::to_string(kServerPort) : "{{retries}}";
  }

  // In the expressions of both, words are in single quotes and numbers are not.
  std::string condition(const StepSpec& step) const {
    return parse_template(step.when->text(), step.when->place(), workflow_.file)
        .fill([&](const Reference& reference) -> std::vector<std::string> {
          if (reference.kind == Reference::Kind::step_output)
            return {
                fmt::format("{{{{tasks.{}.outputs.parameters.{}}}}}", cluster_name(reference.step), reference.name)};
          return values_of(step, reference, false);
        });
  }

  const Workflow& workflow_;
  const ExportOptions& options_;
  Graph graph_;
  std::vector<std::string> keys_;
};

}  // namespace

std::string cluster_name(const std::string& name) {
  std::string result;
  for (const unsigned char c : name) result += std::isalnum(c) != 0 ? static_cast<char>(std::tolower(c)) : '-';
  while (result.starts_with('-')) result.erase(0, 1);
  while (result.ends_with('-')) result.pop_back();
  return result.empty() ? "x" : result;
}

std::vector<std::string> recipe_keys(const Workflow& workflow) {
  constexpr std::size_t kDigits = 32;
  const Graph graph = make_graph(workflow);
  std::map<std::string, std::string> keys;
  // Each after those that it takes from: as many rounds as the longest chain.
  for (bool changed = true; changed;) {
    changed = false;
    for (const StepSpec& step : workflow.steps) {
      std::map<std::string, OutputRecord> records;
      const FindOutput find = [&](const std::string& other, const std::string& output) -> const OutputRecord* {
        if (!keys.contains(other)) return nullptr;
        OutputRecord& record = records[other + "." + output];
        record.kind = OutputKind::value;
        record.value = record.identity = keys[other] + output;
        return &record;
      };
      const auto& before = graph.before[static_cast<std::size_t>(workflow.find(step.name))];
      const auto is_known = [&](int other) {
        return keys.contains(workflow.steps[static_cast<std::size_t>(other)].name);
      };
      if (keys.contains(step.name) || !std::ranges::all_of(before, is_known)) continue;
      StepSpec named = step;
      named.inputs.clear();
      std::string inputs;
      for (const InputSpec& input : step.inputs)
        for (const Template& text : input.values)
          inputs += input.name + '\0' + text.fill([&](const Reference& reference) -> std::vector<std::string> {
            if (reference.kind == Reference::Kind::parameter) return {*workflow.find_parameter(reference.name)};
            return {find(reference.step, reference.name)->value};
          }) + '\0';
      keys[step.name] = sha256(key_of(workflow, named, find).digest + inputs);
      changed = true;
    }
  }
  std::vector<std::string> result;
  for (const StepSpec& step : workflow.steps) result.push_back(keys.at(step.name).substr(0, kDigits));
  return result;
}

std::string argo_text(const Workflow& workflow, const ExportOptions& options) {
  return yaml_text(Exporter(workflow, options).workflow().dump());
}

std::string mpijob_text(const Workflow& workflow, const ExportOptions& options) {
  std::string text;
  for (const Json& job : Exporter(workflow, options).jobs())
    text += (text.empty() ? "" : "---\n") + yaml_text(job.dump());
  return text;
}

}  // namespace lockring::app::workflow
