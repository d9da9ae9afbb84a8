// The predicted class of each row of scores.
#pragma once

#include "core/tensor.h"

#include <cstdint>

namespace lockring::ops {

// The index of each row's largest score, the first of equals: scores [n][c] to i32 [n]. Not differentiable.
// A row that holds a NaN gives -1, which no label equals. Throws Error{usage} unless scores are [n][c] with c > 0.
Tensor argmax(const Tensor& scores);
// The number of rows whose argmax is their label: labels i32 [n]. Throws Error{usage} on shapes that do not fit.
std::int64_t count_correct(const Tensor& scores, const Tensor& labels);
// The same number as a tensor i64 [1] on the scores' device: nothing waits for a GPU until it is read.
Tensor correct_count(const Tensor& scores, const Tensor& labels);

}  // namespace lockring::ops
