// Threads that stay for several calls of kernels.
#include "common/worker_pool.hpp"

#include <exception>

namespace naively {

namespace {
thread_local WorkerPool* held = nullptr;
}

WorkerPool::WorkerPool(size_t workers) {
    try {
        workers_.reserve(workers);
        for (size_t i = 0; i < workers; ++i) workers_.emplace_back([this] { serve(); });
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the work goes on with fewer threads
        // No more threads or memory: those threads that have started do the work.
    }
}

WorkerPool::~WorkerPool() {
    {
        std::lock_guard lock(changing_);
        closed_ = true;
    }
    called_.notify_all();
    for (auto& worker : workers_) worker.join();
}

void WorkerPool::start(size_t helpers, void (*work)(void*), void* context) {
    {
        std::lock_guard lock(changing_);
        work_ = work, context_ = context;
        wanted_ = helpers < workers_.size() ? helpers : workers_.size();
    }
    if (helpers < workers_.size())
        for (size_t i = 0; i < helpers; ++i) called_.notify_one();
    else
        called_.notify_all();
}

void WorkerPool::wait() {
    std::unique_lock lock(changing_);
    wanted_ = 0;
    ended_.wait(lock, [this] { return running_ == 0; });
}

void WorkerPool::serve() {
    std::unique_lock lock(changing_);
    for (;;) {
        called_.wait(lock, [this] { return wanted_ > 0 || closed_; });
        if (closed_) return;
        --wanted_, ++running_;
        auto work = work_;
        auto context = context_;
        lock.unlock();
        work(context);
        lock.lock();
        if (--running_ == 0) ended_.notify_one();
    }
}

WorkerPool* WorkerPool::of_this_thread() { return held; }
void WorkerPool::hold(WorkerPool* pool) { held = pool; }

}  // namespace naively
