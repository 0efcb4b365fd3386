// Work on several threads that end with the call: nothing outlives it, so fork and joblib stay safe.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <thread>
#include <vector>

#include "kernels.hpp"

// In the namespace of the instruction level: a function compiled for one must never be taken for another's.
namespace naively::NAIVELY_LEVEL {

// Below this many cells a second thread costs more than it brings.
constexpr size_t CELLS_PER_THREAD = size_t{1} << 16;
// Enough pieces to share among threads; their number follows from the data alone, never from the threads.
constexpr size_t PIECES = 16;
// What the private tables of all pieces may take together.
constexpr size_t TABLE_BYTES = size_t{32} << 20;

// Calls work(piece) once for each piece, on up to run.threads threads, the calling one among them.
// The calling thread asks for Ctrl-C ten times a second; the others then stop after their piece.
template <class Work>
void share_out(size_t pieces, size_t cells, const Run& run, Work&& work) {
    std::atomic<size_t> next{0};
    std::atomic<bool> stop{false};
    std::exception_ptr failure;
    std::atomic<bool> failed{false};
    auto take_pieces = [&](bool may_ask) {
        using clock = std::chrono::steady_clock;
        auto asked = clock::now();
        for (size_t piece; !stop && (piece = next++) < pieces;) {
            try {
                work(piece);
            } catch (...) {
                if (!failed.exchange(true)) failure = std::current_exception();
                stop = true;
            }
            if (may_ask && clock::now() - asked > std::chrono::milliseconds(100)) {
                if (run.interrupted()) stop = true;
                asked = clock::now();
            }
        }
    };
    size_t useful = std::min({pieces, cells / CELLS_PER_THREAD + 1, size_t(std::max(run.threads, 1))});
    std::vector<std::thread> helpers;
    for (size_t t = 1; t < useful; ++t) helpers.emplace_back(take_pieces, false);
    take_pieces(true);
    for (auto& helper : helpers) helper.join();
    if (failed) std::rethrow_exception(failure);
    if (stop) throw Interrupted();
}

// Calls work(begin, end) for blocks of rows that write to places of their own.
template <class Work>
void by_blocks(size_t rows, size_t cells_per_row, const Run& run, Work&& work) {
    size_t block = std::clamp<size_t>(CELLS_PER_THREAD / std::max<size_t>(cells_per_row, 1), 16, 8192);
    share_out((rows + block - 1) / block, rows * cells_per_row, run, [&](size_t piece) {
        work(piece * block, std::min(rows, (piece + 1) * block));
    });
}

// Adds up fill(begin, end, table) over all rows into total.
// Each piece of the rows fills a table of its own, and these are added in order: the result is the same to the last
// bit whatever the number of threads, and an interrupted call has changed nothing.
template <class Fill>
void add_up(size_t rows, size_t cells_per_row, size_t table_size, double* total, const Run& run, Fill&& fill) {
    size_t cells = rows * std::max<size_t>(cells_per_row, 1);
    if (cells < CELLS_PER_THREAD) return fill(0, rows, total);  // quick: no table of its own to clear and add
    size_t affordable = TABLE_BYTES / (std::max<size_t>(table_size, 1) * sizeof(double));
    size_t pieces = std::clamp<size_t>(std::min(affordable, cells / CELLS_PER_THREAD), 1, PIECES);
    // Steps within a piece, so that Ctrl-C is answered soon even when all rows are one piece.
    std::vector<std::vector<double>> tables(pieces);
    std::vector<size_t> done(pieces);
    auto first_row = [&](size_t piece) { return rows * piece / pieces; };
    size_t step = std::max<size_t>(1, (size_t{1} << 22) / std::max<size_t>(cells_per_row, 1));
    std::atomic<bool> unfinished{true};
    for (size_t p = 0; p < pieces; ++p) done[p] = first_row(p);
    while (unfinished) {
        unfinished = false;
        share_out(pieces, cells, run, [&](size_t piece) {
            auto& table = tables[piece];
            if (table.empty()) table.resize(table_size, 0.0);
            size_t end = std::min(first_row(piece + 1), done[piece] + step);
            fill(done[piece], end, table.data());
            done[piece] = end;
            if (end < first_row(piece + 1)) unfinished = true;
        });
        if (unfinished && run.interrupted()) throw Interrupted();
    }
    for (const auto& table : tables)
        for (size_t i = 0; i < table_size; ++i) total[i] += table[i];
}

}  // namespace naively::NAIVELY_LEVEL
