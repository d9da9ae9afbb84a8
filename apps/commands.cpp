#include "apps/command.h"

namespace lockring::app {

// Each is defined in the file of its first word or words.
Action ask(CLI::App& app);
Action balance_backends(CLI::App& app);
Action bench_allreduce(CLI::App& app);
Action bench_exchange(CLI::App& app);
Action bench_gemm(CLI::App& app);
Action bench_infer(CLI::App& app);
Action bench_loader(CLI::App& app);
Action bench_strategies(CLI::App& app);
Action bench_train(CLI::App& app);
Action data_cache_clear(CLI::App& app);
Action data_cache_ls(CLI::App& app);
Action data_cache_why(CLI::App& app);
Action data_info(CLI::App& app);
Action data_ingest(CLI::App& app);
Action data_verify(CLI::App& app);
Action doctor(CLI::App& app);
Action eval(CLI::App& app);
Action load(CLI::App& app);
Action launch(CLI::App& app);
Action models(CLI::App& app);
Action predict(CLI::App& app);
Action runs_compare(CLI::App& app);
Action runs_ls(CLI::App& app);
Action runs_rm(CLI::App& app);
Action runs_show(CLI::App& app);
Action select(CLI::App& app);
Action serve_models(CLI::App& app);
Action simulate(CLI::App& app);
Action train(CLI::App& app);
Action workflow_export(CLI::App& app);
Action workflow_gc(CLI::App& app);
Action workflow_logs(CLI::App& app);
Action workflow_ls(CLI::App& app);
Action workflow_plan(CLI::App& app);
Action workflow_publish(CLI::App& app);
Action workflow_retry(CLI::App& app);
Action workflow_run(CLI::App& app);
Action workflow_schedule(CLI::App& app);
Action workflow_show(CLI::App& app);

std::span<const Command> commands() {
  static const Command table[] = {
      {"data ingest", "find, check and store a data set", data_ingest},
      {"data info", "what is stored of a data set", data_info},
      {"data verify", "check every byte of a stored data set", data_verify},
      {"data cache ls", "prepared images that are kept on disk", data_cache_ls},
      {"data cache clear", "remove what is kept", data_cache_clear},
      {"data cache why", "whether prepared images are there, and if not, why", data_cache_why},
      {"train", "train a model on replicas in lockstep", train},
      {"launch", "start a job, and again from its checkpoint when it fails", launch},
      {"runs ls", "the runs there are, and how they stand", runs_ls},
      {"runs show", "one run: configuration, epochs, curves, files", runs_show},
      {"runs compare", "what differs between runs, and what they came to", runs_compare},
      {"runs rm", "remove runs", runs_rm},
      {"select", "the best of many runs, to be served", select},
      {"serve", "trained models behind an HTTP server, with a page to try them on", serve_models},
      {"eval", "accuracy, loss and confusion matrix of a trained model", eval},
      {"predict", "what a trained model takes images for", predict},
      {"balance", "one address in front of many servers", balance_backends},
      {"ask", "what a server's models take test images for, beside each other", ask},
      {"load", "requests against a server, and how long they took", load},
      {"models", "the architectures and recipes there are", models},
      {"workflow run", "run a workflow: steps in order, what was made before taken from the cache", workflow_run},
      {"workflow plan", "what a run would do, and why", workflow_plan},
      {"workflow ls", "the runs of workflows there are, and how they stand", workflow_ls},
      {"workflow show", "one run of a workflow: its steps and what they made", workflow_show},
      {"workflow logs", "what a step wrote", workflow_logs},
      {"workflow retry", "run again what failed in a run, or from a step on", workflow_retry},
      {"workflow schedule", "run a workflow at times, or when its data changes", workflow_schedule},
      {"workflow publish", "give a running server the models of a selection", workflow_publish},
      {"workflow export", "a workflow for a cluster: Argo and the MPI operator", workflow_export},
      {"workflow gc", "remove old runs and what nothing needs any more", workflow_gc},
      {"bench train", "images a second in training", bench_train},
      {"bench infer", "latency and images a second in inference", bench_infer},
      {"bench loader", "images a second from bytes to batches, without a model", bench_loader},
      {"bench allreduce", "how fast the replicas of a job add up vectors", bench_allreduce},
      {"bench exchange", "what a step takes besides computing: gradients added up, parameters moved", bench_exchange},
      {"bench strategies", "all-reduce and parameter servers side by side", bench_strategies},
      {"bench gemm", "speed of a matrix product beside the processor's peak", bench_gemm},
      {"doctor", "what this machine, or the job under mpirun, offers: processor, memory, links", doctor},
      {"simulate", "step time and efficiency on machines that are not there", simulate},
  };
  return table;
}

}  // namespace lockring::app
