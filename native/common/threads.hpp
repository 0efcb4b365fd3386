// Work on several threads that end with the call, or are held by the caller: nothing outlives it, so fork and joblib
// stay safe.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <limits>
#include <thread>
#include <type_traits>
#include <vector>

#include "common/worker_pool.hpp"
#include "kernels.hpp"

// In the namespace of the instruction level: a function compiled for one must never be taken for another's.
namespace naively::NAIVELY_LEVEL {

// Below this many cells a second thread costs more than it saves.
constexpr size_t CELLS_PER_THREAD = size_t{1} << 16;
// Enough pieces to share among threads; their number follows from the data alone, never from the threads.
constexpr size_t PIECES = 16;
// What is counted between two checks for Ctrl-C: some milliseconds.
constexpr size_t CELLS_PER_ROUND = size_t{1} << 23;
// What the private tables of all pieces may take together.
constexpr size_t TABLE_BYTES = size_t{32} << 20;

// Calls work(piece) once for each piece, on up to run.threads threads, the calling one among them.
// The calling thread checks for Ctrl-C ten times a second; the others then stop after their piece.
template <class Work>
void run_pieces(size_t pieces, size_t cells, const Run& run, Work&& work) {
    std::atomic<size_t> next{0};
    std::atomic<bool> stop{false}, failed{false};
    std::exception_ptr failure;
    auto take_pieces = [&](bool checks_signals) {
        using clock = std::chrono::steady_clock;
        auto last_check = checks_signals ? clock::now() : clock::time_point{};
        for (size_t piece = 0; !stop && (piece = next++) < pieces;) {
            try {
                work(piece);
            } catch (...) {
                if (!failed.exchange(true)) failure = std::current_exception();
                stop = true;
            }
            if (checks_signals && clock::now() - last_check > std::chrono::milliseconds(100)) {
                if (run.interrupted()) stop = true;
                last_check = clock::now();
            }
        }
    };
    size_t useful = std::min({pieces, cells / CELLS_PER_THREAD + 1, size_t(std::max(run.threads, 1))});
    auto help = [](void* take) { (*static_cast<decltype(take_pieces)*>(take))(false); };
    if (useful < 2) {
        take_pieces(true);
    } else if (WorkerPool* pool = WorkerPool::of_this_thread()) {
        pool->start(useful - 1, help, &take_pieces);
        take_pieces(true);
        pool->wait();
    } else {
        std::vector<std::thread> workers;
        try {
            workers.reserve(useful);
            for (size_t t = 1; t < useful; ++t) workers.emplace_back(help, &take_pieces);
        } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the work goes on with fewer threads
            // No more threads or memory: those threads that have started do the work.
        }
        take_pieces(true);
        for (auto& helper : workers) helper.join();
    }
    if (failed) std::rethrow_exception(failure);
    if (stop) throw Interrupted();
}

// Whether rows are counted directly into the total: a table of their own would cost more than the rows.
inline bool counted_directly(size_t cells, size_t table_size) { return cells < CELLS_PER_THREAD || cells < table_size; }

// Adds up fill(begin, end, table) over all rows into total. fill returns false for a row that may have to be
// refused; only then does check(), which changes nothing, look for the first such row.
// Each piece of the rows fills a table of its own, and these are added in order: the result is the same to the last
// bit whatever the number of threads, and a call that is refused or interrupted has changed nothing.
// A Part of whole numbers is smaller, and needs no care for rounding.
template <class Part = double, class Check, class Fill>
size_t sum_pieces(size_t rows, size_t cells_per_row, size_t table_size, double* total, const Run& run, Check&& check,
                  Fill&& fill) {
    size_t per_row = std::max<size_t>(cells_per_row, 1), cells = rows * per_row;
    if (counted_directly(cells, table_size)) {
        size_t refused = check();
        if (refused == NO_ROW) fill(0, rows, total);
        return refused;
    }
    size_t affordable = TABLE_BYTES / (2 * std::max<size_t>(table_size, 1) * sizeof(double));
    size_t pieces =
        std::clamp<size_t>(std::min({affordable, cells / CELLS_PER_THREAD, rows}), 1, PIECES);  // none of them empty
    auto first_row = [&](size_t piece) { return rows * piece / pieces; };
    // In rounds of some milliseconds, so that Ctrl-C is answered soon even when all rows are one piece; within them
    // fractions are added up in steps: sums of sums round less than one long sum.
    constexpr bool whole = !std::is_floating_point_v<Part>;
    size_t step = std::max<size_t>(1024, 32 * table_size / per_row), round = std::max(step, CELLS_PER_ROUND / per_row);
    if constexpr (whole) {  // no number of rows may be too large for a Part
        step = std::min<size_t>(round, std::numeric_limits<Part>::max());
        round = std::min<size_t>(round, UINT32_MAX);
    }
    size_t rounds = (first_row(1) + round) / round;
    std::vector<std::vector<double>> tables(pieces);
    std::atomic<bool> may_refuse{false};
    for (size_t r = 0; r < rounds; ++r) {
        run_pieces(pieces, cells, run, [&](size_t piece) {
            size_t begin = first_row(piece) + r * round, end = std::min(first_row(piece + 1), begin + round);
            if (begin >= end) return;
            auto& sums = tables[piece];
            if (sums.empty()) sums.resize(table_size, 0.0);
            std::vector<Part> part(table_size, Part{});
            for (size_t row = begin; row < end; row += step) {
                if (!fill(row, std::min(end, row + step), part.data())) may_refuse = true;
                for (size_t i = 0; i < table_size; ++i) sums[i] += double(part[i]), part[i] = Part{};
            }
        });
        if (r + 1 < rounds && run.interrupted()) throw Interrupted();
    }
    if (size_t refused = may_refuse ? check() : NO_ROW; refused != NO_ROW) return refused;
    if (run.interrupted()) throw Interrupted();  // the last moment at which nothing is changed yet
    for (const auto& table : tables)
        for (size_t i = 0; i < table_size; ++i) total[i] += table[i];
    return NO_ROW;
}

}  // namespace naively::NAIVELY_LEVEL
