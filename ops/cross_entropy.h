// The classification loss: -sum over classes of target * log(softmax(logits)), where the target is 1 for the label's
// class and 0 elsewhere, or with smoothing s, 1 - s + s/classes and s/classes (Szegedy et al., arXiv:1512.00567).
#pragma once

#include "core/tensor.h"

namespace lockring::ops {

// For images that were blended (mixup, arXiv:1710.09412): the target is `weights` parts the label's and the rest the
// partner label's.
struct MixedLabels {
  Tensor partners;  // i32 [n]
  Tensor weights;   // f32 [n], of the labels
};

// The loss summed over the batch, of shape [1]: sums and counts travel, and one division by the global count follows.
// logits [n][classes], labels i32 [n]. An empty batch gives 0; huge logits are safe; NaN gives NaN.
// Differentiable in logits.
// Throws Error{usage} on shapes that do not fit or a smoothing outside [0, 1), Error{data} on a label out of range; on
// a GPU, where finding out would mean waiting, such a label makes the loss NaN.
Tensor cross_entropy(const Tensor& logits, const Tensor& labels, float label_smoothing = 0,
                     const MixedLabels& mixed = {});

}  // namespace lockring::ops
