// The replicas of one process: threads that work in lockstep on memory they share (the mirrored group), alone or with
// those of other processes of the machine.
//
// Replica 0 is the thread that owns the team; the others are started once and sleep between jobs. In a job each replica
// computes on its own part, and meets the others where one needs what the rest have written. After the meeting of a
// step each replica reduces and updates its own slice of the one parameter arena; nothing is copied or sent.
#pragma once

#include "core/barrier.h"
#include "distributed/meeting.h"

#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace lockring::dist {

class ReplicaTeam {
 public:
  // Throws Error{usage} for fewer than one replica, Error{device} if the system refuses so many threads.
  explicit ReplicaTeam(int replicas);
  // Whose replicas are members `first` to `first + replicas - 1` of a meeting of several processes.
  ReplicaTeam(int replicas, Meeting meeting, int first);
  ~ReplicaTeam();
  ReplicaTeam(const ReplicaTeam&) = delete;
  ReplicaTeam& operator=(const ReplicaTeam&) = delete;

  int size() const { return replicas_; }

  // What to say of members of the meeting who did not come; of none, why others have ended it.
  using Explanation = std::function<std::string(const std::vector<int>& missing)>;
  void set_explanation(Explanation explanation) { explain_ = std::move(explanation); }

  // Runs job(replica) on every replica's thread and returns when all are done. If one throws, those who meet are
  // released, the first exception is rethrown here, and the team can run nothing more. Throws Error{device} if replicas
  // of other processes have failed or have not come to a meeting in time, with the explanation.
  void run(const std::function<void(int replica)>& job);

  // Within a job, by each of its replicas: returns when all of the meeting have come here. Throws, ending the job, if
  // one has failed.
  void meet(int replica);

 private:
  void work(int replica);
  void perform(int replica);

  const int replicas_;
  Barrier start_;
  Barrier finish_;
  Meeting meeting_;
  const int first_;
  Explanation explain_;
  const std::function<void(int)>* job_ = nullptr;  // null tells the threads to end
  std::mutex failure_mutex_;
  std::exception_ptr failure_;
  std::vector<int> missing_;  // members, after a meeting that failed
  bool peers_failed_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace lockring::dist
