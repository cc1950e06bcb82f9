// SPDX-License-Identifier: Apache-2.0
#include "server/mailbox.h"

#include <algorithm>
#include <chrono>
#include <iterator>

namespace muster::server {
namespace {

std::size_t Bytes(const model::Labels& labels) {
  std::size_t bytes = 0;
  for (const auto& [key, value] : labels) bytes += key.size() + value.size();
  return bytes;
}

template <class Item>
void MoveFront(std::deque<Item>& from, std::vector<Item>& to, std::size_t count) {
  const auto end = from.begin() + static_cast<std::ptrdiff_t>(count);
  to.assign(std::make_move_iterator(from.begin()), std::make_move_iterator(end));
  from.erase(from.begin(), end);
}

}  // namespace

std::size_t RecordBytes(const Request& request) {
  constexpr std::size_t kOfOne = 1024;
  const auto* submit = std::get_if<SubmitJobs>(&request.command);
  if (submit == nullptr) return kOfOne;
  std::size_t bytes = 0;
  for (const model::JobSpec& job : submit->jobs) {
    bytes += kOfOne + Bytes(job.labels);
    for (const model::TaskCommand& command : job.commands) {
      bytes += Bytes(command.env) + Bytes(command.secret_env) + command.workdir.size();
      for (const std::string& word : command.command) bytes += word.size();
    }
  }
  return bytes;
}

bool Mailbox::Post(Request& request, Answer& answer) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return false;
    if (requests_.size() >= kMaxRequests) {
      ++rejected_;
      return false;
    }
    requests_.push_back({std::move(request), std::move(answer)});
  }
  changed_.notify_one();
  return true;
}

void Mailbox::Observe(driver::Observation observation) {
  {
    const std::lock_guard lock(mutex_);
    observations_.push_back(std::move(observation));
  }
  changed_.notify_one();
}

Mailbox::Taken Mailbox::Take() {
  const std::lock_guard lock(mutex_);
  Taken taken;
  std::size_t bytes = 0;
  std::size_t count = 0;
  while (count < requests_.size() && count < kMaxRequestsTaken && bytes < kMaxBytesTaken)
    bytes += RecordBytes(requests_[count++].request);
  MoveFront(requests_, taken.requests, count);
  MoveFront(observations_, taken.observations,
            std::min(kMaxObservationsTaken, observations_.size()));
  taken.left = requests_.size() + observations_.size();
  return taken;
}

std::uint64_t Mailbox::rejected() const {
  const std::lock_guard lock(mutex_);
  return rejected_;
}

void Mailbox::PutBack(std::vector<driver::Observation> observations) {
  const std::lock_guard lock(mutex_);
  observations_.insert(observations_.begin(), std::make_move_iterator(observations.begin()),
                       std::make_move_iterator(observations.end()));
}

std::vector<Mailbox::Posted> Mailbox::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  std::vector<Posted> rest(std::make_move_iterator(requests_.begin()),
                           std::make_move_iterator(requests_.end()));
  requests_.clear();
  return rest;
}

template <class Ready>
void Mailbox::WaitUntil(base::Duration span, Ready ready) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::microseconds(span.value()),
                    [this, ready] { return woken_ || ready(); });
  woken_ = false;
}

void Mailbox::Wait(base::Duration span) {
  WaitUntil(span, [this] { return !requests_.empty() || !observations_.empty(); });
}

void Mailbox::WaitForRequests(base::Duration span) {
  WaitUntil(span, [this] { return !requests_.empty(); });
}

void Mailbox::Wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  changed_.notify_one();
}

}  // namespace muster::server
