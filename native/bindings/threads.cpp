// Threads that several calls of kernels share.
#include <memory>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "common/worker_pool.hpp"

using namespace nb::literals;

namespace naively {

namespace {

// Held from __enter__ to __exit__ by the thread that calls both.
class HeldThreads {
  public:
    explicit HeldThreads(int threads) : threads_(threads) {}

    void enter() {
        require(!pool_, "These threads are held already.");
        if (threads_ < 2 || WorkerPool::of_this_thread()) return;  // one is the caller itself; or others are held
        nb::gil_scoped_release no_gil;
        pool_ = std::make_unique<WorkerPool>(size_t(threads_ - 1));
        WorkerPool::hold(pool_.get());
    }

    void leave(nb::handle, nb::handle, nb::handle) {
        if (!pool_) return;
        WorkerPool::hold(nullptr);
        nb::gil_scoped_release no_gil;
        pool_.reset();
    }

  private:
    int threads_;
    std::unique_ptr<WorkerPool> pool_;
};

}  // namespace

void bind_threads(nb::module_& m) {
    nb::class_<HeldThreads>(m, "HeldThreads",
                            "Threads that kernels share while the block of a with statement runs, so that none of them "
                            "starts its own.")
        .def(nb::init<int>(), "threads"_a)
        .def("__enter__", &HeldThreads::enter)
        .def("__exit__", &HeldThreads::leave, "kind"_a.none(), "error"_a.none(), "trace"_a.none());
}

}  // namespace naively
