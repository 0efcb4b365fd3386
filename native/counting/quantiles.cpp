// Quantiles of weighted numbers. Every sum goes over different numbers in their order: that of the rows is no matter.
#include "counting/quantiles.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

namespace naively {
namespace {

double total(const Numbers& x) { return std::accumulate(x.begin(), x.end(), 0.0); }

// A number between two, nearer to the outer one, that is no multiple of their gap: strictly between them, or the lower
// one where there is none, as a number on a cut lies in the bin below it.
double point_between(double outer, double inner) {
    double point = (1 - CUT_SHARE) * outer + CUT_SHARE * inner;  // a difference of huge numbers might overflow
    double lower = std::min(outer, inner), upper = std::max(outer, inner);
    double above = std::nextafter(lower, INFINITY), below = std::nextafter(upper, -INFINITY);
    return std::min(std::max(point, above), below);
}

// The first place of rising sums at which they reach a limit.
size_t reached(const Numbers& sums, double limit) {
    return size_t(std::lower_bound(sums.begin(), sums.end(), limit) - sums.begin());
}

// Which share of such a size the middle of each thing falls into: counted from either end, the same things. What is
// left over is added to the first and the last share. On a border a thing belongs to the share nearer to the middle of
// all; in the very middle it is a share of its own.
std::vector<int64_t> even_shares(const Numbers& weights, double size) {
    double all = total(weights), below = 0.0;
    double shares = std::max(std::floor(all / size + 1e-9), 1.0);
    std::vector<int64_t> out;
    for (double weight : weights) {
        below += weight;
        double place = (below - weight / 2 - all / 2) / size + shares / 2, near = std::nearbyint(place);
        bool border = std::abs(place - near) < 1e-9;
        double side = near - shares / 2, inward = side > 0 ? near - 0.5 : side < 0 ? near + 0.5 : near;
        double into = std::clamp(std::floor(border ? inward : place), 0.0, shares - 1);
        out.push_back(int64_t(border && side == 0 ? shares : into));
    }
    return out;
}

std::vector<int64_t> shares_from_first(const Numbers& weights, double size) {
    double below = 0.0;
    std::vector<int64_t> out;
    for (double weight : weights) below += weight, out.push_back(int64_t((below - weight / 2) / size));
    return out;
}

// Where the first bin, of so many of the numbers, is cut further: far out, numbers tell most.
std::vector<size_t> tail_cuts(const Numbers& weights, size_t count, const Grouping& how) {
    Numbers inner(count);
    std::partial_sum(weights.begin(), weights.begin() + ptrdiff_t(count), inner.begin());
    std::vector<size_t> out;
    double share = inner.back();
    for (size_t i = 0; i < how.halvings; ++i) {
        share /= 2;
        size_t place = share >= how.tail ? reached(inner, share * (1 - 1e-9)) : count;
        if (place + 1 < count) out.push_back(place);
    }
    return out;
}

// Beyond which numbers such a proportion of the rows lies: between a number and its neighbor further in, so that no row
// has it. Where all but so few rows have the same number, all are clipped to it.
std::pair<double, double> clipping_range(const WeightedValues& column, double clipped) {
    const auto& [values, weights] = column;
    Numbers sums(weights.size());
    double limit = clipped * total(weights) * (1 - 1e-9);
    std::partial_sum(weights.begin(), weights.end(), sums.begin());
    size_t low = reached(sums, limit);
    std::partial_sum(weights.rbegin(), weights.rend(), sums.begin());
    size_t beyond = reached(sums, limit);
    if (low + beyond + 1 >= values.size()) return {values[low], values[low]};
    size_t high = values.size() - 1 - beyond;
    double least = point_between(values[low], values[low + 1]);
    return {least, std::max(least, point_between(values[high], values[high - 1]))};
}

}  // namespace

WeightedValues weighted_values(const double* x, const double* weights, size_t rows) {
    std::vector<std::pair<double, double>> known;
    for (size_t i = 0; i < rows; ++i)
        if (x[i] == x[i] && weights[i] > 0) known.emplace_back(x[i] + 0.0, weights[i]);  // -0 is 0
    std::sort(known.begin(), known.end());
    WeightedValues out;
    for (auto [value, weight] : known) {
        if (out.values.empty() || out.values.back() != value) out.values.push_back(value), out.weights.push_back(0.0);
        out.weights.back() += weight;
    }
    return out;
}

// What holds a bin's share alone is a group of its own, and the others share what is left.
std::vector<int64_t> quantile_groups(const Numbers& weights, const Grouping& how) {
    double share = total(weights) / double(how.bins);
    Numbers others = weights;
    size_t heavy = 0;
    for (double& weight : others)
        if (weight >= share) weight = 0.0, ++heavy;
    size_t left = std::max({how.bins > heavy ? how.bins - heavy : 0, how.bins / 2, size_t{1}});
    double size = std::max(total(others) / double(left), how.least);
    std::vector<int64_t> of = how.even ? even_shares(others, size) : shares_from_first(others, size), out;
    for (size_t i = 0; i < weights.size(); ++i) {
        if (weights[i] >= share) of[i] = -1 - int64_t(i);
        out.push_back(i == 0 ? 0 : out.back() + (of[i] != of[i - 1]));
    }
    return out;
}

Numbers quantile_cuts(const WeightedValues& column, const Grouping& how) {
    const auto& [values, weights] = column;
    if (values.size() < 2) return {};
    auto groups = quantile_groups(weights, how);
    std::vector<size_t> places;
    for (size_t i = 0; i + 1 < groups.size(); ++i)
        if (groups[i] != groups[i + 1]) places.push_back(i);
    auto first = size_t(std::count(groups.begin(), groups.end(), groups.front()));
    auto last = size_t(std::count(groups.begin(), groups.end(), groups.back()));
    for (size_t place : tail_cuts(weights, first, how)) places.push_back(place);
    for (size_t place : tail_cuts({weights.rbegin(), weights.rend()}, last, how))
        places.push_back(values.size() - 2 - place);
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
    // A cut is nearer to the number that lies further out, by the weight beyond it: counted from either end, the same.
    Numbers sums(weights.size()), cuts;
    double half = total(weights) / 2 * (1 + 1e-9);
    std::partial_sum(weights.begin(), weights.end(), sums.begin());
    for (size_t place : places) {
        bool upper = sums[place] > half;
        cuts.push_back(point_between(values[place + upper], values[place + !upper]));
    }
    return cuts;
}

Spread spread_of(const WeightedValues& column, const double* cuts, size_t size, double clipped) {
    const auto& [values, weights] = column;
    Spread out{Numbers(size + 1), Numbers(size + 1)};
    if (values.empty()) return out;
    Numbers sums(weights.size());
    double all = total(weights), below = 0.0;
    std::partial_sum(weights.begin(), weights.end(), sums.begin());
    for (size_t i = 0, bin = 0; i < values.size(); ++i) {
        while (bin < size && cuts[bin] < values[i]) ++bin;
        out.bins[bin] += weights[i];
    }
    for (size_t bin = 0; bin <= size; ++bin) {
        double half = below + out.bins[bin] / 2, slack = 1e-12 * sums.back();
        below += out.bins[bin];
        double first = values[std::min(reached(sums, half - slack), values.size() - 1)];
        double second = values[std::min(reached(sums, half + slack), values.size() - 1)];
        out.medians[bin] = first / 2 + second / 2;
    }
    std::tie(out.low, out.high) = clipping_range(column, clipped);
    double sum = 0.0, squares = 0.0;
    for (size_t i = 0; i < values.size(); ++i) sum += weights[i] * std::clamp(values[i], out.low, out.high);
    out.center = sum / all;
    for (size_t i = 0; i < values.size(); ++i) {
        double off = std::clamp(values[i], out.low, out.high) - out.center;
        squares += weights[i] * (off * off);
    }
    out.deviation = std::sqrt(squares / all);
    return out;
}

}  // namespace naively
