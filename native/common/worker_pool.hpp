// Threads that stay for several calls of kernels: as long as the caller holds them, and no longer.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

namespace naively {

// Not of an instruction level: what it runs is a plain function. Threads sleep while there is nothing to do.
class WorkerPool {
  public:
    explicit WorkerPool(size_t workers);
    ~WorkerPool();
    WorkerPool(const WorkerPool&) = delete;
    WorkerPool& operator=(const WorkerPool&) = delete;

    // Lets so many threads call work(context) once each. Only one job at a time: wait() ends it.
    void start(size_t helpers, void (*work)(void*), void* context);
    // Waits for those that have begun; others do not begin any more.
    void wait();

    // The pool that the calling thread holds, or null.
    static WorkerPool* of_this_thread();
    static void hold(WorkerPool* pool);

  private:
    void serve();

    std::mutex changing_;
    std::condition_variable called_, ended_;
    size_t wanted_ = 0, running_ = 0;
    bool closed_ = false;
    void (*work_)(void*) = nullptr;
    void* context_ = nullptr;
    std::vector<std::thread> workers_;
};

}  // namespace naively
